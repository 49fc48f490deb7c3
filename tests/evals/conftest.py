import pytest
from inspect_ai import eval as run_task
from inspect_ai.model import get_model

from tests.support.openai_server import OpenAIServer


@pytest.fixture
def serve(tmp_path):
    """Run a task against a real server on this machine; gives the log and the server."""

    def run(task, reply, *, max_choices=None, faults=None, port=0, **options):
        with OpenAIServer(reply, max_choices=max_choices, faults=faults, port=port) as server:
            # Not remembered, since the next server has another address.
            model = get_model(
                "openai-api/local/critic", base_url=server.url, api_key="x", memoize=False
            )
            [log] = run_task(
                task,
                model=model,
                log_dir=str(tmp_path / "logs"),
                display="log",
                max_connections=64,
                log_realtime=False,
                **options,
            )
            return log, server

    return run


def figures(log, scorer="first_error"):
    """The metrics of a scorer by name."""
    [score] = [score for score in log.results.scores if score.name == scorer]
    return {name: metric.value for name, metric in score.metrics.items()}

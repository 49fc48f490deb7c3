import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import local_model, run_task


@pytest.fixture
def serve(tmp_path):
    """Run a task against a real server on this machine; return the log and the server."""

    def run(task, reply, *, max_choices=None, faults=None, port=0, **options):
        with OpenAIServer(reply, max_choices=max_choices, faults=faults, port=port) as server:
            log = run_task(
                task, tmp_path / "logs", local_model(server), max_connections=64, **options
            )
            return log, server

    return run

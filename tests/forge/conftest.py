import pytest

from misstep.forge import BuildSettings, CallSettings, build_set, source_rows
from tests.support.openai_server import OpenAIServer
from tests.support.runs import local_model


@pytest.fixture
def forged(tmp_path):
    """Build a set against a real server on this machine; gives the build and the server."""

    def run(
        reply,
        folder=None,
        source="offline",
        review=None,
        faults=None,
        on_each=lambda _: None,
        port=0,
        **settings,
    ):
        build_settings = BuildSettings(
            **{
                "num_examples": 6,
                "max_attempts": 1,
                "injection_rate": 1.0,
                "votes": 3 if review else 0,
                **settings,
            }
        )

        def either(request, choice):
            reviewing = "first_wrong_step" in request.text
            return (review if reviewing else reply)(request, choice)

        with OpenAIServer(either, faults=faults, port=port) as server:
            models = [
                local_model(server, f"openai-api/local/{name}") for name in ("injector", "reviewer")
            ]
            built = build_set(
                source,
                source_rows(source, build_settings),
                build_settings,
                models[0],
                models[1] if review else None,
                folder or tmp_path / "built",
                CallSettings(max_connections=8, max_retries=0),
                on_each,
            )
            return built, server

    return run

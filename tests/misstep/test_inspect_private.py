"""Private names of Inspect: all are there today, and a missing one has its fallback."""

import importlib
import sys

import pytest
from inspect_ai import Task, eval as run_eval
from inspect_ai.agent._acp.transport import current_acp_transport
from inspect_ai.agent._acp.transport_live import LiveAcpTransport
from inspect_ai.dataset import Sample
from inspect_ai.solver import solver

from misstep import _inspect_private

NAMES = [
    "OpenAICompatibleAPI",
    "OpenAIResponseError",
    "PrerequisiteError",
    "RetryDecision",
    "active_generate_config",
    "call_in_shared_session",
    "classify_http_retry",
    "load_tasks",
    "running_task",
    "sample_active",
    "set_active_models",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_in_the_installed_release(name):
    found = getattr(_inspect_private, name)
    assert found is not None
    assert found not in (_inspect_private._PlainError, _inspect_private._PlainRetry)


def test_a_missing_name_gives_its_fallback():
    assert _inspect_private._private("inspect_ai._no_such_module", "x", 1) == 1
    assert _inspect_private._private("inspect_ai._util.error", "NoSuchError", 2) == 2


def test_a_release_without_private_modules_still_imports(monkeypatch):
    missing = [
        "inspect_ai._util.error",
        "inspect_ai.log._samples",
        "inspect_ai.model._generate_config",
    ]
    for module in missing:
        monkeypatch.setitem(sys.modules, module, None)
    spec = importlib.util.find_spec("misstep._inspect_private")
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    assert str(fresh.PrerequisiteError("a message")) == "a message"
    assert fresh.sample_active() is None
    assert fresh.active_generate_config().seed is None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = _inspect_private.no_such_name


@solver
def note_session(seen):
    async def solve(state, generate):
        seen.append(type(current_acp_transport()))
        return state

    return solve


def test_samples_in_a_shared_session_open_none_of_their_own(tmp_path):
    alone, shared = [], []

    def run(seen):
        task = Task(dataset=[Sample(input="1"), Sample(input="2")], solver=note_session(seen))
        run_eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")

    run(alone)
    _inspect_private.call_in_shared_session(lambda: run(shared))
    assert alone == [LiveAcpTransport] * 2
    assert len(shared) == 2
    assert LiveAcpTransport not in shared


def test_a_shared_session_passes_errors_and_exits_on():
    with pytest.raises(SystemExit):
        _inspect_private.call_in_shared_session(sys.exit)


def test_without_sessions_the_function_is_called_all_the_same(monkeypatch):
    called = []
    monkeypatch.setitem(sys.modules, "inspect_ai.agent._acp.transport", None)
    _inspect_private.call_in_shared_session(lambda: called.append(1))
    assert called == [1]

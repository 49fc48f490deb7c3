"""Task arguments are checked before a run starts."""

import pytest
from click import Command, Context
from inspect_ai.util import registry_create

import misstep.registry.entry_point  # noqa: F401 (it registers all tasks)
from misstep.evals import processbench
from misstep.registry import MisstepError, UnknownNameError, evals
from tests.support.runs import run_task

NAMES = [
    name
    for short, entry in evals().items()
    for name in (short, *(f"{short}.{variant}" for variant in entry.variants))
]


@pytest.mark.parametrize("name", NAMES)
def test_every_task_refuses_an_unknown_argument(name):
    with pytest.raises(UnknownNameError, match="Unknown task argument 'sourec'"):
        registry_create("task", f"misstep/{name}", sourec="x", sead=1)


def test_a_run_with_a_misspelled_argument_does_not_start(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'votes'"):
        run_task("misstep/processbench.sample", tmp_path, task_args={"voets": 8})
    assert not list(tmp_path.iterdir())


def test_a_log_folder_that_cannot_be_written_is_one_message(tmp_path):
    (tmp_path / "file").touch()
    for name, says in (("file/logs", "Not a directory"), ("logs", None), ("s3://a/b", None)):
        with Context(Command("eval"), info_name="inspect") as context:
            context.params["log_dir"] = name if "://" in name else str(tmp_path / name)
            if says is None:
                assert processbench(source="sample", critic="uniform")
                continue
            with pytest.raises(
                MisstepError, match=rf"cannot be written \({says}\). Choose another"
            ):
                processbench(source="sample", critic="uniform")
    assert (tmp_path / "logs").is_dir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"votes": "eight"}, "votes=eight: expected a whole number."),
        ({"votes": True}, "votes=True: expected a whole number."),
        ({"votes": [1, 2]}, "votes=1,2: expected a whole number."),
        ({"threshold": "low"}, "threshold=low: expected a number."),
        ({"adaptive": "perhaps"}, "adaptive=perhaps: expected true or false."),
        ({"domain": ["a", "b"]}, "domain=a,b: expected text."),
        ({"subset": {"a": 1}}, "expected text or a list such as a,b."),
        ({"calls": "paralel"}, "Unknown calls 'paralel'. Did you mean 'parallel'?"),
        ({"order": "parallel"}, "Unknown order 'parallel'. Allowed: interleaved, published."),
    ],
)
def test_a_wrong_value_is_one_message(arguments, message):
    with pytest.raises(MisstepError) as caught:
        processbench(**{"source": "sample"} | arguments)
    assert message in str(caught.value)


def test_a_positional_value_is_checked_too():
    with pytest.raises(MisstepError, match="domain=1,2: expected text"):
        processbench("science", [1, 2])


def test_a_number_may_stand_for_text(tmp_path):
    own = tmp_path / "rows.jsonl"
    own.write_text('{"problem": "p", "steps": ["a"], "label": 0, "subset": "2024"}')
    assert len(processbench(source=str(own), subset=2024).dataset) == 1

import pytest
from inspect_ai._util.config import parse_cli_args

from misstep.registry import MisstepError
from misstep.runs import EvalCommand, Shard


def test_a_shard_runs_the_same_eval_on_its_own_samples():
    command = EvalCommand.parse(
        "misstep/processbench", ["votes=8", "subset=math"], None, ["--model", "openai/gpt-4o-mini"]
    )
    line = command.for_shard(Shard(1, 10, 20), "logs/x.shards/1", "config.yaml")
    assert line == [
        "eval",
        "misstep/processbench",
        *("-T", "votes=8", "-T", "subset=math"),
        # Nobody watches a part.
        *("--no-log-realtime", "--no-score-display", "--ctl-server", "false"),
        *("--display", "log"),
        *("--model", "openai/gpt-4o-mini"),
        *("--limit", "11-20", "--log-dir", "logs/x.shards/1"),
    ]


def test_a_run_configuration_is_passed_on():
    command = EvalCommand(eval="e", config={"model": "openai/gpt-4o-mini"})
    line = command.for_shard(Shard(0, 0, 1), "logs", "a/config.yaml")
    assert line[line.index("--run-config") + 1] == "a/config.yaml"


def test_task_arguments_keep_their_type():
    given = ["a=true", "b=null", "c=6-12", "d=[x, y]", "e=0.5", "f-f=x,y", "g=1e-3", "h=a=b"]
    command = EvalCommand.parse("e", given, None, [])
    assert command.task_args == parse_cli_args(given)
    assert command.task_args["f_f"] == ["x", "y"]
    line = command.for_shard(Shard(0, 0, 1), "logs", "config.yaml")
    written = [line[place + 1] for place, text in enumerate(line) if text == "-T"]
    assert parse_cli_args(written) == command.task_args


@pytest.mark.parametrize(
    ("limit", "samples"),
    [(None, (0, 200)), ("10", (0, 10)), ("5-9", (4, 9)), ("60-999", (59, 200))],
)
def test_the_limit_is_of_the_samples_that_there_are(limit, samples):
    assert EvalCommand.parse("misstep/processbench.sample", [], limit, []).samples() == samples


@pytest.mark.parametrize(
    ("limit", "message"),
    [("0-50", "counted from 1"), ("9-5", "holds no sample"), ("ten", "a number, or a range")],
)
def test_a_limit_that_holds_nothing_is_refused(limit, message):
    with pytest.raises(MisstepError, match=message):
        EvalCommand.parse("misstep/processbench.sample", [], limit, [])


def test_a_limit_beyond_the_samples_is_refused():
    command = EvalCommand.parse("misstep/processbench.sample", [], "300-400", [])
    with pytest.raises(MisstepError, match="leaves none of 200 samples"):
        command.samples()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample-id", "a"], "one process"),
        (["--log-format=json"], ".eval logs"),
        (["--sample-shuffle", "--model", "x"], "a seed"),
    ],
)
def test_options_that_would_differ_between_parts_are_refused(options, message):
    with pytest.raises(MisstepError, match=message):
        EvalCommand.parse("misstep/processbench.sample", [], None, options)


def test_a_seeded_shuffle_is_the_same_in_every_part():
    EvalCommand.parse("misstep/processbench.sample", [], None, ["--sample-shuffle", "42"])
    EvalCommand.parse("misstep/processbench.sample", [], None, ["--sample-shuffle=42"])


def test_an_argument_without_a_value_is_refused():
    with pytest.raises(MisstepError, match="-T name=value"):
        EvalCommand.parse("misstep/processbench.sample", ["votes"], None, [])


def test_a_stream_of_samples_is_not_split():
    command = EvalCommand.parse("misstep/procedural", ["n=100000"], None, [])
    with pytest.raises(MisstepError, match="come while it runs"):
        command.samples()

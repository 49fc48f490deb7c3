import pytest
from inspect_ai._util.config import parse_cli_args

from misstep.registry import MisstepError
from misstep.runs import EvalCommand


def test_a_shard_runs_the_same_eval_on_its_own_samples():
    command = EvalCommand.parse(
        "misstep/processbench", ["votes=8", "subset=math"], None, ["--model", "openai/gpt-4o-mini"]
    )
    line = command.eval_arguments("11-20", "logs/x.shards/1", "config.yaml")
    assert line == [
        "eval",
        "misstep/processbench",
        *("-T", "votes=8", "-T", "subset=math"),
        # Nobody watches a worker.
        *("--no-log-realtime", "--no-score-display", "--ctl-server", "false"),
        *("--display", "log"),
        *("--model", "openai/gpt-4o-mini"),
        *("--limit", "11-20", "--log-dir", "logs/x.shards/1"),
    ]


def test_an_eval_is_named_as_misstep_list_names_it():
    assert EvalCommand.parse("processbench.sample", [], None, []).eval == (
        "misstep/processbench.sample"
    )
    for other in ("misstep/processbench", "evals/processbench.py", "other/processbench"):
        assert EvalCommand.parse(other, [], None, []).eval == other
    with pytest.raises(MisstepError, match=r"Unknown eval 'procesbench'.* 'processbench'"):
        EvalCommand.parse("procesbench", [], None, []).load_dataset()


def test_a_run_configuration_is_passed_on():
    command = EvalCommand(eval="e", config={"model": "openai/gpt-4o-mini"})
    line = command.eval_arguments("1-1", "logs", "a/config.yaml")
    assert line[line.index("--run-config") + 1] == "a/config.yaml"


def test_task_arguments_keep_their_type():
    given = ["a=true", "b=null", "c=6-12", "d=[x, y]", "e=0.5", "f-f=x,y", "g=1e-3", "h=a=b"]
    command = EvalCommand.parse("e", given, None, [])
    assert command.task_args == parse_cli_args(given)
    assert command.task_args["f_f"] == ["x", "y"]
    line = command.eval_arguments("1-1", "logs", "config.yaml")
    written = [line[place + 1] for place, text in enumerate(line) if text == "-T"]
    assert parse_cli_args(written) == command.task_args


@pytest.mark.parametrize(
    ("limit", "samples"),
    [(None, (0, 200)), ((0, 10), (0, 10)), ((4, 9), (4, 9)), ((59, 999), (59, 200))],
)
def test_the_limit_is_of_the_samples_that_there_are(limit, samples):
    command = EvalCommand.parse("misstep/processbench.sample", [], limit, [])
    assert command.sample_range(len(command.load_dataset())) == samples


def test_a_limit_beyond_the_samples_is_refused():
    command = EvalCommand.parse("misstep/processbench.sample", [], (299, 400), [])
    with pytest.raises(MisstepError, match="leaves none of 200 samples"):
        command.sample_range(200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample-id", "a"], "`inspect eval`"),
        (["--log-format=json"], ".eval logs"),
        (["--sample-shuffle", "--model", "x"], "a seed"),
        # Inspect reads these as no and yes, so every part would shuffle its own way.
        (["--sample-shuffle", "0"], "a seed of 2 or more"),
        (["--sample-shuffle=1"], "a seed of 2 or more"),
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
    with pytest.raises(MisstepError, match="generated while it runs"):
        command.load_dataset()


@pytest.mark.parametrize(
    ("total", "workers", "share"), [(64, 2, 32), (64, 3, 21), (3, 8, 1), (None, 2, None)]
)
def test_connections_are_shared_among_workers(total, workers, share):
    command = EvalCommand.parse("e", [], None, ["--model", "m"], total).shared_among(workers)
    assert command.max_connections == share
    line = command.eval_arguments("1-1", "logs", "config.yaml")
    assert ("--max-connections" in line) is (share is not None)
    assert share is None or line[line.index("--max-connections") + 1] == str(share)


def test_connections_of_a_configuration_are_shared_among_workers():
    config = {
        "model": {"model": "m", "config": {"max_connections": 7}},
        "generate_config": {"max_connections": 32, "temperature": 0.5},
    }
    assert EvalCommand(eval="e", config=config).shared_among(4).config == {
        "model": {"model": "m", "config": {"max_connections": 1}},
        "generate_config": {"max_connections": 8, "temperature": 0.5},
    }


def test_a_resumed_part_has_its_share_of_connections_too():
    command = EvalCommand(eval="e", max_connections=64).shared_among(2)
    line = command.retry_arguments("a.eval", "logs")
    assert line[line.index("--max-connections") + 1] == "32"
    config = {"generate_config": {"max_connections": 10}}
    line = EvalCommand(eval="e", config=config).shared_among(2).retry_arguments("a.eval", "logs")
    assert line[line.index("--max-connections") + 1] == "5"


def digest(**config):
    return EvalCommand(eval="e", config=config).digest


@pytest.mark.parametrize(
    "config",
    [
        {"tags": ["a"]},
        {"metadata": {"a": 1}},
        {"generate_config": {"max_connections": 9, "max_retries": 3, "timeout": 60}},
        {"generate_config": {"adaptive_connections": False, "cache": True, "batch": True}},
        {"eval_config": {"log_buffer": 1, "log_realtime": False, "max_samples": 3}},
        {"eval_config": {"retry_on_error": 2, "score_display": False}},
        {"model": {"base_url": "http://elsewhere/v1"}},
        {"model": {"config": {"max_connections": 3}}},
        {"model_roles": {"reward": {"base_url": "http://elsewhere/v1"}}},
    ],
)
def test_what_cannot_change_results_does_not_change_the_digest(config):
    assert digest(**config) == digest()
    assert EvalCommand(eval="e", max_connections=9).digest == digest()


@pytest.mark.parametrize(
    "config",
    [
        {"generate_config": {"temperature": 1}},
        {"generate_config": {"extra_body": {"cache": True}}},
        {"eval_config": {"epochs": 2}},
        {"eval_config": {"fail_on_error": False}},
        {"model": {"model": "b"}},
        {"model": {"args": {"timeout": 3}}},
        {"model_roles": {"reward": {"model": "b"}}},
    ],
)
def test_what_can_change_results_changes_the_digest(config):
    assert digest(**config) != digest()

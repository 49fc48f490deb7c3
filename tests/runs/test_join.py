import pytest
from inspect_ai import eval as run_task
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import get_model

from misstep.registry import MisstepError
from misstep.runs import Archive, join_logs, split
from tests.support.openai_server import OpenAIServer, critic

SAMPLES = 24


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run ProcessBench's sample, or a part of it, against a server that always says the same."""
    folder = tmp_path_factory.mktemp("logs")
    with OpenAIServer(critic) as server:
        model = get_model(
            "openai-api/local/critic", base_url=server.url, api_key="x", memoize=False
        )

        def run(limit, **options):
            [log] = run_task(
                "misstep/processbench.sample",
                task_args={"votes": 4},
                model=model,
                limit=limit,
                log_dir=str(folder),
                display="log",
                **options,
            )
            return log

        yield run


def header(location):
    return read_eval_log(location, header_only=True)


def join(parts, location, limit=None):
    with Archive() as archive:
        return join_logs(archive, parts, str(location), limit)


@pytest.fixture(scope="module")
def parts(run):
    return [
        (shard, header(run((shard.start, shard.stop)).location)) for shard in split(0, SAMPLES, 3)
    ]


@pytest.fixture(scope="module")
def whole(run):
    return read_eval_log(run((0, SAMPLES)).location)


@pytest.fixture(scope="module")
def joined(parts, tmp_path_factory):
    location = tmp_path_factory.mktemp("joined") / "joined.eval"
    join(parts, location, (0, SAMPLES))
    return read_eval_log(str(location))


def test_figures_equal_those_of_the_unsplit_run_to_the_last_digit(joined, whole):
    assert joined.results.scores == whole.results.scores
    assert joined.results.total_samples == whole.results.total_samples == SAMPLES
    assert joined.results.completed_samples == whole.results.completed_samples
    assert joined.reductions == whole.reductions


def test_samples_equal_those_of_the_unsplit_run(joined, whole):
    def what(log):
        return [
            (s.id, s.epoch, s.input, s.target, s.output.choices, s.scores, s.metadata)
            for s in sorted(log.samples, key=lambda sample: sample.id)
        ]

    def plain(rows):
        return [[str(value) for value in row[:4]] + [row[6]] for row in rows]

    assert plain(what(joined)) == plain(what(whole))
    for ours, theirs in zip(what(joined), what(whole), strict=True):
        assert {k: (v.value, v.answer) for k, v in ours[5].items()} == {
            k: (v.value, v.answer) for k, v in theirs[5].items()
        }


def test_usage_is_summed(joined, whole, parts):
    assert joined.stats.model_usage == whole.stats.model_usage
    starts = [log.stats.started_at for _, log in parts]
    assert joined.stats.started_at == min(starts)


def test_it_says_what_it_was_joined_from(joined, whole):
    assert joined.eval.dataset.sample_ids == whole.eval.dataset.sample_ids
    assert joined.eval.config.limit == whole.eval.config.limit
    ledger = joined.eval.shards.ledger
    assert [entry.shard for entry in ledger] == ["0", "1", "2"]
    assert sum(entry.samples for entry in ledger) == SAMPLES


def test_a_sample_that_is_missing_is_named_and_nothing_is_written(parts, tmp_path):
    shard, log = parts[1]
    log = read_eval_log(log.location)
    log.samples = log.samples[1:]
    write_eval_log(log, tmp_path / "short.eval")
    location = tmp_path / "joined.eval"
    broken = [parts[0], (shard, header(tmp_path / "short.eval")), parts[2]]
    with pytest.raises(MisstepError, match=r"shard 1 \(samples 9-16\) is not whole: .* 7 of 8"):
        join(broken, location)
    assert not location.exists()


def test_logs_of_different_runs_are_not_joined(parts, tmp_path):
    shard, log = parts[1]
    log = read_eval_log(log.location)
    log.eval.model = "openai/another"
    write_eval_log(log, tmp_path / "other.eval")
    with pytest.raises(MisstepError, match=r"not parts of one run: the model .*openai/another"):
        join([parts[0], (shard, header(tmp_path / "other.eval"))], tmp_path / "j.eval")


def test_a_part_twice_is_no_whole(parts, tmp_path):
    twice = [parts[0], (parts[1][0], parts[0][1])]
    with pytest.raises(MisstepError, match="more than one shard"):
        join(twice, tmp_path / "j.eval")

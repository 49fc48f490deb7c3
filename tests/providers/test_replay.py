import gzip
import json

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ContentReasoning, GenerateConfig, get_model
from inspect_ai.solver import solver

from misstep.providers import set_call_purpose
from misstep.registry import MisstepError, ModelError


@pytest.fixture
def record(tmp_path):
    """Return a function that writes records to a file and returns the name of the model."""

    def write(*records, name="outputs.jsonl"):
        path = tmp_path / name
        lines = (line if isinstance(line, str) else json.dumps(line) for line in records)
        path.write_text("\n".join(lines) + "\n")
        return f"replay/{path}"

    return write


@pytest.fixture
def replay(tmp_path):
    """Return a function that runs one eval on recorded outputs and returns its log.

    Each sample makes the given calls and keeps their outputs in its store.
    """

    def run(model, ids, calls=None, epochs=1):
        @solver
        def ask():
            async def solve(state, generate):
                outputs = []
                for call in calls or [{}]:
                    config = GenerateConfig(num_choices=call.get("n"))
                    with set_call_purpose(call.get("vote", 0), call.get("step")):
                        output = await get_model().generate("?", config=config)
                    outputs.append(output)
                state.store.set("outputs", outputs)
                return state

            return solve

        samples = [Sample(input="?", id=i) for i in ids]
        (log,) = eval(
            Task(dataset=samples, solver=ask()),
            model=model,
            epochs=epochs,
            display="none",
            log_dir=str(tmp_path / "logs"),
            log_realtime=False,
        )
        return log

    return run


def outputs(log, index=0):
    return log.samples[index].store["outputs"]


def completions(log):
    return [[o["completion"] for o in outputs(log, i)] for i in range(len(log.samples))]


def choices(output):
    return [choice["message"]["content"] for choice in output["choices"]]


def test_text_is_found_by_the_id_of_the_running_sample(record, replay):
    usage = {"input_tokens": 5, "output_tokens": 2}
    model = record(
        {"id": "math-1", "text": "first", "usage": usage, "stop_reason": "max_tokens"},
        {"id": 2, "text": "second [/] {}", "reasoning": "because"},
    )
    log = replay(model, ["math-1", "2"])
    assert log.status == "success"
    second, first = (output for i in range(2) for output in outputs(log, i))  # sorted by id
    assert [first["completion"], second["completion"]] == ["first", "second [/] {}"]
    assert first["choices"][0]["stop_reason"] == "max_tokens"
    assert first["usage"]["total_tokens"] == 7
    assert second["usage"]["total_tokens"] == 0
    thought = ContentReasoning.model_validate(choices(second)[0][0])
    assert thought.reasoning == "because"


def test_a_record_is_found_by_its_vote_and_step(record, replay):
    model = record(
        {"id": 1, "texts": ["a", "b", "c"], "usage": {"output_tokens": 9}},
        {"id": 1, "step": 0, "text": "step zero"},
        {"id": 1, "step": 4, "texts": ["four", "quatre"]},
    )
    calls = [{"n": 2}, {"vote": 2}, {"step": 0}, {"vote": 1, "step": 4}, {}]
    log = replay(model, [1], calls)
    assert [choices(output) for output in outputs(log)] == [
        ["a", "b"],
        ["c"],
        ["step zero"],
        ["quatre"],
        ["a"],
    ]
    assert [output["usage"]["output_tokens"] for output in outputs(log)] == [9, 0, 0, 0, 9]


def test_each_epoch_takes_the_next_vote(record, replay):
    log = replay(record({"id": 1, "texts": ["a", "b"]}), [1], epochs=2)
    assert sorted(completions(log)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({}, "nothing is recorded for id 'x'."),
        ({"step": 3}, "nothing is recorded for id 'x', step 3."),
    ],
)
def test_a_missing_record_is_named_with_its_file(record, replay, call, message):
    log = replay(record({"id": "y", "text": "a"}), ["x"], [call])
    assert log.status == "error"
    assert message in log.error.message
    assert "outputs.jsonl" in log.error.message


def test_a_missing_step_names_the_recorded_ones(record, replay):
    log = replay(record({"id": 1, "step": 2, "text": "a"}), [1])
    assert "nothing is recorded for id '1' (recorded: step 2)" in log.error.message


def test_too_few_texts_name_both_numbers(record, replay):
    log = replay(record({"id": 1, "texts": ["a", "b"]}), [1], [{"n": 3}])
    assert "line 1: id '1' has 2 texts, and 3 are needed" in log.error.message


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"id": 1, "text": "a"'], "line 1: not valid JSON"),
        (['{"id": 1, "text": "a"}', "", "[1]"], "line 3: [1] is not a JSON object."),
        (['{"id": 1, "txt": "a"}'], "line 1: unknown key 'txt'. Did you mean 'text'?"),
        (
            ['{"id": 1, "text": "a", "usage": {"input": 1}}'],
            "usage.input: Input should be 'input_tokens'",
        ),
        (['{"text": "a"}'], "line 1: id: Field required."),
        (['{"id": 1}'], "give one of 'text', 'texts' and 'scores'."),
        (['{"id": 1, "text": "a", "texts": ["b"]}'], "give one of 'text', 'texts' and 'scores'."),
        (['{"id": 1, "texts": []}'], "texts: List should have at least 1 item"),
        (['{"id": 1, "text": "a", "step": -1}'], "step: Input should be greater than or equal"),
        (
            ['{"id": 1, "texts": ["a"], "reasoning": "b"}'],
            "with 'texts', 'reasoning' is a list of the same length",
        ),
        (['{"id": 1, "scores": [0.5, NaN]}'], "scores.1: Input should be a finite number."),
        (
            ['{"id": 1, "text": "a"}', '{"id": "1", "text": "b"}'],
            "line 2: id '1', the whole sample: already recorded on",
        ),
        (
            ['{"id": 1, "text": "a", "step": 0}', '{"id": 1, "text": "b", "step": 0}'],
            "line 2: id '1', step 0: already recorded on line 1",
        ),
        (['{"id": 1, "scores": [1]}'] * 2, "line 2: id '1', scores: already recorded on line 1"),
        ([""], "holds no records"),
    ],
)
def test_an_invalid_record_names_its_line_when_the_model_is_created(record, lines, message):
    with pytest.raises(MisstepError) as caught:
        get_model(record(*lines))
    assert message in str(caught.value)


def test_compressed_records_are_read(record, replay, tmp_path):
    record({"id": 1, "text": "a"})
    packed = tmp_path / "outputs.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "outputs.jsonl").read_bytes()))
    assert completions(replay(f"replay/{packed}", [1])) == [["a"]]


def test_bytes_that_are_not_utf_8_name_their_line(tmp_path):
    path = tmp_path / "outputs.jsonl"
    path.write_bytes(b'{"id": 1, "text": "a"}\n{"id": 2, "text": "\xff"}\n')
    with pytest.raises(MisstepError, match="line 2: not UTF-8"):
        get_model(f"replay/{path}")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"none\.jsonl cannot be read: No such file"):
        get_model(f"replay/{tmp_path}/none.jsonl")


def test_replay_refuses_model_arguments(record):
    with pytest.raises(ModelError, match=r"Unknown model argument 'slots'\. Allowed: none"):
        get_model(record({"id": 1, "text": "a"}), slots=1)


@pytest.mark.anyio
async def test_a_call_outside_of_a_sample_is_refused(record):
    model = get_model(record({"id": 1, "text": "a"}))
    with pytest.raises(ModelError, match="the sample that is running, and none is"):
        await model.generate("?")


def test_a_changed_file_is_read_again(record, replay):
    assert completions(replay(record({"id": 1, "text": "a"}), [1])) == [["a"]]
    changed = get_model(record({"id": 1, "text": "other"}), memoize=False)
    assert completions(replay(changed, [1])) == [["other"]]

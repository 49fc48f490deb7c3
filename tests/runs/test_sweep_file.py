import pytest

from misstep.registry import DataError, evals
from misstep.runs import read_sweep

GOOD = """
log_dir: logs/critics
evals: [misstep/processbench.sample]
models: [openai/gpt-4o-mini]
"""


@pytest.fixture
def sweep_file(tmp_path):
    def write(text):
        path = tmp_path / "sweep.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_name_alone_is_an_eval_or_a_model(sweep_file):
    sweep = read_sweep(sweep_file(GOOD))
    assert sweep.evals[0].eval == "misstep/processbench.sample"
    assert sweep.models[0].model == "openai/gpt-4o-mini"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evals: [a]\nmodels: [b]\n", "log_dir: Field required"),
        (GOOD + "seed: [1]\n", "seed: unknown. Did you mean 'seeds'"),
        (GOOD.replace("models: [openai/gpt-4o-mini]", "models: []"), "models: List should have"),
        (
            GOOD.replace("[openai/gpt-4o-mini]", "[{model: a, gpu: 1}]"),
            r"models\.0\.gpu: unknown. Did you mean 'gpus'",
        ),
        (GOOD + "generate_config: {temprature: 1}\n", "'temprature' is not a setting. Did you"),
        (
            GOOD + "generate_config: {temperature: hot}\n",
            r"generate_config\.temperature: Input should be a valid number",
        ),
        (GOOD.replace("[openai/gpt-4o-mini]", "[a, a]"), "two models are called 'a'"),
        (GOOD + "eval_config: {limit: 5}\n", "eval_config.limit: set `limit` for each eval"),
        ("- a\n", "is not a sweep"),
        ("a: [\n", "cannot read the sweep file"),
    ],
)
def test_a_mistake_is_told_with_its_place(sweep_file, text, message):
    with pytest.raises(DataError, match=message):
        read_sweep(sweep_file(text))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.yaml"):
        read_sweep(str(tmp_path / "none.yaml"))


def test_no_object_is_made_from_the_file(sweep_file):
    with pytest.raises(DataError, match="cannot read"):
        read_sweep(sweep_file(GOOD + "tags: !!python/object/apply:os.getcwd []\n"))


def test_a_suite_is_found_by_its_name_and_needs_a_model():
    with pytest.raises(DataError, match="process: it names no model"):
        read_sweep("process")
    suite = read_sweep("process", ["openai/a", "openai/b"], "http://x/v1", "there", 7)
    assert [model.model for model in suite.models] == ["openai/a", "openai/b"]
    assert {model.base_url for model in suite.models} == {"http://x/v1"}
    assert (suite.log_dir, suite.report) == ("there", "report.html")
    assert {one.limit for one in suite.evals} == {7}
    of_suite = {one.eval.removeprefix("misstep/") for one in suite.evals}
    assert of_suite >= {"processbench", "deltabench", "prmbench", "mr_ben", "mistake_finding"}
    assert of_suite <= set(evals())
    with pytest.raises(DataError, match="Suites: process"):
        read_sweep("proces")

import inspect
import subprocess
import sys

import pytest
from pydantic import Field

from benchmarks.sizes import WITHOUT_ROWS
from misstep.registry import RegistryError, domains, evals, find_domain, published, sizes, sources
from misstep.registry._facts import Fact, read_facts
from misstep.registry._sources import Source


class Part(Fact):
    amount: int


class Thing(Fact):
    colour: str
    parts: dict[str, Part] = Field(default_factory=dict)


def read(tmp_path, text, entry=Thing):
    (tmp_path / "things.yaml").write_text(text, encoding="utf-8")
    read_facts.cache_clear()
    return read_facts("things.yaml", dict[str, entry], tmp_path)


def test_a_good_file_is_read(tmp_path):
    things = read(tmp_path, "a: {colour: red, parts: {x: {amount: 2}}}")
    assert things["a"].parts["x"].amount == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: {color: red}", r"a\.color: unknown key\. Did you mean 'colour'\?"),
        ("a: {colour: red, parts: {x: {amuont: 2}}}", "Did you mean 'amount'"),
        ("a: {}", "a.colour: Field required"),
        ("a: {colour: 3}", r"a.colour: .*the value is 3"),
        ("a: [", "not valid YAML"),
        ("a: {colour: red}\na: {colour: blue}", "duplicate key 'a'"),
        ("- 1", "valid dictionary"),
        ("a: !!python/object/apply:os.system [echo]", "not valid YAML"),
    ],
)
def test_a_mistake_names_file_key_and_close_match(tmp_path, text, says):
    with pytest.raises(RegistryError, match=says) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "things.yaml") in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RegistryError, match=r"nothing\.yaml: cannot be read"):
        read_facts("nothing.yaml", dict[str, Thing], tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "a: {description: d, kind: first_error, home: hub, licence: x, files: []}",
            "at least 1 item",
        ),
        (
            "a: {description: d, kind: first_error, home: hub, licence: x,"
            " files: [{path: p.json, rows: 1, sha256: 123}]}",
            "sha256",
        ),
        (
            "a: {description: d, kind: first_error, home: hub, repository: o/r, licence: x,"
            " files: [{path: p.json, rows: 1}]}",
            "sha256 is needed because no GitHub commit",
        ),
        (
            "a: {description: d, kind: first_error, home: github, repository: o/r, revision: main,"
            " licence: x, files: [{path: p.json, rows: 1}]}",
            "must be a full commit",
        ),
        (
            "a: {description: d, kind: first_error, home: hub, repository: o/r, licence: x,"
            " files: [{path: p.json, rows: 3, subsets: {x: 1, y: 1}}]}",
            "the subsets have 2 rows of 3",
        ),
    ],
)
def test_a_source_without_pins_is_refused(tmp_path, text, says):
    with pytest.raises(RegistryError, match=says):
        read(tmp_path, text, Source)


def test_every_file_of_the_registry_is_sound():
    assert set(domains()) == {"mathematics", "generic", "science", "programming", "agent"}
    assert {"processbench", "sample", "deltabench"} <= set(sources())
    assert {"processbench", "deltabench", "deltabench_sections"} <= set(evals())
    known = {"processbench_paper", "qwen_prm_report", "deltabench_leaderboard", "prmbench_paper"}
    assert known <= set(published())


@pytest.mark.parametrize(
    ("domain", "temperature", "voting", "max_tokens"),
    [
        ("mathematics", 0.0, 0.7, 4096),
        ("science", 0.0, 0.7, 4096),
        ("generic", 0.0, 0.7, 4096),
        ("programming", 0.0, 0.8, 8192),
    ],
)
def test_domains_have_the_guides_settings(domain, temperature, voting, max_tokens):
    found = find_domain(domain)
    settings = (found.temperature, found.voting_temperature, found.max_tokens)
    assert settings == (temperature, voting, max_tokens)


def test_published_f1_scores_follow_from_their_accuracies():
    for table in published().values():
        for model, result in table.results.items():
            assert result.protocol in table.protocols
            kinds = (result.mean_f1 is None, result.overall is None, not result.metrics)
            assert kinds.count(False) == 1, model
            if result.mean_f1 is None:
                continue
            mean = sum(cell.f1 for cell in result.subsets.values()) / len(result.subsets)
            assert mean == pytest.approx(result.mean_f1, abs=0.06), model
            for cell in result.subsets.values():
                if cell.error is not None:
                    f1 = 2 * cell.error * cell.correct / (cell.error + cell.correct)
                    assert f1 == pytest.approx(cell.f1, abs=0.16), model


def test_published_results_of_agents():
    judges = published()["agentprocessbench_paper"].results
    assert len(judges) == 20
    assert judges["Llama-3.2-3B-Instruct"].metrics["hotpotqa_first_error_accuracy"] == 58.4
    sets = ("hotpotqa", "gaia_dev", "bfcl", "tau2")
    for model, judge in judges.items():
        # Every set has 250 trajectories.
        mean = sum(judge.metrics[f"{name}_first_error_accuracy"] for name in sets) / 4
        assert mean == pytest.approx(judge.metrics["first_error_accuracy"], abs=0.11), model
    [first, *others] = published()["who_and_when_paper"].results.values()
    assert first.metrics["Hand-Crafted_step_accuracy"] == 5.26
    assert len(others) == 5


def test_sizes_are_those_of_the_sources():
    known = sizes()
    files = sources()["processbench"].files
    assert known["processbench"].samples == sum(file.rows for file in files)
    for file in files:
        assert known[f"processbench.{file.subset}"].samples == file.rows
    sample = sources()["sample"]
    assert known["processbench.sample"].samples == sample.files[0].rows + sample.generated.rows
    for name in ("deltabench", "deltabench_sections"):
        [file] = sources()["deltabench"].files
        assert known[name].samples == file.rows
        for short, variant in evals.bundled()[name].variants.items():
            assert known[f"{name}.{short}"].samples == file.subsets[variant.args["subset"]]


def test_estimated_prompt_tokens_are_a_third_of_the_characters(real_rows):
    from misstep.solvers import critique_prompt

    for subset, rows in real_rows.items():
        prompts = (critique_prompt(find_domain("mathematics"), r.problem, r.steps) for r in rows)
        estimate = sizes()[f"processbench.{subset}"].prompt_tokens
        assert estimate == pytest.approx(sum(map(len, prompts)) / 3, rel=0.05)


def test_the_size_of_error_recovery_is_that_of_the_published_eval():
    # Its report has 4,386,440 tokens for one model and 4,750,781 for another.
    assert 4_386_440 <= sizes()["error-recovery"].tokens <= 4_750_781


def test_every_variant_has_a_size_and_arguments_that_its_task_has():
    import misstep.evals

    names = []
    for name, entry in evals.bundled().items():
        names.append(name)
        task = getattr(misstep.evals, name.replace("-", "_"))
        parameters = inspect.signature(task).parameters
        for short, variant in entry.variants.items():
            names.append(f"{name}.{short}")
            assert variant.args.keys() <= parameters.keys(), short
    # After a change of evals.yaml, `make sizes` measures the sizes again.
    assert list(sizes()) == [name for name in names if name not in WITHOUT_ROWS]


def test_variants_are_registered_with_their_own_defaults():
    from inspect_ai.util import registry_create

    import misstep.registry.entry_point  # noqa: F401

    task = registry_create("task", "misstep/processbench.sample")
    assert len(task.dataset) == 200
    assert task.name == "misstep/processbench.sample"


NAMES = {
    "solver": "continuation critique recorded sections_critique stepwise",
    "scorer": "detections error_sections error_sections_published final_answer first_error "
    "first_error_lenient recovery recovery_lenient",
    "score_reducer": "vote misstep/vote",
}


def test_the_entry_point_alone_makes_every_name_known_to_inspect():
    code = (
        "import misstep.registry.entry_point\n"
        "from inspect_ai.model import get_model\n"
        "from inspect_ai.util import registry_create\n"
        f"for kind, names in {NAMES!r}.items():\n"
        "    for name in names.split():\n"
        "        registry_create(kind, name if kind == 'score_reducer' else 'misstep/' + name)\n"
        "get_model('imported/x')\n"
        "get_model('offline/rules')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_entry_point_brings_in_nothing_heavy():
    code = (
        "import sys; import misstep.registry.entry_point; "
        "heavy = {'datasets', 'pyarrow', 'torch', 'huggingface_hub', 'xllamacpp', 'numpy'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

"""A user's own registry adds entries to that of the package."""

import json
from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai.util import registry_create

from misstep.loaders import load_rows
from misstep.registry import (
    DataError,
    RegistryError,
    UnknownNameError,
    domains,
    evals,
    find_domain,
    find_prm,
    find_run_config,
    find_source,
    price_of,
    prms,
    register_variants,
    run_configs,
    user_registry,
)

PRICE = "openai/gpt-4o-mini: {input: 1, output: 2, source: our contract, date: 2026-11-18}"
DOMAIN = r"""
physics:
  template: "Where is the first error?\n{problem}\n{tagged_response}\nAnswer in \\boxed{}."
  tag: step
  temperature: 0
  voting_temperature: 0.5
  max_tokens: 64
"""
SOURCE = """
sums:
  description: Three sums.
  kind: first_error
  home: file
  licence: MIT
  rows_alone: true
  files: [{path: rows/sums.jsonl, rows: 3}]
"""
VARIANT = """
processbench:
  variants:
    sums: {description: Three sums., args: {source: sums, domain: physics}}
"""


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """Return a function that writes a file of the user's registry."""
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("MISSTEP_REGISTRY", str(folder))

    def write(name: str, text: str) -> Path:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return write


def test_a_domain_is_found_beside_those_of_the_package(registry):
    registry("domains.yaml", DOMAIN)
    assert find_domain("physics").max_tokens == 64
    assert [*domains()][-2:] == ["agent", "physics"]


def test_a_price_replaces_the_list_price(registry):
    registry("prices.yaml", PRICE)
    assert price_of("openai/gpt-4o-mini").source == "our contract"
    assert price_of("openai/gpt-4o").input == 2.5


def test_a_reward_model_is_found_by_its_name(registry):
    known = prms()["qwen2.5-math-prm-7b"].model_dump(exclude_none=True)
    registry("prms.yaml", json.dumps({"my-prm": known | {"repository": "me/my-prm"}}))
    assert find_prm("my-prm").repository == "me/my-prm"


def test_a_variant_runs_on_a_source_whose_path_is_relative_to_the_registry(registry, own_file):
    registry("domains.yaml", DOMAIN)
    registry("evals.yaml", VARIANT)
    registry("sources.yaml", SOURCE)
    registry("rows/sums.jsonl", own_file.read_text())
    from misstep.evals import processbench

    register_variants(processbench)
    task = registry_create("task", "misstep/processbench.sums")
    assert [sample.id for sample in task.dataset] == ["a", "b", "c"]
    assert "sums" not in evals.bundled()["processbench"].variants


def test_a_source_on_this_machine_is_checked_against_its_pins(registry, own_file):
    registry("sources.yaml", SOURCE.replace("rows: 3", "rows: 4"))
    with pytest.raises(DataError, match=r"sums.jsonl: no such file. The source 'sums'"):
        load_rows("sums")
    registry("rows/sums.jsonl", own_file.read_text())
    with pytest.raises(DataError, match=r"(?s)expected 4 rows.*found    3 rows"):
        load_rows("sums")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("price.yaml", PRICE, r"unknown registry file. Did you mean 'prices.yaml'\?"),
        ("published.yml", "{}", r"unknown registry file. .*Allowed: domains.yaml, evals.yaml"),
        ("prices.yaml", PRICE.replace("input", "inptu"), "inptu: unknown key. Did you mean"),
        ("domains.yaml", DOMAIN.replace("{problem}", ""), "must contain {problem} exactly once"),
        ("domains.yaml", DOMAIN.replace("physics", "science"), "misstep itself has a domain of"),
        ("sources.yaml", SOURCE.replace("rows_alone: true", ""), "sha256 is needed"),
        ("evals.yaml", VARIANT.replace("processbench:", "procesbench:"), "Did you mean 'process"),
        ("evals.yaml", VARIANT.replace("sums:", "sample:"), "has a variant of processbench of"),
        ("evals.yaml", VARIANT.replace("args:", "arg:"), "arg: unknown key. Did you mean 'args'"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_users_file(registry, file, text, says):
    path = registry(file, text)
    read = {"domains.yaml": domains, "evals.yaml": evals, "sources.yaml": lambda: find_source("x")}
    with pytest.raises(RegistryError, match=says) as caught:
        read.get(file, lambda: price_of("x"))()
    assert str(caught.value).startswith(str(path))


def test_a_folder_that_is_named_and_missing_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("MISSTEP_REGISTRY", str(tmp_path / "none"))
    with pytest.raises(RegistryError, match=r"none: no such folder\. MISSTEP_REGISTRY must name"):
        domains()


def test_the_default_folder_is_in_the_users_configuration_and_need_not_exist(monkeypatch, tmp_path):
    monkeypatch.delenv("MISSTEP_REGISTRY", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_registry() == tmp_path / ".config" / "misstep"
    assert "physics" not in domains()
    user_registry().mkdir(parents=True)
    (user_registry() / "domains.yaml").write_text(DOMAIN, encoding="utf-8")
    assert "physics" in domains()


def test_a_mistake_leaves_the_other_tasks_registered_and_stops_the_run(registry, caplog):
    from misstep.evals import procedural

    path = registry("evals.yaml", VARIANT.replace("args:", "arg:"))
    register_variants(procedural)
    assert f"{path}:" in caplog.text
    with pytest.raises(RegistryError, match="unknown key"):
        registry_create("task", "misstep/procedural.small")


def test_a_variant_with_an_argument_that_the_task_lacks_is_refused(registry):
    path = registry("evals.yaml", VARIANT.replace("source:", "sauce:"))

    def processbench(source: str | None = None) -> Task:
        raise AssertionError("not made")

    processbench.__module__ = "elsewhere"
    register_variants(processbench)
    says = f"{path}: processbench.variants.sums.args.sauce: unknown argument. Did you mean 'source'"
    with pytest.raises(RegistryError, match=says):
        registry_create("task", "processbench.sums")


def test_run_configurations_of_both_are_found_by_name(registry):
    path = registry("runs/mine.yaml", "# My settings:\ntask: {task: misstep/processbench}\n")
    assert find_run_config("mine").path == path
    assert run_configs()["mine"].description == "My settings"
    assert find_run_config("processbench-paper-greedy").path.is_file()
    with pytest.raises(UnknownNameError, match="Did you mean 'processbench-paper-maj8'"):
        find_run_config("processbench-paper-maj")
    registry("runs/processbench-paper-maj8.yaml", "")
    with pytest.raises(RegistryError, match="has a run configuration of this name"):
        run_configs()

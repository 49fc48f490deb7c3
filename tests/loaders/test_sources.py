import json
import shutil
from hashlib import sha256

import pytest

from misstep.generator import solutions
from misstep.loaders import fetch, first_error_dataset, load_rows, mirror
from misstep.registry import DataError, UnknownNameError, sources


@pytest.fixture
def copied(real_data, tmp_path, monkeypatch):
    """An offline mirror of one's own with a single file."""
    (tmp_path / "processbench").mkdir()
    shutil.copy(real_data / "processbench" / "gsm8k.json", tmp_path / "processbench")
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path / "processbench" / "gsm8k.json"


@pytest.mark.parametrize(("subset", "rows", "errors"), [("gsm8k", 400, 207), ("math", 1000, 594)])
def test_real_rows_are_those_of_the_paper(real_rows, subset, rows, errors):
    assert len(real_rows[subset]) == rows
    assert sum(row.label != -1 for row in real_rows[subset]) == errors
    assert {row.subset for row in real_rows[subset]} == {subset}
    assert real_rows[subset][0].id == f"{subset}-0"


def test_a_changed_copy_stops_the_run_and_can_be_accepted(copied):
    changed = copied.read_bytes().replace(b"flamingos", b"pelicans")
    copied.write_bytes(changed)
    found = sha256(changed).hexdigest()
    with pytest.raises(DataError, match=f"found    sha256 {found}") as caught:
        load_rows("processbench", "gsm8k")
    assert f"-T accept={found}" in str(caught.value)
    assert sources()["processbench"].files[0].sha256 in str(caught.value)
    assert len(load_rows("processbench", "gsm8k", accept=found)) == 400


def test_an_accepted_copy_with_other_counts_is_warned_of(copied, caplog):
    import json

    rows = json.loads(copied.read_bytes())[:10]
    copied.write_text(json.dumps(rows), encoding="utf-8")
    accept = sha256(copied.read_bytes()).hexdigest()
    assert len(load_rows("processbench", "gsm8k", accept=accept)) == 10
    assert "10 rows" in caplog.text


def test_a_file_that_is_nowhere_names_every_place_and_the_cure(copied):
    with pytest.raises(DataError) as caught:
        load_rows("processbench", "olympiadbench")
    message = str(caught.value)
    assert str(copied.parent / "olympiadbench.json") in message
    assert "data set Qwen/ProcessBench" in message
    assert "misstep data fetch processbench" in message


def test_unknown_names_list_the_close_ones():
    with pytest.raises(UnknownNameError, match="Did you mean 'processbench'"):
        load_rows("procesbench")
    with pytest.raises(UnknownNameError, match="Did you mean 'omnimath'"):
        load_rows("processbench", "omni-math")


def test_reported_label_errors_stay_unless_told_otherwise(real_data, caplog):
    assert "math-688" in [s.id for s in first_error_dataset("processbench", "math")]
    cleaned = first_error_dataset("processbench", "math", exclude_label_errors=True)
    assert len(cleaned) == 999
    assert "math-688" not in [s.id for s in cleaned]
    assert (
        "Left out because of wrong labels: math-688 (issue 9 of QwenLM/ProcessBench)" in caplog.text
    )


def test_the_embedded_sample_needs_no_mirror(monkeypatch, tmp_path):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    dataset = first_error_dataset("sample")
    assert len(dataset) == 200
    assert len(first_error_dataset("sample", "science")) == 16
    assert {s.metadata["subset"] for s in dataset} == {
        "arithmetic",
        "algebra_geometry",
        "science",
        "programming",
        "generated",
    }


def test_the_sample_is_widened_by_generated_rows_that_stay_apart():
    dataset = first_error_dataset("sample", order="published")
    assert all(sample.metadata["subset"] != "generated" for sample in dataset[:64])
    generated = first_error_dataset("sample", "generated", order="published")
    assert [sample.id for sample in dataset[64:]] == [sample.id for sample in generated]
    for sample, one in zip(generated, solutions(1, 136), strict=True):
        assert (sample.input, int(sample.target)) == (one.problem, one.label)
        assert sample.metadata["steps"] == one.steps
        assert sample.metadata["family"] == one.family
    assert sum(sample.metadata["has_error"] for sample in generated) == 68


def test_without_a_variable_the_mirror_is_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("MISSTEP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert mirror() == tmp_path / "misstep" / "data"


def test_what_comes_with_the_package_is_not_fetched():
    with pytest.raises(DataError, match="nothing to fetch"):
        list(fetch("sample"))


def test_without_a_network_the_hub_is_asked_once(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"http://127.0.0.1:9 cannot be reached"):
        load_rows("processbench", "omnimath")
    assert "Retry" not in caplog.text


def test_several_sources_are_one_set_whose_subsets_are_named_after_them(real_data):
    single = {name: load_rows(name) for name in ("mathcheck", "mr_math")}
    dataset = first_error_dataset(["mathcheck", "mr_math"])
    assert dataset.name == "mathcheck+mr_math"
    subsets = {sample.metadata["subset"] for sample in dataset}
    kinds = {f"mathcheck-{row.subset}" for row in single["mathcheck"]}
    assert subsets == kinds | {"mr_math"}
    assert len(dataset) == sum(map(len, single.values()))
    chosen = first_error_dataset(["mathcheck", "mr_math"], ["mr_math"])
    assert {sample.id for sample in chosen} == {row.id for row in single["mr_math"]}
    with pytest.raises(UnknownNameError, match="Did you mean 'mr_math'"):
        first_error_dataset(["mathcheck", "mr_math"], "mr_maths")


def test_rows_of_two_files_with_the_same_ids_stay_apart(tmp_path):
    row = {"id": "one", "problem": "p", "steps": ["a", "b"], "label": 0}
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for number, file in enumerate(files):
        file.write_text(json.dumps(row | {"problem": f"p{number}"}), encoding="utf-8")
    dataset = first_error_dataset([str(file) for file in files])
    assert {sample.id for sample in dataset} == {"a.jsonl-one", "b.jsonl-one"}
    assert {sample.metadata["subset"] for sample in dataset} == {"a.jsonl", "b.jsonl"}


def test_every_source_has_its_pins_or_says_what_it_lacks():
    lacking = {name: source.lacks for name, source in sources().items() if source.lacks}
    assert lacking["deltabench"] == "no sha256 of the file; the commit pins it"
    assert lacking["math500"].endswith("only the rows are counted")
    assert lacking["processbench"] == "no revision; the sha256 of each file pins it"
    for name, source in sources().items():
        known = all(file.sha256 for file in source.files)
        known = known and bool(source.revision or source.home in ("package", "file"))
        assert known == (name not in lacking), name

"""Published wording is read from the authors' files, checked, and never executed."""

import ast
import json
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.loaders import _wording, published_wording
from misstep.loaders._wording import Template, text_sha256
from misstep.registry import DataError, WordingFile, WordingSource, WordingText, wordings

ORIGINAL = '''
"""A file as the authors might write it."""
import os, textwrap
os.abort()  # reading must not execute this

RUBRIC = ("Judge each step. "
          'Braces {stay} as they are.')
PARTS = dict(system=RUBRIC, examples=[("q1", "a1"), ("q2", 'a' + "2")])
DEDENTED = {"content": textwrap.dedent("""\\
    one
      two""")}

def ask(item, steps):
    prompt = f"Question: {item['q']}\\nBraces {{x}}\\n" "The steps:\\n" + steps + "\\nEnd"
    messages = [{"role": "system", "content": RUBRIC}, {"role": "user", "content": prompt}]
    prompt = f"Second: {steps!r}"
    return "Last " + f"{steps}"
'''


def entry(text: WordingText) -> WordingSource:
    return WordingSource(
        repository="authors/code",
        revision="0" * 40,
        licence="none stated",
        files=[WordingFile(path="src/prompts.py", texts={"it": text})],
    )


@pytest.fixture
def reading(tmp_path, monkeypatch):
    """Return a function that reads a text of ORIGINAL, pinned to what it is expected to be."""
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "prompts.py").write_text(ORIGINAL)

    def read(expected, **where):
        text = WordingText(sha256=text_sha256(expected), **where)
        monkeypatch.setattr(_wording, "find_wording", lambda name: entry(text))
        published_wording.cache_clear()
        return published_wording("made")

    yield read
    published_wording.cache_clear()


def test_constants_are_read_and_nothing_is_executed(reading):
    rubric = "Judge each step. Braces {stay} as they are."
    assert reading(rubric, name="RUBRIC").text("it") == rubric
    parts = {"system": rubric, "examples": [["q1", "a1"], ["q2", "a2"]]}
    assert reading(parts, name="PARTS").value("it") == parts
    assert reading("one\n  two", name="content").text("it") == "one\n  two"
    assert reading(rubric, function="ask", name="content").text("it") == rubric


def test_expressions_become_slots_with_our_names(reading):
    where = {"function": "ask", "name": "prompt", "slots": {"question": "item['q']"}}
    expected = "Question: {question}\nBraces {x}\nThe steps:\n{steps}\nEnd"
    template = reading(expected, **where).template("it")
    assert template.slots == {"question", "steps"}
    filled = template.fill(question="{steps} and {x}", steps="S")
    assert filled == "Question: {steps} and {x}\nBraces {x}\nThe steps:\nS\nEnd"
    with pytest.raises(TypeError, match="slots"):
        template.fill(question="no steps")
    returned = reading("Last {steps}", function="ask", name="return").template("it")
    assert returned.fill(steps="S") == "Last S"
    assert reading("Second: {steps}", **(where | {"nth": 1})).template("it").slots == {"steps"}


def test_other_words_are_refused_with_both_checksums(reading):
    with pytest.raises(DataError) as caught:
        reading("Judge every step.", name="RUBRIC")
    assert "made/prompts.py: the text 'it' is not the published wording" in str(caught.value)
    assert text_sha256("Judge every step.") in str(caught.value)
    assert "-T wording=own" in str(caught.value)
    with pytest.raises(DataError, match="no such text"):
        reading("x", name="ABSENT")
    with pytest.raises(DataError, match="no such text"):
        reading("x", function="absent", name="prompt")


def test_without_the_file_one_message_tells_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    published_wording.cache_clear()
    result = CliRunner().invoke(cli, ["data", "fetch", "prmbench", "--wording"])
    assert result.exit_code == 1
    message = str(result.exception)
    assert f"{tmp_path}/prmbench/prompts.py" in message
    assert "GitHub, ssmisya/PRMBench at a1ae4eab803e14c4c6316bf89d1679b0486faa8c" in message
    assert "`misstep data fetch prmbench --wording`" in message
    assert "-T wording=own" in message


def test_a_file_with_another_checksum_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    (tmp_path / "prmbench").mkdir()
    (tmp_path / "prmbench" / "prompts.py").write_text("policy_model_system_prompt = ''")
    published_wording.cache_clear()
    with pytest.raises(DataError, match="not the pinned file"):
        published_wording("prmbench")


def test_every_wording_is_pinned_by_a_commit_and_its_texts():
    for name, source in wordings().items():
        assert len(source.revision) == 40, name
        assert all(text.sha256 for file in source.files for text in file.texts.values())


def as_original(text: WordingText, words: str) -> str:
    """Return source code in which the words stand as an f-string where the registry says."""
    parts: list[ast.expr] = []
    rest = words
    while rest:
        places = {rest.find(f"{{{slot}}}"): slot for slot in text.slots}
        places = {at: slot for at, slot in places.items() if at >= 0}
        at = min(places, default=len(rest))
        parts.append(ast.Constant(rest[:at]))
        if at < len(rest):
            expression = ast.parse(text.slots[places[at]], mode="eval").body
            parts.append(ast.FormattedValue(expression, conversion=-1))
            at += len(places[at]) + 2
        rest = rest[at:]
    target = ast.Name(text.name, ctx=ast.Store())
    return ast.unparse(ast.fix_missing_locations(ast.Assign([target], ast.JoinedStr(parts))))


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def test_prompts_of_mr_ben_have_the_published_checksums(real_data, tmp_path, monkeypatch):
    folder = real_data / "mr_ben"
    if not (folder / "prompts").is_dir():
        pytest.skip("the offline mirror has no mr_ben/prompts")
    texts = {key: text for file in wordings()["mr_ben"].files for key, text in file.texts.items()}
    originals = ["def process_subject_data():"]
    for key, subject in (("coding", "coding"), ("prompt", "physics")):
        rendered = (folder / "prompts" / f"rendered_{subject}_first_row_0shot.txt").read_bytes()
        first = next(iter(json.loads((folder / f"{subject}.json").read_bytes()).values()))[0]
        words = rendered.decode().replace(
            "\n\n\nBelow is the question", "\n\n{demonstrations}\nBelow is the question"
        )
        values = {"question": "Question", "options": "Options", "solution": "Model_Solution_Steps"}
        for slot, column in values.items():
            if slot in texts[key].slots:
                words = words.replace(str(first[column]), f"{{{slot}}}")
        if key == "prompt":
            words = words.replace(f"in subject {first['Subject']}.", "in subject {subject}.")
        originals.append("    " + as_original(texts[key], words))
    (tmp_path / "mr_ben").mkdir()
    (tmp_path / "mr_ben" / "utils.py").write_text("\n".join(originals))
    monkeypatch.setenv("MISSTEP_DATA", str(tmp_path))
    source = wordings()["mr_ben"]
    kept = {key: texts[key] for key in ("coding", "prompt")}
    only = source.model_copy(update={"files": [source.files[0].model_copy(update={"texts": kept})]})
    monkeypatch.setattr(_wording, "find_wording", lambda name: only)
    published_wording.cache_clear()
    wording = published_wording("mr_ben")
    published_wording.cache_clear()
    count = 0
    for key, subject in (("coding", "coding"), ("prompt", "physics")):
        rows = json.loads((folder / f"{subject}.json").read_bytes())
        for line in (folder / "prompts" / f"sha256_{subject}_0shot.jsonl").read_text().splitlines():
            known = json.loads(line)
            row = rows[known["Question_UUID"]][known["solution"]]
            values = {
                "question": row["Question"],
                "options": str(row.get("Options")),
                "solution": str(row["Model_Solution_Steps"]),
                "subject": row["Subject"],
                "demonstrations": "",
            }
            template = wording.template(key)
            filled = template.fill(**{slot: values[slot] for slot in template.slots})
            assert digest(filled) == known["sha256"], known
            count += 1
    assert count == 905


def test_examples_of_mistake_finding_are_read_from_their_evaluated_form(real_data):
    if not (Path(real_data) / "big_bench_mistake" / "mistake_finding_prompts.json").is_file():
        pytest.skip("the offline mirror has no mistake_finding_prompts.json")
    published_wording.cache_clear()
    wording = published_wording("big_bench_mistake")
    roles = [one["role"] for one in wording.value("dyck_languages.trace.messages")]
    assert roles == ["user", "user", "assistant", "user", "assistant", "user", "assistant"]
    assert "{steps}" in wording.text("word_sorting.step_cot.template")
    assert not isinstance(wording.text("word_sorting.step.template"), Template)

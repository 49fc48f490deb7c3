"""Names in data: of samples, of subsets, of models. They lose no sample and control no terminal."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from inspect_ai import eval as run_eval
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from rich.console import Console

from misstep.cli._main import cli
from misstep.cli._output import print_lines, print_runs, print_summary, print_table
from misstep.evals import guided_search, processbench
from misstep.loaders import (
    FirstErrorRow,
    first_error_dataset,
    problems_dataset,
    recovery_dataset,
    transcript_dataset,
)
from misstep.registry import DataError
from misstep.reports import chart_library, read_logs, read_run, save_chart, summary_of_run
from misstep.reports._show import GroupValue
from misstep.reports._text import TextTable
from tests.support.logs import write_first_error_log

CONTROL = ["a\x00b", "\x1b[2J", "a\nb", "\u202emath"]
MARKUP = ["[/]", "[link=https://x.test]y[/link]", "[bold]a", "a [hard]"]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", CONTROL)
def test_every_loader_refuses_control_characters_in_ids_and_groups(tmp_path, name):
    first = {"id": "a", "problem": "p", "steps": ["s"], "label": 0}
    delta = {"id": "a", "question": "q", "sections_content": "section1: s"}
    delta |= {"reason_error_section_numbers": [1]}
    problem = {"id": "a", "problem": "p", "answer": "1"}
    mistake = {"id": "a", "task": "t", "input": "i", "steps": ["s", "t"], "target": "x"}
    mistake |= {"answer": "y", "mistake_index": 0}
    for load, row, fields in (
        (first_error_dataset, first, ("id", "subset")),
        (first_error_dataset, delta, ("id", "task_l1")),
        (problems_dataset, problem, ("id", "subset")),
        (recovery_dataset, mistake, ("id", "task")),
    ):
        for field in fields:
            path = write(tmp_path / "own.jsonl", [{**row, field: name}])
            with pytest.raises(DataError, match=r"row 1.*U\+\w{4} at place \d is a control"):
                load(path)


def test_a_transcript_whose_id_has_control_characters_is_left_out(tmp_path):
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    rows = [{"id": name, "messages": messages} for name in ("good", *CONTROL)]
    dataset = transcript_dataset(write(tmp_path / "own.jsonl", rows))
    assert [sample.id for sample in dataset] == ["good"]
    assert len(dataset.left_out) == len(CONTROL)
    assert all("is a control character" in reason for reason in dataset.left_out.values())


def six_samples(path):
    rows = [
        FirstErrorRow(id=f"row-{i}", problem="p", steps=["s"], label=i % 2 - 1) for i in range(6)
    ]
    write_first_error_log(path, rows, [r"\boxed{0}"] * 6)
    return read_eval_log(str(path))


@pytest.mark.parametrize("form", ["processbench", "deltabench", "json"])
def test_a_log_that_lost_samples_is_not_exported(tmp_path, form):
    path = tmp_path / "run.eval"
    log: EvalLog = six_samples(path)
    log.samples = (log.samples or [])[:2]
    write_eval_log(log, str(path))
    folder = tmp_path / "out"
    done = CliRunner().invoke(cli, ["export", str(path), "--format", form, "-o", str(folder)])
    assert done.exit_code != 0
    assert "2 of the 6 samples that its header claims" in str(done.exception)
    assert not folder.exists()
    logs = read_logs(str(path))
    assert logs.runs == []
    assert "2 of the 6 samples" in logs.skipped[0].reason


def reply(text):
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=lambda *_: output)


@pytest.mark.parametrize("display", ["rich", "plain"])
def test_a_run_on_subsets_that_look_like_markup_ends_well(tmp_path, display):
    rows = [
        {"id": f"{i}", "problem": "p", "steps": ["s"], "label": i % 2 - 1, "subset": name}
        for i, name in enumerate([*MARKUP, *MARKUP])
    ]
    rows = [{**row, "label": -1 if i < len(MARKUP) else 0} for i, row in enumerate(rows)]
    source = write(tmp_path / "own.jsonl", rows)
    [log] = run_eval(
        processbench(source=source),
        model=reply(r"\boxed{0}"),
        log_dir=str(tmp_path / "logs"),
        display=display,
    )
    assert log.status == "success"
    console = Console(width=200, force_terminal=True, color_system=None)
    with console.capture() as printed:
        print_summary(console, summary_of_run(read_run(log.location)))
    assert "[/]" in printed.get()
    assert "\x1b]8" not in printed.get()
    for form in ("deltabench", "processbench", "json"):
        out = str(tmp_path / form)
        done = CliRunner().invoke(cli, ["export", log.location, "--format", form, "-o", out])
        assert done.exit_code == 0, done.exception
    done = CliRunner().invoke(
        cli, ["report", str(tmp_path / "logs"), "-o", str(tmp_path / "r.html")]
    )
    assert done.exit_code == 0, done.exception
    assert "[/]" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_search_on_a_set_that_looks_like_markup_ends_well(tmp_path):
    rows = [{"id": s, "problem": "p", "answer": "1", "subset": s} for s in ("[/]", "[bold]a")]
    source = write(tmp_path / "own.jsonl", rows)
    [log] = run_eval(
        guided_search(source=source, method="plain"),
        model=reply(r"The answer is \boxed{1}."),
        log_dir=str(tmp_path / "logs"),
        display="rich",
    )
    assert log.status == "success", log.error
    done = CliRunner().invoke(cli, ["show", log.location], terminal_width=200)
    assert done.exit_code == 0, done.exception
    assert "[/]" in done.output


@pytest.mark.parametrize("label", ["a\x00b", "\x1b[2J", "\ud83d", "\u2028"])
@pytest.mark.parametrize("suffix", ["svg", "png", "html", "json"])
def test_no_label_ends_the_process_that_draws(tmp_path, label, suffix):
    altair = chart_library()
    data = altair.Data(values=[{"x": label, "y": 2}])
    bars = altair.Chart(data, title=label).mark_bar().encode(x="x:N", y="y:Q")
    save_chart(bars | bars, tmp_path / f"a.{suffix}")
    content = (tmp_path / f"a.{suffix}").read_bytes()
    assert content
    assert suffix == "png" or not {0x00, 0x1B} & set(content)


def test_everything_that_commands_print_may_look_like_markup(tmp_path):
    name = "[link=https://x.test]y[/link][/]\x1b[2J"
    rows = [
        FirstErrorRow.model_construct(
            id=f"{i}", problem="p", steps=["s"], label=i % 2 - 1, subset=f"{i // 2}{name}"
        )
        for i in range(4)
    ]
    path = tmp_path / "run.eval"
    write_first_error_log(path, rows, [r"\boxed{0}"] * 4, model=f"openai/{name}")
    summary = summary_of_run(read_run(str(path)))
    metric = summary.headline
    summary = replace(summary, groups={"subset": [GroupValue(name, 4, metric)]})
    console = Console(width=200, force_terminal=True, color_system="truecolor")
    with console.capture() as printed:
        print_summary(console, summary)
        print_runs(console, [summary, summary])
        print_table(console, TextTable([name], [[name]], title=name))
        print_lines(console, [name])
    assert printed.get().count("[link=https://x.test]y[/link][/]\\x1b[2J") >= 9
    assert "\x1b[2J" not in printed.get()
    assert "\x1b]8" not in printed.get()

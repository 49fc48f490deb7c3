"""The kit for a paper: tables, methods and references in LaTeX."""

import re

from click.testing import CliRunner

from misstep.cli._main import cli
from misstep.registry import citations, evals, sources
from misstep.reports import latex_files, read_logs
from misstep.reports._latex import latex_text
from tests.reports.conftest import ROWS, write_run
from tests.support.logs import guesses

HOSTILE = r"openai/\input{/etc/passwd}%$x^2_&#~"


def test_a_kit_has_tables_methods_logs_and_what_to_cite(tmp_path):
    for name, skill in ((HOSTILE, 0.4), ("embedded//home/me/weights.gguf", 0.6)):
        path = tmp_path / f"{len(name)}.eval"
        arguments = {"source": "sample", "critic": "critique"}
        write_run(path, guesses(ROWS, skill, 3), model=name, task_args=arguments)
    files = latex_files(read_logs(tmp_path).runs, "strict", ["processbench.pdf"])
    assert files.keys() == {"tables.tex", "methods.tex", "logs.tex", "references.bib", "paper.tex"}
    text = "".join(files.values())
    assert "/home/me" not in text
    assert r"\input{/etc" not in text
    name = r"openai/\textbackslash{}input\{/etc/passwd\}\%\$x\textasciicircum{}2\_\&\#"
    assert name in files["tables.tex"]
    assert r"\toprule" in files["tables.tex"]
    assert re.search(
        rf"embedded/weights.gguf & \w+.* & {len(ROWS)} & \d+\.\d ", files["tables.tex"]
    )
    # Pins of the rows, and checksums of the logs.
    assert sources()["sample"].files[0].sha256[:12] in files["methods.tex"]
    assert len(re.findall(r"& [0-9a-f]{16} ", files["logs.tex"])) == 2
    # What was used is cited, and nothing else.
    cited = set(re.findall(r"\w+", ",".join(re.findall(r"cite\{([^}]*)\}", files["methods.tex"]))))
    entries = set(re.findall(r"@misc\{(\w+),", files["references.bib"]))
    assert cited == entries == {"misstep", "inspect", "processbench"}
    assert r"\includegraphics[width=\linewidth]{processbench.pdf}" in files["paper.tex"]


def test_the_report_writes_the_kit_beside_its_charts(tmp_path):
    write_run(tmp_path / "logs" / "a.eval", guesses(ROWS, 0.5, 1))
    write_run(tmp_path / "logs" / "b.eval", guesses(ROWS, 0.9, 1), model="openai/gpt-4")
    arguments = ["report", str(tmp_path / "logs"), "-o", str(tmp_path / "page.html"), "--latex"]
    refused = CliRunner().invoke(cli, arguments)
    assert "--figures FOLDER" in str(refused.exception)
    kit = tmp_path / "kit"
    assert CliRunner().invoke(cli, [*arguments, "--figures", str(kit)]).exit_code == 0
    # A chart with a menu of runs is drawn once for each run, and named after it.
    section = kit / "processbench_sample_version_1"
    positions = sorted(path.name for path in section.glob("predicted_and_labelled_*.pdf"))
    stem = "predicted_and_labelled_positions"
    assert positions == [f"{stem}-1-openai_gpt-4.pdf", f"{stem}-2-openai_gpt-4o-mini.pdf"]
    drawn = re.findall(r"includegraphics\[.*?\]\{(.*?)\}", (kit / "paper.tex").read_text())
    assert drawn
    assert all((kit / name).is_file() for name in drawn)
    assert (kit / "tables.tex").read_text().count("toprule") == 1


def test_every_text_is_safe_in_latex():
    assert latex_text("a\nb\x1b[0m 字 é…") == r"a b\textbackslash{}x1b[0m ? é\ldots{}"


def test_citations_name_evals_and_sources():
    known = {name.replace("-", "_") for name in evals()} | {"first_errors"}
    for one in citations().values():
        assert set(one.evals) <= known
        assert set(one.sources) <= sources().keys()

"""`misstep demo` without the embedded model.

tests/docs/test_readme_wheel.py runs it with the model.
"""

from click.testing import CliRunner

from misstep.cli._main import cli


def test_without_the_embedded_model_the_demo_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("misstep.reports._reference._missing_model", lambda: "Install it: pip ...")
    page = tmp_path / "x.html"
    options = ["--log-dir", str(tmp_path / "logs"), "-o", str(page)]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["demo", *options])
    assert result.exit_code == 0, result.output
    assert "The embedded model is left out. Install it: pip ..." in result.output
    assert "label_distribution of" in " ".join(result.output.split())
    assert f"open {page}" in result.output
    assert f"inspect view --log-dir {tmp_path / 'logs'}" in result.output
    assert "arithmetic" in page.read_text(encoding="utf-8")

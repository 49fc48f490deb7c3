from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "reports.ipynb"


def test_the_notebook_of_the_docs_runs(tmp_path):
    """The kernel is on this machine, and what it does stays there."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    outputs = {
        "".join(cell.source).splitlines()[0]: cell.outputs
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    board = next(text for source, text in outputs.items() if source.startswith("[benchmark]"))
    shown = board[0]["data"]["text/plain"]
    assert "label_distribution" in shown
    assert "uniform" in shown


def test_the_notebook_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)

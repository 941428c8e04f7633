"""The notebook of examples/ runs from top to bottom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[3] / "examples/python/dedup.ipynb"


def test_the_notebook_runs_in_a_kernel(tmp_path: Path) -> None:
    for name in ("pandas", "ipykernel", "nbformat"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    printed = "".join(text(output) for cell in code for output in cell.outputs)
    assert "1 rejected" in printed
    assert "clusters.parquet" in printed
    assert "<iframe" in code[-1].outputs[-1].data["text/html"]


def test_the_code_of_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs"), "commit the notebook without outputs"
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    kept = {threshold: len(names["result"].rethreshold(threshold).kept) for threshold in (0.5, 0.9)}
    assert kept[0.5] < kept[0.9]
    assert len(names["longest"].kept) < 9


def text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.get("data", {}).get("text/plain", ""))

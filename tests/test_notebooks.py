"""The notebooks of the site run, and become pages."""

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["microscope", "one_look"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_cells_run_and_their_outputs_are_kept(path: Path) -> None:
    pytest.importorskip("matplotlib")
    space: dict[str, Any] = {}
    for cell in cells(path, "code"):
        exec("".join(cell["source"]), space)  # which asserts what it shows
    assert sum(bool(cell["outputs"]) for cell in cells(path, "code")) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_becomes_a_page_with_its_outputs(path: Path) -> None:
    page = run_path(str(DOCS / "notebooks.py"))["to_markdown"](json.loads(path.read_text(encoding="utf-8")))
    assert page.startswith("# ")
    assert "```python\n" in page
    assert "<svg" in page  # a result that shows itself
    assert "/tmp" not in page

"""Notebooks as pages of the site, with the outputs that are kept in them: a hook of mkdocs, without Jupyter.

python docs/notebooks.py NOTEBOOK...      forget what changes from run to run, after `make notebooks`
"""

import json
import sys
from pathlib import Path
from typing import Any

KEPT = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def to_markdown(notebook: dict[str, Any]) -> str:
    """Returns a notebook as Markdown, pictures inside."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _cell_parts(cell)) + "\n"


def _cell_parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [source]
    return [f"```python\n{source}\n```", *(_shown(one) for one in cell["outputs"])]


def _shown(output: dict[str, Any]) -> str:
    """Returns an output in the richest form that a page can show."""
    data = output.get("data", {})
    if "text/html" in data:
        return "".join(data["text/html"])
    if "image/png" in data:
        coded = "".join(data["image/png"]).replace("\n", "")
        return f'<img alt="output" src="data:image/png;base64,{coded}">'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```"


def clean(path: Path) -> None:
    """Takes out of a notebook what changes from run to run: times, counts and versions."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"] = KEPT
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            for output in cell["outputs"]:
                if "execution_count" in output:
                    output["execution_count"] = None
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def on_files(files: Any, config: Any) -> Any:
    """Adds a page for each notebook; called by mkdocs."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (who cleans needs no mkdocs)

    for path in sorted(Path(config["docs_dir"]).rglob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        name = path.relative_to(config["docs_dir"]).with_suffix(".md").as_posix()
        files.append(File.generated(config, name, content=to_markdown(notebook)))
    return files


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        clean(Path(argument))

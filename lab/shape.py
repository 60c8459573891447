"""Files, lines, functions and numeric constants of each room, now or at a revision.

    python -m lab.shape [REVISION]

A room is a folder of src/dioptre; its single modules count as one room, `dioptre`. A constant is an
name of a module that is a number, or a tuple or list of numbers; each name of an unpacked tuple counts.
"""

import argparse
import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CONSTANT: Final = re.compile(r"_?[A-Z][A-Z0-9_]+")
BESIDE: Final = ("lab", "benchmarks", "runs", "tests")  # what is not in the package


@dataclass
class Shape:
    """What a room has.

    Attributes:
        files: How many modules.
        lines: Of all of them.
        functions: Functions and methods.
        constants: Numeric constants of modules.
    """

    files: int = 0
    lines: int = 0
    functions: int = 0
    constants: int = 0

    def __iadd__(self, other: "Shape") -> "Shape":
        self.files += other.files
        self.lines += other.lines
        self.functions += other.functions
        self.constants += other.constants
        return self

    def row(self, name: str) -> str:
        """Returns it as a line of the table."""
        each = 1000 * self.constants / max(self.lines, 1)
        return (
            f"{name:<14}{self.files:>7}{self.lines:>9}{self.functions:>11}{self.constants:>11}{each:>10.1f}"
        )


def is_number(node: ast.AST) -> bool:
    """Returns whether an expression is a number, or a tuple or list of numbers, arithmetic included."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | complex) and not isinstance(node.value, bool)
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(is_number, node.elts))
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return isinstance(node, ast.UnaryOp) and is_number(node.operand)


def constants_of(tree: ast.Module) -> int:
    """Returns how many numeric constants a module has."""
    found = 0
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        names = [one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        found += sum(bool(CONSTANT.fullmatch(one.id)) for one in names) if is_number(value) else 0
    return found


def shape_of(text: str) -> Shape:
    """Returns the shape of one module."""
    tree = ast.parse(text)
    functions = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(tree))
    return Shape(1, len(text.splitlines()), functions, constants_of(tree))


def room_of(path: str) -> str:
    """Returns the room of a file, from its path in the repository."""
    top, *rest = path.split("/")
    if top != "src":
        return top
    return rest[1] if len(rest) > 2 else "dioptre"


def modules(revision: str | None) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of every module that git knows, as it lies there or at a revision."""

    def git(*words: str) -> str:
        run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603, S607
        return run.stdout

    listed = git("ls-files") if revision is None else git("ls-tree", "-r", "--name-only", revision)
    for path in listed.splitlines():
        if path.endswith(".py") and path.split("/")[0] in ("src", *BESIDE):
            file = ROOT / path
            if revision is not None:
                yield path, git("show", f"{revision}:{path}")
            elif file.exists():
                yield path, file.read_text(encoding="utf-8")


def shapes(revision: str | None = None) -> dict[str, Shape]:
    """Returns the shape of every room, and of the package as a whole."""
    found: dict[str, Shape] = {}
    for path, text in modules(revision):
        room, shape = room_of(path), shape_of(text)
        for name in (room,) if room in BESIDE else (room, "the package"):
            known = found.setdefault(name, Shape())
            known += shape
    return found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m lab.shape", description=__doc__.split("\n")[0])
    parser.add_argument("revision", nargs="?", help="of git; what lies there by default")
    found = shapes(parser.parse_args().revision)
    print(f"{'room':<14}{'files':>7}{'lines':>9}{'functions':>11}{'constants':>11}{'in 1000':>10}")
    last = ("the package", *BESIDE)
    for name in (*sorted(set(found) - set(last)), *(one for one in last if one in found)):
        print(found[name].row(name))


if __name__ == "__main__":
    main()

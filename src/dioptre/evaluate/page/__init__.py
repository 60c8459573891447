"""One page of HTML that opens from disk without a network: tables that can be sorted, figures, contents.

Style, script and figures are inside the page. This module knows HTML, and nothing of methods or predictions.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

TINTS = ("first", "second", "third")  # classes of the best three cells of a column


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: What it shows.
        value: What it is sorted by; its text if None.
        tint: One of TINTS, or nothing.
        hint: What is shown when the pointer rests on it.
        small: A second line in small type.
    """

    text: str
    value: float | None = None
    tint: str = ""
    hint: str = ""
    small: str = ""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        head: Its head.
        number: Whether it holds numbers, which stand at the right.
        group: The head over it and its neighbours of the same group; "" for none.
    """

    head: str
    number: bool = True
    group: str = ""


@dataclass(frozen=True)
class Body:
    """Rows of a table that belong together; they are sorted among themselves.

    Attributes:
        title: What stands above them; "" for nothing.
        rows: Cells for each.
    """

    title: str
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Table:
    """A table that can be sorted by any column.

    Attributes:
        title: Its title, also in the contents.
        note: What it is of, in a sentence or two.
        columns: From left to right.
        bodies: From top to bottom.
        remarks: Lines below it.
    """

    title: str
    note: str
    columns: Sequence[Column]
    bodies: Sequence[Body]
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes:
        title: Its title, also in the contents.
        text: What it shows.
        command: What made it.
        picture: SVG; or a JPEG, for a figure that is made of photographs.
    """

    title: str
    text: str
    command: str
    picture: str | bytes


def build_page(title: str, about: Sequence[str], parts: Sequence[Table | Figure]) -> str:
    """Returns a whole page.

    Args:
        title: Of the page.
        about: Paragraphs at its head: what was measured, on what, by which command.
        parts: Tables and figures, in their order.
    """
    anchors = [f"part-{number}" for number in range(1, len(parts) + 1)]
    contents = "".join(
        f'<li><a href="#{anchor}">{escape(part.title)}</a></li>\n'
        for anchor, part in zip(anchors, parts, strict=True)
    )
    body = "".join(_part(part, anchor) for part, anchor in zip(parts, anchors, strict=True))
    paragraphs = "".join(f"<p>{escape(one)}</p>\n" for one in about)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_resource('style.css')}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1>\n<button id="theme" type="button">light / dark</button></header>\n'
        f'<nav aria-label="Contents"><h2>Contents</h2>\n<ol>\n{contents}</ol></nav>\n'
        f"<main>\n{paragraphs}{body}</main>\n<script>\n{_resource('script.js')}</script>\n</body>\n</html>\n"
    )


def _part(part: Table | Figure, anchor: str) -> str:
    inside = _table(part) if isinstance(part, Table) else _figure(part)
    return f'<section id="{anchor}">\n<h2>{escape(part.title)}</h2>\n{inside}</section>\n'


def _figure(figure: Figure) -> str:
    return (
        f'<figure>\n<div class="picture" role="img" aria-label="{escape(figure.title)}">'
        f"{_picture(figure.picture)}</div>\n"
        f"<figcaption>{escape(figure.text)} <code>{escape(figure.command)}</code></figcaption>\n</figure>\n"
    )


def _picture(picture: str | bytes) -> str:
    if isinstance(picture, str):
        return picture[picture.index("<svg") :]  # without the XML declaration
    return f'<img alt="" src="data:image/jpeg;base64,{b64encode(picture).decode()}">'


def _table(table: Table) -> str:
    remarks = "".join(f'<p class="remark">{escape(one)}</p>\n' for one in table.remarks)
    bodies = "".join(_body(body, table.columns) for body in table.bodies)
    return (
        f'<p>{escape(table.note)}</p>\n<div class="scroll"><table class="sortable">\n<thead>\n'
        f"{_groups(table.columns)}<tr>{''.join(_head(column) for column in table.columns)}</tr>\n</thead>\n"
        f"{bodies}</table></div>\n{remarks}"
    )


def _body(body: Body, columns: Sequence[Column]) -> str:
    head = f'<th scope="rowgroup" colspan="{len(columns)}"><span>{escape(body.title)}</span></th>'
    title = f'<tr class="title">{head}</tr>\n' if body.title else ""
    rows = "".join(
        f"<tr>{''.join(_cell(cell, column) for cell, column in zip(row, columns, strict=True))}</tr>\n"
        for row in body.rows
    )
    return f"<tbody>\n{title}{rows}</tbody>\n"


def _groups(columns: Sequence[Column]) -> str:
    """Returns the row of heads over groups of columns, if there are any."""
    if not any(column.group for column in columns):
        return ""
    spans: list[tuple[str, int]] = []
    for column in columns:
        if spans and spans[-1][0] == column.group:
            spans[-1] = (column.group, spans[-1][1] + 1)
        else:
            spans.append((column.group, 1))
    heads = "".join(f'<th class="group" colspan="{count}">{escape(name)}</th>' for name, count in spans)
    return f"<tr>{heads}</tr>\n"


def _head(column: Column) -> str:
    kind = ' class="number"' if column.number else ""
    return f'<th scope="col"{kind}><button type="button">{escape(column.head)}</button></th>'


def _cell(cell: Cell, column: Column) -> str:
    classes = " ".join(one for one in ("number" if column.number else "", cell.tint) if one)
    small = f"<small>{escape(cell.small)}</small>" if cell.small else ""
    entries = [
        f'class="{classes}"' if classes else "",
        f'data-value="{cell.value!r}"' if cell.value is not None else "",
        f'title="{escape(cell.hint)}"' if cell.hint else "",
    ]
    return f"<td {' '.join(one for one in entries if one)}>{escape(cell.text)}{small}</td>".replace(
        "<td >", "<td>"
    )


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")

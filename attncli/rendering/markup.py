"""The pieces of a document in HTML: its frame, text, a matrix as a table.

What is written is HTML and well-formed XML at once; it asks for nothing from anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from attncli.records import Record
from attncli.rendering.matrix import Matrix
from attncli.text.escapes import visible

MARKS = ("wrong", "near")
"""The styles of marked cells that the page knows."""

FOLDER = Path(__file__).parent / "web"

ISOLATED = re.compile("\u2068([^\u2066-\u2069]*)\u2069")
"""A right-to-left word that is kept apart from the numbers of its line."""


WHY = (
    '<aside id="why" aria-label="How a number was made" hidden="hidden">'
    '<button type="button" hidden="hidden">← Back</button>'
    '<div aria-live="polite"></div><p class="sources"></p></aside>\n'
)
"""The box in which the script of a page tells of a number."""


class Script(Record):
    """What makes a page do something.

    Attributes:
        files: the scripts of this folder, one after the other.
        styles: the style sheets.
        box: the box in which they tell of a number, as markup.
    """

    files: tuple[str, ...] = ("shapes.js", "script.js")
    styles: tuple[str, ...] = ("style.css",)
    box: str = WHY


def whole_page(
    title: str, body: str, told: Mapping[str, object], made_by: Script | None = None
) -> str:
    """Return a whole page from its title, which is text, and its body, which is markup.

    `told` is what the script of the page reads: how numbered cells were made, by default. Where
    nothing is told, there is no script.
    """
    made_by = made_by or Script()
    data = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&":  # neither XML nor HTML finds an end of the element in it
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    rules = [line for name in made_by.styles for line in _file(name).splitlines()]
    style = "\n".join(line.strip() for line in rules if line.strip())
    script = "".join(map(_file, made_by.files))
    explained = (
        f'{made_by.box}<script id="made" type="application/json">{data}</script>\n'
        f"<script>\n//<![CDATA[\n{script}//]]>\n</script>\n"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title) or 'Attention'}</title>\n"
        f"<style>\n{style}\n</style>\n</head>\n<body>\n<main>\n{body}</main>\n"
        f"{explained if told else ''}</body>\n</html>\n"
    )


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def text(words: str) -> str:
    """Return text as markup that shows it as it is written.

    >>> text("<z>")
    '&lt;z&gt;'
    """
    parts = [escape(visible(part)) for part in ISOLATED.split(words)]
    parts[1::2] = [f"<bdi>{part}</bdi>" for part in parts[1::2]]
    return "".join(parts)


def matrix_table(
    matrix: Matrix,
    caption: str,
    name: str,
    number: Callable[[int, int], int | None] = lambda row, column: None,
    field: Callable[[int, int], str] = lambda row, column: "",
) -> str:
    """Return a matrix as a table in a box of its own, in which it scrolls where it is too wide.

    Args:
        matrix: what to show; weights (`shaded`) have a background by their size.
        caption: as markup, or nothing.
        name: the caption as text, for those who do not see it.
        number: which cell of the page stands at a row and column; None for one of no account.
        field: what stands at a row and column where a number is to be written, as markup.
    """
    # A grid owns rows and nothing else, so that its caption stands before it.
    above = f'<div class="caption">{caption}</div>' if caption else ""
    lines = []
    lead = bool(matrix.row_labels)
    if matrix.column_labels:
        heads = "".join(_head(matrix.column_labels, c, "col", "…") for c in matrix.columns)
        # The corner over row labels is a cell, as an empty header would say nothing.
        lines.append(f"<thead><tr>{'<td></td>' if lead else ''}{heads}</tr></thead>")
    lines.append("<tbody>")
    columns = list(zip(matrix.columns, _edges(matrix), strict=True))
    for row in matrix.rows:
        first = _head(matrix.row_labels, row, "row", "⋮") if lead else ""
        cells = "".join(
            _open_cell(edges, field(row, column))
            if row is not None and column is not None and matrix.has_room(row, column)
            else _cell(matrix, row, column, edges, number)
            for column, edges in columns
        )
        lines.append(f"<tr>{first}{cells}</tr>")
    lines.append("</tbody>")
    kind = "" if matrix.column_labels else " flat"
    table = f'<table aria-label="{text(name)}">{"".join(lines)}</table>'
    return f'<div class="scroll{kind}">{above}{table}</div>'


def _head(labels: Sequence[str], place: int | None, scope: str, left_out: str) -> str:
    if place is None:
        return f"<th>{left_out}</th>"
    label = labels[place]
    way = "" if label.isascii() else ' dir="auto"'
    return f'<th scope="{scope}"{way}>{text(label)}</th>'


def _edges(matrix: Matrix) -> Iterator[list[str]]:
    """Yield for each column the classes of cells at the brackets and beside the bars."""
    last = len(matrix.columns) - 1
    for index, column in enumerate(matrix.columns):
        names = {"first": index == 0, "last": index == last, "bar": column in matrix.bars}
        yield [name for name, holds in names.items() if holds]


def _open_cell(edges: Sequence[str], field: str) -> str:
    return f'<td class="{" ".join((*edges, "open"))}">{field}</td>'


def _cell(
    matrix: Matrix,
    row: int | None,
    column: int | None,
    edges: Sequence[str],
    number: Callable[[int, int], int | None],
) -> str:
    shown = escape(matrix.text(row, column)).replace("-", "−")
    classes, attributes = list(edges), ""
    if row is None or column is None or matrix.is_blank(row, column):
        classes.append("off")
    else:
        if np.isinf(matrix.values[row, column]):
            classes.append("off")
        if shade := matrix.shade(row, column):
            classes.append("w")
            attributes += f' style="--w:{shade:.2f}"'.replace("0.", ".")
        if (row, column) in matrix.cells and matrix.cells[row, column][1] in MARKS:
            classes.append(matrix.cells[row, column][1])
        if (which := number(row, column)) is not None:
            attributes += f' data-c="{which}"'
    kind = f' class="{" ".join(classes)}"' if classes else ""
    return f"<td{kind}{attributes}>{shown}</td>"

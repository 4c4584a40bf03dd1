"""The pieces of a page: its frame, a formula, a matrix as a table.

What is written is HTML and well-formed XML at once; it asks for nothing from anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from attncli.records import Record
from attncli.rendering.blocks import Matrix, cell_text
from attncli.text.elision import kept
from attncli.text.escapes import visible

FOLDER = Path(__file__).parent / "page"


class Mark(Record):
    """What a cell of a table has besides its number.

    Attributes:
        number: which number of the page it is; the same number may stand in several tables.
        classes: its style.
        markup: what stands after the number, as markup.
    """

    number: int | None = None
    classes: tuple[str, ...] = ()
    markup: str = ""


UNMARKED = Mark()


def page(title: str, body: str, made: Mapping[int, Sequence[object]]) -> str:
    """Return a whole page.

    Args:
        title: as text.
        body: as markup.
        made: for numbered cells, how they were made: parts of the explanation, numbers of the
            sources, whether the last part is rounded, a reason.
    """
    data = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&":  # neither XML nor HTML finds an end of the element in it
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    style = (FOLDER / "style.css").read_text(encoding="utf-8")
    script = (FOLDER / "script.js").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title) or 'Attention'}</title>\n"
        f"<style>\n{_minified(style)}</style>\n</head>\n<body>\n<main>\n{body}</main>\n"
        '<div id="why" role="status" hidden="hidden"></div>\n'
        f'<script id="made" type="application/json">{data}</script>\n'
        f"<script>\n//<![CDATA[\n{script}//]]>\n</script>\n</body>\n</html>\n"
    )


def text(words: str) -> str:
    """Return text as markup that shows it as it is written."""
    return escape(visible(words))


def matrix_table(
    matrix: Matrix,
    caption: str,
    full: bool,
    mark: Callable[[int, int], Mark] = lambda row, column: UNMARKED,
) -> str:
    """Return a matrix as a table in a box of its own, in which it scrolls where it is too wide.

    Args:
        matrix: what to show; weights (`shaded`) have a background by their size.
        caption: as markup, or nothing.
        full: whether to show every row and column.
        mark: what the cell at a row and column has besides its number.
    """
    rows, columns = (kept(size, full) for size in matrix.values.shape)
    lines = [f"<caption>{caption}</caption>"] if caption else []
    lead = bool(matrix.row_labels)
    if matrix.column_labels:
        heads = "".join(_head(matrix.column_labels, column, "col", "…") for column in columns)
        # The corner over row labels is a cell, as an empty header would say nothing.
        lines.append(f"<thead><tr>{'<td></td>' if lead else ''}{heads}</tr></thead>")
    lines.append("<tbody>")
    for row in rows:
        first = _head(matrix.row_labels, row, "row", "⋮") if lead else ""
        cells = "".join(
            _cell(matrix, row, column, _edges(i, columns, rows, matrix), mark)
            for i, column in enumerate(columns)
        )
        lines.append(f"<tr>{first}{cells}</tr>")
    lines.append("</tbody>")
    kind = "" if matrix.column_labels else " flat"
    return f'<div class="scroll{kind}"><table>{"".join(lines)}</table></div>'


def _head(labels: Sequence[str], place: int | None, scope: str, left_out: str) -> str:
    if place is None:
        return f"<th>{left_out}</th>"
    label = labels[place]
    way = "" if label.isascii() else ' dir="auto"'
    return f'<th scope="{scope}"{way}>{text(label)}</th>'


def _edges(index: int, columns: Sequence[object], rows: Sequence[object], matrix: Matrix) -> str:
    """Return the classes of the cells at the brackets and beside the bars."""
    names = []
    if index == 0:
        names.append("first")
    if index == len(columns) - 1:
        names.append("last")
    if columns[index] in matrix.bars:
        names.append("bar")
    return " ".join(names)


def _cell(
    matrix: Matrix,
    row: int | None,
    column: int | None,
    edges: str,
    mark: Callable[[int, int], Mark],
) -> str:
    shown = escape(cell_text(matrix, row, column)).replace("-", "−")
    classes = edges.split()
    marked, style = UNMARKED, ""
    if row is None or column is None or matrix.is_blank(row, column):
        classes.append("off")
    else:
        marked = mark(row, column)
        value = float(matrix.values[row, column])
        if np.isinf(value):
            classes.append("off")
        elif matrix.shaded and value != 0:
            classes.append("w")
            style = f' style="--w:{min(1.0, abs(value)):.2f}"'.replace("0.", ".")
    classes += marked.classes
    kind = f' class="{" ".join(classes)}"' if classes else ""
    number = "" if marked.number is None else f' data-c="{marked.number}"'
    return f"<td{kind}{style}{number}>{shown}{marked.markup}</td>"


def _minified(style: str) -> str:
    return "\n".join(line.strip() for line in style.splitlines() if line.strip()) + "\n"

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

from attncli.rendering.blocks import Matrix, cell_text
from attncli.text.escapes import visible

MARKS = ("wrong", "near")
"""The styles of marked cells that the page knows."""

FOLDER = Path(__file__).parent / "web"

ISOLATED = re.compile("\u2068([^\u2066-\u2069]*)\u2069")
"""A right-to-left word that is kept apart from the numbers of its line."""


def whole_page(title: str, body: str, told: Mapping[str, object], more: str = "") -> str:
    """Return a whole page from its title, which is text, and its body, which is markup.

    `told` says how numbered cells were made, for the script of the page, which is left out where
    nothing is told; `more` is the name of another file of rules.
    """
    data = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&":  # neither XML nor HTML finds an end of the element in it
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    files = filter(None, ("style.css", more))
    rules = "\n".join((FOLDER / file).read_text(encoding="utf-8") for file in files).splitlines()
    style = "\n".join(line.strip() for line in rules if line.strip())
    script = (FOLDER / "script.js").read_text(encoding="utf-8")
    explained = (
        '<aside id="why" aria-label="How a number was made" hidden="hidden">'
        '<button type="button" hidden="hidden">← Back</button>'
        '<div aria-live="polite"></div><p class="sources"></p></aside>\n'
        f'<script id="made" type="application/json">{data}</script>\n'
        f"<script>\n//<![CDATA[\n{script}//]]>\n</script>\n"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title) or 'Attention'}</title>\n"
        f"<style>\n{style}\n</style>\n</head>\n<body>\n<main>\n{body}</main>\n"
        f"{explained if told else ''}</body>\n</html>\n"
    )


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
) -> str:
    """Return a matrix as a table in a box of its own, in which it scrolls where it is too wide.

    Args:
        matrix: what to show; weights (`shaded`) have a background by their size.
        caption: as markup, or nothing.
        name: the caption as text, for those who do not see it.
        number: which cell of the page stands at a row and column; None for one of no account.
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
        cells = "".join(_cell(matrix, row, column, edges, number) for column, edges in columns)
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


def _cell(
    matrix: Matrix,
    row: int | None,
    column: int | None,
    edges: Sequence[str],
    number: Callable[[int, int], int | None],
) -> str:
    shown = escape(cell_text(matrix, row, column)).replace("-", "−")
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

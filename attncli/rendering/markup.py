"""The pieces of a document in HTML: its frame, text, a matrix as a table.

What is written is HTML and well-formed XML at once; it asks for nothing from anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from math import isinf
from pathlib import Path

from attncli.arithmetic.elements import Array
from attncli.records import Record
from attncli.rendering.matrix import Matrix, Place
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
    """Return a whole page from its title, which is text, and its body, which is markup."""
    return "".join(page_parts(title, [body], lambda: told, made_by))


def page_parts(
    title: str,
    body: Iterable[str],
    read_by_script: Callable[[], Mapping[str, object]],
    made_by: Script | None = None,
) -> Iterator[str]:
    """Yield a page in parts.

    Args:
        title: as text.
        body: markup.
        read_by_script: called after the body, returns what the script of the page reads. Where
            that is empty, there is no script.
        made_by: the script; by default, one that shows how numbered cells were made.
    """
    made_by = made_by or Script()
    rules = [line for name in made_by.styles for line in _file(name).splitlines()]
    style = "\n".join(line.strip() for line in rules if line.strip())
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title) or 'Attention'}</title>\n"
        f"<style>\n{style}\n</style>\n</head>\n<body>\n<main>\n"
    )
    yield from body
    yield "</main>\n"
    if told := read_by_script():
        data = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        for sign in "<>&":  # neither XML nor HTML finds an end of the element in it
            data = data.replace(sign, f"\\u{ord(sign):04x}")
        yield f'{made_by.box}<script id="made" type="application/json">{data}</script>\n'
        script = "".join(map(_file, made_by.files))
        yield f"<script>\n//<![CDATA[\n{script}//]]>\n</script>\n"
    yield "</body>\n</html>\n"


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
    numbers: Array | None = None,
    field: Callable[[int, int], str] = lambda row, column: "",
) -> str:
    """Return a matrix as a table in a box of its own, in which it scrolls where it is too wide.

    Args:
        matrix: what to show; weights (`shaded`) have a background by their size.
        caption: as markup, or nothing.
        name: the caption as text, for those who do not see it.
        numbers: the numbers in the page of the cells in `rows` and `columns`; 0 for none.
        field: what stands at a row and column where a number is to be written, as markup.
    """
    # A grid owns rows and nothing else, so that its caption stands before it.
    above = f'<div class="caption">{caption}</div>' if caption else ""
    lines = []
    lead = bool(matrix.row_labels)
    columns = matrix.columns
    if matrix.column_labels:
        heads = "".join(_head(matrix.column_labels, c, "col", "…") for c in columns)
        # The corner over row labels is a cell, as an empty header would say nothing.
        lines.append(f"<thead><tr>{'<td></td>' if lead else ''}{heads}</tr></thead>")
    lines.append("<tbody>")
    edges = [*_edges(matrix)]
    for place, row in enumerate(matrix.rows):
        first = _head(matrix.row_labels, row, "row", "⋮") if lead else ""
        shown = [0] * len(columns) if numbers is None else numbers[place].tolist()
        texts = matrix.texts(row, columns)
        cells = [
            _cell(matrix, row, column, text, names, number, field)
            for column, text, names, number in zip(columns, texts, edges, shown, strict=True)
        ]
        lines.append(f"<tr>{first}{''.join(cells)}</tr>")
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


def _edges(matrix: Matrix) -> Iterator[str]:
    """Yield for each column the classes of cells at the brackets and beside the bars."""
    columns = matrix.columns
    for index, column in enumerate(columns):
        places = {"first": index == 0, "last": index == len(columns) - 1}
        names = places | {"bar": column in matrix.bars}
        yield " ".join(name for name, holds in names.items() if holds)


def _cell(
    matrix: Matrix,
    row: Place,
    column: Place,
    shown: str,
    edges: str,
    number: int,
    field: Callable[[int, int], str],
) -> str:
    """Return one cell; `edges` are its classes by its place, `number` is its number in the page."""
    kinds, style = edges, ""
    if row is None or column is None or (not matrix.is_numeric and matrix.is_blank(row, column)):
        kinds += " off"
        number = 0
    elif matrix.is_open:
        return f'<td class="{f"{edges} open".strip()}">{field(row, column)}</td>'
    else:
        if isinf(matrix.values[row, column]):
            kinds += " off"
        if matrix.shaded and (shade := matrix.shade(row, column)):
            kinds += " w"
            style = f' style="--w:{shade:.2f}"'.replace("0.", ".")
        if (mark := matrix.cells.get((row, column), ("", ""))[1]) in MARKS:
            kinds += f" {mark}"
    kind = f' class="{kinds.strip()}"' if kinds else ""
    which = f' data-c="{number}"' if number else ""
    written = shown if matrix.is_numeric else escape(shown)
    return f"<td{kind}{style}{which}>{written.replace('-', '−')}</td>"

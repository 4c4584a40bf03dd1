"""The pieces of a document in HTML: its frame, text, a matrix as a table, fields to practise in.

What is written is HTML and well-formed XML at once; it asks for nothing from anywhere.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from html import escape
from math import isinf
from pathlib import Path

from attncli.core.records import Record
from attncli.core.text.strings import regex, visible
from attncli.printing.blocks import LineIndex, Matrix

FOLDER = Path(__file__).parent / "web"

RELOAD = "reload.js"
"""The script of a page that loads itself anew when it was written again."""

ISOLATED = regex("\u2068([^\u2066-\u2069]*)\u2069")
"""A right-to-left word that is kept apart from the numbers of its line."""

WHY = (
    '<aside id="why" aria-label="How a number was made" hidden="hidden">'
    '<button type="button" hidden="hidden">← Back</button>'
    '<div aria-live="polite"></div><p class="sources"></p></aside>\n'
)
"""The box in which the script of a page explains a number."""


class Script(Record):
    """The scripts and style sheets of a page; by default, to show how numbers were calculated.

    The page forbids itself every request and every other script.
    """

    files: tuple[str, ...] = ("shapes.js", "tables.js", "script.js")
    styles: tuple[str, ...] = ("style.css",)
    box: str = WHY  # in which the scripts explain a number, as markup

    @cached_property
    def code(self) -> str:
        """What the element of the scripts contains, without comments and indentation."""
        texts = [re.sub(r"^\s*(//.*)?\n?", "", file_text(one), flags=re.M) for one in self.files]
        if self.files[:1] == ("boot.js",):  # the others begin when it has unpacked the page
            texts[1:] = ["attnBoot().then(function (attnPage) {\n", *texts[1:], "});\n"]
        return f"\n//<![CDATA[\n{''.join(texts)}//]]>\n"

    @property
    def policy(self) -> str:
        """What the page allows itself, as an element."""
        digest = base64.b64encode(sha256(self.code.encode()).digest()).decode()
        rules = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        if RELOAD in self.files:
            rules += " 'strict-dynamic'"  # it may run the script that it adds
        rules += "; base-uri 'none'; form-action 'none'"
        return f'<meta http-equiv="Content-Security-Policy" content="{rules}"/>\n'


def page_parts(
    title: str,
    body: Iterable[str],
    script: Script,
    read_by_script: Callable[[], Mapping[str, object]] = dict,
) -> Iterator[str]:
    """Yield a page in parts, from its title, which is text, and its body, which is markup.

    `read_by_script` is called after the body and returns what the script reads; the page has no
    script if that is empty.
    """
    rules = [line.strip() for name in script.styles for line in file_text(name).splitlines()]
    style = "\n".join(filter(None, rules))
    yield (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n{script.policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{text(title) or 'Attention'}</title>\n"
        f"<style>\n{style}\n</style>\n</head>\n<body>\n<main>\n"
    )
    yield from body
    yield "</main>\n"
    if values := read_by_script():
        data = as_json(values)
        for sign in "<>&":  # neither XML nor HTML finds an end of the element in it
            data = data.replace(sign, f"\\u{ord(sign):04x}")
        yield f'{script.box}<script id="made" type="application/json">{data}</script>\n'
        yield f"<script>{script.code}</script>\n"
    yield "</body>\n</html>\n"


JSON_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def as_json(values: object) -> str:
    return JSON_ENCODER.encode(values)


def file_text(name: str) -> str:
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
    numbers: Sequence[Sequence[int]] = (),
    field: Callable[[int], str] = str,
) -> str:
    """Return a matrix as a table in a box, in which it scrolls where it is too wide.

    `caption` is markup, `name` the same as text for those who do not see it; `numbers` are those of
    the cells in the page, or 0; `field` returns the markup of a cell to write in, by its number.
    """
    # A grid may contain rows only, so its caption is before it.
    above = f'<div class="caption">{caption}</div>' if caption else ""
    head, rows = "", list[str]()
    if matrix.column_labels:
        heads = "".join(_head(matrix.column_labels, c, "col", "…") for c in matrix.columns)
        # The corner over row labels is a cell, as an empty header would say nothing.
        corner = "<td></td>" if matrix.row_labels else ""
        head = f"<thead><tr>{corner}{heads}</tr></thead>"
    last = len(matrix.columns) - 1
    edges = [
        " ".join(["first"] * (n == 0) + ["last"] * (n == last) + ["bar"] * (column in matrix.bars))
        for n, column in enumerate(matrix.columns)
    ]
    for place, row in enumerate(matrix.rows):
        first = _head(matrix.row_labels, row, "row", "⋮") if matrix.row_labels else ""
        ids = numbers[place] if numbers else [0] * len(edges)
        texts = matrix.texts(row, matrix.columns)
        cells = [
            _cell(matrix, row, column, text, names, number, field)
            for column, text, names, number in zip(matrix.columns, texts, edges, ids, strict=True)
        ]
        rows.append(f"<tr>{first}{''.join(cells)}</tr>")
    kind = "" if head else " flat"
    table = f'<table aria-label="{text(name)}">{head}<tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="scroll{kind}">{above}{table}</div>'


def _head(labels: Sequence[str], place: int | None, scope: str, left_out: str) -> str:
    if place is None:
        return f"<th>{left_out}</th>"
    label = labels[place]
    direction = "" if label.isascii() else ' dir="auto"'
    return f'<th scope="{scope}"{direction}>{text(label)}</th>'


def _cell(
    matrix: Matrix,
    row: LineIndex,
    column: LineIndex,
    shown: str,
    edges: str,  # the classes of a cell at the brackets or beside a bar
    number: int,
    field: Callable[[int], str],
) -> str:
    """Return one cell; `edges` are its classes by its place, `number` is its number in the page."""
    kinds, style = edges, ""
    if row is None or column is None or matrix.is_empty(row, column):
        kinds += " off"
        number = 0
    elif matrix.is_open:
        return f'<td class="{f"{edges} open".strip()}">{field(number)}</td>'
    else:
        if isinf(matrix.values[row, column]):
            kinds += " off"
        if matrix.shaded and (shade := matrix.shade(row, column)):
            kinds += " w"
            style = f' style="--w:{shade:.2f}"'.replace("0.", ".")
        if (mark := matrix.cells.get((row, column), ("", ""))[1]) in ("wrong", "near"):
            kinds += f" {mark}"
    kind = f' class="{kinds.strip()}"' if kinds else ""
    which = f' data-c="{number}"' if number else ""
    written = escape(shown) if matrix.cells else shown
    return f"<td{kind}{style}{which}>{written.replace('-', '−')}</td>"


PRACTICE_BOX = (
    '<p id="spoken" class="unseen" role="status"></p>'
    '<aside id="why" class="help" aria-label="Help with a number" hidden="hidden">'
    '<button type="button"></button><div class="about"><b></b> <span></span></div>'
    '<div class="hints" aria-live="polite"></div></aside>\n'
)

PRACTICE_SCRIPT = Script(
    (
        *("boot.js", "shapes.js", "tables.js", "numbers.js", "numpy.js"),
        *("agreement.js", "operands.js", "judge.js", "readings.js", "practice.js"),
    ),
    ("style.css", "practice.css"),
    PRACTICE_BOX,
)

PRACTICE_HINT = (
    "A number counts as right (✓) if it is right in the digits that you type, or if it follows (→) "
    "from an earlier one of yours. Fractions, roots and percentages are read, too: 1/3, sqrt(2), "
    "e^2, 14%; in a blocked cell, write -inf. Enter and the arrow keys go to another number, Alt+H "
    "asks for a hint."
)
"""Instructions above the first step."""


def tools(student: str) -> str:
    """Return the line for the student's name; the script shows the buttons beside it."""
    return (
        '<p class="tools"><label>Name <input type="text" class="student" autocomplete="off" '
        f'aria-label="Your name" value="{text(student)}"/></label> '
        '<button type="button" class="save" hidden="hidden">Save answers</button> '
        '<button type="button" class="again" hidden="hidden">Start again</button> '
        '<span class="total" role="status"></span> <span class="kept"></span></p>\n'
    )


def field(number: int | None, name: str) -> str:
    """Return the field for a number: which one of the page, and the name of the cell."""
    return (
        f'<input type="text" class="n" data-n="{number}" aria-label="{text(name)}" '
        'autocomplete="off" autocapitalize="none" spellcheck="false"/>'
    )

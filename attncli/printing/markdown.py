"""Traces and reports in Markdown with mathematics, as GitHub and GitLab show it.

A matrix with labels is a table, any other is mathematics. Formulas are in fences of the language
`math`, where no character means Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attncli.core.calculation.trace import Trace
from attncli.core.formulas.printers import TEX_SIGNS, ascii_text, letters, number
from attncli.core.formulas.printers import tex as as_tex
from attncli.core.formulas.text import text
from attncli.core.tape.step import Step
from attncli.core.text.strings import label_text, regex
from attncli.printing import blocks
from attncli.printing.blocks import ROOM, Entry, Figure, Group, Matrix, Page, Panel
from attncli.printing.page import page_of
from attncli.printing.selection import PageSelection, Selection, pieces

if TYPE_CHECKING:
    from attncli.core.explaining.explain import Explanation

STRONG = ("name", "right", "wrong", "near")
"""The styles of sentences in bold letters: what was done, and the verdict."""

MAX_LINE_WIDTH = 90
"""Maximum width, in characters, of operands and result that are written side by side."""

WIDE = "&emsp;"
"""Blanks that make a column of a table wide enough to write in."""

SPECIAL_SIGNS = regex(r"([\\`*_{}\[\]<>#|~&])")
SHORTCODE = regex(r":(?=[\w+-]+:)")
AT_START = regex(
    r"^([^\S\n]*+)([-+](?=\s|$)|[-=](?=[-=]*+[^\S\n]*+$)|\d++(?=[.)](?:\s|$)))", re.MULTILINE
)
"""The start of a line that would make it a list, a rule or a heading."""


def traces(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield a document with mathematics; a rule separates problems."""
    pages = (_parts(page_of(trace, selection)) for trace in shown)
    return pieces(("\n\n".join(parts) + "\n" for parts in pages), "\n---\n\n", selection.follows)


def explained(explanation: Explanation, escape: Callable[[str], str], alignment: str = "") -> str:
    """Return an explanation in TeX's mathematics, with a sign where lines may be aligned."""
    name, *parts = (as_tex(part, escape) for part in explanation.chain.parts)
    last = r"\approx" if explanation.chain.last == "≈" else "="
    signs = [*["="] * (len(parts) - 1), last]
    formula = " ".join(f"{sign} {part}" for sign, part in zip(signs, parts, strict=True))
    if explanation.reasons:
        reasons = r";\ ".join(as_tex(reason, escape) for reason in explanation.reasons)
        formula += rf"\text{{, as }}{reasons}"
    elif explanation.given:
        formula += r"\ \text{(given)}"
    return f"{name} {alignment}{formula}"


def escaped(text: str) -> str:
    r"""Return text of one line that Markdown shows as it is written.

    >>> escaped("*a* [b](c) <i> $1$")
    '\\*a\\* \\[b\\](c) \\<i\\> <span>$</span>1<span>$</span>'
    """
    text = SPECIAL_SIGNS.sub(r"\\\1", text)
    # Where there is mathematics and emoji in Markdown, neither minds a backslash.
    text = SHORTCODE.sub("<span>:</span>", text.replace("$", "<span>$</span>"))
    return AT_START.sub(_harmless, text.strip())


def _harmless(match: re.Match[str]) -> str:
    start = match[2]
    return f"&#{ord(start[0])};{start[1:]}" if start.isdigit() else f"\\{start}"


def formula_of(step: Step, escape: Callable[[str], str]) -> str:
    """Return a step's formula and what its letters mean; `escape` writes the words."""
    note = rf" \qquad {as_tex(step.note, escape)}" if step.note else ""
    return f"{as_tex(step.notation, escape)}{note}"


def sign(text: str) -> str:
    """Return a sign between the matrices of a layout, such as × or tanh(."""
    name = text.removesuffix("(")
    if name != text:
        return rf"{letters(name)}\Bigl("
    return r"\Bigr)" if text == ")" else f" {TEX_SIGNS.get(text, text)} "


def column_style(matrix: Matrix) -> str:
    """Return how the columns of an array are set: numbers flush right, bars between heads."""
    number = "c" if matrix.is_open else "r"  # room has no end to be flush with
    styles = ("c" if c is None else number for c in matrix.columns)
    places = zip(matrix.columns, styles, strict=True)
    return "".join(f"|{style}" if c in matrix.bars else style for c, style in places)


def bracketed(matrix: Matrix, lines: Sequence[str]) -> str:
    body = r" \\ ".join(lines)
    return rf"\left[\begin{{array}}{{{column_style(matrix)}}} {body} \end{{array}}\right]"


def _parts(page: Page) -> Iterator[str]:
    level = "###" if any(entry.group for entry in page.entries) else "##"
    if page.title:
        yield f"# {escaped(page.title)}"
    if page.asked:
        yield f"Name: {escaped(page.student)}".rstrip()
    for paragraph in re.split(r"\n\s*\n", page.notes):
        if paragraph.strip():
            yield "\\\n".join(map(escaped, paragraph.strip().splitlines()))
    if page.asked:
        yield escaped(page.asked)
    for entry in page.entries:
        if entry.group:
            yield f"## {escaped(entry.group)}"
        yield from _entry(entry, level)
    yield from map(escaped, page.closing)
    if page.warnings:
        yield f"{level} Warnings"
        yield "\n".join(f"- {escaped(warning)}" for warning in page.warnings)


def _entry(entry: Entry, level: str) -> Iterator[str]:
    yield f"{level} {', '.join(escaped(step.word) for step in entry.steps)}"
    for panel in entry.inputs:
        yield from _named(panel)
    yield _block([formula_of(step, ascii_text) for step in entry.steps])
    yield from map(escaped, entry.reasons)
    for figure in entry.figures:
        yield from _figure(figure)


def _figure(figure: Figure) -> Iterator[str]:
    if figure.name:
        yield f"**{escaped(figure.name)}**"
    (result, *sums) = figure.results
    if any(panel.answer for panel in figure.results):
        yield from _to_write(figure)
        return
    as_table = result.matrix.has_labels
    width = sum(panel.matrix.width for panel in figure.panels)
    if figure.operands and width <= MAX_LINE_WIDTH:
        line = _operands(figure)
        yield _block([f"{line} =" if as_table else f"{line} = {_array(result.matrix)}"])
        if as_table:
            yield _table(result.matrix)
    elif not sums:
        for panel in figure.panels:
            yield from _named(panel)
        yield _matrix(result.matrix)
    elif as_table and len(sums[0].matrix.values) == len(result.matrix.values):
        yield _table(result.matrix, sums[0])
    else:
        for panel in figure.results:
            yield from _named(panel)
    if sums_of_values := figure.sums():
        yield "\\\n".join(escaped(" ".join(weighted.texts())) for weighted in sums_of_values)


def _to_write(figure: Figure) -> Iterator[str]:
    """Yield the operands and the matrices to fill in, each after its mark, which is not shown."""
    if figure.operands:
        yield _block([f"{_operands(figure)} ="])
    for panel in figure.results:
        if len(figure.results) > 1:
            yield f"$`{as_tex(panel.name)}`$"
        mark = f"{mark_of(panel.answer)}\n\n" if panel.answer else ""
        yield f"{mark}{_matrix(panel.matrix)}"


def _operands(figure: Figure) -> str:
    parts = figure.operands
    return "".join(_array(p.matrix) if isinstance(p, Panel) else sign(p) for p in parts)


def mark_of(name: str) -> str:
    """Return the mark of an answer, a comment; no sign of the name can end it."""
    for mark, instead in (("&", "&amp;"), (">", "&gt;"), ("--", "&#45;&#45;")):
        name = name.replace(mark, instead)
    return f"<!-- answer: {name} -->"


def _named(panel: Panel) -> Iterator[str]:
    name = as_tex(panel.name)
    if panel.words:
        yield f"**{escaped(panel.words)}**"
    if panel.matrix.has_labels:
        yield f"$`{name}`$"
        yield _table(panel.matrix)
    else:
        yield _block([f"{name} = {_array(panel.matrix)}"])


def _matrix(matrix: Matrix) -> str:
    return _table(matrix) if matrix.has_labels else _block([_array(matrix)])


def _array(matrix: Matrix) -> str:
    rows = (map(number, _texts(matrix, row, r"\quad\quad")) for row in matrix.rows)
    return bracketed(matrix, [" & ".join(row) for row in rows])


def _texts(matrix: Matrix, row: int | None, room: str) -> list[str]:
    """Return the texts of a row, with `room` in the place of numbers to be written."""
    pairs = zip(matrix.columns, matrix.texts(row, matrix.columns), strict=True)
    return [room if matrix.has_room(row, column) else text for column, text in pairs]


def _table(matrix: Matrix, beside: Panel | None = None) -> str:
    """Return a matrix as a table with its labels, and perhaps a column of another one."""
    heads = [_label(matrix.column_labels, c, "…") for c in matrix.columns]
    lines = [_texts(matrix, row, " " * ROOM) for row in matrix.rows]
    if beside is not None:
        heads.append(escaped(text(beside.name)))
        for line, row in zip(lines, matrix.rows, strict=True):
            line.append(beside.matrix.text(row, 0))
    if matrix.is_open:
        heads = [f"{WIDE}{head}{WIDE}" for head in heads]
    rules = [" --: "] * len(heads)
    if matrix.row_labels:
        heads.insert(0, "")
        rules.insert(0, " :-- ")
        for line, row in zip(lines, matrix.rows, strict=True):
            line.insert(0, _label(matrix.row_labels, row, "⋮"))
    return _text_table(heads, rules, lines)


def _text_table(heads: Sequence[str], rules: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(rules)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _label(labels: Sequence[str], place: int | None, left_out: str) -> str:
    if place is None:
        return left_out
    return escaped(label_text(labels[place])) if labels else str(place + 1)


def _block(lines: Sequence[str]) -> str:
    if len(lines) > 1:
        body = " \\\\\n".join(lines)
        return f"```math\n\\begin{{gathered}}\n{body}\n\\end{{gathered}}\n```"
    return f"```math\n{''.join(lines)}\n```"


def written(
    build: Callable[..., Iterable[Group]], every: Iterable[object], selection: PageSelection
) -> Iterator[bytes]:
    """Yield the pages that a function builds; a rule separates them."""
    pages = (_document(build(one, selection)) for one in every)
    return pieces(pages, "\n---\n\n", selection.follows)


def _document(groups: Iterable[Group]) -> str:
    parts = (MARKDOWN_WRITERS[type(block)](block) for group in groups for block in group)
    return "\n\n".join(filter(None, parts)) + "\n"


def _heading(heading: blocks.Heading) -> str:
    title = " ".join(filter(None, ("#" * heading.level, heading.sign, escaped(heading.text))))
    formula = _block([formula_of(heading.step, ascii_text)]) if heading.step else ""
    return "\n\n".join(filter(None, (title, formula, escaped(heading.aside))))


def _sentence(said: blocks.Sentence) -> str:
    text = escaped(" ".join(filter(None, (said.sign, said.text))))
    return f"**{text}**" if said.style in STRONG else text


def _formulas(formulas: blocks.Formulas) -> str:
    every = ((depth, explained(one, ascii_text)) for depth, one in formulas.every)
    return "\n".join(f"{'  ' * depth}- $`{formula}`$" for depth, formula in every)


def _rows(table: blocks.Table) -> str:
    """Return a table; Markdown has none without heads."""
    rules = ["---:" if side == "r" else "---" for side in table.sides]
    rows = ([escaped(text) for text, _ in row] for row in table.rows)
    return _text_table([escaped(head) for head in table.heads] or [""] * len(rules), rules, rows)


def _comparison(comparison: blocks.ComparedMatrices) -> str:
    return _rows(comparison.cells) if comparison.cells else ""


MARKDOWN_WRITERS: Mapping[type, Callable[[Any], str]] = {
    blocks.Heading: _heading,
    blocks.Sentence: _sentence,
    blocks.Formulas: _formulas,
    blocks.Table: _rows,
    blocks.ComparedMatrices: _comparison,
}

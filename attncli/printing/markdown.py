"""Traces and reports in Markdown with mathematics, as GitHub and GitLab show it.

A matrix with labels is a table, any other is mathematics. Formulas are in fences of the language
`math`, where no character means Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from attncli.core.calculation.trace import Trace
from attncli.core.formulas.printers import TEX_SIGNS, ascii_text, letters, number
from attncli.core.formulas.printers import tex as as_tex
from attncli.core.formulas.text import text
from attncli.core.tape.step import Step
from attncli.core.text.strings import label_text, regex, shortened, visible
from attncli.printing.blocks import ROOM, Entry, Figure, Matrix, Page, Panel
from attncli.printing.page import page_of
from attncli.printing.selection import ReportSelection, Selection, pieces

if TYPE_CHECKING:
    from attncli.checking.check import Graded
    from attncli.core.explaining.explain import Explanation
    from attncli.printing.class_report import ClassReport
    from attncli.printing.explanations import Request
    from attncli.printing.report import Remark, ReportPage

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


def explanations(requests: Sequence[Request], selection: Selection) -> Iterator[bytes]:
    """Yield a list of formulas, in which operands are below what is made of them."""
    parts: list[str] = []
    problem = None
    for request in requests:
        parts += ["\n"] if parts else []
        if request.trace.problem is not problem:
            problem = request.trace.problem
            title = escaped(visible(problem.title))
            parts += [f"**{title}**\n\n"] if title else []
        for depth, explanation in request.found(selection.digits, selection.full):
            parts.append(f"{'  ' * depth}- $`{explained(explanation, ascii_text)}`$\n")
    yield "".join(parts).encode()


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


def table(heads: Sequence[str], rules: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; all texts are escaped already."""
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(rules)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def heading(step: Step, escape: Callable[[str], str]) -> str:
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
    yield _block([heading(step, ascii_text) for step in entry.steps])
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
    return table(heads, rules, lines)


def _label(labels: Sequence[str], place: int | None, left_out: str) -> str:
    if place is None:
        return left_out
    return escaped(label_text(labels[place])) if labels else str(place + 1)


def _block(lines: Sequence[str]) -> str:
    if len(lines) > 1:
        body = " \\\\\n".join(lines)
        return f"```math\n\\begin{{gathered}}\n{body}\n\\end{{gathered}}\n```"
    return f"```math\n{''.join(lines)}\n```"


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield the report of one student, or a table of several."""
    from attncli.checking.check import Report
    from attncli.printing.class_report import class_report
    from attncli.printing.report import report_page

    every = iter(graded)
    first, second = next(every), next(every, None)
    if second is not None:
        parts = _class(class_report(chain([first, second], every)), selection)
    elif isinstance(first, Report):
        parts = _report(report_page(first, selection))
    else:
        parts = _class(class_report([first]), selection)
    yield ("\n\n".join(parts) + "\n").encode()


def _report(page: ReportPage) -> Iterator[str]:
    yield f"# {escaped(page.name)}"
    if page.title:
        yield escaped(page.title)
    if page.comment:
        yield "\n".join(f"> {escaped(line)}\\" for line in page.comment).removesuffix("\\")
    yield from map(escaped, page.said)
    yield f"**{escaped(page.verdict)}**"
    if page.points:
        yield escaped(page.points)
    for remark in page.remarks.values():
        yield from _remark(remark)
    yield from map(escaped, page.missing)


def _remark(remark: Remark) -> Iterator[str]:
    aside = f" ({escaped(remark.aside)})" if remark.aside else ""
    yield f"## {remark.sign} {escaped(remark.step.word)}{aside}"
    if finding := remark.finding:
        yield escaped(f"{visible(finding.message)} {visible(finding.advice)}")
        if finding.worked:
            yield _items(map(visible, finding.worked))
    if remark.sign == "→":
        yield escaped(f"worked out correctly from {remark.follows}")
    yield from map(escaped, filter(None, (*remark.unexplained, remark.early)))
    if remark.cells:
        rows = [(cell.name, f"{visible(cell.given)} ✗", cell.right) for cell in remark.cells]
        escaped_rows = (list(map(escaped, row)) for row in rows)
        yield table(["cell", "yours", "right"], ["---", "---:", "---:"], escaped_rows)
    if remark.last_digits:
        first, *cells = remark.last_digits
        yield escaped(first)
        yield _items(cells)


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def _class(report: ClassReport, selection: ReportSelection) -> Iterator[str]:
    several = len({row.title for row in report.rows}) > 1
    heads = ["student", *["problem"] * several, "verdict", "first wrong step", "mistake"]
    rows: list[list[str]] = []
    for row in report.rows:
        cells = (shortened(row.name), *[row.title] * several, row.verdict, row.first_wrong_step)
        message = escaped(visible(row.message))
        mistake = f"{message} (`{row.mistake}`)" if row.mistake else message
        rows.append([*(escaped(visible(cell)) for cell in cells), mistake])
    if selection.points:
        heads.append("points")
        rows = [[*cells, row.points] for cells, row in zip(rows, report.rows, strict=True)]
    yield table(heads, ["---"] * len(heads), rows)
    yield _items((*report.summary, *report.notes))

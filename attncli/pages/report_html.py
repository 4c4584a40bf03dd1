"""Reports in HTML: the page of the problem with answers below each step; a page for a student.

A student's page shows no number that the student did not write, unless with the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from attncli.checking.check import Graded, Report
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.printers import mathml
from attncli.core.formulas.text import text as as_text
from attncli.core.records import replace
from attncli.core.text.strings import visible
from attncli.pages.html import Answers, traces
from attncli.pages.markup import Script, matrix_table, page_parts, text
from attncli.printing import verdicts
from attncli.printing.blocks import SIGN_STYLES, ComparedMatrices, Group, Heading, Sentence, Table
from attncli.printing.class_report import Tally
from attncli.printing.report import Remark, about, remarks
from attncli.printing.selection import ReportSelection, Selection


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield the page of the problem with a student's answers, for each student in turn."""
    every = list(graded)
    between = [_section(map(Sentence, Tally(every).lines())) if len(every) > 1 else ""]
    shown, answers = list[Trace](), list[Answers]()
    for one in every:
        if isinstance(one, Report):
            shown.append(one.trace)
            answers.append(_answers(one, selection))
            between.append("")
        else:
            between[-1] += _section([_unread(f"{one.name}: {verdicts.reason(one)}")])
    if shown:
        pages = Selection(selection.decimals, selection.full, selection.quiet, only=selection.only)
        yield from traces(shown, pages, answers, between)
    else:
        yield "".join(page_parts("Answers", between, Script())).encode()


def _section(group: Group) -> str:
    return f"<section>\n{markup(group)}</section>\n"


def _unread(words: str) -> Sentence:
    return Sentence(words, SIGN_STYLES["?"], "?")


def _answers(report: Report, selection: ReportSelection) -> Answers:
    shown, name = remarks(report, selection), visible(report.name)
    above = markup(_above(report, shown, f"{name}: "))
    return Answers(name, above, {name: remark(one) for name, one in shown.items()})


def _above(
    report: Report, shown: Mapping[str, Remark], name: str = "", more: Sequence[str] = ()
) -> Iterator[Sentence]:
    """Yield what is said of all answers."""
    (verdict, *points), *others = about(report, shown)
    sign = verdicts.VERDICT_SIGNS[report.verdict]
    yield replace(verdict, text=f"{name}{verdict.text}", sign=sign)
    yield from chain(map(Sentence, filter(None, more)), points, *others)


def remark(shown: Remark) -> str:
    parts = [f'<div class="remark {SIGN_STYLES[shown.sign]}">']
    parts += [f"<p>({text(shown.aside)})</p>"] if shown.aside else []
    blocks = [*[Sentence(shown.outcome)] * bool(shown.outcome), *shown.blocks]
    if first := next((block for block in blocks if isinstance(block, Sentence)), None):
        blocks[blocks.index(first)] = replace(first, sign=shown.sign)
    return "".join([*parts, *(HTML_WRITERS[type(block)](block) for block in blocks), "</div>\n"])


def markup(group: Group) -> str:
    return "".join(f"{HTML_WRITERS[type(block)](block)}\n" for block in group)


def paragraphs(lines: Iterable[str]) -> str:
    return markup(map(Sentence, lines))


def _heading(heading: Heading) -> str:
    if heading.step is None:
        return f'<h{heading.level} dir="auto">{text(heading.text)}</h{heading.level}>'
    notation = heading.step.notation
    start = f'<h{heading.level} class="formula" aria-label="{text(as_text(notation))}">'
    return f"{start}{mathml(notation, block=True)}</h{heading.level}>"


def _sentence(said: Sentence) -> str:
    words = f"<b>{text(said.text)}</b>" if said.style == "name" else text(said.text)
    kind = {"faint": "notes", "right": "verdict", "wrong": "verdict", "near": "verdict"}
    start = f'<p class="{kind[said.style]}" dir="auto">' if said.style in kind else "<p>"
    return f"{start}{f'{said.sign} ' if said.sign else ''}{words}</p>"


def _table(table: Table) -> str:
    heads = "".join(f'<th scope="col">{text(head)}</th>' for head in table.heads)
    rows = "".join(
        f"<tr>{''.join(f'<td>{text(words)}</td>' for words, _ in row)}</tr>" for row in table.rows
    )
    parts = f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="scroll"><table>{parts}</table></div>'


def _comparison(comparison: ComparedMatrices) -> str:
    """Return what the student wrote: the page of the problem shows what is right."""
    parts = list[str]()
    for one in comparison.matrices:
        caption = ", ".join(filter(None, ("yours", one.name)))
        table = matrix_table(one.yours, text(caption), caption)
        parts.append(f'<div class="figure"><div class="part">{table}</div></div>')
    return "".join(parts) or (_table(comparison.cells) if comparison.cells else "")


HTML_WRITERS: Mapping[type, Callable[[Any], str]] = {
    Heading: _heading,
    Sentence: _sentence,
    Table: _table,
    ComparedMatrices: _comparison,
}


def student_page(graded: Sequence[Graded], selection: ReportSelection) -> Iterator[bytes]:
    if selection.solution and any(isinstance(one, Report) for one in graded):
        yield from reports(graded, selection)
        return
    name = graded[0].name
    parts = [markup([Heading(name)])]
    for one in graded:
        parts.append("<article>\n")
        parts += [markup([Heading(one.title, level=2)])] if one.title else []
        if isinstance(one, Report):
            parts += _report(one, selection)
        else:
            why = "; ".join(fault.message for fault in one.error.faults)
            parts.append(markup([_unread(f"could not be read: {why}")]))
        parts.append("</article>\n")
    yield static_page(name, parts)


def static_page(title: str, parts: Iterable[str]) -> bytes:
    """Return a page without scripts, of some markup."""
    body = ["<div>\n", *parts, "</div>\n"]
    return "".join(page_parts(title, body, Script((), ("style.css", "class.css"), ""))).encode()


def _report(report: Report, selection: ReportSelection) -> Iterator[str]:
    shown = remarks(report, selection, solution=False)
    first = shown.get(report.first_wrong_step or "")
    where = first.first_wrong if first else ""
    said = f"The first wrong number is {where}." if where else ""
    count = verdicts.numbers_right(report, report.wanted.values())
    yield markup(_above(report, shown, more=(said, count)))
    for one in shown.values():
        yield _remark(report, one)


def _remark(report: Report, shown: Remark) -> str:
    name = shown.step.name
    counted = (report.counting | report.wanted).get(name)
    count = "" if counted is None else verdicts.numbers_right(report, [counted])
    counts = ", ".join(filter(None, [count, verdicts.points_of_step(report, name)]))
    above = markup([Heading(shown.step.word, step=shown.step, level=3)])
    above += paragraphs(filter(None, [counts]))
    return f'<section class="step">\n{above}{remark(shown)}</section>\n'

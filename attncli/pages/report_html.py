"""Reports in HTML: the page of the problem with answers below each step; a page for a student.

A student's page shows no number that the student did not write, unless with the solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attncli.checking.check import Graded, Report
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.printers import mathml
from attncli.core.formulas.text import text as as_text
from attncli.pages.html import Answers, traces
from attncli.pages.markup import Script, matrix_table, page_parts, text
from attncli.printing.class_report import Tally
from attncli.printing.report import Remark, ReportPage, report_page
from attncli.printing.selection import ReportSelection, Selection
from attncli.printing.verdicts import numbers_right, points_of_step, reason

REMARK_STYLES = {"✗": "wrong", "≈": "near"}
"""The style of a remark by its sign; that of the others is `right`."""


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield the page of the problem with a student's answers, for each student in turn."""
    every = list(graded)
    between = [_section(paragraphs(Tally(every).lines())) if len(every) > 1 else ""]
    shown, answers = list[Trace](), list[Answers]()
    for one in every:
        if isinstance(one, Report):
            shown.append(one.trace)
            answers.append(_answers(report_page(one, selection)))
            between.append("")
        else:
            between[-1] += _section(verdict_line(f"? {one.name}: {reason(one)}"))
    if shown:
        pages = Selection(selection.decimals, selection.full, selection.quiet, selection.only)
        yield from traces(shown, pages, answers, between)
    else:
        yield "".join(page_parts("Answers", between, Script())).encode()


def _section(markup: str) -> str:
    return f"<section>\n{markup}</section>\n"


def _answers(page: ReportPage) -> Answers:
    verdict = verdict_line(f"{page.sign} {page.name}: {page.verdict}")
    above = f"{verdict}{paragraphs(page.summary)}{comment(page)}"
    return Answers(page.name, above, {name: remark(one) for name, one in page.remarks.items()})


def verdict_line(words: str) -> str:
    return f'<p class="verdict" dir="auto">{text(words)}</p>\n'


def paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{text(line)}</p>\n" for line in lines)


def comment(page: ReportPage) -> str:
    return "".join(f'<p class="notes" dir="auto">“{text(x)}”</p>\n' for x in page.comment)


def remark(shown: Remark) -> str:
    parts = [f'<div class="remark {REMARK_STYLES.get(shown.sign, "right")}">']
    parts += [f"<p>({text(shown.aside)})</p>"] if shown.aside else []
    parts += [f"<p>{shown.outcome}</p>"] if shown.outcome else []
    for comparison in shown.comparisons:
        caption = ", ".join(filter(None, ("yours", comparison.words)))
        table = matrix_table(comparison.yours, text(caption), caption)
        parts.append(f'<div class="figure"><div class="part">{table}</div></div>')
    if not shown.comparisons:
        parts.append(paragraphs(shown.wrong_numbers))
    for sign, sentence, advice in shown.sentences:
        said = f"<b>{text(sentence)}</b> {text(advice)}" if advice else text(sentence)
        parts.append(f"<p>{sign} {said}</p>" if sign else f"<p>{said}</p>")
    return "".join([*parts, "</div>\n"])


def student_page(graded: Sequence[Graded], selection: ReportSelection) -> Iterator[bytes]:
    if selection.solution and any(isinstance(one, Report) for one in graded):
        yield from reports(graded, selection)
        return
    name = graded[0].name
    parts = [f'<h1 dir="auto">{text(name)}</h1>\n']
    for one in graded:
        parts.append("<article>\n")
        parts += [f'<h2 dir="auto">{text(one.title)}</h2>\n'] if one.title else []
        if isinstance(one, Report):
            parts += _report(one, selection)
        else:
            why = "; ".join(fault.message for fault in one.error.faults)
            parts.append(verdict_line(f"? could not be read: {why}"))
        parts.append("</article>\n")
    yield static_page(name, parts)


def static_page(title: str, parts: Iterable[str]) -> bytes:
    """Return a page without scripts, of some markup."""
    body = ["<div>\n", *parts, "</div>\n"]
    return "".join(page_parts(title, body, Script((), ("style.css", "class.css"), ""))).encode()


def _report(report: Report, selection: ReportSelection) -> Iterator[str]:
    page = report_page(report, selection, solution=False)
    yield verdict_line(f"{page.sign} {page.verdict}")
    first = page.remarks.get(report.first_wrong_step or "")
    if first and first.first_wrong:
        yield paragraphs([f"The first wrong number is {first.first_wrong}."])
    count = numbers_right(report, report.wanted.values())
    yield paragraphs(filter(None, [count, *page.summary]))
    yield comment(page)
    for shown in page.remarks.values():
        yield _remark(report, shown)


def _remark(report: Report, shown: Remark) -> str:
    name, notation = shown.step.name, shown.step.notation
    formula = mathml(notation, block=True)
    heading = f'<h3 class="formula" aria-label="{text(as_text(notation))}">{formula}</h3>\n'
    counted = (report.counting | report.wanted).get(name)
    count = "" if counted is None else numbers_right(report, [counted])
    counts = ", ".join(filter(None, [count, points_of_step(report, name)]))
    above = heading + paragraphs([counts] if counts else [])
    return f'<section class="step">\n{above}{remark(shown)}</section>\n'

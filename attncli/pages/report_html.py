"""Reports in HTML: the page of the problem with answers below each step; pages for a class.

A class has a page for each student, and one that links to them. A student's page shows no number
that the student did not write, unless with the solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from urllib.parse import quote

from attncli.checking.check import Graded, Report
from attncli.checking.judging.judged_steps import WRONG
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.printers import mathml
from attncli.core.formulas.text import text as as_text
from attncli.core.records import EMPTY, Record
from attncli.pages.html import Answers, traces
from attncli.pages.markup import Script, matrix_table, page_parts, text
from attncli.printing.class_report import Tally
from attncli.printing.formats import ReportSelection, Selection
from attncli.printing.grades import column_title
from attncli.printing.report import Remark, ReportPage, report_page, sign_of
from attncli.printing.verdicts import numbers_right, points_of, points_of_step, reason
from attncli.reading.document import Unread

REMARK_STYLES = {"✗": "wrong", "≈": "near"}
"""The style of a remark by its sign; that of the others is `right`."""

MEANINGS = {
    "✓": ("right", "right"),
    "≈": ("near", "right but for a rounding"),
    "→": ("carried", "follows from the numbers before it"),
    "✗": ("wrong", "wrong"),
    "…": ("near", "right, but some cells are left out"),
    "–": ("none", "not given"),
    "?": ("none", "could not be read"),
}
"""The signs of the class page, each with the style of its cell and its meaning."""

NO_SCRIPT = Script((), ("style.css", "class.css"), "")


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield the page of the problem with a student's answers, for each student in turn."""
    every = list(graded)
    between = [_section(paragraphs(Tally(every).lines())) if len(every) > 1 else ""]
    shown, answers = list[Trace](), list[Answers]()
    for one in every:
        if isinstance(one, Unread):
            between[-1] += _section(verdict_line(f"? {one.name}: {reason(one)}"))
        else:
            shown.append(one.trace)
            answers.append(_answers(report_page(one, selection)))
            between.append("")
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
    for sign, sentence, advice in shown.sentences:
        said = f"<b>{text(sentence)}</b> {text(advice)}" if advice else text(sentence)
        parts.append(f"<p>{sign} {said}</p>" if sign else f"<p>{said}</p>")
    return "".join([*parts, "</div>\n"])


def student(graded: Sequence[Graded], selection: ReportSelection) -> Iterator[bytes]:
    if selection.solution and any(isinstance(one, Report) for one in graded):
        yield from reports(graded, selection)
        return
    name = graded[0].name
    parts = [f'<h1 dir="auto">{text(name)}</h1>\n']
    for one in graded:
        parts.append("<article>\n")
        parts += [f'<h2 dir="auto">{text(one.title)}</h2>\n'] if one.title else []
        parts += _unread(one) if isinstance(one, Unread) else _report(one, selection)
        parts.append("</article>\n")
    yield _page(name, parts)


def _page(title: str, parts: Sequence[str]) -> bytes:
    body = ["<div>\n", *parts, "</div>\n"]
    return "".join(page_parts(title, body, NO_SCRIPT)).encode()


def _unread(one: Unread) -> Iterator[str]:
    why = "; ".join(fault.message for fault in one.error.faults)
    yield verdict_line(f"? could not be read: {why}")


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


class ProblemCells(Record):
    """What the class page shows of one student in one problem.

    The cells are by step, without their start `<td class="`; "" for a step without answers.
    """

    title: str = ""
    cells: Mapping[str, str] = EMPTY
    unread: str = ""  # why there is no step


class StudentRow(Record):
    """What the class page shows of one student; nothing else is kept of the answers."""

    name: str
    page: str  # the file of the student's page, beside the class page
    problems: tuple[ProblemCells, ...]
    points: str  # what was earned in all, such as `7.5 of 10`; or ""


def row(graded: Sequence[Graded], page: str) -> StudentRow:
    points = points_of(*graded)
    if points and any(isinstance(one, Unread) for one in graded):
        points += " + ?"
    return StudentRow(graded[0].name, page, tuple(map(_cells, graded)), points)


def _cells(one: Graded) -> ProblemCells:
    if isinstance(one, Unread):
        return ProblemCells(one.title, unread=f"? could not be read: {reason(one)}")
    return ProblemCells(one.title, {name: _cell(one, name) for name in one.steps})


def _cell(report: Report, name: str) -> str:
    judged = report.steps[name]
    if judged.status == "missing":
        return ""
    sign = sign_of(report, judged)
    if sign == "✓" and name in (report.answers[one] for one in report.left_out):
        sign = "…"
    if sign != "✗":
        return _signed(sign)
    share = float((judged.codes == WRONG).mean()) if judged.codes.size else 1.0
    finding = report.findings.get(name)
    words = text(finding.id.replace("_", " ")) if finding else ""
    mistake = f' <span class="id" title="{text(finding.id)}">{words}</span>' if finding else ""
    return _signed(sign, f' style="--w:{max(0.25, share):.2f}"', mistake)


def _signed(sign: str, attributes: str = "", more: str = "") -> str:
    style, meaning = MEANINGS[sign]
    said = f'<span aria-hidden="true">{sign}</span><span class="unseen">{meaning}</span>'
    return f'{style}"{attributes}>{said}{more}</td>'


def of_class(rows: Sequence[StudentRow], tally: Tally) -> Iterator[bytes]:
    titles = {problem.title for one in rows for problem in one.problems} - {""}
    heading = titles.pop() if len(titles) == 1 else "The class"
    meanings = ", ".join(f"{sign} {meaning}" for sign, (_, meaning) in MEANINGS.items())
    legend = f"{meanings}; the redder, the more numbers are wrong"
    doubts = "".join(f'<div class="warnings">{paragraphs([one])}</div>\n' for one in tally.doubts())
    summary = f"<section>\n{paragraphs(tally.lines())}</section>\n"
    title = f'<h1 dir="auto">{text(heading)}</h1>\n'
    notes = f'<p class="notes">{text(legend)}</p>\n'
    yield _page(heading, [title, doubts, *_table(rows), notes, summary])


def _table(rows: Sequence[StudentRow]) -> Iterator[str]:
    problems = [*zip_longest(*(one.problems for one in rows), fillvalue=ProblemCells())]
    columns = [*map(_given_steps, problems)]
    points = any(one.points for one in rows)
    yield '<div class="scroll"><table class="class">\n'
    yield "<caption>each student in each step</caption>\n<thead>\n"
    if len(columns) > 1:
        yield "<tr><td></td>" + "<td></td>" * points
        for number, (problem, names) in enumerate(zip(problems, columns, strict=True), 1):
            title = column_title((one.title for one in problem), number)
            yield f'<th scope="colgroup" colspan="{len(names)}">{text(title)}</th>'
        yield "</tr>\n"
    yield '<tr><th scope="col">student</th>' + '<th scope="col">points</th>' * points
    for first, *others in columns:
        yield f'<th scope="col" class="bar">{text(first)}</th>'
        yield from (f'<th scope="col">{text(name)}</th>' for name in others)
    yield "</tr>\n</thead>\n<tbody>\n"
    for one, *cells in zip(rows, *problems, strict=True):
        link = f'<a href="{text(quote(one.page))}">{text(one.name)}</a>'
        yield f'<tr><th scope="row" dir="auto">{link}</th>'
        yield f"<td>{text(one.points)}</td>" * points
        pairs = zip(cells, columns, strict=True)
        for why, some in groupby(pairs, key=lambda pair: pair[0].unread):
            parts = [[one.cells.get(n) or _signed("–") for n in names] for one, names in some]
            if why:
                width = sum(map(len, parts))
                yield f'<td class="none bar unread" colspan="{width}">{text(why)}</td>'
            else:
                yield from ('<td class="bar ' + '<td class="'.join(part) for part in parts)
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"


def _given_steps(problems: Sequence[ProblemCells]) -> list[str]:
    every = dict.fromkeys(name for one in problems for name in one.cells)
    return [name for name in every if any(one.cells.get(name) for one in problems)] or [""]

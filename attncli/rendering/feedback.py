"""Pages of HTML for a class: one for each student, and one of the class that links to them.

A student's page shows no number that is not the student's own, unless with the solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from attncli.checking.check import Report
from attncli.checking.judged import WRONG
from attncli.files.grading import Graded, Unread
from attncli.notation.mathml import mathml
from attncli.notation.text import text as as_text
from attncli.records import Record
from attncli.rendering import report_html
from attncli.rendering.markup import Script, page_parts, text
from attncli.rendering.report import Remark, report_page, sign_of
from attncli.rendering.report_html import paragraphs, verdict_line
from attncli.rendering.selection import ReportSelection
from attncli.rendering.verdicts import Tally, points_text

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


def student(graded: Sequence[Graded], selection: ReportSelection) -> Iterator[bytes]:
    if selection.solution and any(isinstance(one, Report) for one in graded):
        yield from report_html.reports(graded, selection)
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
    """Return a page; one `div` holds its parts, as the children of `main` are set far apart."""
    body = ["<div>\n", *parts, "</div>\n"]
    return "".join(page_parts(title, body, NO_SCRIPT)).encode()


def _unread(one: Unread) -> Iterator[str]:
    reason = "; ".join(fault.message for fault in one.error.faults)
    yield verdict_line(f"? could not be read: {reason}")


def _report(report: Report, selection: ReportSelection) -> Iterator[str]:
    page = report_page(report, selection, solution=False)
    yield verdict_line(f"{page.sign} {page.verdict}")
    first = page.remarks.get(report.first_wrong_step or "")
    if first and first.first_wrong:
        yield paragraphs([f"The first wrong number is {first.first_wrong}."])
    yield paragraphs(page.summary)
    yield report_html.comment(page)
    for remark in page.remarks.values():
        yield _remark(remark)


def _remark(remark: Remark) -> str:
    notation = remark.step.notation
    formula = mathml(notation, block=True)
    heading = f'<h3 class="formula" aria-label="{text(as_text(notation))}">{formula}</h3>\n'
    return f'<section class="step">\n{heading}{report_html.remark(remark)}</section>\n'


class Mark(Record):
    """What the class page shows of one step: a sign, the share of wrong cells, and the mistake."""

    sign: str = "–"
    wrong: float = 0.0
    mistake: str = ""


NOT_GIVEN = Mark()


class StudentRow(Record):
    """What the class page shows of one student; nothing else is kept of the answers."""

    name: str
    page: str  # the file of the student's page, beside the class page
    titles: tuple[str, ...]  # of the problems
    marks: tuple[dict[str, Mark], ...]  # for each problem, by step; empty for what is unreadable
    points: str  # what was earned in all, such as `7.5 of 10`; or ""


def row(graded: Sequence[Graded], page: str) -> StudentRow:
    reports = [one for one in graded if isinstance(one, Report)]
    possible = sum(one.marking.possible for one in reports)
    has_points = any(one.marking.points for one in reports)
    total = sum(one.total for one in reports)
    points = f"{points_text(total)} of {points_text(possible)}" if has_points else ""
    if points and len(reports) < len(graded):
        points += " + ?"  # for answers that could not be read
    titles = tuple(one.title for one in graded)
    return StudentRow(graded[0].name, page, titles, tuple(map(_marks, graded)), points)


def _marks(one: Graded) -> dict[str, Mark]:
    return {} if isinstance(one, Unread) else {name: _mark(one, name) for name in one.steps}


def _mark(report: Report, name: str) -> Mark:
    judged = report.steps[name]
    if judged.status == "missing":
        return NOT_GIVEN
    sign = sign_of(report, judged)
    if sign == "✓" and name in (report.answers[one] for one in report.left_out):
        sign = "…"
    share = float((judged.codes == WRONG).mean()) if judged.codes.size else 1.0
    finding = report.findings.get(name) if sign == "✗" else None
    return Mark(sign, round(share, 2), finding.id if finding else "")


def of_class(rows: Sequence[StudentRow], tally: Tally) -> Iterator[bytes]:
    titles = list(dict.fromkeys(title for one in rows for title in one.titles if title))
    heading = titles[0] if len(titles) == 1 else "The class"
    meanings = ", ".join(f"{sign} {meaning}" for sign, (_, meaning) in MEANINGS.items())
    legend = f"{meanings}; the redder, the more numbers are wrong"
    summary = f"<section>\n{paragraphs(tally.lines())}</section>\n"
    title = f'<h1 dir="auto">{text(heading)}</h1>\n'
    table = _table(rows, _columns(rows))
    yield _page(heading, [title, *table, f'<p class="notes">{text(legend)}</p>\n', summary])


def _columns(rows: Sequence[StudentRow]) -> list[list[str]]:
    """Return for each problem the steps of which a student gave something."""
    count = max((len(one.marks) for one in rows), default=0)
    every = [[_marks_at(one, place) for one in rows] for place in range(count)]
    names = [dict.fromkeys(name for marks in of_one for name in marks) for of_one in every]
    return [
        [name for name in own if any(marks.get(name, NOT_GIVEN) != NOT_GIVEN for marks in of_one)]
        for own, of_one in zip(names, every, strict=True)
    ]


def _marks_at(one: StudentRow, place: int) -> dict[str, Mark]:
    return one.marks[place] if place < len(one.marks) else {}


def _table(rows: Sequence[StudentRow], columns: Sequence[Sequence[str]]) -> Iterator[str]:
    has_points = any(one.points for one in rows)
    yield '<div class="scroll"><table class="class">\n'
    yield "<caption>each student in each step</caption>\n<thead>\n"
    if len(columns) > 1:
        yield "<tr><td></td>" + ("<td></td>" if has_points else "")
        for place, names in enumerate(columns):
            titles = {one.titles[place] for one in rows if place < len(one.titles)} - {""}
            title = titles.pop() if len(titles) == 1 else f"problem {place + 1}"
            yield f'<th scope="colgroup" colspan="{max(1, len(names))}">{text(title)}</th>'
        yield "</tr>\n"
    yield '<tr><th scope="col">student</th>'
    yield '<th scope="col">points</th>' if has_points else ""
    for names in columns:
        for number, name in enumerate(names):
            edge = "" if number else ' class="bar"'
            yield f'<th scope="col"{edge}>{text(name)}</th>'
        yield "" if names else "<td></td>"
    yield "</tr>\n</thead>\n<tbody>\n"
    for one in rows:
        link = f'<a href="{text(quote(one.page))}">{text(one.name)}</a>'
        yield f'<tr><th scope="row" dir="auto">{link}</th>'
        yield f"<td>{text(one.points)}</td>" if has_points else ""
        for place, names in enumerate(columns):
            marks = _marks_at(one, place)
            if not marks:
                yield f'<td class="none" colspan="{max(1, len(names))}">? could not be read</td>'
                continue
            yield from (_cell(marks.get(name, NOT_GIVEN), n) for n, name in enumerate(names))
            yield "" if names else "<td>–</td>"
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"


def _cell(mark: Mark, number: int) -> str:
    style, meaning = MEANINGS[mark.sign]
    bar = "" if number else " bar"
    strength = f' style="--w:{max(0.25, mark.wrong):.2f}"' if mark.sign == "✗" else ""
    mistake = f' <span class="id">{text(mark.mistake)}</span>' if mark.mistake else ""
    sign = f'<span aria-hidden="true">{mark.sign}</span><span class="unseen">{meaning}</span>'
    return f'<td class="{style}{bar}"{strength}>{sign}{mistake}</td>'

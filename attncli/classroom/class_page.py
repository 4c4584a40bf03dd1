"""The HTML page of a class: a row for each student, with a link to the student's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from urllib.parse import quote

from attncli.checking.check import Graded, Report
from attncli.checking.judging import judged_steps
from attncli.classroom.grades import column_title
from attncli.core.records import EMPTY, Record
from attncli.pages.markup import text
from attncli.pages.report_html import paragraphs, static_page
from attncli.printing import verdicts
from attncli.printing.class_report import Tally
from attncli.printing.report import sign_of
from attncli.reading.document import Unread

MEANINGS = {
    "✓": ("right", "right"),
    "≈": ("near", "right but for a rounding"),
    "→": ("carried", "follows from an earlier mistake"),
    "✗": ("wrong", "wrong"),
    "…": ("near", "right, but some cells are left out"),
    "–": ("none", "not given"),
    "?": ("none", "could not be read"),
}
"""The signs of the class page, each with the style of its cell and its meaning."""


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
    points = verdicts.points_of(*graded)
    if points and any(isinstance(one, Unread) for one in graded):
        points += " + ?"
    return StudentRow(graded[0].name, page, tuple(map(_cells, graded)), points)


def _cells(one: Graded) -> ProblemCells:
    if isinstance(one, Unread):
        return ProblemCells(one.title, unread=f"? could not be read: {_reason(one)}")
    return ProblemCells(one.title, {name: _cell(one, name) for name in one.steps})


def _reason(one: Unread) -> str:
    """Return why answers could not be read, with the name of the file unless it names the row."""
    fault = one.error.faults[0]
    if fault.place is None or one.name not in (fault.place.file, Path(fault.place.file).stem):
        return verdicts.reason(one)
    return f"line {fault.place.line}: {fault.message}" if fault.place.line else fault.message


def _cell(report: Report, name: str) -> str:
    judged = report.steps[name]
    if judged.status == "missing":
        return ""
    sign = sign_of(report, judged)
    if sign == "→" and not report.is_from_slip(judged):
        sign = "✓"  # only rounding was carried on
    if sign == "✓" and name in (report.answers[one] for one in report.left_out):
        sign = "…"
    if sign != "✗":
        return _signed(sign)
    share = float((judged.codes == judged_steps.WRONG).mean()) if judged.codes.size else 1.0
    finding = report.findings.get(name)
    words = text(finding.id.replace("_", " ")) if finding else ""
    mistake = f' <span class="id" title="{text(finding.id)}">{words}</span>' if finding else ""
    return _signed(sign, f' style="--w:{max(0.25, share):.2f}"', mistake)


def _signed(sign: str, attributes: str = "", more: str = "") -> str:
    style, meaning = MEANINGS[sign]
    said = f'<span aria-hidden="true">{sign}</span><span class="unseen">{meaning}</span>'
    return f'{style}"{attributes}>{said}{more}</td>'


def class_page(rows: Sequence[StudentRow], tally: Tally) -> Iterator[bytes]:
    titles = {problem.title for one in rows for problem in one.problems} - {""}
    heading = titles.pop() if len(titles) == 1 else "The class"
    meanings = ", ".join(f"{sign} {meaning}" for sign, (_, meaning) in MEANINGS.items())
    legend = f"{meanings}; the redder, the more numbers are wrong"
    doubts = "".join(f'<div class="warnings">{paragraphs([one])}</div>\n' for one in tally.doubts())
    summary = f"<section>\n{paragraphs(tally.lines())}</section>\n"
    title = f'<h1 dir="auto">{text(heading)}</h1>\n'
    notes = f'<p class="notes">{text(legend)}</p>\n'
    yield static_page(heading, [title, doubts, *_table(rows), notes, summary])


def _table(rows: Sequence[StudentRow]) -> Iterator[str]:
    problems = [*zip_longest(*(one.problems for one in rows), fillvalue=ProblemCells())]
    columns = list[list[str]]()
    for several in problems:
        steps = dict.fromkeys(name for one in several for name in one.cells)
        columns.append([n for n in steps if any(one.cells.get(n) for one in several)] or [""])
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
                yield f'<td class="none bar unread" colspan="{width}"><p>{text(why)}</p></td>'
            else:
                yield from ('<td class="bar ' + '<td class="'.join(part) for part in parts)
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"

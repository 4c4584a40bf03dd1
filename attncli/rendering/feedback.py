"""Pages of HTML for a class: one for each student, and one of all that leads to them.

A student's page tells what is wrong, where, and what kind of mistake it is; no number stands in it
that is not the student's own, unless the solution is asked for.
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
from attncli.rendering import html
from attncli.rendering.markup import Script, matrix_table, text, whole_page
from attncli.rendering.report import SIGNS, Remark, ReportPage, report_page
from attncli.rendering.selection import Selection
from attncli.rendering.verdicts import Tally, points_of, short
from attncli.rendering.withheld import first_wrong, remarks

WORDS = {
    "✓": "right",
    "≈": "right but for a rounding",
    "→": "follows from what stands before it",
    "✗": "wrong",
    "…": "right, but some cells are left out",
    "–": "not given",
    "?": "could not be read",
}
"""What the signs of the class page mean."""

PLAIN = Script((), ("style.css", "class.css"), "")
"""What these pages are made by: no script, as they tell of no number."""

KINDS = {
    "✓": "right",
    "≈": "near",
    "→": "carried",
    "✗": "wrong",
    "…": "near",
    "–": "none",
    "?": "none",
}
"""The style of a cell by its sign."""


def student(graded: Sequence[Graded], selection: Selection) -> Iterator[bytes]:
    """Yield the page of one student, on any number of problems."""
    if selection.solution and any(isinstance(one, Report) for one in graded):
        yield from html.reports(graded, selection)
        return
    name = graded[0].name
    parts = [f'<h1 dir="auto">{text(name)}</h1>\n']
    for one in graded:
        parts.append("<article>\n")
        parts += _unread(one) if isinstance(one, Unread) else _report(one, selection)
        parts.append("</article>\n")
    yield _page(name, parts)


def _page(title: str, parts: Sequence[str]) -> bytes:
    """Return a page; what stands in `main` itself is kept far apart, so this is one part of it."""
    return whole_page(title, f"<div>\n{''.join(parts)}</div>\n", {}, PLAIN).encode()


def _title(one: Graded) -> Iterator[str]:
    if one.title:
        yield f'<h2 dir="auto">{text(one.title)}</h2>\n'


def _unread(one: Unread) -> Iterator[str]:
    yield from _title(one)
    reason = "; ".join(fault.message for fault in one.error.faults)
    yield f'<p class="verdict">? could not be read: {text(reason)}</p>\n'


def _report(report: Report, selection: Selection) -> Iterator[str]:
    page = report_page(report, selection)
    yield from _title(report)
    yield f'<p class="verdict">{page.sign} {text(page.verdict)}</p>\n'
    for line in filter(None, (_first_wrong(report, page), page.points, *page.said, *page.missing)):
        yield f"<p>{text(line)}</p>\n"
    yield from (f'<p class="notes" dir="auto">“{text(line)}”</p>\n' for line in page.comment)
    for remark in page.remarks.values():
        yield from _remark(remark)


def _first_wrong(report: Report, page: ReportPage) -> str:
    first = report.first_wrong_step or ""
    cell = first_wrong(page.remarks[first]) if first in page.remarks else ""
    return f"The first wrong number is {cell}." if cell else ""


def _remark(remark: Remark) -> Iterator[str]:
    step = remark.judged.step
    name = as_text(step.notation)
    yield '<section class="step">\n'
    formula = mathml(step.notation, block=True)
    yield f'<h3 class="formula" aria-label="{text(name)}">{formula}</h3>\n'
    yield f'<div class="remark {html.KINDS.get(remark.sign, "right")}">'
    if remark.aside:
        yield f"<p>({remark.aside})</p>"
    for comparison in remark.comparisons:
        caption = ", ".join(filter(None, ("yours", comparison.words)))
        table = matrix_table(comparison.yours, text(caption), caption)
        yield f'<div class="figure"><div class="part">{table}</div></div>'
    yield from (f"<p>{text(line)}</p>" for line in remarks(remark, solution=False))
    yield "</div>\n</section>\n"


class Mark(Record):
    """What the class page shows of one step: a sign, and which share of the cells is wrong."""

    sign: str
    wrong: float = 0.0
    said: str = ""


class Row(Record):
    """What the class page shows of one student; nothing else of a sheet is kept.

    Attributes:
        name: the student.
        page: the file of the student's page, beside the class page.
        titles: the titles of the problems.
        marks: for each problem, the marks by the names of the steps.
        points: what was earned in all, such as `7.5 of 10`; or nothing.
        unread: why a sheet could not be read; or nothing.
    """

    name: str
    page: str
    titles: tuple[str, ...]
    marks: tuple[dict[str, Mark], ...]
    points: str
    unread: str


def row(graded: Sequence[Graded], page: str) -> Row:
    """Return what the class page shows of a student."""
    reports = [one for one in graded if isinstance(one, Report)]
    errors = [str(one.error).partition("\n")[0] for one in graded if isinstance(one, Unread)]
    possible = sum(one.marking.possible for one in reports)
    if len(reports) == 1:
        points = points_of(reports[0])
    else:
        total = sum(one.total for one in reports)
        points = f"{short(total)} of {short(possible)}" if possible else ""
    if errors and points:
        points += " + ?"
    marks = tuple(
        {name: _mark(one, name) for name in one.steps} if isinstance(one, Report) else {}
        for one in graded
    )
    titles = tuple(one.title for one in graded)
    return Row(graded[0].name, page, titles, marks, points, "; ".join(errors))


def _mark(report: Report, name: str) -> Mark:
    judged = report.steps[name]
    if judged.status == "missing":
        return Mark("–")
    is_wrong = report.is_wrong(judged)
    sign = "✗" if is_wrong else SIGNS.get(judged.status, "✓")
    if sign == "✓" and name in (report.answers[one] for one in report.left_out):
        sign = "…"
    share = float((judged.codes == WRONG).mean()) if judged.codes.size else 1.0
    finding = report.findings.get(name) if is_wrong else None
    return Mark(sign, round(share, 2), finding.id if finding else "")


def of_class(rows: Sequence[Row], tally: Tally, name: str = "") -> Iterator[bytes]:
    """Yield the class page: how each student did in each step, and links to their pages."""
    titles = list(dict.fromkeys(title for one in rows for title in one.titles if title))
    heading = name or (titles[0] if len(titles) == 1 else "The class")
    columns = _columns(rows)
    body = [f'<h1 dir="auto">{text(heading)}</h1>\n', *_heat_map(rows, columns), _legend()]
    body.append("<section>\n")
    body += [f"<p>{text(line)}</p>\n" for line in tally.lines()]
    body.append("</section>\n")
    yield _page(heading, body)


def _columns(rows: Sequence[Row]) -> list[list[str]]:
    """Return for each problem the steps of which somebody gave something, in their order."""
    count = max((len(one.marks) for one in rows), default=0)
    found: list[list[str]] = []
    for place in range(count):
        names: dict[str, bool] = {}
        for one in rows:
            marks = one.marks[place] if place < len(one.marks) else {}
            for name, mark in marks.items():
                names[name] = names.get(name, False) or mark.sign != "–"
        found.append([name for name, is_given in names.items() if is_given])
    return found


def _heat_map(rows: Sequence[Row], columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table with a row a student and a column a step."""
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
        yield from (f'<th scope="col"{_edge(n)}>{text(x)}</th>' for n, x in enumerate(names))
        yield "" if names else "<td></td>"
    yield "</tr>\n</thead>\n<tbody>\n"
    for one in rows:
        link = f'<a href="{text(quote(one.page))}">{text(one.name)}</a>'
        yield f'<tr><th scope="row" dir="auto">{link}</th>'
        yield f"<td>{text(one.points)}</td>" if has_points else ""
        for place, names in enumerate(columns):
            marks = one.marks[place] if place < len(one.marks) else {}
            if not marks:
                yield f'<td class="none" colspan="{max(1, len(names))}">? could not be read</td>'
                continue
            yield from (_cell(marks.get(name, Mark("–")), n) for n, name in enumerate(names))
            yield "" if names else "<td>–</td>"
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"


def _edge(number: int) -> str:
    return "" if number else ' class="bar"'


def _cell(mark: Mark, number: int) -> str:
    kind = KINDS[mark.sign] + ("" if number else " bar")
    strength = f' style="--w:{max(0.25, mark.wrong):.2f}"' if mark.sign == "✗" else ""
    said = f' <span class="id">{text(mark.said)}</span>' if mark.said else ""
    word = f'<span class="unseen">{WORDS[mark.sign]}</span>'
    return (
        f'<td class="{kind}"{strength}><span aria-hidden="true">{mark.sign}</span>{word}{said}</td>'
    )


def _legend() -> str:
    parts = (f"{sign} {word}" for sign, word in WORDS.items())
    return (
        f'<p class="notes">{text(", ".join(parts))}; the redder, the more numbers are wrong</p>\n'
    )

"""Reports in Markdown: a table for each wrong step, or a table with a line for each student."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from attncli.checking.check import Report
from attncli.classroom.grading import Graded
from attncli.core.text.escapes import shortened, visible
from attncli.printing.grades import grade
from attncli.printing.markdown import escaped, table
from attncli.printing.report import Remark, ReportPage, report_page
from attncli.printing.selection import ReportSelection
from attncli.printing.tally import Tally
from attncli.printing.verdicts import notes, points_of


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield the report of one student, or a table of several."""
    every = iter(graded)
    first, second = next(every), next(every, None)
    if second is not None:
        parts = _class(chain([first, second], every), selection)
    elif isinstance(first, Report):
        parts = _report(report_page(first, selection))
    else:
        parts = _class([first], selection)
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
    aside = f" ({remark.aside})" if remark.aside else ""
    yield f"## {remark.sign} {escaped(remark.step.word)}{aside}"
    if found := remark.finding:
        yield f"{escaped(f'{visible(found.message)} {visible(found.advice)}')} (`{found.id}`)"
        if found.worked:
            yield _items(map(visible, found.worked))
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


def _class(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[str]:
    heads = ["student", "problem", "verdict", "first wrong step", "mistake"]
    heads += ["points"] if selection.points else []
    rows: list[list[str]] = []
    tally, comments = Tally(), list[str]()
    for one in graded:
        tally.add(one)
        comments += notes(one)
        name, *words = grade(one)
        words = [visible(word) for word in (shortened(name), *words)]
        *cells, message = map(escaped, (*words[:4], words[5]))
        mistake = f"{message} (`{words[4]}`)" if words[4] else message
        rows.append([*cells, mistake, *([points_of(one)] if selection.points else [])])
    if len({row[1] for row in rows}) == 1:  # a title that is the same for all
        heads, *rows = ([*row[:1], *row[2:]] for row in (heads, *rows))
    yield table(heads, ["---"] * len(heads), rows)
    yield _items((*tally.lines(), *comments))

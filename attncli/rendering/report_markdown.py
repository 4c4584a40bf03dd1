"""Reports in Markdown: a table a wrong step, or a table with a line a student."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from attncli.checking.check import Report
from attncli.files.grading import Graded, Unread
from attncli.rendering.grades import grade
from attncli.rendering.markdown import escaped, table
from attncli.rendering.report import Remark, ReportPage, comment_lines, report_page
from attncli.rendering.selection import Selection
from attncli.rendering.verdicts import Tally, points_of
from attncli.text.elision import shortened
from attncli.text.escapes import visible


def reports(graded: Iterable[Graded], selection: Selection) -> Iterator[bytes]:
    """Yield a report with a table a wrong step, or a table with a line a student."""
    every = iter(graded)
    first, second = next(every), next(every, None)
    if second is None and isinstance(first, Report):
        parts = _report(report_page(first, selection))
    else:
        parts = _class(chain([first] if second is None else [first, second], every), selection)
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
    yield f"## {remark.sign} {escaped(remark.judged.step.name)}{aside}"
    if remark.finding is not None:
        said = f"{visible(remark.finding.message)} {visible(remark.finding.advice)}"
        yield f"{escaped(said)} (`{remark.finding.id}`)"
        if remark.finding.worked:
            yield "\n".join(f"- {escaped(visible(line))}" for line in remark.finding.worked)
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
        yield "\n".join(f"- {escaped(text)}" for text in cells)


def _class(graded: Iterable[Graded], selection: Selection) -> Iterator[str]:
    heads = ["student", "problem", "verdict", "first wrong step", "mistake"]
    heads += ["points"] if selection.points else []
    rows = list[list[str]]()
    tally, comments = Tally(), list[str]()
    for one in graded:
        tally.add(one)
        comments += _comment(one)
        whole, *words = grade(one)
        name, title, said, first, id_, message, *_ = map(visible, (shortened(whole), *words))
        told = f"{escaped(message)} (`{id_}`)" if id_ else escaped(message)
        more = [escaped(points_of(one))] if selection.points else []
        rows.append([*map(escaped, (name, title, said, first)), told, *more])
    if len({row[1] for row in rows}) == 1:  # what is the same for all says nothing of any
        heads, *rows = (row[:1] + row[2:] for row in (heads, *rows))
    yield table(heads, ["---"] * len(heads), rows)
    yield "\n".join(f"- {escaped(text)}" for text in (*tally.lines(), *map(visible, comments)))


def _comment(one: Graded) -> list[str]:
    if isinstance(one, Unread) or not one.comment:
        return []
    return [f"{shortened(one.name)} says: “{' '.join(comment_lines(one))}”"]

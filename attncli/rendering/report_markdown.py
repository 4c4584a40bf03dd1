"""Reports in Markdown: a table a wrong step, or a table with a line a student."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.checking.check import Report
from attncli.files.grading import Graded, Unread
from attncli.rendering.grades import grade
from attncli.rendering.markdown import escaped, table
from attncli.rendering.report import Remark, ReportPage, comment_lines, report_page
from attncli.rendering.selection import Selection
from attncli.rendering.verdicts import points_of, summary
from attncli.text.elision import shortened
from attncli.text.escapes import visible


def reports(graded: Sequence[Graded], selection: Selection) -> bytes:
    """Return a report with a table a wrong step, or a table with a line a student."""
    first = graded[0]
    if len(graded) == 1 and isinstance(first, Report):
        parts = _report(report_page(first, selection))
    else:
        parts = _class(graded)
    return ("\n\n".join(parts) + "\n").encode()


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
    yield from map(escaped, filter(None, (*remark.unexplained, remark.early)))
    if remark.cells:
        rows = [(cell.name, f"{visible(cell.given)} ✗", cell.right) for cell in remark.cells]
        escaped_rows = (list(map(escaped, row)) for row in rows)
        yield table(["cell", "yours", "right"], ["---", "---:", "---:"], escaped_rows)
    if remark.last_digits:
        first, *cells = remark.last_digits
        yield escaped(first)
        yield "\n".join(f"- {escaped(text)}" for text in cells)


def _class(graded: Sequence[Graded]) -> Iterator[str]:
    heads, rows = ["student", "verdict", "first wrong step", "mistake"], []
    points = ["" if isinstance(one, Unread) else points_of(one) for one in graded]
    for one, earned in zip(graded, points, strict=True):
        whole, *words = grade(one)
        name, said, first, id_, message, *_ = map(visible, (shortened(whole), *words))
        told = f"{escaped(message)} (`{id_}`)" if id_ else escaped(message)
        more = [escaped(earned)] if any(points) else []
        rows.append([escaped(name), escaped(said), escaped(first), told, *more])
    heads += ["points"] if any(points) else []
    yield table(heads, ["---"] * len(heads), rows)
    texts = [*summary(graded), *map(visible, _comments(graded))]
    yield "\n".join(f"- {escaped(text)}" for text in texts)


def _comments(graded: Sequence[Graded]) -> Iterator[str]:
    for one in graded:
        if not isinstance(one, Unread) and one.comment:
            yield f"{shortened(one.name)} says: “{' '.join(comment_lines(one))}”"

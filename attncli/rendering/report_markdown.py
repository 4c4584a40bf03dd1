"""Reports in Markdown: a table a wrong step, or a table with a line a student."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.checking.check import Report
from attncli.files.grading import Graded
from attncli.rendering.grades import grade
from attncli.rendering.markdown import escaped, table
from attncli.rendering.report import Remark, ReportPage, report_page, summary
from attncli.rendering.selection import Selection
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
    yield f"**{page.verdict}**"
    for remark in page.remarks.values():
        yield from _remark(remark)


def _remark(remark: Remark) -> Iterator[str]:
    yield f"## {remark.sign} {escaped(remark.judged.step.name)}"
    if remark.finding is not None:
        said = f"{visible(remark.finding.message)} {visible(remark.finding.advice)}"
        yield f"{escaped(said)} (`{remark.finding.id}`)"
        if remark.finding.worked:
            yield "\n".join(f"- {escaped(visible(line))}" for line in remark.finding.worked)
    if remark.unexplained:
        yield remark.unexplained
    if remark.cells:
        rows = [(cell.name, f"{visible(cell.given)} ✗", cell.right) for cell in remark.cells]
        escaped_rows = (list(map(escaped, row)) for row in rows)
        yield table(["cell", "yours", "right"], ["---", "---:", "---:"], escaped_rows)
    if remark.last_digits:
        first, *cells = remark.last_digits
        yield escaped(first)
        yield "\n".join(f"- {escaped(text)}" for text in cells)


def _class(graded: Sequence[Graded]) -> Iterator[str]:
    rows = []
    for one in graded:
        name, said, first, id_, message, *_ = map(visible, grade(one))
        told = f"{escaped(message)} (`{id_}`)" if id_ else escaped(message)
        rows.append([escaped(name), escaped(said), escaped(first), told])
    yield table(["student", "verdict", "first wrong step", "mistake"], ["---"] * 4, rows)
    yield "\n".join(f"- {text}" for text in summary(graded))

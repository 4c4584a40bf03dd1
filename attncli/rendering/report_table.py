"""Reports as lines on a terminal: the wrong cells beside the right numbers, a line a student."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice

from attncli.checking.check import Report
from attncli.checking.findings import Finding
from attncli.files.grading import Graded, Unread
from attncli.rendering import report, verdicts
from attncli.rendering.layout import Layout, Line, heading_line, plain, wrapped
from attncli.rendering.remarks import MOST_CELLS
from attncli.rendering.selection import Selection
from attncli.text.elision import shortened
from attncli.text.escapes import label_text, visible
from attncli.text.widths import cell_width

HANGS = "    "
"""What stands before the further lines of a student."""

STYLES = {"✓": "right", "→": "right", "≈": "near", "–": "near", "…": "near", "✗": "wrong"}


def reports(graded: Iterable[Graded], selection: Selection) -> Iterator[bytes]:
    """Yield plain text, as on a terminal of any width."""
    return plain(pages(graded, selection, None))


def pages(
    graded: Iterable[Graded], selection: Selection, width: int | None
) -> Iterator[Iterable[Line]]:
    """Yield the pages of a terminal: a report for one student, a line each for several."""
    every = iter(graded)
    first = list(islice(every, 2))
    several = len(first) > 1
    if selection.quiet:
        titled = len({one.title for one in first}) > 1
        yield (_verdict_line(one, several, titled) for one in chain(first, every))
    elif several:
        yield _class_lines(chain(first, every), Layout(width))
    else:
        layout = Layout(width, indent=2)
        reports = [one for one in first if isinstance(one, Report)]
        yield from (_page(report.report_page(one, selection), layout) for one in reports)


def _page(page: report.ReportPage, layout: Layout) -> Iterator[Line]:
    yield from layout.prose(
        [(page.name, "title"), (f"   {page.title}" if page.title else "", "faint")]
    )
    for line in page.comment:
        yield from layout.prose([(f"  “{line}”", "faint")])
    yield []
    if page.said:
        for text in page.said:
            yield from layout.prose([(text, "")])
        yield []
    for is_fine, remarks in groupby(page.remarks.values(), lambda one: one.sign in "✓→"):
        if is_fine:
            yield from _fine(list(remarks), layout)
        else:
            for remark in remarks:
                yield from _remark(remark, layout)
    if page.missing:
        for text in page.missing:
            yield from layout.prose([(text, "faint")])
        yield []
    yield from layout.prose([(page.verdict, STYLES[page.sign])])
    if page.points:
        yield from layout.prose([(page.points, "")])


def _remark(remark: report.Remark, layout: Layout) -> Iterator[Line]:
    """Yield a step with its marked cells."""
    aside = [(f"   ({remark.aside})", "faint")] if remark.aside else []
    yield [(f"{remark.sign} ", STYLES[remark.sign]), *heading_line(remark.judged.step), *aside]
    wrong = [comparison for comparison in remark.comparisons if comparison.is_wrong]
    if any(comparison.yours.is_cut for comparison in wrong):
        for cell in remark.cells[:MOST_CELLS]:
            text = f"{cell.name} is {label_text(cell.given)}, should be {cell.right}"
            yield from layout.prose([(f"  {text}", "")])
        if (more := len(remark.cells) - MOST_CELLS) > 0:
            yield [(f"  … and {more} more; --full shows all", "")]
    else:
        for comparison in wrong:
            if comparison.words:
                yield [(f"  {comparison.words}", "name")]
            for line in layout.together([comparison.yours, *comparison.others]):
                yield [("  ", ""), *line]
    if remark.finding is not None:
        for line in _sentences(remark.finding):
            yield from layout.prose(line)
    for text in filter(None, (*remark.unexplained, remark.early, *remark.last_digits)):
        yield from layout.prose([(f"  {text}", "")])
    yield []


def _fine(remarks: Sequence[report.Remark], layout: Layout) -> Iterator[Line]:
    """Yield the steps in a row that are right, and those that follow, in a line each."""
    right = [remark.judged.step.name for remark in remarks if remark.sign == "✓"]
    following = [remark for remark in remarks if remark.sign == "→"]
    if right:
        yield from layout.prose([("✓ ", "right"), (", ".join(right), "")])
    if following:
        names = ", ".join(remark.judged.step.name for remark in following)
        verb = "follows" if len(following) == 1 else "follow"
        said = f"{names} {verb} from {following[0].follows}"
        yield from layout.prose([("→ ", "right"), (said, "")])
    for remark in following:
        if remark.early:
            name = remark.judged.step.name
            yield from layout.prose([(f"  {name}: {remark.early}", "")])
    yield []


def _sentences(finding: Finding) -> Iterator[Line]:
    """Yield what went wrong, how it is worked, what to do, and what else gives the same numbers."""
    yield [("  ", ""), (visible(finding.message), "name"), (f" ({finding.id})", "faint")]
    yield from ([(f"  {visible(line)}", "")] for line in finding.worked)
    yield [(f"  {finding.advice}", "")]
    for said, id_ in finding.others:
        yield [(f"  {visible(said)} ({id_})", "faint")]


def _class_lines(graded: Iterable[Graded], layout: Layout) -> Iterator[Line]:
    """Yield a line a student, then the summary."""
    tally = verdicts.Tally()
    names, titles, points = list[str](), list[str](), list[str]()
    verdict_lines, comments = list[Line](), list[str]()
    for one in graded:
        tally.add(one)
        name = visible(shortened(one.name))
        names.append(name)
        titles.append(visible(shortened(one.title)))
        points.append(verdicts.points_of(one))
        verdict_lines.append(_said_of(one))
        if not isinstance(one, Unread) and (keys := verdicts.with_hint(one.skipped)):
            comments.append(f"{name}: {verdicts.skipped(keys)}")
        if not isinstance(one, Unread) and one.comment:
            comments.append(f"{name} says: “{' '.join(report.comment_lines(one))}”")
    if len(set(titles)) == 1:  # what is the same for all says nothing of any
        titles = [""] * len(titles)
    columns = [_padded(words) for words in (names, titles, points) if any(words)]
    for (sign, *said), *parts in zip(verdict_lines, *columns, strict=True):
        yield from _hung([sign, ("  ".join(parts), ""), *said], layout)
    yield []
    for text in tally.lines():
        yield from layout.prose([(text, "")])
    for text in comments:
        yield from layout.prose([(text, "faint")])


def _hung(line: Line, layout: Layout) -> Iterator[Line]:
    """Yield a line of a student in as many as the terminal needs; below the first they stand in."""
    if len(layout.prose(line)) == 1 or layout.width is None:
        yield line
        return
    first, *rest = wrapped(line, layout.width - len(HANGS))
    yield first
    yield from ([(HANGS, ""), *more] for more in rest)


def _said_of(one: Graded) -> Line:
    """Return the sign of a student's sheet and what is said of it."""
    if isinstance(one, Unread):
        return [("? ", "near"), ("  could not be read", "near")]
    sign = report.VERDICTS[one.verdict]
    finding = one.findings.get(one.first_wrong_step or "")
    told = [(f"  {visible(finding.message)}", "")] if finding else []
    style = "" if sign == "✓" else STYLES[sign]
    return [(f"{sign} ", STYLES[sign]), (f"  {verdicts.verdict(one)}", style), *told]


def _padded(words: Sequence[str]) -> list[str]:
    """Return words with blanks after them, all as wide as the widest."""
    width = max(map(cell_width, words))
    return [word + " " * (width - cell_width(word)) for word in words]


def _verdict_line(graded: Graded, several: bool, titled: bool) -> Line:
    """Return only what is said of a sheet, after the name and the problem if there are several."""
    said = "could not be read" if isinstance(graded, Unread) else verdicts.verdict(graded)
    name = ", ".join(
        visible(word) for word in (graded.name, graded.title if titled else "") if word
    )
    return [(f"{name}: {said}" if several else said, "")]

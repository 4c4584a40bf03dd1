"""Reports as lines on a terminal: wrong cells beside the right numbers, or a line per student."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice

from attncli.checking.check import Report
from attncli.classroom.grading import Graded, Unread
from attncli.core.text.escapes import cell_width, label_text, shortened, visible
from attncli.printing import verdicts
from attncli.printing.layout import Layout, Line, heading_line, plain, wrapped
from attncli.printing.report import Remark, ReportPage, report_page
from attncli.printing.selection import ReportSelection
from attncli.printing.tally import Tally

SIGN_STYLES = {"✓": "right", "→": "right", "≈": "near", "–": "near", "…": "near", "✗": "wrong"}
"""The style of a line by its sign."""


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    return plain(pages(graded, selection, None))


def pages(
    graded: Iterable[Graded], selection: ReportSelection, width: int | None
) -> Iterator[Iterable[Line]]:
    """Yield the pages of a terminal: a report for one student, a line each for several."""
    every = iter(graded)
    first = list(islice(every, 2))
    several = len(first) > 1
    if selection.quiet:
        has_titles = len({one.title for one in first}) > 1
        yield (_verdict_line(one, several, has_titles) for one in chain(first, every))
    elif several:
        yield _class_lines(chain(first, every), Layout(width))
    else:
        layout = Layout(width, indent=2)
        reports = [one for one in first if isinstance(one, Report)]
        yield from (_page(report_page(one, selection), layout) for one in reports)


def _page(page: ReportPage, layout: Layout) -> Iterator[Line]:
    title = f"   {page.title}" if page.title else ""
    yield from wrapped([(page.name, "title"), (title, "faint")], layout.width)
    yield from _prose((f"  “{line}”" for line in page.comment), layout, "faint")
    yield []
    if page.said:
        yield from _prose(page.said, layout)
        yield []
    for is_fine, remarks in groupby(page.remarks.values(), lambda one: one.sign in "✓→"):
        if is_fine:
            yield from _fine(list(remarks), layout)
        else:
            for remark in remarks:
                yield from _remark(remark, layout)
    if page.missing:
        yield from _prose(page.missing, layout, "faint")
        yield []
    yield from _prose([page.verdict], layout, SIGN_STYLES[page.sign])
    yield from _prose(filter(None, [page.points]), layout)


def _prose(lines: Iterable[str], layout: Layout, style: str = "") -> Iterator[Line]:
    for line in lines:
        yield from wrapped([(line, style)], layout.width)


def _remark(remark: Remark, layout: Layout) -> Iterator[Line]:
    aside = [(f"   ({remark.aside})", "faint")] if remark.aside else []
    yield [(f"{remark.sign} ", SIGN_STYLES[remark.sign]), *heading_line(remark.step), *aside]
    wrong = [comparison for comparison in remark.comparisons if comparison.is_wrong]
    if not wrong or any(comparison.yours.is_cut for comparison in wrong):
        cells = [f"{x.name} is {label_text(x.given)}, should be {x.right}" for x in remark.cells]
        some = verdicts.some_of(cells, "; --full shows all")
        yield from _prose((f"  {line}" for line in some), layout)
    else:
        for comparison in wrong:
            if comparison.words:
                yield [(f"  {comparison.words}", "name")]
            for line in layout.together([comparison.yours, *comparison.others]):
                yield [("  ", ""), *line]
    if found := remark.finding:
        heading = [("  ", ""), (visible(found.message), "name"), (f" ({found.id})", "faint")]
        yield from wrapped(heading, layout.width)
        lines = (*map(visible, found.worked), found.advice)
        yield from _prose((f"  {line}" for line in lines), layout)
        others = (f"  {visible(said)} ({id_})" for said, id_ in found.others)
        yield from _prose(others, layout, "faint")
    more = filter(None, (*remark.unexplained, remark.early, *remark.last_digits))
    yield from _prose((f"  {line}" for line in more), layout)
    yield []


def _fine(remarks: Sequence[Remark], layout: Layout) -> Iterator[Line]:
    """Yield one line for successive steps that are right, and one for those that follow."""
    padded = _padded([one.step.word for one in remarks])
    for remark, name in zip(remarks, padded, strict=True) if any(x.aside for x in remarks) else ():
        line: Line = [(f"{remark.sign} ", "right"), (f"{name}   ", ""), (remark.aside, "faint")]
        yield from wrapped(line, layout.width)
    remarks = [remark for remark in remarks if not remark.aside]
    right = [remark.step.word for remark in remarks if remark.sign == "✓"]
    following = [remark for remark in remarks if remark.sign == "→"]
    if right:
        yield from wrapped([("✓ ", "right"), (", ".join(right), "")], layout.width)
    if following:
        names = ", ".join(remark.step.word for remark in following)
        verb = "follows" if len(following) == 1 else "follow"
        said = f"{names} {verb} from {following[0].follows}"
        yield from wrapped([("→ ", "right"), (said, "")], layout.width)
    early = (f"  {remark.step.word}: {remark.early}" for remark in following if remark.early)
    yield from _prose(early, layout)
    yield []


def _class_lines(graded: Iterable[Graded], layout: Layout) -> Iterator[Line]:
    tally, comments = Tally(), list[str]()
    cells: list[tuple[str, str, str]] = []
    said: list[Line] = []
    for one in graded:
        tally.add(one)
        name, title = (visible(shortened(word)) for word in (one.name, one.title))
        cells.append((name, title, verdicts.points_of(one)))
        said.append(_said_of(one))
        comments += verdicts.notes(one)
    names, titles, points = zip(*cells, strict=True)
    if len(set(titles)) == 1:  # a title that is the same for all says nothing of any
        titles = ("",)
    columns = [_padded(words) for words in (names, titles, points) if any(words)]
    for (sign, *rest), *parts in zip(said, *columns, strict=True):
        yield from wrapped([sign, ("  ".join(parts), ""), *rest], layout.width, hanging="    ")
    yield []
    yield from _prose(tally.lines(), layout)
    yield from _prose(comments, layout, "faint")


def _said_of(one: Graded) -> Line:
    """Return the sign of a student's answers and what is said of them."""
    if isinstance(one, Unread):
        return [("? ", "near"), ("  could not be read", "near")]
    sign = verdicts.VERDICT_SIGNS[one.verdict]
    finding = one.findings.get(one.first_wrong_step or "")
    mistake = [(f"  {visible(finding.message)}", "")] if finding else []
    style = "" if sign == "✓" else SIGN_STYLES[sign]
    return [(f"{sign} ", SIGN_STYLES[sign]), (f"  {verdicts.verdict(one)}", style), *mistake]


def _padded(words: Sequence[str]) -> list[str]:
    width = max(map(cell_width, words))
    return [word + " " * (width - cell_width(word)) for word in words]


def _verdict_line(graded: Graded, several: bool, has_titles: bool) -> Line:
    """Return only the verdict, after the name and the problem if there are several."""
    said = "could not be read" if isinstance(graded, Unread) else verdicts.verdict(graded)
    words = (graded.name, graded.title if has_titles else "")
    name = ", ".join(visible(word) for word in words if word)
    return [(f"{name}: {said}" if several else said, "")]

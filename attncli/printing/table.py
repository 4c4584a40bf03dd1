"""Traces and reports on a terminal: tables, each step with its formula; a line per student."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from attncli.core.calculation.trace import Trace
from attncli.core.formulas.text import text
from attncli.core.numbers.written import shape_words
from attncli.core.records import replace
from attncli.core.tape.step import Step
from attncli.core.text.strings import cell_width, label_text, shortened, visible
from attncli.printing import layout
from attncli.printing.blocks import Entry, Figure, Matrix, Page, Panel, WeightedSum
from attncli.printing.layout import Box, Layout, Line, Span
from attncli.printing.page import page_of
from attncli.printing.selection import ReportSelection, Selection
from attncli.printing.views import is_deep

if TYPE_CHECKING:
    from attncli.checking.check import Graded
    from attncli.printing.class_report import ClassReport, ClassRow
    from attncli.printing.report import Remark, ReportPage

MOST_BESIDE = 4
"""Maximum number of heads whose operands are shown beside the results, where there is room, and
whose sums are shown below. Chosen."""

SIGN_STYLES = {"✓": "right", "→": "right", "✗": "wrong"} | dict.fromkeys("≈–…?", "near")
"""The style of a line by its sign."""


def traces(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    pages = (lines(trace, selection) for trace in shown)
    return layout.plain(pages, follows=selection.follows)


def lines(trace: Trace, selection: Selection, width: int | None = None) -> Iterator[Line]:
    """Return the lines of a trace; titles and notes are folded to the terminal, if there is one."""
    writer = _Writer(width)
    return writer.page(page_of(trace, selection, writer.suffices, writer.limit))


def reports(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    return layout.plain(report_lines(graded, selection))


def report_lines(
    graded: Iterable[Graded], selection: ReportSelection, width: int | None = None
) -> Iterator[Iterable[Line]]:
    """Yield the pages of a terminal: a report for one student, a line each for several."""
    from attncli.checking.check import Report
    from attncli.printing.class_report import class_report, row_of
    from attncli.printing.report import report_page

    every = iter(graded)
    first = list(islice(every, 2))
    if selection.quiet:
        has_titles = len({one.title for one in first}) > 1
        yield (
            _verdict_line(row_of(one), first[1:] != [], has_titles) for one in chain(first, every)
        )
    elif first[1:]:
        yield _Writer(width).class_report(class_report(chain(first, every)))
    else:
        pages = (report_page(one, selection) for one in first if isinstance(one, Report))
        yield from (_Writer(width, indent=2).report(page) for page in pages)


class _Writer(Layout):
    """Writes each kind of page on a terminal, with matrices laid out as wide as that is."""

    def page(self, page: Page) -> Iterator[Line]:
        if page.title:
            yield from self.folded((page.title, "title"))
        for line in page.notes.splitlines():
            yield from self.folded((line, "faint"))
        for number, entry in enumerate(page.entries):
            if page.title or page.notes or number:
                yield []
            if entry.group:
                yield from self.folded((f"── {label_text(entry.group)} ──", "title"))
                yield []
            yield from self.entry(entry) if entry.figures else self.renamed(entry)
        for line in page.closing:
            yield []
            yield from self.folded((line, "faint"))

    def folded(self, *line: Span) -> list[Line]:
        return layout.wrapped([*line], self.width, hanging="  ")

    def entry(self, entry: Entry) -> Iterator[Line]:
        for step, shapes in zip(entry.steps, entry.shapes, strict=True):
            yield from self.folded(*layout.heading_line(step, shapes))
        for reason in entry.reasons:
            yield from self.folded((reason, "faint"))
        if entry.inputs:
            yield from self.together([_named(panel, panel.words) for panel in entry.inputs])
            yield []
        if entry.figures[1:]:
            yield from self.side_by_side(entry.figures)
            return
        (figure,) = entry.figures
        if figure.name:
            yield [(figure.name, "name")]
        yield from self.figure(figure)
        for number, weighted in enumerate(figure.sums()):
            if not number:
                yield []
            yield from self.weighted_sum(weighted)

    def renamed(self, entry: Entry) -> Iterator[Line]:
        """Yield one line for `Q = X, K = X, V = X`, under X itself where it was not shown."""
        for source, panels in groupby(entry.inputs, lambda panel: panel.part):
            assert isinstance(source, Step)  # as it is an input
            shape = shape_words(source.value.shape)
            yield from self.folded(*layout.heading_line(source, shape))
            for panel in panels:
                if panel.words:
                    yield [(panel.words, "name")]
                yield from self.alone(panel.matrix)
            yield []
        yield from self.folded((",  ".join(step.formula for step in entry.steps), "title"))

    def suffices(self, figures: Sequence[Figure]) -> bool:
        """Return whether operands, if there are any, have room beside their result."""
        return not figures[0].operands or self.bodies(figures)[1]

    def side_by_side(self, figures: Sequence[Figure]) -> Box:
        """Return the figures of heads or batches, as many beside each other as have room."""
        boxes = []
        for figure, body in zip(figures, self.bodies(figures)[0], strict=True):
            sums = () if figures[MOST_BESIDE:] else figure.sums()
            below = [line for weighted in sums for line in self.weighted_sum(weighted)]
            boxes.append(layout.titled(figure.name, body, below))
        return self.packed(boxes)

    def bodies(self, figures: Sequence[Figure]) -> tuple[list[Box], bool]:
        """Return the box of each figure, and whether operands are beside the results.

        Beside many results they take lines, and the head of a step that was shown before tells
        nothing new; the numbers behind vectors of pairs do.
        """
        rows = [self.equation(figure) for figure in figures] if figures[0].operands else []
        fit = bool(rows) and all(map(self.fits, rows))
        if fit and (is_deep(figures[0].results[0].part) or not figures[MOST_BESIDE:]):
            return rows, True
        bare = [self.bare(figure) for figure in figures]
        if fit and self.packed(rows).height <= self.packed(bare).height:
            return rows, True
        return bare, False

    def bare(self, figure: Figure) -> Box:
        """Return a result without its operands, with sums of its rows beside it if they fit."""
        result, *sums = map(_named, figure.results)
        if all(matrix.values.shape[1] == 1 for matrix in sums):
            parts: list[Matrix | str] = [result if sums else figure.results[0].matrix]
            for matrix in sums:
                heads = ("",) if matrix.column_labels else ()
                parts += [layout.BETWEEN, replace(matrix, row_labels=(), column_labels=heads)]
            row = self.row(parts)
            if self.fits(row):
                return row
        return layout.stacked([self.alone(matrix) for matrix in (result, *sums)])

    def figure(self, figure: Figure) -> Box:
        """Return operands and result, or a step and its sums, beside each other if they fit."""
        if figure.results[1:]:
            return self.bare(figure)
        if not figure.operands:
            return self.alone(figure.results[0].matrix)
        row = self.equation(figure)
        return row if self.fits(row) else self.alone(_named(figure.results[0]))

    def equation(self, figure: Figure) -> Box:
        parts = (*figure.operands, "=", *figure.results)
        return self.row([p if isinstance(p, str) else _named(p) for p in parts])

    def weighted_sum(self, weighted: WeightedSum) -> Iterator[Line]:
        """Yield `z_I = 0.9·v_I + 0.1·v_am`, on several lines where the terminal is too narrow."""
        left, *pieces = weighted.texts()
        start = " ".join([left, *pieces[:1]])
        yield from layout.broken([(start, "")], pieces[1:], self.width, cell_width(left))

    def report(self, page: ReportPage) -> Iterator[Line]:
        title = f"   {page.title}" if page.title else ""
        yield from layout.wrapped([(page.name, "title"), (title, "faint")], self.width)
        yield from self.prose((f"“{line}”" for line in page.comment), "faint", "  ")
        yield []
        if page.said:
            yield from self.prose(page.said)
            yield []
        for is_fine, remarks in groupby(page.remarks.values(), lambda one: one.sign in "✓→"):
            if is_fine:
                yield from self.fine(list(remarks))
            else:
                for remark in remarks:
                    yield from self.remark(remark)
        if page.missing:
            yield from self.prose(page.missing, "faint")
            yield []
        yield from self.prose([page.verdict], SIGN_STYLES[page.sign])
        yield from self.prose(filter(None, [page.points]))

    def prose(self, lines: Iterable[str], style: str = "", margin: str = "") -> Iterator[Line]:
        for line in lines:
            yield from layout.wrapped([(f"{margin}{line}", style)], self.width)

    def remark(self, remark: Remark) -> Iterator[Line]:
        sign = (f"{remark.sign} ", SIGN_STYLES[remark.sign])
        heading = [sign, *layout.heading_line(remark.step)]
        with_aside = [*heading, (f"   ({remark.aside})", "faint")] if remark.aside else heading
        is_wide = self.width is not None and layout.line_width(with_aside) > self.width
        yield heading if is_wide else with_aside
        if is_wide:
            yield from self.prose([remark.aside], "faint", "  ")
        wrong = [comparison for comparison in remark.comparisons if comparison.is_wrong]
        if not wrong or any(comparison.yours.is_cut for comparison in wrong):
            yield from self.prose(remark.wrong_numbers, margin="  ")
        else:
            for comparison in wrong:
                if comparison.words:
                    yield [(f"  {comparison.words}", "name")]
                for line in self.together([comparison.yours, *comparison.others]):
                    yield [("  ", ""), *line]
        if finding := remark.finding:
            yield from self.prose([visible(finding.message)], "name", "  ")
            yield from self.prose([*map(visible, finding.worked), finding.advice], margin="  ")
            yield from self.prose(map(visible, finding.others), "faint", "  ")
        more = filter(None, (*remark.unexplained, remark.early, *remark.last_digits))
        yield from self.prose(more, margin="  ")
        yield []

    def fine(self, remarks: Sequence[Remark]) -> Iterator[Line]:
        """Yield one line for successive steps that are right, and one for those that follow."""
        padded = layout.padded([one.step.word for one in remarks])
        for remark, name in zip(remarks, padded, strict=True):
            if remark.aside:
                line = [(f"{remark.sign} ", "right"), (f"{name}   ", ""), (remark.aside, "faint")]
                yield from layout.wrapped(line, self.width)
        remarks = [remark for remark in remarks if not remark.aside]
        right = [remark.step.word for remark in remarks if remark.sign == "✓"]
        following = [remark for remark in remarks if remark.sign == "→"]
        if right:
            yield from layout.wrapped([("✓ ", "right"), (", ".join(right), "")], self.width)
        if following:
            names = ", ".join(remark.step.word for remark in following)
            verb = "follows" if len(following) == 1 else "follow"
            said = f"{names} {verb} from {following[0].follows}"
            yield from layout.wrapped([("→ ", "right"), (said, "")], self.width)
        early = (f"{remark.step.word}: {remark.early}" for remark in following if remark.early)
        yield from self.prose(early, margin="  ")
        yield []

    def class_report(self, report: ClassReport) -> Iterator[Line]:
        names = [visible(shortened(row.name)) for row in report.rows]
        columns, titles = [names], [visible(shortened(row.title)) for row in report.rows]
        if len(set(titles)) > 1:  # one that all share says nothing of any
            columns.append(titles)
        if any(row.points for row in report.rows):
            columns.append([row.points for row in report.rows])
        for row, *parts in zip(report.rows, *map(layout.padded, columns), strict=True):
            style = SIGN_STYLES[row.sign]
            words = (f"  {row.words}", "" if row.sign == "✓" else style)
            mistake = [(f"  {visible(row.message)}", "")] if row.mistake else []
            line = [(f"{row.sign} ", style), ("  ".join(parts), ""), words, *mistake]
            yield from layout.wrapped(line, self.width, hanging="    ")
        yield []
        yield from self.prose(report.summary)
        yield from self.prose(report.notes, "faint")


def _named(panel: Panel, words: str = "") -> Matrix:
    return replace(panel.matrix, name=", ".join(filter(None, (text(panel.name), words))))


def _verdict_line(row: ClassRow, several: bool, has_titles: bool) -> Line:
    """Return only the verdict, after the name and the problem if there are several."""
    names = (row.name, row.title if has_titles else "")
    name = ", ".join(visible(word) for word in names if word)
    return [(f"{name}: {row.words}" if several else row.words, "")]

"""A trace on a terminal: tables, each step with its formula."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from attncli.core.formulas.text import text
from attncli.core.mechanisms.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.step import Step
from attncli.core.text.escapes import cell_width, label_text
from attncli.printing import layout
from attncli.printing.layout import BETWEEN, Block, Layout, Line, stacked, titled
from attncli.printing.matrix import Matrix, shape_text
from attncli.printing.page import Entry, Figure, Figures, Page, page_of
from attncli.printing.selection import Selection
from attncli.printing.views import Panel, WeightedSum, is_deep

MOST_BESIDE = 4
"""Maximum number of heads whose operands are shown beside the results, where there is room, and
whose sums are shown below. Chosen."""

FOLDED = ("title", "faint")
"""The styles of lines that are sentences or formulas, and may be folded."""


def traces(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    return layout.plain(lines(trace, selection) for trace in shown)


def lines(trace: Trace, selection: Selection, width: int | None = None) -> Iterator[Line]:
    """Yield the lines of a trace; titles and notes are folded to the terminal, if there is one."""
    writer = _Writer(Layout(width))
    for line in writer.page(page_of(trace, selection, writer.suffices, writer.layout.limit)):
        if line and line[0][1] in FOLDED:  # those of matrices are laid out to fit already
            yield from layout.wrapped(line, width, hanging="  ")
        else:
            yield line


class _Writer:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def page(self, page: Page) -> Iterator[Line]:
        top: list[Line] = [[(page.title, "title")]] if page.title else []
        top += [[(line, "faint")] for line in page.notes.splitlines()]
        yield from top
        for number, entry in enumerate(page.entries):
            if top or number:
                yield []
            if entry.group:
                yield [(f"── {label_text(entry.group)} ──", "title")]
                yield []
            yield from self.entry(entry) if entry.figures else self.renamed(entry)
        for line in page.closing:
            yield []
            yield [(line, "faint")]

    def entry(self, entry: Entry) -> Iterator[Line]:
        yield from map(layout.heading_line, entry.steps, entry.shapes)
        yield from ([(reason, "faint")] for reason in entry.reasons)
        if entry.inputs:
            yield from self.layout.together([_named(panel, panel.words) for panel in entry.inputs])
            yield []
        if entry.figures[1:]:
            yield from self.side_by_side(entry.figures)
            return
        (figure,) = entry.figures
        if figure.name:
            yield [(figure.name, "name")]
        yield from self.figure(figure)
        sums = figure.sums()
        if sums:
            yield []
        for weighted in sums:
            yield from self.weighted_sum(weighted)

    def renamed(self, entry: Entry) -> Iterator[Line]:
        """Yield one line for `Q = X, K = X, V = X`, under X itself where it was not shown."""
        for source, panels in groupby(entry.inputs, lambda panel: panel.part):
            assert isinstance(source, Step)  # as it is an input
            yield layout.heading_line(source, shape_text(source.value.shape))
            for panel in panels:
                if panel.words:
                    yield [(panel.words, "name")]
                yield from self.layout.alone(panel.matrix)
            yield []
        yield [(",  ".join(step.formula for step in entry.steps), "title")]

    def suffices(self, figures: Figures) -> bool:
        """Return whether operands, if there are any, have room beside their result."""
        return not figures[0].operands or self.bodies(figures)[1]

    def side_by_side(self, figures: Figures) -> Block:
        """Return the figures of heads or batches, as many beside each other as have room."""
        blocks = []
        for figure, body in zip(figures, self.bodies(figures)[0], strict=True):
            sums = () if figures[MOST_BESIDE:] else figure.sums()
            below = [line for weighted in sums for line in self.weighted_sum(weighted)]
            blocks.append(titled(figure.name, body, below))
        return self.layout.packed(blocks)

    def bodies(self, figures: Figures) -> tuple[list[Block], bool]:
        """Return the block of each figure, and whether operands are beside the results.

        Beside many results they take lines, and the head of a step that was shown before tells
        nothing new; the numbers behind vectors of pairs do.
        """
        rows = [self.row(figure) for figure in figures] if figures[0].operands else []
        fit = bool(rows) and all(map(self.layout.fits, rows))
        if fit and (is_deep(figures[0].results[0].part) or not figures[MOST_BESIDE:]):
            return rows, True
        bare = [self.bare(figure) for figure in figures]
        if fit and self.layout.packed(rows).height <= self.layout.packed(bare).height:
            return rows, True
        return bare, False

    def bare(self, figure: Figure) -> Block:
        """Return a result without its operands, with sums of its rows beside it if they fit."""
        result, *sums = map(_named, figure.results)
        if all(matrix.values.shape[1] == 1 for matrix in sums):
            beside = [part for matrix in sums for part in (BETWEEN, _unlabelled(matrix))]
            row = self.layout.row([result if sums else figure.results[0].matrix, *beside])
            if self.layout.fits(row):
                return row
        return stacked([self.layout.alone(matrix) for matrix in (result, *sums)])

    def figure(self, figure: Figure) -> Block:
        """Return operands and result, or a step and its sums, beside each other if they fit."""
        if figure.results[1:]:
            return self.bare(figure)
        if not figure.operands:
            return self.layout.alone(figure.results[0].matrix)
        row = self.row(figure)
        return row if self.layout.fits(row) else self.layout.alone(_named(figure.results[0]))

    def row(self, figure: Figure) -> Block:
        parts = (*figure.operands, "=", *figure.results)
        return self.layout.row([p if isinstance(p, str) else _named(p) for p in parts])

    def weighted_sum(self, weighted: WeightedSum) -> Iterator[Line]:
        """Yield `z_I = 0.9·v_I + 0.1·v_am`, on several lines where the terminal is too narrow."""
        left, *pieces = weighted.texts()
        start = " ".join([left, *pieces[:1]])
        width, hanging = self.layout.width, cell_width(left)
        yield from layout.broken([(start, "")], pieces[1:], width, hanging)


def _unlabelled(sums: Matrix) -> Matrix:
    """Return a column of sums without labels: those of what was added up are beside it."""
    return replace(sums, row_labels=(), column_labels=("",) if sums.column_labels else ())


def _named(panel: Panel, words: str = "") -> Matrix:
    """Return a matrix with its name over it, and which head or batch it is."""
    return replace(panel.matrix, name=", ".join(filter(None, (text(panel.name), words))))

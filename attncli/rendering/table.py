"""A trace as tables on a terminal: each step with its formula, operands beside the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from attncli.mechanisms.trace import Trace
from attncli.notation.text import text
from attncli.records import replace
from attncli.rendering.layout import (
    BETWEEN,
    Block,
    Layout,
    Line,
    heading_line,
    line_width,
    plain,
    stacked,
    titled,
)
from attncli.rendering.matrix import Matrix
from attncli.rendering.page import Entry, Figure, Figures, Page, page_of
from attncli.rendering.selection import Selection
from attncli.rendering.views import Panel, WeightedSum, shape_text
from attncli.tape.step import Step
from attncli.text.escapes import label_text
from attncli.text.widths import cell_width

MOST_BESIDE = 4
"""Maximum number of heads whose operands stand beside the results, where there is room, and whose
sums stand below."""

FOLDED = ("title", "faint")
"""The styles of lines that are sentences or formulas."""


def traces(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield plain tables, as on a terminal of any width."""
    return plain(lines(trace, selection) for trace in shown)


def lines(trace: Trace, selection: Selection, width: int | None = None) -> Iterator[Line]:
    """Yield the lines of a trace; titles and notes are folded to the terminal, if there is one."""
    writer = _Writer(Layout(width))
    for line in writer.page(page_of(trace, selection, writer.suffices, writer.layout.limit)):
        yield from _folded(line, width)


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
        yield from map(heading_line, entry.steps, entry.shapes)
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
            yield heading_line(source, shape_text(source.value.shape))
            for panel in panels:
                if panel.words:
                    yield [(panel.words, "name")]
                yield from self.layout.alone(panel.matrix)
            yield []
        yield [(",  ".join(step.formula for step in entry.steps), "title")]

    def suffices(self, figures: Figures) -> bool:
        """Whether operands, if there are any, have room beside their result."""
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
        """Return the block of each figure, and whether operands stand beside the results.

        Beside many results they take lines, and the head of a step that was shown before tells
        nothing new.
        """
        rows = [self.row(figure) for figure in figures] if figures[0].operands else []
        fit = bool(rows) and all(map(self.layout.fits, rows))
        if fit and not figures[MOST_BESIDE:]:
            return rows, True
        bare = [self.bare(figure) for figure in figures]
        if fit and self.layout.packed(rows).height <= self.layout.packed(bare).height:
            return rows, True
        return bare, False

    def bare(self, figure: Figure) -> Block:
        """Return a result without its operands, with its sums beside it."""
        result, *sums = figure.results
        named = _named(result) if sums else result.matrix
        beside = [part for panel in sums for part in (BETWEEN, _bare(_named(panel)))]
        row = self.layout.row([named, *beside])
        if self.layout.fits(row):
            return row
        return stacked([self.layout.alone(_named(panel)) for panel in figure.results])

    def figure(self, figure: Figure) -> Block:
        """Return operands and result, or a step and its sums, beside each other if they fit."""
        result, *sums = (_named(panel) for panel in figure.results)
        if sums:
            return self.with_sums(result, sums[0])
        if not figure.operands:
            return self.layout.alone(figure.results[0].matrix)
        row = self.row(figure)
        return row if self.layout.fits(row) else self.layout.alone(result)

    def with_sums(self, matrix: Matrix, sums: Matrix) -> Block:
        """Return a matrix with the sums of its rows beside it, or with its sums below."""
        if sums.values.shape[1] == 1:
            row = self.layout.row([matrix, BETWEEN, _bare(sums)])
            if self.layout.fits(row):
                return row
        return stacked([self.layout.alone(matrix), self.layout.alone(sums)])

    def row(self, figure: Figure) -> Block:
        """Return operands and result side by side."""
        parts = (*figure.operands, "=", *figure.results)
        return self.layout.row([p if isinstance(p, str) else _named(p) for p in parts])

    def weighted_sum(self, weighted: WeightedSum) -> Iterator[Line]:
        """Yield `z_I = 0.9·v_I + 0.1·v_am`, on several lines where the terminal is too narrow."""
        left, *pieces = weighted.texts()
        line = " ".join([left, *pieces[:1]])
        for piece in pieces[1:]:
            width = self.layout.width
            if width is not None and cell_width(line) + cell_width(piece) + 1 > width:
                yield [(line, "")]
                line = " " * cell_width(left)
            line += f" {piece}"
        yield [(line, "")]


def _bare(sums: Matrix) -> Matrix:
    """Return a column of sums that stands beside what was added up, and so needs no labels."""
    return replace(sums, row_labels=(), column_labels=("",) if sums.column_labels else ())


def _named(panel: Panel, words: str = "") -> Matrix:
    """Return a matrix with its name over it, and which head or batch it is."""
    return replace(panel.matrix, name=", ".join(filter(None, (text(panel.name), words))))


def _folded(line: Line, width: int | None) -> Iterator[Line]:
    """Yield a title, note or label line in pieces where the terminal is too narrow for it.

    The lines of matrices are laid out to fit already.
    """
    if width is None or not line or line[0][1] not in FOLDED or line_width(line) <= width:
        yield line
        return
    piece: Line = []
    used = 0
    for word, style in [(word, style) for part, style in line for word in part.split()]:
        if used and used + 1 + cell_width(word) > width:
            yield piece
            piece, used = [("  ", "")], 1
        piece += [(" ", ""), (word, style)] if used > 1 else [(word, style)]
        used += 1 + cell_width(word)
    yield piece

"""Traces and reports on a terminal: tables, each step with its formula; a line per student."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING

from attncli.core.calculation.trace import Trace
from attncli.core.formulas.text import text
from attncli.core.numbers.written import shape_words
from attncli.core.records import replace
from attncli.core.tape.step import Step
from attncli.core.text.strings import cell_width, label_text
from attncli.printing import layout
from attncli.printing.blocks import Entry, Figure, Matrix, Page, Panel, WeightedSum
from attncli.printing.layout import Box, Layout, Line, Span
from attncli.printing.page import page_of
from attncli.printing.selection import Selection
from attncli.printing.views import is_deep

if TYPE_CHECKING:
    pass

MOST_BESIDE = 4
"""Maximum number of heads whose operands are shown beside the results, where there is room, and
whose sums are shown below. Chosen."""


def traces(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    pages = (lines(trace, selection) for trace in shown)
    return layout.plain(pages, follows=selection.follows)


def lines(trace: Trace, selection: Selection, width: int | None = None) -> Iterator[Line]:
    """Return the lines of a trace; titles and notes are folded to the terminal, if there is one."""
    writer = _Writer(width)
    return writer.page(page_of(trace, selection, writer.suffices, writer.limit))


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
        is_named = bool(entry.inputs and figure.operands)
        yield from self.bodies(entry.figures, is_named)[0][0]
        yield from self.below(figure)

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

    def side_by_side(self, figures: Sequence[Figure]) -> Iterator[Line]:
        """Yield the figures of heads or batches, as many beside each other as have room.

        Sums are below their figures; those that all figures share are below all.
        """
        with_sums = [] if figures[MOST_BESIDE:] else [one for one in figures if one.sums()]
        boxes = []
        for figure, body in zip(figures, self.bodies(figures)[0], strict=True):
            below = [*self.below(figure)][1:] if with_sums[1:] else []
            boxes.append(layout.titled(figure.name, body, below))
        yield from self.packed(boxes)
        if not with_sums[1:]:
            yield from chain.from_iterable(map(self.below, with_sums))

    def bodies(self, figures: Sequence[Figure], is_named: bool = False) -> tuple[list[Box], bool]:
        """Return the box of each figure, and whether operands are beside the results.

        Beside many results they take lines, and the head of a step that was shown before tells
        nothing new; the numbers behind vectors of pairs do.
        """
        is_one = not figures[1:]
        rows = [self.equation(one, is_one) for one in figures] if figures[0].operands else []
        fit = bool(rows) and all(map(self.fits, rows))
        if fit and (is_deep(figures[0].results[0].part) or not figures[MOST_BESIDE:]):
            return rows, True
        bare = [self.bare(figure, is_named) for figure in figures]
        if fit and self.packed(rows).height <= self.packed(bare).height:
            return rows, True
        return bare, False

    def bare(self, figure: Figure, is_named: bool) -> Box:
        """Return a result without its operands, with sums of its rows beside it if they fit."""
        result, *sums = map(_named, figure.results)
        if not sums and not is_named:  # the heading has its name
            result = figure.results[0].matrix
        if all(matrix.values.shape[1] == 1 for matrix in sums):
            parts: list[Matrix | str] = [result]
            for matrix in sums:
                heads = ("",) if matrix.column_labels else ()
                parts += [layout.BETWEEN, replace(matrix, row_labels=(), column_labels=heads)]
            row = self.row(parts)
            if self.fits(row):
                return row
        return layout.stacked([self.alone(matrix) for matrix in (result, *sums)])

    def equation(self, figure: Figure, in_lines: bool = False) -> Box:
        """Return operands and result in a row; if too wide, with fewer labels, then in lines."""
        parts = (*figure.operands, "=", *figure.results)
        whole = [p if isinstance(p, str) else _named(p) for p in parts]
        row = self.row(whole)
        if self.fits(row):
            return row
        row = self.row([*_without_repeated_labels(whole)])
        is_cut = any(panel.matrix.is_cut for panel in figure.panels)
        return row if self.fits(row) or is_cut or not in_lines else self.lines_of(whole)

    def lines_of(self, parts: Sequence[Matrix | str]) -> Box:
        """Return a row in as many lines as it needs, each but the first from a sign on."""
        pieces: list[list[Matrix | str]] = []
        for before, part in zip([None, *parts], parts, strict=False):
            if isinstance(part, str) and part != ")" and not isinstance(before, str):
                pieces.append([part])
            elif pieces:
                pieces[-1].append(part)
            else:
                pieces = [[part]]
        lines = pieces[:1]
        for piece in pieces[1:]:
            if self.fits(self.row([*lines[-1], *piece])):
                lines[-1] += piece
            else:
                lines.append(piece)
        return layout.stacked([self.row(line) for line in lines])

    def below(self, figure: Figure) -> Iterator[Line]:
        """Yield the sums of a figure, after a blank line."""
        for number, weighted in enumerate(figure.sums()):
            if not number:
                yield []
            yield from self.weighted_sum(weighted)

    def weighted_sum(self, weighted: WeightedSum) -> Iterator[Line]:
        """Yield `z_I = 0.9·v_I + 0.1·v_am`, on several lines where the terminal is too narrow."""
        left, *pieces = weighted.texts()
        start = " ".join([left, *pieces[:1]])
        yield from layout.broken([(start, "")], pieces[1:], self.width, cell_width(left))


def _named(panel: Panel, words: str = "") -> Matrix:
    return replace(panel.matrix, name=", ".join(filter(None, (text(panel.name), words))))


def _without_repeated_labels(parts: Iterable[Matrix | str]) -> Iterator[Matrix | str]:
    """Yield matrices without labels before rows that are those of rows or columns at the left."""
    seen: set[tuple[str, ...]] = set()
    for part in parts:
        if isinstance(part, str):
            yield part
        else:
            rows = tuple(part.row_labels)
            yield replace(part, row_labels=()) if rows in seen else part
            seen |= {rows, tuple(part.column_labels)}

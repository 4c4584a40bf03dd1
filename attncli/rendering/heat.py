"""Weights as pictures on a terminal: two columns per cell, heads beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.rendering.layout import (
    CELL_WIDTH,
    Block,
    Layout,
    Line,
    Span,
    heading_line,
    shade_style,
    titled,
)
from attncli.rendering.matrix import Matrix
from attncli.rendering.page import Figure, page_of
from attncli.rendering.selection import Selection
from attncli.text.escapes import label_text
from attncli.text.widths import label_width

INKS = ("  ", "░░", "▒▒", "▓▓", "██")
"""What stands in a cell where there are no colours, from 0 to 1."""

BLOCKED = "··"
"""What stands in a cell of a weight that is exactly 0."""

SIZE = 2
"""How many columns a cell takes."""


def lines(
    trace: Trace, selection: Selection, width: int | None, has_colours: bool
) -> Iterator[Line]:
    """Yield pictures of the weights of a trace.

    Args:
        trace: a calculation.
        selection: which steps, and whether there is a title.
        width: of the terminal, if there is one.
        has_colours: whether the size of a weight is a background, or a sign.
    """
    layout = Layout(width)
    page = page_of(trace, selection, limit=layout.limit * CELL_WIDTH // SIZE)
    if page.title:
        yield [(page.title, "title")]
        yield []
    entries = [e for e in page.entries if e.figures and e.figures[0].results[0].matrix.shaded]
    for entry in entries:
        yield heading_line(entry.steps[0], entry.shapes[0])
        yield from layout.packed([_block(figure, has_colours, layout) for figure in entry.figures])
        yield []
    yield _scale(has_colours) if entries else [("No weights are among the steps.", "")]


def _block(figure: Figure, has_colours: bool, layout: Layout) -> Block:
    matrix = figure.results[0].matrix
    inks = {
        (row, column): _ink(float(matrix.values[row, column]), has_colours)
        for row in matrix.rows
        for column in matrix.columns
        if row is not None and column is not None
    }
    drawn = replace(matrix, gap="", cells=inks, column_labels=_heads(matrix))
    block = layout.row([drawn])
    return titled(figure.name, block) if figure.name else block


def _heads(matrix: Matrix) -> list[str]:
    """Return what tells the columns apart in the width of a cell: one sign, two, or a number."""
    labels = [label_text(label) for label in matrix.column_labels]
    for size in range(1, SIZE + 1):
        words = [_start(label, size) for label in labels]
        if len(set(words)) == len(words) and all(words):
            return [word + " " * (SIZE - label_width(word)) for word in words]
    numbers = [str(number) for number in range(1, len(labels) + 1)]
    return [number.ljust(SIZE) for number in numbers] if len(labels) < 10**SIZE else []


def _start(label: str, size: int) -> str:
    """Return as many of the first signs of a label as stand in so many columns."""
    return next((label[:n] for n in range(size, 0, -1) if label_width(label[:n]) <= size), "")


def _ink(value: float, has_colours: bool) -> Span:
    if not value:
        return BLOCKED, "faint"
    if has_colours:
        return " " * SIZE, shade_style(value)
    return INKS[round(min(abs(value), 1.0) * (len(INKS) - 1))], ""


def _scale(has_colours: bool) -> Line:
    """Return what the strengths stand for."""
    steps: Sequence[float] = np.linspace(0.05, 0.95, 10).tolist()
    return [("0 ", "faint"), *(_ink(step, has_colours) for step in steps), (" 1", "faint")]

"""Lines of text for a terminal: matrices side by side as far as they fit, and folded prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat

import numpy as np

from attncli.core.formulas.text import text as as_text
from attncli.core.records import Record, replace
from attncli.core.tape.step import Step
from attncli.core.text.strings import LIMIT, cell_width, label_text, label_width
from attncli.printing.blocks import LineIndex, Matrix
from attncli.printing.selection import in_parts

Span = tuple[str, str]
Line = list[Span]

BETWEEN, APART = " ", "  "
"""The blanks between boxes that belong together, and between other boxes."""

GAP = "  "
"""The text between two numbers."""

CELL_WIDTH = 8
"""Approximate width of a number and of the gap before it, in columns of the terminal."""

PAPER_WIDTH = 100
"""Width of a line of boxes when there is no terminal; a matrix wider than that stays whole."""


class Box(Record, eq=False):
    """A rectangle of text, whose lines are drawn when they are printed."""

    width: int  # in columns of the terminal
    height: int
    top: int  # number of lines above the first row of a matrix, for its name and labels
    draw: Callable[[], Iterator[Line]]

    def __iter__(self) -> Iterator[Line]:
        return self.draw()


class Layout(Record):
    """How matrices are laid out as text: `indent` columns of the terminal's `width` stay free."""

    width: int | None = None
    indent: int = 0

    @property
    def room(self) -> int:
        return (self.width or PAPER_WIDTH) - self.indent

    @property
    def limit(self) -> int:
        """Maximum length of an axis that is shown whole: what fills a wide terminal."""
        return max(LIMIT, (self.width or 0) // CELL_WIDTH)

    def fits(self, box: Box) -> bool:
        return box.width <= self.room

    def packed(self, boxes: Sequence[Box]) -> Box:
        """Return as many boxes side by side as fit in a line, with a blank line between lines."""
        rows: list[list[Box | str]] = []
        used = self.room + 1
        for box in boxes:
            used += len(APART) + 2 + box.width
            if used > self.room:
                rows.append([box])
                used = box.width
            else:
                rows[-1] += [APART, box]
        return stacked([beside(row) for row in rows], apart=True)

    def row(self, parts: Sequence[Matrix | str]) -> Box:
        return beside([p if isinstance(p, str) else _Grid(p).box() for p in parts])

    def together(self, matrices: Sequence[Matrix]) -> Box:
        """Return matrices side by side, in as many rows as they need."""
        row = self.row([part for matrix in matrices for part in (matrix, BETWEEN)][:-1])
        return row if self.fits(row) else self.packed([self.alone(matrix) for matrix in matrices])

    def alone(self, matrix: Matrix) -> Box:
        """Return a matrix, some columns below the others where it is too wide."""
        grid = _Grid(matrix)
        if self.width is None or grid.width() <= self.room:
            return grid.box()
        boxes, start, count = [], 0, len(matrix.columns)
        while start < count:
            end = start + 1
            while end < count and grid.width(start, end + 1) <= self.room:
                end += 1
            part = replace(matrix, columns=matrix.columns[start:end])
            numbers = [f"{column + 1}" for column in part.shown[1]]
            note = f"columns {numbers[0]} to {numbers[-1]}" if numbers[1:] else ""
            note = note or "".join(f"column {number}" for number in numbers)
            name = ", ".join(filter(None, (matrix.name, note)))
            boxes.append(_Grid(replace(part, name=name)).box())
            start = end
        return stacked(boxes)


def heading_line(step: Step, shapes: str = "") -> Line:
    """Return the formula, the values of its letters, and the shapes."""
    asides = filter(None, (as_text(step.note) if step.note else "", shapes))
    return [(step.formula, "title"), *((f"   {aside}", "faint") for aside in asides)]


def wrapped(line: Line, width: int | None, hanging: str | None = None) -> list[Line]:
    """Return a line of prose as lines that fit a terminal; without a width it stays one line.

    It is broken at blanks; lines after the first are indented by `hanging`, or else like the first.

    >>> line = [("  the mask ", "name"), ("is left out", "")]
    >>> [plain_text(part) for part in wrapped(line, 12)]
    ['  the mask', '  is left', '  out']
    """
    if width is None or line_width(line) <= width:
        return [line]
    whole = plain_text(line)
    margin = whole[: len(whole) - len(whole.lstrip())]
    below = margin if hanging is None else hanging
    lines: list[Line] = [[(margin, "")] if margin else []]
    used, blanks = cell_width(margin), ""
    is_first = True
    for text, style in line:
        for word in re.findall(r"\s+|\S+", text):
            if word.isspace():
                blanks = "" if is_first else blanks + word
                continue
            if not is_first and used + cell_width(blanks + word) > width:
                lines.append([(below, "")] if below else [])
                used, blanks = cell_width(below), ""
            lines[-1].append((blanks + word, style))
            used, blanks, is_first = used + cell_width(blanks + word), "", False
    return lines


def broken(line: Line, pieces: Iterable[str], width: int | None, hanging: int) -> Iterator[Line]:
    """Yield a line, broken before pieces that do not fit; the next line has `hanging` blanks."""
    for piece in pieces:
        if width is not None and line_width(line) + 1 + cell_width(piece) > width:
            yield line
            line = [(" " * hanging, "")]
        line = [*line, (f" {piece}", "")]
    yield line


def padded(texts: Sequence[str], is_right: bool = False) -> list[str]:
    """Return texts with blanks after them, or before them, so that they are as wide as each other.

    >>> padded(["a", "bcd"], is_right=True)
    ['  a', 'bcd']
    """
    width = max(map(cell_width, texts))
    blanks = [" " * (width - cell_width(text)) for text in texts]
    pairs = zip(texts, blanks, strict=True)
    return [blank + text if is_right else text + blank for text, blank in pairs]


def line_width(line: Line) -> int:
    return sum(cell_width(text) for text, _ in line)


def plain_text(line: Line) -> str:
    return "".join(text for text, _ in line).rstrip()


def plain(
    pages: Iterable[Iterable[Line]],
    write: Callable[[Line], str] = plain_text,
    follows: bool = False,
) -> Iterator[bytes]:
    """Yield pages with a blank line between; `write` writes a line, by default without styles."""
    return in_parts(((f"{write(line)}\n" for line in page) for page in pages), "\n", follows)


def beside(parts: Sequence[Box | str]) -> Box:
    """Return boxes and signs side by side, first rows level and signs at half height."""
    boxes = [part for part in parts if isinstance(part, Box)]
    top = max(box.top for box in boxes)
    rows = max(box.height - box.top for box in boxes)

    def columns() -> Iterator[Iterator[Line]]:
        for part in parts:
            if isinstance(part, str):
                yield _placed(iter([[(f" {part} ", "")]]), len(part) + 2, 0, top + (rows - 1) // 2)
            else:  # the name is at the very top, labels and numbers are level with the others
                yield _placed(part.draw(), part.width, min(part.top, 1), top - part.top)

    def draw() -> Iterator[Line]:
        for spans in islice(zip(*columns(), strict=False), top + rows):
            yield list(chain.from_iterable(spans))

    width = sum(len(part) + 2 if isinstance(part, str) else part.width for part in parts)
    return Box(width, top + rows, top, draw)


def _placed(lines: Iterator[Line], width: int, first: int, gap: int) -> Iterator[Line]:
    """Yield the first lines of a column, a gap, the other lines, then blank lines without end."""
    blank: Line = [(" " * width, "")]
    return chain(islice(lines, first), repeat(blank, gap), lines, repeat(blank))


def stacked(boxes: Sequence[Box], apart: bool = False) -> Box:
    """Return boxes below each other, with a blank line between if they are `apart`."""

    def draw() -> Iterator[Line]:
        for number, box in enumerate(boxes):
            if apart and number:
                yield []
            yield from box

    height = sum(box.height for box in boxes) + apart * (len(boxes) - 1)
    return Box(max(box.width for box in boxes), height, 0, draw)


def titled(name: str, box: Box, below: Sequence[Line] = ()) -> Box:
    """Return a box with a name over it, at the left, and with more lines below it."""
    title: Line = [(name, "name")]
    rest: Sequence[Line] = [[], *below] if below else []
    width = max(box.width, *map(line_width, [title, *rest]))

    def draw() -> Iterator[Line]:
        for line in chain([title], box, rest):
            yield [*line, (" " * (width - line_width(line)), "")]

    return Box(width, 1 + box.height + len(rest), box.top + 1, draw)


class _Grid:
    """Draws a matrix between brackets, with its name and labels."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        heads = [label_text(label) for label in matrix.column_labels]
        self.tops = ["…" if c is None else heads[c] if heads else "" for c in matrix.columns]
        widths = zip(self.tops, matrix.widths(cell_width), strict=True)
        self.widths = [max(label_width(top), width) for top, width in widths]
        self.gaps = ["", *(" │ " if c in matrix.bars else GAP for c in matrix.columns[1:])]
        self.labels = [label_text(label) for label in matrix.row_labels]
        self.left = max(map(label_width, self.labels), default=0)
        self.lead = self.left + 1 if self.left else 0

    def width(self, start: int = 0, end: int | None = None) -> int:
        """Return how many columns of the terminal some columns take, with the name above."""
        numbers = sum(self.widths[start:end]) + sum(map(len, self.gaps[start:end][1:]))
        return max(self.lead + 2 + numbers, cell_width(self.matrix.name))

    def box(self) -> Box:
        top = bool(self.matrix.name) + bool(self.matrix.column_labels)
        return Box(self.width(), top + len(self.matrix.rows), top, self._lines)

    def _lines(self) -> Iterator[Line]:
        matrix, width = self.matrix, self.width()
        used = self.lead + 2 + sum(self.widths) + sum(map(len, self.gaps))
        rest: Line = [(" " * (width - used), "")]
        if size := cell_width(matrix.name):
            before = max(0, min(self.lead + (width - self.lead - size) // 2, width - size))
            blanks = " " * before, " " * (width - size - before)
            yield [(blanks[0], ""), (matrix.name, "name"), (blanks[1], "")]
        if matrix.column_labels:
            line: Line = [(" " * (self.lead + 1), "")]
            for gap, head, size in zip(self.gaps, self.tops, self.widths, strict=True):
                line += [(" " * (len(gap) + size - label_width(head)), ""), (head, "label")]
            yield [*line, (" ", ""), *rest]
        count = len(matrix.rows)
        brackets = ["⎡⎤", *["⎢⎥"] * (count - 2), "⎣⎦"] if count > 1 else ["[]"]
        for row, bracket in zip(matrix.rows, brackets, strict=True):
            label = "" if not self.labels else "⋮" if row is None else self.labels[row]
            line = [(" " * (self.left - label_width(label)), ""), (label, "label")]
            line.append((" " * (self.lead - self.left) + bracket[0], ""))
            yield [*line, *self._numbers(row), (bracket[1], ""), *rest]

    def _numbers(self, row: LineIndex) -> Iterator[Span]:
        matrix = self.matrix
        texts, styles = matrix.texts(row, matrix.columns), _styles(matrix, row)
        cells = zip(self.gaps, self.widths, texts, styles, strict=True)
        if not matrix.cells and not any(styles):
            yield "".join(gap + text.rjust(width) for gap, width, text, _ in cells), ""
            return
        before = ""
        for gap, width, text, style in cells:
            if gap == GAP:  # half of it belongs to the cell on either side
                yield " ", _ground(before)
                yield " ", _ground(style)
            else:
                yield gap, ""
            yield " " * (width - cell_width(text)) + text, style
            before = style


def _styles(matrix: Matrix, row: LineIndex) -> list[str]:
    if row is None:
        return ["faint"] * len(matrix.columns)
    if not matrix.cells and not matrix.shaded and np.isfinite(matrix.values[row]).all():
        return ["faint" if column is None else "" for column in matrix.columns]
    return ["faint" if column is None else _style(matrix, row, column) for column in matrix.columns]


def _style(matrix: Matrix, row: int, column: int) -> str:
    if (row, column) in matrix.cells:
        return matrix.cells[row, column][1]
    if np.isinf(matrix.values[row, column]) or (matrix.shaded and not matrix.values[row, column]):
        return "faint"  # what is blocked, and its weight
    shade = matrix.shade(row, column)
    return "" if shade is None else f"shade{min(9, int(abs(shade) * 10))}"


def _ground(style: str) -> str:
    return style if style.startswith("shade") else ""

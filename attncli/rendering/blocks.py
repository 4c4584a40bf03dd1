"""Matrices as blocks of text that can stand side by side, as a hand lays them out.

A line is a list of spans, each a text with the name of a style; the command line turns styles
into colours, or drops them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.notation.text import text as as_text
from attncli.records import EMPTY, Record
from attncli.rendering.pieces import pieces
from attncli.tape.step import Step
from attncli.text.elision import LIMIT, kept
from attncli.text.escapes import label_text
from attncli.text.widths import cell_width, label_width

Span = tuple[str, str]
Line = list[Span]

GAP = "  "

BETWEEN, APART = " ", "  "
"""What parts blocks that belong together, and those that do not."""

CELL_WIDTH = 8
"""About how many columns a number takes, with those before it."""

PAPER_WIDTH = 100
"""Where a line of blocks ends when there is no terminal; a matrix wider than that stays whole."""

ROOM = 8
"""About as many characters wide is the room for a number that is yet to be written."""


class Block(Record):
    """Lines of one width: a name, column labels, and from line `top` on the matrix."""

    lines: list[Line]
    width: int
    top: int = 0


class Matrix(Record, eq=False):
    """What a block shows: values (rows, columns), with a name above and labels beside them.

    Attributes:
        full: whether it is shown whole, where it is large.
        limit: so many rows or columns are shown whole in any case.
        write: how a number is written.
        gap: what stands between two numbers.
        bars: before which columns a bar stands, between heads.
        shaded: whether the size of a number is shown by its background.
        is_blank: which cells are empty.
        cells: the cells that are shown otherwise, each a text with its style.
        is_open: whether there is room in the place of the numbers, for somebody to write them.
    """

    values: Array
    name: str = ""
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    full: bool = False
    limit: int = LIMIT
    only_rows: Sequence[int] = ()
    only_columns: Sequence[int] = ()
    write: Callable[[float], str] = str
    gap: str = GAP
    bars: Sequence[int] = ()
    shaded: bool = False
    is_blank: Callable[[int, int], bool] = lambda row, column: False
    cells: Mapping[tuple[int, int], Span] = EMPTY
    is_open: bool = False

    @property
    def rows(self) -> list[int | None]:
        """The rows that are shown, None for those left out."""
        return [*self.only_rows] or kept(self.values.shape[0], self.full, self.limit)

    @property
    def columns(self) -> list[int | None]:
        """The columns that are shown, None for those left out."""
        return [*self.only_columns] or kept(self.values.shape[1], self.full, self.limit)

    @property
    def is_cut(self) -> bool:
        """Whether rows or columns are left out."""
        return None in (*self.rows, *self.columns)

    def shade(self, row: int, column: int) -> float | None:
        """Return how strong the background of a number is, from 0 to 1; None for no background."""
        value = float(self.values[row, column])
        if not self.shaded or np.isinf(value) or self.is_blank(row, column) or self.is_open:
            return None
        return min(1.0, abs(value))

    def has_room(self, row: int | None, column: int | None) -> bool:
        """Return whether a number is to be written in a cell."""
        if not self.is_open or row is None or column is None:
            return False
        return not self.is_blank(row, column)

    @property
    def width(self) -> int:
        """About how many characters wide the matrix is in a document."""
        widths = ([cell_length(self, row, c) for row in self.rows] for c in self.columns)
        return sum(2 + max(column, default=0) for column in widths)


class Layout(Record):
    """How matrices are laid out as text: `indent` columns of the terminal's `width` stay free."""

    width: int | None = None
    indent: int = 0

    @property
    def room(self) -> int:
        """How many columns a line of blocks may take."""
        return (self.width or PAPER_WIDTH) - self.indent

    @property
    def limit(self) -> int:
        """So many rows or columns of a matrix are shown whole: what fills a wide terminal."""
        return max(LIMIT, (self.width or 0) // CELL_WIDTH)

    def fits(self, block: Block) -> bool:
        """Return whether there is room for a block."""
        return block.width <= self.room

    def packed(self, blocks: Sequence[Block]) -> list[Line]:
        """Return the lines of blocks, as many beside each other as there is room for."""
        lines: list[Line] = []
        rest = list(blocks)
        while rest:
            row = [rest.pop(0)]
            width = row[0].width
            while rest and width + len(APART) + 2 + rest[0].width <= self.room:
                width += len(APART) + 2 + rest[0].width
                row.append(rest.pop(0))
            parts: list[Block | str] = [part for block in row for part in (APART, block)][1:]
            lines += [[], *_beside(parts).lines]
        return lines[1:]

    def prose(self, line: Line) -> list[Line]:
        """Return a line of sentences in as many as it needs; off a terminal that is one."""
        return wrapped(line, self.width)

    def row(self, parts: Sequence[Matrix | str]) -> Block:
        """Return matrices and signs side by side."""
        return _beside([p if isinstance(p, str) else _block(p, p.columns) for p in parts])

    def together(self, matrices: Sequence[Matrix]) -> list[Line]:
        """Return the lines of matrices side by side if they fit, else one below the other."""
        row = self.row([part for matrix in matrices for part in (matrix, BETWEEN)][:-1])
        if self.fits(row):
            return row.lines
        return [line for matrix in matrices for line in self.alone(matrix)]

    def alone(self, matrix: Matrix) -> list[Line]:
        """Return the lines of a matrix, some columns below the others where it is too wide."""
        whole = _block(matrix, matrix.columns)
        room = self.width and self.width - self.indent
        if room is None or whole.width <= room:
            return whole.lines
        lines: list[Line] = []
        columns = matrix.columns
        while columns:
            count = 1
            while count < len(columns) and _block(matrix, columns[: count + 1]).width <= room:
                count += 1
            lines += _block(matrix, columns[:count], _range(columns[:count])).lines
            columns = columns[count:]
        return lines


def heading_line(step: Step, shapes: str = "") -> Line:
    """Return the formula, what its letters stand for, and the shapes."""
    asides = filter(None, (as_text(step.note) if step.note else "", shapes))
    return [(step.formula, "title"), *((f"   {aside}", "faint") for aside in asides)]


def wrapped(line: Line, width: int | None) -> list[Line]:
    """Return a line of prose in as many as a terminal needs; without a width it stays as it is.

    It is parted at blanks; what goes on below is indented as the line itself is.

    >>> line = [("  the mask ", "name"), ("is left out", "")]
    >>> [plain_text(part) for part in wrapped(line, 12)]
    ['  the mask', '  is left', '  out']
    """
    if width is None or sum(cell_width(text) for text, _ in line) <= width:
        return [line]
    whole = plain_text(line)
    margin = whole[: len(whole) - len(whole.lstrip())]
    start: Line = [(margin, "")] if margin else []
    lines: list[Line] = [[*start]]
    used, blanks = cell_width(margin), ""
    is_first = True
    for text, style in line:
        for word in re.findall(r"\s+|\S+", text):
            if word.isspace():
                blanks = "" if is_first else blanks + word
                continue
            if not is_first and used + cell_width(blanks + word) > width:
                lines.append([*start])
                used, blanks = cell_width(margin), ""
            lines[-1].append((blanks + word, style))
            used, blanks, is_first = used + cell_width(blanks + word), "", False
    return lines


def plain_text(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(text for text, _ in line).rstrip()


def plain(
    pages: Iterable[Iterable[Line]], write: Callable[[Line], str] = plain_text
) -> Iterator[bytes]:
    """Return pages of lines, without their styles or as `write` has them, a blank line between."""
    return pieces(("\n".join(map(write, page)) + "\n" for page in pages), "\n")


def _beside(parts: Sequence[Block | str]) -> Block:
    """Return blocks and signs side by side: first rows level, signs at the middle."""
    blocks = [part for part in parts if isinstance(part, Block)]
    top = max(block.top for block in blocks)
    rows = max(len(block.lines) - block.top for block in blocks)
    lines: list[Line] = [[] for _ in range(top + rows)]
    width = 0
    for part in parts:
        if isinstance(part, str):
            size = len(part) + 2
            column: dict[int, Line] = {top + (rows - 1) // 2: [(f" {part} ", "")]}
        else:  # the name stands at the very top, labels and numbers are level with the others
            size, name = part.width, min(part.top, 1)
            column = dict(enumerate(part.lines[:name]))
            column |= dict(enumerate(part.lines[name:], top - part.top + name))
        for number, line in enumerate(lines):
            line.extend(column.get(number, [(" " * size, "")]))
        width += size
    return Block(lines, width, top)


def titled(name: str, block: Block, below: Sequence[Line]) -> Block:
    """Return a block with a name over it, at the left, and with more lines below it."""
    lines = [[(name, "name")], *block.lines, *([[], *below] if below else [])]
    widths = [sum(cell_width(text) for text, _ in line) for line in lines]
    width = max(widths)
    padded = [[*line, (" " * (width - size), "")] for line, size in zip(lines, widths, strict=True)]
    return Block(padded, width, block.top + 1)


def _range(columns: Sequence[int | None]) -> str:
    numbers = [c + 1 for c in columns if c is not None]
    if len(numbers) < 2:
        return f"column {numbers[0]}" if numbers else ""
    return f"columns {numbers[0]} to {numbers[-1]}"


def _block(matrix: Matrix, columns: Sequence[int | None], note: str = "") -> Block:
    """Return some columns of a matrix, with a note beside its name."""
    rows = matrix.rows
    labels = [label_text(label) for label in matrix.row_labels]
    heads = [label_text(label) for label in matrix.column_labels]
    cells = [[cell_text(matrix, row, column) for column in columns] for row in rows]
    tops = ["…" if c is None else heads[c] if heads else "" for c in columns]
    widths = [
        max(label_width(top), *map(cell_width, column))
        for top, column in zip(tops, zip(*cells, strict=True), strict=True)
    ]
    left = max(map(label_width, labels), default=0)
    lead = left + 1 if left else 0
    separators = ["", *(" │ " if c in matrix.bars else matrix.gap for c in columns[1:])]
    used = lead + 2 + sum(widths) + sum(map(len, separators))
    name = ", ".join(filter(None, (matrix.name, note)))
    width = max(used, cell_width(name))
    rest: Line = [(" " * (width - used), "")]
    lines = [_centred(name, "name", width, lead)] if name else []
    if heads:
        line: Line = [(" " * (lead + 1), "")]
        for separator, head, size in zip(separators, tops, widths, strict=True):
            line += [(" " * (len(separator) + size - label_width(head)), ""), (head, "label")]
        lines.append([*line, (" ", ""), *rest])
    top = len(lines)
    brackets = ["⎡⎤", *["⎢⎥"] * (len(rows) - 2), "⎣⎦"] if len(rows) > 1 else ["[]"]
    for row, texts, bracket in zip(rows, cells, brackets, strict=True):
        label = "" if not labels else "⋮" if row is None else labels[row]
        line = [(" " * (left - label_width(label)), ""), (label, "label")]
        line.append((" " * (lead - left) + bracket[0], ""))
        before = ""
        for column, separator, text, size in zip(columns, separators, texts, widths, strict=True):
            filled, style = " " * (size - cell_width(text)) + text, _style(matrix, row, column)
            if separator == GAP:  # half of it belongs to the cell on either side
                line += [(" ", _ground(before)), (" ", _ground(style))]
            else:
                line.append((separator, ""))
            line.append((filled, style))
            before = style
        lines.append([*line, (bracket[1], ""), *rest])
    return Block(lines, width, top)


def cell_length(matrix: Matrix, row: int | None, column: int | None) -> int:
    """Return about how many characters wide a cell is."""
    return ROOM if matrix.has_room(row, column) else len(cell_text(matrix, row, column))


def cell_text(matrix: Matrix, row: int | None, column: int | None) -> str:
    """Return what stands in a cell; dots where a row or column is None, for those left out."""
    if row is None or column is None:
        return "⋱" if row is column else "…" if column is None else "⋮"
    if (row, column) in matrix.cells:
        return matrix.cells[row, column][0]
    if matrix.is_open or matrix.is_blank(row, column):
        return ""
    return matrix.write(float(matrix.values[row, column]))


def _style(matrix: Matrix, row: int | None, column: int | None) -> str:
    if row is None or column is None or matrix.is_blank(row, column):
        return "faint"
    if (row, column) in matrix.cells:
        return matrix.cells[row, column][1]
    if np.isinf(matrix.values[row, column]) or (matrix.shaded and not matrix.values[row, column]):
        return "faint"  # what is blocked, and its weight
    shade = matrix.shade(row, column)
    return "" if shade is None else shade_style(shade)


def shade_style(size: float) -> str:
    """Return the style of a background as strong as a number, from 0 to 1, is large."""
    return f"shade{min(9, int(abs(size) * 10))}"


def _ground(style: str) -> str:
    """Return the style of what is empty beside a cell: its shade, if it has one."""
    return style if style.startswith("shade") else ""


def _centred(text: str, style: str, width: int, lead: int) -> Line:
    size = cell_width(text)
    before = max(0, min(lead + (width - lead - size) // 2, width - size))
    return [(" " * before, ""), (text, style), (" " * (width - size - before), "")]

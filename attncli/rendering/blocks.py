"""Matrices as blocks of text that can stand side by side, as a hand lays them out.

A line is a list of spans, each a text with the name of a style; the command line turns styles
into colours, or drops them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.records import Record
from attncli.text.elision import kept
from attncli.text.escapes import label_text
from attncli.text.widths import cell_width, label_width

Span = tuple[str, str]
Line = list[Span]


GAP = "  "


NO_CELLS: Mapping[tuple[int, int], Span] = {}


class Block(Record):
    """Lines of one width: a name, column labels, and from line `top` on the matrix."""

    lines: list[Line]
    width: int
    top: int = 0


class Matrix(Record):
    """What a block shows.

    Attributes:
        values: (rows, columns).
        name: what stands above it.
        row_labels: words of the rows, or nothing.
        column_labels: words of the columns, or nothing.
        write: how a number is written.
        bars: before which columns a bar stands, between heads.
        shaded: whether the size of a number is shown by its background.
        is_blank: which cells are empty.
        cells: the cells that are shown otherwise, each a text with its style.
    """

    values: Array
    name: str = ""
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    write: Callable[[float], str] = str
    bars: Sequence[int] = ()
    shaded: bool = False
    is_blank: Callable[[int, int], bool] = lambda row, column: False
    cells: Mapping[tuple[int, int], Span] = NO_CELLS


def matrix_blocks(matrix: Matrix, full: bool, width: int | None) -> list[Block]:
    """Return a matrix as one block, or as several with some columns each where it is too wide.

    Args:
        matrix: what to show.
        full: whether to show every row and column.
        width: how many terminal columns there are; None for any number.
    """
    columns = kept(matrix.values.shape[1], full)
    whole = _block(matrix, columns, full)
    if width is None or whole.width <= width:
        return [whole]
    blocks = []
    start = 0
    while start < len(columns):
        end = start + 1
        while end < len(columns) and _block(matrix, columns[start : end + 1], full).width <= width:
            end += 1
        blocks.append(_block(matrix, columns[start:end], full, _range(columns[start:end])))
        start = end
    return blocks


def beside(parts: Sequence[Block | str]) -> Block:
    """Return blocks and signs side by side: first rows level, signs at the middle."""
    blocks = [part for part in parts if isinstance(part, Block)]
    top = max(block.top for block in blocks)
    rows = max(len(block.lines) - block.top for block in blocks)
    lines: list[Line] = [[] for _ in range(top + rows)]
    width = 0
    for part in parts:
        if isinstance(part, str):
            text = f" {part} "
            column: list[Line] = [[(" " * len(text), "")] for _ in lines]
            column[top + (rows - 1) // 2] = [(text, "")]
            size = len(text)
        else:
            size = part.width
            blank: Line = [(" " * size, "")]
            name = part.lines[:1] if part.top else []
            labels_and_matrix = part.lines[len(name) :]
            column = name + [blank] * (top - part.top) + labels_and_matrix
            column += [blank] * (len(lines) - len(column))
        for line, spans in zip(lines, column, strict=True):
            line.extend(spans)
        width += size
    return Block(lines, width, top)


def _range(columns: Sequence[int | None]) -> str:
    places = [c for c in columns if c is not None]
    if not places:
        return ""
    first, last = places[0] + 1, places[-1] + 1
    return f"column {first}" if first == last else f"columns {first} to {last}"


def _block(matrix: Matrix, columns: Sequence[int | None], full: bool, note: str = "") -> Block:
    rows = kept(matrix.values.shape[0], full)
    labels = [label_text(label) for label in matrix.row_labels]
    heads = [label_text(label) for label in matrix.column_labels]
    cells = [[cell_text(matrix, row, column) for column in columns] for row in rows]
    tops = ["…" if c is None else heads[c] if heads else "" for c in columns]
    widths = [
        max([label_width(head), *(cell_width(row[i]) for row in cells)])
        for i, head in enumerate(tops)
    ]
    left = max((label_width(label) for label in labels), default=0)
    lead = left + 1 if left else 0
    separators = [_separator(matrix, columns, i) for i in range(len(columns))]
    inner = sum(widths) + sum(len(s) for s in separators)
    width = lead + inner + 2
    lines: list[Line] = []
    name = ", ".join(part for part in (matrix.name, note) if part)
    if name:
        width = max(width, cell_width(name))
        lines.append(_centred(name, "name", width, lead))
    if heads:
        line: Line = [(" " * (lead + 1), "")]
        for separator, head, size in zip(separators, tops, widths, strict=True):
            blank = " " * (len(separator) + size - label_width(head))
            line += [(blank, ""), (head, "label")]
        lines.append(_filled(line, width, lead + 1 + inner))
    top = len(lines)
    for index, (row, texts) in enumerate(zip(rows, cells, strict=True)):
        label = "" if not labels else "⋮" if row is None else labels[row]
        line = [(" " * (left - label_width(label)), ""), (label, "label")]
        line.append((" " * (lead - left), ""))
        opening, closing = _brackets(index, len(rows))
        line.append((opening, ""))
        for i, (separator, text, size) in enumerate(zip(separators, texts, widths, strict=True)):
            line.append((separator, ""))
            filled = " " * (size - cell_width(text)) + text
            line.append((filled, _style(matrix, row, columns[i])))
        line.append((closing, ""))
        lines.append(_filled(line, width, lead + inner + 2))
    return Block(lines, width, top)


def cell_text(matrix: Matrix, row: int | None, column: int | None) -> str:
    """Return what stands in a cell; dots where a row or column is None, for those left out."""
    if row is None or column is None:
        return "⋱" if row is column else "…" if column is None else "⋮"
    if (row, column) in matrix.cells:
        return matrix.cells[row, column][0]
    if matrix.is_blank(row, column):
        return ""
    return matrix.write(float(matrix.values[row, column]))


def _separator(matrix: Matrix, columns: Sequence[int | None], index: int) -> str:
    if index == 0:
        return ""
    return " │ " if columns[index] in matrix.bars else GAP


def _style(matrix: Matrix, row: int | None, column: int | None) -> str:
    if row is None or column is None or matrix.is_blank(row, column):
        return "faint"
    if (row, column) in matrix.cells:
        return matrix.cells[row, column][1]
    value = float(matrix.values[row, column])
    if np.isinf(value):
        return "faint"
    if not matrix.shaded:
        return ""
    return f"shade{min(9, max(0, int(abs(value) * 10)))}"


def _brackets(index: int, rows: int) -> tuple[str, str]:
    if rows == 1:
        return "[", "]"
    if index == 0:
        return "⎡", "⎤"
    return ("⎣", "⎦") if index == rows - 1 else ("⎢", "⎥")


def _centred(text: str, style: str, width: int, lead: int) -> Line:
    size = cell_width(text)
    before = max(0, min(lead + (width - lead - size) // 2, width - size))
    return [(" " * before, ""), (text, style), (" " * (width - size - before), "")]


def _filled(line: Line, width: int, used: int) -> Line:
    return [*line, (" " * (width - used), "")] if width > used else line

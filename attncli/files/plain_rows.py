"""Rows of plain numbers in a long text: where they stand, and the array that they make.

What is no matrix of plain numbers is no fault here: a reader of the text tells of it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import prod

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.files.document import PAIRS
from attncli.forms.matrices import MAX_AXES
from attncli.notation.written import vanishes

BEGIN = re.compile(r"\[(?:\s*\[)+|(?<=\n)(?P<indent> *)(?:(?P<item>- )\[|[-+]?\.?\d)")
"""Where a matrix may begin: nested lists, lines that are items of a list, lines of numbers."""


class NotPlainError(Exception):
    """The text is no matrix, or not of plain numbers alone."""


class Lists:
    """The rows of nested lists, [[1, 0], [0, 1]], or of lines that are items of one, - [1, 0].

    Attributes:
        sign: what parts the numbers of a row.
        taken: how many characters the matrix has, as far as it was read.
        is_block: whether the text may be that of a text block, too.
    """

    sign: str | None = ","
    is_block = False

    def __init__(self, begin: re.Match[str]) -> None:
        self.taken = 0
        self._item = None if begin["item"] is None else begin["indent"] + begin["item"]
        self._depth = begin[0].count("[")
        self._number = 0  # of rows so far
        self._ends = 0  # how many lists have ended since the last row
        self._breaks: list[tuple[int, int]] = []  # the rows before which lists of rows end

    def take(self, pieces: Iterable[str]) -> Iterator[list[str]]:
        """Yield the texts of rows as they come in pieces; a NotPlainError ends it."""
        if self._depth > MAX_AXES:
            raise NotPlainError
        begun: list[str] = []
        for piece in pieces:
            if "]" not in piece:
                begun.append(piece)
                continue
            *parts, rest = "".join([*begun, piece]).split("]")
            begun = [rest]
            rows: list[str] = []
            goes_on = all(self._takes(part, rows) for part in parts)
            yield rows
            if not goes_on:
                return
        if self._item is None:
            raise NotPlainError

    def _takes(self, part: str, rows: list[str]) -> bool:
        """Take what stands before a bracket that closes; return whether the matrix goes on."""
        opening, bracket, row = part.rpartition("[")
        if bracket and self._opens(opening):
            if self._number and self._ends:
                self._breaks.append((self._number, self._ends))
            rows.append(row.replace("\n", " "))
            self._number, self._ends = self._number + 1, 0
        elif self._item is not None:
            return False  # the last item stood before
        elif part.strip():
            raise NotPlainError
        else:
            self._ends += 1
        self.taken += len(part) + 1
        if self._number == 1 and PAIRS.match(f"[{row}]"):
            raise NotPlainError  # each comma without a blank may be a decimal one
        return not 0 < self._ends == self._depth - 1

    def _opens(self, text: str) -> bool:
        """Whether a row begins after a text."""
        if self._item is not None:
            return self._item == (text.lstrip(" \r").removeprefix("\n") if self._number else text)
        expected = "," + "[" * self._ends if self._number else "[" * (self._depth - 1)
        return "".join(text.split()) == expected

    def shape(self, width: int) -> tuple[int, ...]:
        """Return the shape of all rows; a NotPlainError tells of lists of different lengths."""
        lengths = [1]  # of the lists of each depth, in rows
        for depth in range(1, self._depth - 1):
            lengths.append(next((at for at, n in self._breaks if n >= depth), self._number))
        lengths.append(self._number)
        sizes = [long // short for short, long in pairwise(lengths)]
        for at, ends in self._breaks:
            if ends != sum(at % length == 0 for length in lengths[1:-1]):
                raise NotPlainError
        missing = sum(len(range(n, self._number, n)) for n in lengths[1:-1])
        if missing != sum(ends for _, ends in self._breaks) or prod(sizes) != self._number:
            raise NotPlainError
        return (*reversed(sizes), width)

    def stand_in(self, cell: str, width: int) -> tuple[str, list[list[str]]]:
        """Return four cells as these are written, and as they are read."""
        del width
        row = f"[{cell}, {cell}]"
        short = f"[{row}, {row}]" if self._item is None else f"{self._item}{row}\n{self._item}{row}"
        return short, [[cell, cell]] * 2


class Lines:
    """Lines of numbers, as in CSV and in text blocks; the attributes are those of `Lists`."""

    sign: str | None = None

    def __init__(self, begin: re.Match[str], is_last: bool) -> None:
        self.taken = 0
        self.is_block = True  # as long as no comma may be a decimal one
        self._number = 0
        self._indent = begin["indent"]
        self._is_last = is_last

    def take(self, pieces: Iterable[str]) -> Iterator[list[str]]:
        """Yield lines as they come in pieces; a NotPlainError tells of other ones."""
        begun: list[str] = []
        length = 0
        for piece in pieces:
            end = piece.rfind("\n") + 1
            if not end:
                begun.append(piece)
                continue
            text = "".join([*begun, piece[:end]])
            begun = [piece[end:]]
            yield self._lines(text, length)
            length += len(text)
        if self._is_last:  # and so its line is whole
            yield self._lines("".join(begun), length)

    def _lines(self, text: str, before: int) -> list[str]:
        """Return the lines of a text that stands after so many characters."""
        lines = [line for line in text.split("\n") if line.strip()]
        if not lines:
            return []
        if not self._number:
            self.sign = next((sign for sign in "\t;," if sign in lines[0]), None)
        if self.sign in ("\t", ";") and "," in text:
            raise NotPlainError  # decimal commas
        if not all(line.startswith(self._indent) for line in lines):
            raise NotPlainError
        if self.is_block and self.sign is not None:
            self.is_block = self.sign == "," and text.count(",") == text.count(", ")
        self._number += len(lines)
        self.taken = before + len(text.rstrip())
        return lines

    def shape(self, width: int) -> tuple[int, ...]:
        """Return the shape of all rows."""
        return self._number, width

    def stand_in(self, cell: str, width: int) -> tuple[str, list[list[str]]]:
        """Return four cells as these are written, two of a column, and as they are read."""
        row = [cell] * min(width, 2)
        sign = (", " if self.is_block else ",") if self.sign == "," else self.sign or " "
        line = self._indent + sign.join(row)
        return f"{line}\n{line}", [row] * 2


def rows_at(begin: re.Match[str], is_last: bool) -> Lists | Lines:
    """Return what reads the rows of the matrix that may begin there.

    `is_last` tells whether the text ends where its pieces do.
    """
    if begin["indent"] is None or begin["item"] is not None:
        return Lists(begin)
    return Lines(begin, is_last)


def array_of(rows: Lists | Lines, pieces: Iterable[str]) -> Array:
    """Return the numbers of rows whose text comes in pieces.

    Each is what `float` makes of its text. The array cannot be changed.

    Raises:
        NotPlainError: for other cells than plain finite numbers, and for rows of different lengths.
    """
    values, width = array("d"), 0
    for texts in rows.take(pieces):
        if not all(map(str.strip, texts)):
            raise NotPlainError  # NumPy would pass over an empty row
        if texts:
            try:
                found = np.loadtxt(texts, delimiter=rows.sign, comments=None, ndmin=2)
            except ValueError:
                raise NotPlainError from None
            width = width or found.shape[1]
            is_lost = not found.all() and any(map(vanishes, texts))
            if is_lost or found.shape != (len(texts), width) or not np.isfinite(found).all():
                raise NotPlainError  # 1e400 is a slip, not infinity, and 1e-400 not 0
            values.frombytes(found.tobytes())  # it grows in place
    if not values:
        raise NotPlainError
    return np.frombuffer(values, dtype=np.float64).reshape(rows.shape(width))

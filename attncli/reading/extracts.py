"""Texts taken out of other files, such as notebooks, with the place of each piece there."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from attncli.core.errors import Place
from attncli.core.text.strings import lines_of

LINE_ENDS = dict.fromkeys(map(ord, "\r\v\f\x85\u2028\u2029"), " ")
"""Characters that end lines for some readers; in an extract only a line feed does."""

Pieces: TypeAlias = list[tuple[str, int]]
"""Pieces of a text, with their offsets in the file."""


class Extract:
    """A text of pieces of a file, which is read as if it were a file of its own.

    All pieces are added before it is read.
    """

    def __init__(self, name: str, written: str) -> None:
        self.name, self.written = name, written
        self.pieces: Pieces = []

    @cached_property
    def text(self) -> str:
        return "".join(piece for piece, _ in self.pieces).translate(LINE_ENDS)

    def in_file(self, place: Place) -> Place:
        """Return the place in the file of one in the text."""
        at = self._lines[place.line - 1] + max(place.column - 1, 0)
        piece = bisect_right(self._starts, at) - 1
        return self.place_at(self.pieces[piece][1] + at - self._starts[piece])

    def place_at(self, origin: int) -> Place:
        """Return the place of an offset in the file."""
        line = bisect_right(self._file_lines, origin)
        start = self._file_lines[line - 1]
        end = [*self._file_lines[line : line + 1], None][0]
        return Place(self.name, line, origin - start + 1, lines_of(self.written[start:end])[0])

    @cached_property
    def _starts(self) -> list[int]:
        """The offsets of the pieces in the text."""
        return [0, *accumulate(len(piece) for piece, _ in self.pieces[:-1])]

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer("\n", self.text))]

    @cached_property
    def _file_lines(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer("\r\n?|\n", self.written))]

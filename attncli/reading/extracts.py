"""Texts taken out of other files, such as notebooks, with the place of each piece there."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property, partial

from attncli.core.errors import Fault, InputError, KeyPath, Locate, Place, changed
from attncli.core.records import replace
from attncli.core.text.strings import lines_of, regex
from attncli.reading.document import Document

LINE_ENDS = dict.fromkeys(map(ord, "\r\v\f\x85\u2028\u2029"), " ")
"""Characters that end lines for some readers; in an extract only a line feed does."""


LINE = regex(r"(?<= in line )(\d+)(?:(, column )(\d+))?\Z")
"""Another place at the end of a message."""


class Extract:
    """A text of pieces that are in a file, which is read as if it were a file of its own."""

    def __init__(self, name: str, written: str) -> None:
        self.name, self.written, self.length = name, written, 0
        self._pieces: list[str] = []
        self._starts: list[int] = []  # of the pieces in the text
        self._origins: list[int] = []  # of the pieces in what is written in the file

    def add(self, piece: str, origin: int) -> None:
        self._pieces.append(piece.translate(LINE_ENDS))
        self._starts.append(self.length)
        self._origins.append(origin)
        self.length += len(piece)

    @cached_property
    def text(self) -> str:
        return "".join(self._pieces)

    def documents(self, read: Callable[[str], Iterator[Document]]) -> Iterator[Document]:
        """Yield what a reader finds in the text, with places in the file."""
        with changed(self._moved):
            for one in read(self.text):
                error = InputError(*map(self._moved, one.error.faults)) if one.error else None
                heading = partial(self._located, one.heading) if one.heading else None
                locate = partial(self._located, one.locate)
                yield replace(one, error=error, locate=locate, heading=heading)

    def place_at(self, origin: int) -> Place:
        """Return the place in the file of an offset in it."""
        line = bisect_right(self._file_lines, origin)
        start = self._file_lines[line - 1]
        end = [*self._file_lines[line : line + 1], None][0]
        return Place(self.name, line, origin - start + 1, lines_of(self.written[start:end])[0])

    @cached_property
    def _file_lines(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer("\r\n?|\n", self.written))]

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer("\n", self.text))]

    def _located(self, locate: Locate, path: KeyPath) -> Place:
        return self._in_file(locate(path))

    def _in_file(self, place: Place) -> Place:
        if not place.line or not self._starts:
            return place
        at = self._lines[place.line - 1] + max(place.column - 1, 0)
        piece = bisect_right(self._starts, at) - 1
        return self.place_at(self._origins[piece] + at - self._starts[piece])

    def _moved(self, fault: Fault) -> Fault:
        place, related = (one and self._in_file(one) for one in (fault.place, fault.related_place))
        message, hint = (LINE.sub(self._moved_line, one) for one in (fault.message, fault.hint))
        return replace(fault, message=message, hint=hint, place=place, related_place=related)

    def _moved_line(self, line: re.Match[str]) -> str:
        place = self._in_file(Place(self.name, int(line[1]), int(line[3] or 1)))
        return f"{place.line}{line[2]}{place.column}" if line[2] else str(place.line)

"""Parts of a text that are read by themselves, with the place in the file of each character."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from attncli.core.errors import Place
from attncli.core.records import Record
from attncli.core.text.strings import lines_of, regex

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


LINE_END = regex("\r\n|[\n\r\x85\u2028\u2029]")
"""The end of a line as YAML counts them, with more line ends than in editors."""


class Chunk(Record):
    """A part of a text that is read by itself; `before` counts the lines above it.

    `original` is the text as it is in the file, if `text` is a version with the same lines that
    YAML can read. Its lines may have fewer blanks before them, or marks of a quotation. `extract`
    is what the text is part of, if it was taken out of another file, in which places then are.
    """

    name: str
    text: str
    before: int = 0
    original: str = ""
    extract: Extract | None = None

    @cached_property
    def lines(self) -> list[str]:
        return yaml_lines(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(end.end() for end in LINE_END.finditer(self.text))]

    def place(self, line: int, column: int) -> Place:
        """Return a place in the file, from 1, of one in this part, from 0; −1 is no column."""
        shown = self.lines[line] if line < len(self.lines) else ""
        if shown and self.original:
            read, shown = shown, yaml_lines(self.original)[line]
            added = len(read) - len(read.lstrip("> ")) - len(shown) + len(shown.lstrip("> "))
            column -= min(added, column) if column >= 0 else 0
        place = Place(self.name, self.before + line + 1, column + 1, shown)
        return self.extract.in_file(place) if self.extract else place

    def place_at(self, offset: int) -> Place:
        """Return the place of an offset in the text."""
        line = bisect_right(self._starts, offset) - 1
        return self.place(line, offset - self._starts[line])


def yaml_lines(text: str) -> list[str]:
    """Return the lines of a text as YAML counts them."""
    is_plain = text.isascii() and "\r" not in text
    return text.split("\n") if is_plain else LINE_END.split(text)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with blanks in place of some parts, so that every place stays the same."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        parts += text[at:start], re.sub(r"[^\r\n]", " ", text[max(at, start) : end])
        at = max(at, end)
    return "".join([*parts, text[at:]])


def line_ends(text: str) -> int:
    is_plain = text.isascii() and "\r" not in text
    return text.count("\n") if is_plain else len(yaml_lines(text)) - 1

"""Large matrices of plain numbers, lifted out of a text before a reader takes it apart.

The readers make an object of each cell, as digits and places may matter; of millions of numbers
they do not, and the objects take most of the time and memory. So a reader is given a text in which
such a matrix is cut down to four cells, written in the same way: [[0.1, 0.2], …] becomes
[[t, t], [t, t]], where t is a number that stands in no file. Where it finds these cells as the
whole value of a key, the array is put there. Where it does not, or where anything is wrong with the
text, it reads the text as it was written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import Any

import numpy as np

from attncli.errors import InputError, KeyPath, Place
from attncli.files.document import LARGE, NUMBERS, ArrayKeys, Chunk, Document, Lifted, Raw
from attncli.files.plain_rows import BEGIN, NotPlainError, array_of, rows_at
from attncli.problem.problem import MAX_KEPT_AS_WRITTEN
from attncli.records import replace
from attncli.text.escapes import lines_of

NUMERIC = rf"{NUMBERS};\t\r\n"
"""What plain numbers, lists of them and rows of them are written with, in a pattern."""

PLAIN = re.compile(f"[{NUMERIC}]*")
STRETCH = re.compile(f"(?<![{NUMERIC}])[{NUMERIC}]{{{LARGE},}}")
SIGNS = "".join(sign for sign in map(chr, range(128)) if PLAIN.fullmatch(sign))

SMALLEST = 2**14
"""So many characters a piece has at least, of a text that comes in lines, or slowly."""

ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|\r(?!\n)")
"""Signs that are the end of a line to some readers, or that no reader takes."""

SEED = int.from_bytes(os.urandom(10), "big")
"""Makes the stand-in of a number one that nobody can have written."""

_numbers = count(1)


def shortened(chunk: Chunk, pieces: list[str]) -> Chunk:
    """Return a part of a text with its large matrices lifted out; its pieces are used up."""
    parts: list[str] = []
    found: list[Lifted] = []
    length = 0
    whole = sum(map(len, pieces))
    for stretch, is_numeric in _stretches(_not_small(pieces)):
        size = sum(map(len, stretch))
        lifted = None
        if is_numeric and size >= LARGE:
            lifted = _lift(stretch, not length, length + size == whole)
        length += size
        if lifted is None:
            parts += stretch
        else:
            before, matrix, after = lifted
            parts += [before, matrix.short, *after]
            found.append(matrix)
    short = replace(chunk, text="".join(parts), lifted=tuple(found))
    return restored(short) if found and ODD.search(short.text) else short


def _not_small(pieces: list[str]) -> Iterator[str]:
    """Yield the same text in pieces of some length, and take from the list what is yielded."""
    pieces.reverse()
    group: list[str] = []
    length = 0
    while pieces:
        length += len(pieces[-1])
        group.append(pieces.pop())
        if length >= SMALLEST:
            yield "".join(group)
            group, length = [], 0
    yield "".join(group)


def _stretches(pieces: Iterable[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield a text in parts, each in pieces, and whether it is a longest stretch of numbers."""
    stretch: list[str] = []
    for piece in pieces:
        at = PLAIN.match(piece).end()  # type: ignore[union-attr]  # it may be empty
        if at == len(piece):
            stretch.append(piece)
            continue
        yield [*stretch, piece[:at]], True
        end = len(piece.rstrip(SIGNS))
        for inner in STRETCH.finditer(piece, at, end):
            yield [piece[at : inner.start()]], False
            yield [inner[0]], True
            at = inner.end()
        yield [piece[at:end]], False
        stretch = [piece[end:]]
    yield stretch, True


def _lift(
    stretch: list[str], is_first: bool, is_last: bool
) -> tuple[str, Lifted, list[str]] | None:
    """Return what stands before a matrix in a stretch of numbers, the matrix, and what follows.

    It is None where there is no large matrix. The text begins with the stretch that is the first.
    """
    head = "".join(stretch[:2])
    begin = BEGIN.search(("\n" if is_first else " ") + head)
    if begin is None:
        return None
    start = begin.start() - 1
    pieces = [head[start:], *stretch[2:]]
    rows = rows_at(begin, is_last)
    try:
        array = array_of(rows, pieces)
    except NotPlainError:
        return None
    if array.size <= MAX_KEPT_AS_WRITTEN:
        return None
    short, cells = rows.stand_in(f"0e{SEED}{next(_numbers):06}", array.shape[-1])
    written, rest = _cut(pieces, rows.taken)
    return head[:start], Lifted(written, short, cells, rows.is_block, array), rest


def _cut(pieces: Sequence[str], at: int) -> tuple[list[str], list[str]]:
    """Return the pieces of a text up to a place, and from there on."""
    before: list[str] = []
    for number, piece in enumerate(pieces):
        if at <= len(piece):
            return [*before, piece[:at]], [piece[at:], *pieces[number + 1 :]]
        before.append(piece)
        at -= len(piece)
    return before, []


def restored(chunk: Chunk) -> Chunk:
    """Return a part of a text as it was written."""
    return replace(chunk, text=_in_full(chunk.text, chunk.lifted), lifted=())


def _in_full(text: str, lifted: Iterable[Lifted]) -> str:
    """Return a text, or the start or the end of one, with matrices as they were written."""
    parts: list[str] = []
    at = 0
    for matrix in lifted:  # in the order of the text
        found = text.find(matrix.short, at)
        if found >= 0:
            parts += [text[at:found], *matrix.pieces]
            at = found + len(matrix.short)
    return "".join([*parts, text[at:]])


def documents(
    chunk: Chunk, read: Callable[[Chunk], Iterable[Document]], arrays: ArrayKeys
) -> Iterable[Document]:
    """Return the documents that a reader finds in a part of a text from which matrices were lifted.

    Of all other keys than those that `arrays` allows, the cells are as they were written.

    Raises:
        InputError: where the reader raises it for the text as it was written.
    """

    @lru_cache(maxsize=1)
    def whole() -> list[Document]:
        return list(read(restored(chunk)))

    lifted = {one.cells[0][0]: one for one in chunk.lifted}
    places: set[str] = set()
    try:
        short = list(read(chunk))
        values = [
            {key: _filled(v, lifted, places) if arrays(key) else v for key, v in one.values.items()}
            for one in short
        ]
    except InputError:
        return whole()
    if len(places) < len(chunk.lifted) or any(document.error for document in short):
        return whole()
    return [
        replace(document, values=found, locate=partial(_locate, chunk, document, whole, number))
        for number, (document, found) in enumerate(zip(short, values, strict=True))
    ]


def _filled(value: Raw, lifted: Mapping[str, Lifted], places: set[str]) -> Any:
    """Return a value with an array in the place of each stand-in, which is noted in `places`."""
    if isinstance(value, Mapping):
        return {key: _filled(part, lifted, places) for key, part in value.items()}
    matrix = lifted.get(_first_cell(value))
    if matrix is not None and (value == matrix.cells or _is_block(value, matrix)):
        places.add(matrix.short)
        return matrix.array
    if matrix is not None and isinstance(value, list):
        inside: set[str] = set()
        parts = [_filled(part, lifted, inside) for part in value]
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        if len(arrays) == len(parts) and len({part.shape for part in arrays}) == 1:
            places |= inside
            return np.stack(arrays)
    return value


def _first_cell(value: Raw) -> str:
    """Return the first cell of a matrix as it was written, or an empty text."""
    while isinstance(value, list) and value:
        value = value[0]
    words = value.replace(",", " ").split(maxsplit=1) if isinstance(value, str) else ()
    return words[0] if words else ""


def _is_block(value: Raw, matrix: Lifted) -> bool:
    """Whether a value is the text block of a stand-in."""
    if not (matrix.is_block and isinstance(value, str)):
        return False
    lines, short = value.strip().splitlines(), matrix.short.splitlines()
    return [line.strip() for line in lines] == [line.strip() for line in short]


def _locate(
    chunk: Chunk,
    document: Document,
    whole: Callable[[], Sequence[Document]],
    number: int,
    path: KeyPath,
) -> Place:
    """Return the place of a key, or of a part of it, in the text as it was written."""
    if any(isinstance(part, int) for part in path):  # it may be in one of the matrices
        return whole()[number].locate(path)
    place = document.locate(path)
    lines = chunk.text.split("\n")
    line = place.line - 1 - chunk.before
    if not 0 <= line < len(lines):
        return place
    column = max(place.column - 1, 0)
    start = "\n".join([*lines[:line], lines[line][:column]])
    above = lines_of(_in_full(start, chunk.lifted))
    rest = lines_of(_in_full(chunk.text[len(start) :], chunk.lifted))[0]
    return Place(
        place.file,
        chunk.before + len(above),
        len(above[-1]) + 1 if place.column else 0,
        above[-1] + rest,
    )

"""Files written in pieces: one problem at a time, and of a large matrix some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attncli.core.arithmetic.elements import Array
from attncli.core.text.numbers import floats

WRITE_SIZE = 2**16
"""Number of characters, or of numbers, that are written at a time: about what a pipe holds."""


def pieces(texts: Iterable[str], between: str) -> Iterator[bytes]:
    """Yield texts as they come, with `between` after each but the last."""
    return in_parts(([text] for text in texts), between)


def in_parts(texts: Iterable[Iterable[str]], between: str) -> Iterator[bytes]:
    """Yield texts as `pieces` does; each comes in parts, and small parts are joined.

    Halves of characters, as in names of files that are not in UTF-8, become question marks.
    """
    for number, parts in enumerate(texts):
        waiting = [between] if number else []
        size = 0
        for part in parts:
            waiting.append(part)
            size += len(part)
            if size >= WRITE_SIZE:
                yield "".join(waiting).encode(errors="replace")
                waiting, size = [], 0
        if waiting:
            yield "".join(waiting).encode(errors="replace")


def lists(matrix: Array, decimals: int | None) -> Iterator[list[list[Any]]]:
    """Yield the rows of a matrix as lists, some at a time; without decimals, with every digit."""
    for rows in some_rows(matrix):
        yield floats(rows) if decimals is None else rows.tolist()


def some_rows(matrix: Array) -> Iterator[Array]:
    """Yield a matrix (rows, columns) in parts of some rows."""
    count = max(1, WRITE_SIZE // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), count):
        yield matrix[start : start + count]

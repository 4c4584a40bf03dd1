"""A file written piece by piece, a problem at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def pieces(texts: Iterable[str], between: str) -> Iterator[bytes]:
    """Yield texts as they come, with something between two of them.

    Halves of characters, as in names of files that are not in UTF-8, become question marks.
    """
    for number, text in enumerate(texts):
        yield (between + text if number else text).encode(errors="replace")

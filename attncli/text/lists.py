"""Lists as sentences hold them."""

from __future__ import annotations

from collections.abc import Sequence


def all_of(words: Sequence[str]) -> str:
    """Return words as a list.

    >>> all_of(["1"]), all_of(["1", "2", "3"])
    ('1', '1, 2 and 3')
    """
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last

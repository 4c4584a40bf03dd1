"""Which places of a long axis are shown: the first and last three of more than twelve."""

from __future__ import annotations

EDGE = 3
"""How many rows and columns stay at either end of a large matrix, as NumPy shows it."""


LIMIT = 12
"""Maximum length of an axis that is shown whole; of a longer one the middle is left out."""


def kept(length: int, full: bool, limit: int = LIMIT) -> list[int | None]:
    """Return the places of an axis to show, None for those left out in the middle.

    All are shown with `full`, and on an axis of at most `limit` places.
    """
    if full or length <= limit:
        return list(range(length))
    return [*range(EDGE), None, *range(length - EDGE, length)]


LONG = 40
"""Maximum length of a name, in characters, in a table; a longer one is cut."""


def shortened(name: str) -> str:
    """Return a name without its middle where it is long: of a file the end tells most.

    >>> len(shortened("a" * 100_000)), shortened("Ada")
    (40, 'Ada')
    """
    half = LONG // 2
    return name if len(name) <= LONG else f"{name[: half - 1]}…{name[-half:]}"

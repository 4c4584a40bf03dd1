"""Long axes and names, shown without their middle."""

from __future__ import annotations

EDGE = 3
"""Number of rows and columns that stay at either end of a large matrix, as NumPy shows it."""

LIMIT = 12
"""Maximum length of an axis that is shown whole."""

MAX_NAME_LENGTH = 40
"""Maximum length of a name, in characters, in a table."""


def kept(length: int, full: bool, limit: int = LIMIT) -> list[int | None]:
    """Return the places of an axis to show, None for those left out in the middle."""
    if full or length <= limit:
        return list(range(length))
    return [*range(EDGE), None, *range(length - EDGE, length)]


def shortened(name: str) -> str:
    """Return a name without its middle where it is long: of a file the end tells most."""
    half = MAX_NAME_LENGTH // 2
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: half - 1]}…{name[-half:]}"

"""Titles and labels that mean something to one format or another, and must mean nothing."""

from tests.conftest import table

HOSTILE = tuple(table("hostile", "texts"))
"""What each is shown as is itself, but for the last, whose control characters are written out."""

PROBLEM = {
    "title": " / ".join(HOSTILE),
    "notes": "\n".join(HOSTILE),
    "tokens": list(HOSTILE),
    "X": [[row + 1, row % 3] for row in range(len(HOSTILE))],
    "score": "dot",
}

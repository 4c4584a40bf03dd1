"""Text made safe to show, on a terminal and in a spreadsheet."""

from __future__ import annotations

import re

FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]")
"""How a cell begins that spreadsheets take for a formula, behind any number of apostrophes."""


HARMLESS = "\u200c\u200d\u3000\xa0\u202f"
"""Joiners, which shape words and move nothing on the screen, and wide and unbreakable blanks."""


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as editors count them: they end at LF, CR LF or CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def visible(text: str) -> str:
    r"""Return text safe to show on a terminal: control characters are written out as escapes.

    >>> visible("a\x1b[31m")
    'a\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in HARMLESS else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def as_cell(text: str) -> str:
    """Return text as a cell of CSV that is safe to show, and no formula to a spreadsheet."""
    shown = visible(text)
    return f"'{shown}" if FORMULA.match(shown) else shown


def of_cell(cell: str) -> str:
    """Return the text that `as_cell` made a cell of."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def label_text(label: str) -> str:
    """Return a label safe to show, which keeps its line in order if it runs right to left."""
    text = visible(label)
    if text.isascii():
        return text
    import unicodedata

    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        # Isolates keep a right-to-left word from turning the numbers of its line around.
        return f"\u2068{text}\u2069"
    return text

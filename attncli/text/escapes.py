"""Text made safe to show: control characters written out, right-to-left words kept apart."""

from __future__ import annotations

import re

FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]")
"""How a cell begins that spreadsheets take for a formula, behind any number of apostrophes."""


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as editors count them: at LF, CR LF and CR, and nowhere else."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def visible(text: str) -> str:
    r"""Return text safe to show on a terminal: control characters are written out as escapes.

    >>> visible("a\x1b[31m")
    'a\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    # Joiners shape real words (Persian, Indic scripts, emoji) and move nothing on the screen;
    # wide and unbreakable blanks are blanks.
    if character in "\u200c\u200d\u3000\xa0\u202f":
        return character
    return character.encode("unicode_escape").decode("ascii")


def as_cell(text: str) -> str:
    """Return text as a cell of CSV that is safe to show, and no formula to a spreadsheet.

    >>> as_cell("=1+1"), as_cell("'=1+1"), as_cell("good")
    ("'=1+1", "''=1+1", 'good')
    """
    shown = visible(text)
    return f"'{shown}" if FORMULA.match(shown) else shown


def of_cell(cell: str) -> str:
    """Return the text that `as_cell` made a cell of."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def label_text(label: str) -> str:
    """Return a label safe to show: control characters escaped, right-to-left text kept apart."""
    text = visible(label)
    if text.isascii():
        return text
    import unicodedata

    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        # Isolates keep a right-to-left word from turning the numbers of its line around.
        return f"\u2068{text}\u2069"
    return text

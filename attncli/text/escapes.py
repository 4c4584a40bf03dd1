"""Text made safe to show: control characters written out, right-to-left words kept apart."""

from __future__ import annotations

import re

FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]")
"""How a cell begins that spreadsheets take for a formula, behind any number of apostrophes."""
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


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


def guarded(cell: str) -> str:
    """Return a cell of CSV that spreadsheets take for text or a number, and never for a formula.

    >>> guarded("=1+1"), guarded("'=1+1"), guarded("-x"), guarded("-1.5")
    ("'=1+1", "''=1+1", "'-x", '-1.5')
    """
    return f"'{cell}" if FORMULA.match(cell) and not NUMBER.fullmatch(cell) else cell


def unguarded(cell: str) -> str:
    """Return the cell from which `guarded` made another."""
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

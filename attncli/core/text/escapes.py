"""Text fit for where it is shown: a terminal, a table, a spreadsheet, the name of a file."""

from __future__ import annotations

import re

FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]")
"""How a cell begins that spreadsheets take for a formula, behind any number of apostrophes."""

JOINERS = "\u200c\u200d"
"""Characters that shape words and move nothing on the screen."""

HARMLESS = f"{JOINERS}\u3000\xa0\u202f"
"""Joiners, and wide and unbreakable blanks."""


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
    """Return the text that `as_cell` wrote as a cell."""
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


SIGNS = str.maketrans("", "", "·×ᵀ²√∞−→…‖⊙⎡⎢⎣⎤⎥⎦│─")
"""The signs that the tables of nearly every problem hold; each takes one column."""


def cell_width(text: str) -> int:
    """Return how many terminal columns a text takes: 2 for a wide character, 0 for a joiner."""
    if text.translate(SIGNS).isascii():
        return len(text)
    from rich.cells import cell_len  # a millisecond that few labels need

    return cell_len(text)


def label_width(text: str) -> int:
    return cell_width(text.strip("\u2068\u2069"))


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


MAX_BYTES = 120
"""Maximum length of a part of a name, in bytes; file systems take 255 for the whole."""

DEVICE_NAMES = r"(?i:con|prn|aux|nul|com\d|lpt\d)(\..*)?"
"""The pattern of the names that Windows keeps for devices, whatever their suffix."""


def safe(text: str) -> str:
    """Return a text as part of the name of a file: what a system refuses, or reads, becomes _."""
    printable = "".join(c if c.isprintable() or c in JOINERS else "_" for c in text)
    plain = re.sub(r'[/\\<>:"|?*]', "_", _composed(printable))
    cut = plain.strip(" .").encode()[:MAX_BYTES].decode(errors="ignore").rstrip(" .")
    return f"{cut}_" if not cut or re.fullmatch(DEVICE_NAMES, cut) else cut


def alike(name: str) -> str:
    """Return a key that is equal for names that are one name to some system, as Ada and ADA."""
    return _composed(_composed(name).casefold())


def _composed(text: str) -> str:
    from unicodedata import normalize  # which few commands need

    return normalize("NFC", text)

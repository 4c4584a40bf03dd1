"""Names of files made of titles and students, which any system takes."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 120
"""Bytes of a part of a name; file systems take 255 for the whole."""

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""The names that Windows keeps for devices, whatever their suffix."""

JOINERS = "\u200c\u200d"
"""They shape words and move nothing."""


def safe(text: str) -> str:
    r"""Return a text as part of the name of a file: what a system refuses, or reads, becomes _.

    >>> safe("../a/b\n"), safe(".profile"), safe("CON"), safe("")
    ('_a_b_', 'profile', 'CON_', '_')
    """
    printable = "".join(c if c.isprintable() or c in JOINERS else "_" for c in text)
    plain = re.sub(r'[/\\<>:"|?*]', "_", unicodedata.normalize("NFC", printable))
    cut = plain.strip(" .").encode()[:LONGEST].decode(errors="ignore").rstrip(" .")
    return f"{cut}_" if not cut or RESERVED.fullmatch(cut) else cut


def alike(name: str) -> str:
    """Return what two names share that are one name to some system, as those of Ada and ADA are."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())

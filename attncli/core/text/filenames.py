"""Names of files made of titles and students, which any system takes."""

from __future__ import annotations

import re

MAX_BYTES = 120
"""Maximum length of a part of a name, in bytes; file systems take 255 for the whole."""

DEVICE_NAMES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""The names that Windows keeps for devices, whatever their suffix."""


def safe(text: str) -> str:
    """Return a text as part of the name of a file: what a system refuses, or reads, becomes _."""
    joiners = "\u200c\u200d"  # which shape words and move nothing
    printable = "".join(c if c.isprintable() or c in joiners else "_" for c in text)
    plain = re.sub(r'[/\\<>:"|?*]', "_", _composed(printable))
    cut = plain.strip(" .").encode()[:MAX_BYTES].decode(errors="ignore").rstrip(" .")
    return f"{cut}_" if not cut or DEVICE_NAMES.fullmatch(cut) else cut


def alike(name: str) -> str:
    """Return a key that is equal for names that are one name to some system, as Ada and ADA."""
    return _composed(_composed(name).casefold())


def _composed(text: str) -> str:
    from unicodedata import normalize  # which few commands need

    return normalize("NFC", text)

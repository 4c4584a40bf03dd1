"""Files of other programs, which hold numbers that cannot be read here: what to do with them."""

from __future__ import annotations

from attncli.errors import InputError, fail

SPREADSHEET = "a spreadsheet, which is not read as it is"
AS_CSV = "save it as CSV: {} and give that file"
DOCUMENT = "not a file of answers or of a problem"
AS_TEXT = "write the matrices into a YAML, JSON or CSV file"

EXCEL = SPREADSHEET, AS_CSV.format("in Excel by File, Save As, CSV UTF-8,")
OPEN = SPREADSHEET, AS_CSV.format("in LibreOffice by File, Save As, Text CSV,")
NUMBERS = SPREADSHEET, AS_CSV.format("in Numbers by File, Export To, CSV,")
WORD = f"a text document, {DOCUMENT}", AS_TEXT
PDF = f"a PDF, {DOCUMENT}", AS_TEXT
PICTURE = f"a picture, {DOCUMENT}", AS_TEXT
PAGE = f"a web page, {DOCUMENT}", "a practice page saves what was typed: give that file"
ARCHIVE = f"an archive, {DOCUMENT}", "unpack it, and give the files in it"

SUFFIXES = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm"), EXCEL),
    ".ods": OPEN,
    ".numbers": NUMBERS,
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pages"), WORD),
    ".pdf": PDF,
    **dict.fromkeys((".html", ".htm"), PAGE),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".heic", ".webp"), PICTURE),
    **dict.fromkeys((".zip", ".gz", ".tar", ".7z", ".rar"), ARCHIVE),
}
STARTS = {
    b"%PDF-": PDF,
    b"\x89PNG": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"{\\rtf": WORD,
    b"\x1f\x8b": ARCHIVE,
}
PARTS = {
    b"xl/": EXCEL,
    b"spreadsheet": OPEN,
    b"Index/": NUMBERS,
    b"word/": WORD,
    b"opendocument.text": WORD,
}
"""What stands near the start of the zip files that these programs write, as a part's name."""

NEAR_THE_START = 4096


def refused(data: bytes, suffix: str) -> InputError | None:
    """Return the error for a file of another program, told by its name or its first bytes."""
    found = SUFFIXES.get(suffix)
    if found is None:
        start = data[:NEAR_THE_START]
        found = next((what for sign, what in STARTS.items() if start.startswith(sign)), None)
        if start.startswith(b"PK") and suffix not in (".npz", ".npy"):
            found = next((what for sign, what in PARTS.items() if sign in start), None)
    return fail(f"this is {found[0]}", hint=found[1]) if found else None

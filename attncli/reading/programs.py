"""Files of other programs, by suffix or first bytes: workbooks, and those that are refused."""

from __future__ import annotations

from attncli.core.errors import InputError, fail

WORKBOOK_SUFFIXES = (".xlsx", ".xlsm")
SPREADSHEET = "a spreadsheet, which is not read as it is"
AS_XLSX = "save it as .xlsx: {} and give that file"
DOCUMENT = "not a file of answers or of a problem"
AS_TEXT = "write the matrices into a YAML, JSON or CSV file"

EXCEL = SPREADSHEET, AS_XLSX.format("in Excel by File, Save As, Excel Workbook,")
LIBREOFFICE = SPREADSHEET, AS_XLSX.format("in LibreOffice by File, Save As, Excel 2007-365,")
APPLE_NUMBERS = SPREADSHEET, AS_XLSX.format("in Numbers by File, Export To, Excel,")
WORD_PROCESSOR = f"a text document, {DOCUMENT}", AS_TEXT
PDF = f"a PDF, {DOCUMENT}", AS_TEXT
PICTURE = f"a picture, {DOCUMENT}", AS_TEXT
PAGE = f"a web page, {DOCUMENT}", "a practice page saves what was typed: give that file"
ARCHIVE = f"an archive, {DOCUMENT}", "unpack it, and give the files in it"

BY_SUFFIX = {
    ".xls": EXCEL,
    ".ods": LIBREOFFICE,
    ".numbers": APPLE_NUMBERS,
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pages"), WORD_PROCESSOR),
    ".pdf": PDF,
    **dict.fromkeys((".html", ".htm"), PAGE),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".heic", ".webp"), PICTURE),
    **dict.fromkeys((".zip", ".gz", ".tar", ".7z", ".rar"), ARCHIVE),
}
FIRST_BYTES = {
    b"%PDF-": PDF,
    b"\x89PNG": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"{\\rtf": WORD_PROCESSOR,
    b"\x1f\x8b": ARCHIVE,
}
ZIP_PARTS = {
    b"spreadsheet": LIBREOFFICE,
    b"Index/": APPLE_NUMBERS,
    b"word/": WORD_PROCESSOR,
    b"opendocument.text": WORD_PROCESSOR,
}
"""Names of parts near the start of the zip files that these programs write."""

START_BYTES = 4096
"""Number of bytes that are searched for these names."""


def is_workbook(start: bytes, suffix: str) -> bool:
    """Return True for a workbook of Excel, by its suffix or its first bytes."""
    is_zip = start.startswith(b"PK") and suffix not in (".npz", ".npy")
    return suffix in WORKBOOK_SUFFIXES or (is_zip and b"xl/" in start[:START_BYTES])


def unsupported(data: bytes, suffix: str) -> InputError | None:
    """Return the error for a file of another program, known by its suffix or its first bytes."""
    program = BY_SUFFIX.get(suffix)
    if program is None:
        start = data[:START_BYTES]
        program = next((what for sign, what in FIRST_BYTES.items() if start.startswith(sign)), None)
        if start.startswith(b"PK") and suffix not in (".npz", ".npy"):
            program = next((what for sign, what in ZIP_PARTS.items() if sign in start), None)
    return fail(f"this is {program[0]}", hint=program[1]) if program else None

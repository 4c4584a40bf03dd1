"""The texts of the cells of a workbook of Excel; what they mean, `sheets` knows.

Of a cell only the stored value is read. Nothing is calculated, and nothing outside is opened.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias
from zipfile import ZipFile

from attncli.core.errors import as_damage, fail, not_installed
from attncli.core.formulas.printers import NEARLY_BLOCKED
from attncli.core.numbers.grid import GROUPED
from attncli.core.text.numbers import every_digit, fixed
from attncli.core.text.strings import regex
from attncli.reading.cells import WITH_COMMA, CellRow, Table, trimmed
from attncli.reading.files import MAX_FILE, PACKED_BY, ZipBytes

MAX_UNPACKED, MAX_PARTS = 32_000_000, 1000
"""Maximum size in bytes, and number, of the files in a workbook. Chosen."""
MAX_ELEMENTS, MAX_STYLES = 400_000, 50_000
"""Maximum number of XML elements in all, of which a cell has two or three and takes 4 µs; and in
the styles, which take 13 µs each."""
MAX_ROWS = 2**20
"""Number of rows of a sheet in Excel."""

SMALL, MAX_EMPTY = 10_000, 4
"""Number of cells up to which the rectangle around some cells may be as empty as it is, and maximum
number of cells in a larger one for each that is not empty. Chosen."""

UNCALCULATED = regex(
    r"<(?:\w{1,9}:)?c\b(?![^<>]{0,300}\bt=.str)[^<>]{0,300}?\br=.(\w{1,20})[^<>]{0,300}>\s*+"
    r"<(?:\w{1,9}:)?f\b[^<>]{0,300}?(?:/>|>[^<]*+</[^<>]*>)"
    r"\s*+(?:<(?:\w{1,9}:)?v\s*+(?:/>|>\s*+</[^<>]*>)\s*+)?</"
)
"""A cell with a formula and without a value; its group is its name."""
ANEW = "open it in Excel or LibreOffice and save it as .xlsx"

NOISE = 2
"""Units in the last place that are noise behind the 15 digits that Excel shows. Chosen."""
LITERAL = regex(r'"[^"]*"|[\\_*].|\[[^\[\]]*\]')
"""Parts of a number format that are no digits: texts, blanks as wide as a sign, colours."""
DIGITS = regex(
    r"(?=.{0,255}\Z)(?![^.]*[0#?]{2}[^.]*(?:\.[0#?]*)?E)[^0#?.,E/]*[0#?,]*[0#?]"
    r"(?:\.(?P<least>0*)(?P<more>[#?]*))?"
    r"(?P<power>E[-+]0+)?[^0#?.,E/]*"
)
"""A section of a number format that tells how many decimals are shown; at most 255 characters."""

Position: TypeAlias = tuple[int, int]
"""The row and the column of a cell, from 1."""
Sheet: TypeAlias = tuple[str, Mapping[Position, str]]
"""The name of a sheet, and the texts of the cells that are not empty."""


def sheets_of(blocks: Iterable[bytes], as_shown: bool) -> list[Sheet]:
    """Return the sheets with the texts of their cells: as they are shown, or with every digit.

    Raises:
        InputError: for what is no workbook, is too large, or was not calculated.
    """
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        what, instead = "this is a workbook and needs openpyxl", "save each sheet as CSV"
        raise not_installed(what, "openpyxl XlsxWriter", instead) from None
    data = b""
    for block in blocks:
        data += block
        refuse_large("bytes", len(data), MAX_FILE)
    is_locked = data.startswith(b"\xd0\xcf\x11\xe0")
    reason = "locked by a password, or an old .xls" if is_locked else "damaged, or is none"
    with as_damage(f"the workbook is {reason}", ANEW), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of what it leaves out
        _check(data)
        workbook = load_workbook(io.BytesIO(data), True, data_only=True, keep_links=False)
        return [(sheet.title, _texts(sheet, as_shown)) for sheet in workbook.worksheets]


def _check(data: bytes) -> None:
    """Refuse zip bombs, entities, which may be bombs, and formulas without values."""
    with ZipFile(ZipBytes(io.BytesIO(data))) as archive:
        members = archive.infolist()
        refuse_large("files", len(members), MAX_PARTS)
        refuse_large("bytes", sum(one.file_size for one in members), MAX_UNPACKED)
        if any(one.compress_type not in PACKED_BY for one in members):
            raise fail("the workbook is packed by an uncommon method", hint=ANEW)
        parts = {one.filename: archive.read(one) for one in members}
    counts = {name: part.count(b"<") - part.count(b"</") for name, part in parts.items()}
    refuse_large("elements", sum(counts.values()), MAX_ELEMENTS)
    refuse_large("styles", sum(n for name, n in counts.items() if "styles" in name), MAX_STYLES)
    for part in parts.values():
        if b"<!DOCTYPE" in part.replace(b"\0", b""):
            raise fail("the workbook defines entities of XML, which are not read", hint=ANEW)
        if b"f>" in part and (cell := UNCALCULATED.search(part.decode(errors="replace"))):
            raise fail(f"the formula in cell {cell[1]} was never calculated", hint=ANEW)


def refuse_large(what: str, count: int, most: int) -> None:
    if count > most:
        hint = "give only the cells with numbers, and large matrices as CSV or NPZ"
        raise fail(f"the workbook has {count:,} {what}, and at most {most:,} are read", hint=hint)


def _texts(sheet: Any, as_shown: bool) -> dict[Position, str]:
    texts: dict[Position, str] = {}
    sheet.reset_dimensions()  # which may be wrong
    width = 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        width += len(row)
        refuse_large("rows", number, MAX_ROWS)
        refuse_large("empty cells", width, 4 * MAX_ELEMENTS)
        for cell in row:
            if cell.value is not None and (text := _text(cell, as_shown)):
                texts[number, cell.column] = text
    return texts


def _text(cell: Any, as_shown: bool) -> str:
    value = cell.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_text(value, cell.number_format if as_shown else "General")
    text = " ".join(str(value).removesuffix(" 00:00:00").split())  # a date has no time
    is_decimal = WITH_COMMA.fullmatch(text) and not GROUPED.fullmatch(text)
    return text.replace(",", ".") if is_decimal else text


def number_text(value: float, code: str) -> str:
    """Return a number as a cell with a number format shows it; every digit if that tells none.

    >>> number_text(1 / 3, "0.00"), number_text(0.1 + 0.2, "General"), number_text(0.5, "# ?/?")
    ('0.33', '0.3', '0.5')
    """
    if value <= NEARLY_BLOCKED:
        return "-inf"
    sections = LITERAL.sub("", code).split(";")
    section = sections[value < 0 and len(sections) > 1]
    digits = DIGITS.fullmatch(section)
    if digits is None:
        short = float(f"{value:.15g}")
        return every_digit(short if abs(short - value) <= NOISE * math.ulp(value) else value)
    is_percent, decimals = "%" in section, (digits["least"] or "") + (digits["more"] or "")
    shown = value * 100 if is_percent else value
    text = fixed(shown, len(decimals), "e" if digits["power"] else "f")
    return (every_digit(float(text)) if digits["more"] else text) + "%" * is_percent


def class_table(sheet: Sheet, name: str) -> Table:
    """Return the rows of a sheet as those of the table of a class; none if most cells are empty."""
    return Table(name, trimmed(rectangle(sheet, sheet[1])))


def rectangle(sheet: Sheet, some: Collection[Position]) -> list[CellRow]:
    """Return the rows of the smallest rectangle around some cells; none if it is too empty."""
    name, cells = sheet
    rows, columns = zip(*some, strict=True) if some else ((0,), (1,))
    top, bottom, left, right = min(rows), max(rows), min(columns), max(columns) + 1
    if (bottom - top + 1) * (right - left) > max(SMALL, MAX_EMPTY * len(some)):
        return []
    return [
        CellRow([cells.get((row, column), "") for column in range(left, right)], row, left, name)
        for row in range(top, bottom + 1)
    ]

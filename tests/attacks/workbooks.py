"""Fill the memory, or run something, from a workbook."""

from attncli.core.arithmetic.machine import of_bytes
from attncli.reading.sheets import MAX_BLOCKS
from attncli.reading.workbook import MAX_ELEMENTS, MAX_PARTS, MAX_ROWS, MAX_STYLES, MAX_UNPACKED
from tests.attacks import Attn, Patch, Path, refuse, save
from tests.reading.test_workbook_files import changed
from tests.reading.test_zip_files import zipped

BOUND = (
    f"{of_bytes(MAX_UNPACKED)} unpacked, {MAX_PARTS:,} files, {MAX_ELEMENTS:,} elements, "
    f"{MAX_STYLES:,} styles, {MAX_BLOCKS:,} blocks of cells per sheet"
)

ENTITIES = b'<!DOCTYPE a [<!ENTITY a "a"><!ENTITY b "&a;&a;&a;">]><>'
OUTSIDE = b'<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><>'
CELL = b"<c><v>1</v></c>"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    for sheet, styles, said in (
        (b" " * (MAX_UNPACKED + 1), b"", f"bytes, and at most {MAX_UNPACKED:,} are read"),
        (b"<row/>" * MAX_ELEMENTS, b"", f"elements, and at most {MAX_ELEMENTS:,} are read"),
        (b"<row/>", b"<xf/>" * MAX_STYLES, f"styles, and at most {MAX_STYLES:,} are read"),
        (b'<row r="1"/><row r="99999999999">%s</row>' % CELL, b"", f"at most {MAX_ROWS:,}"),
        (b'<row><c r="XFD1"><v>1</v></c></row>' * 1000, b"", "empty cells, and at most"),
        ((b"<row>%s</row><row/>" % (CELL + b"<c/>")) * 5000, b"", f"at most {MAX_BLOCKS:,}"),
        (ENTITIES, b"", "the workbook defines entities of XML"),
        (OUTSIDE, b"", "the workbook defines entities of XML"),
        (b"<row", b"", "the workbook is damaged, or is none"),
        (b'<row r="x"/>', b"", "the workbook is damaged, or is none"),
    ):
        refuse(attn, said, "compute", changed(folder / "hw.xlsx", sheet, styles))
    many = zipped({f"{number}.xml": "" for number in range(MAX_PARTS + 1)})
    refuse(attn, f"at most {MAX_PARTS:,}", "compute", save(folder / "hw.xlsx", many))
    for formula in (b"WEBSERVICE(&quot;http://x&quot;)", b"cmd|&apos;/c calc&apos;!A1"):
        row = b"<row><c><f>%s</f><v>7</v></c></row>" % formula
        written = changed(folder / "hw.xlsx", row)
        assert attn("compute", written, "--only", "X", "-f", "csv").out == "7\n"

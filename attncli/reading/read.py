"""Bytes of a file to plain values, and the place of each; what a key means is not known here."""

from __future__ import annotations

import codecs
import io
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attncli.core.errors import KeyPath, Place, fail, located
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import regex, visible
from attncli.reading import yaml_documents
from attncli.reading.document import PAUSE, Document, FileName, KnownClass, Options, error_at
from attncli.reading.files import blocks, open_file
from attncli.reading.programs import WORKBOOK_SUFFIXES, is_workbook, unsupported
from attncli.reading.yaml_documents import LINE_ABOVE, LINE_OF_JSON, check_length

if TYPE_CHECKING:
    from attncli.reading.cells import Table


def decoded(data: Iterator[bytes], name: str) -> Iterator[str]:
    """Yield the text of UTF-8, or of UTF-16 with a byte order mark, as Excel writes it.

    Other text is read as Windows-1252; a UnicodeWarning says so, with the name of the file.
    """
    block = next(data, b"")
    if len(block) == 1:  # a half of a byte order mark
        block += next(data, b"")
    wide = block[:2] in (b"\xff\xfe", b"\xfe\xff")
    decoder: codecs.IncrementalDecoder
    decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")()
    line, is_ascii = 1, not block.startswith(codecs.BOM_UTF8)
    while True:
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            if wide:
                raise fail("the file is broken UTF-16", hint="save it as UTF-8") from None
            text = _of_windows(error, name) if is_ascii else ""
            if not text:
                line += error.object.count(b"\n", 0, error.start)
                message = f"line {line} is not in UTF-8 (byte 0x{error.object[error.start]:02x})"
                raise fail(message, hint="save the file as UTF-8") from None
            decoder = codecs.getincrementaldecoder("cp1252")()
        line, is_ascii = line + text.count("\n"), is_ascii and text.isascii()
        yield text if text.isascii() else text.translate(UNSEEN)
        if not block:
            return
        block = next(data, b"")


def _of_windows(error: UnicodeDecodeError, name: str) -> str:
    """Return what is no UTF-8 as Windows-1252, with a warning; "" for bytes that this has not."""
    data, at = error.object, error.start
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    if not data[:at].isascii():  # there is UTF-8 before it
        return ""
    before, after = (
        re.split(r"\s", part) for part in (text[max(at - 20, 0) : at], text[at : at + 20])
    )
    said = f"{visible(name)} is not in UTF-8; it is read as Windows-1252"
    hint = f"save it as UTF-8 if {visible(before[-1] + after[0])} is wrong"
    warnings.warn(f"{said}; {hint}", UnicodeWarning, stacklevel=2)
    return text


def whole(texts: Iterator[str]) -> str:
    parts, length = [], 0
    for text in texts:
        length += len(text)
        check_length(length)
        parts.append(text)
    return "".join(parts)


STDIN = "<stdin>"

UNSEEN = dict.fromkeys((0x200B, 0x2060, 0xFEFF))  # without a width or a meaning: left out

YAML_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")
CSV_SUFFIXES = (".csv", ".tsv")
TABLE_SUFFIXES = (*CSV_SUFFIXES, *WORKBOOK_SUFFIXES)
WORKSHEET_SUFFIXES = (".md", ".markdown", ".tex")
"""Suffixes of what `attn worksheet` writes; filled in, these are answers."""

NUMPY_STARTS = (b"PK", b"\x93N")
"""How the files of NumPy begin, whatever their name."""

TSV = regex(r"[^\s:]+\t(?!\s*:)")
"""How TSV begins, and YAML does not: a first word, which is no key of YAML, and a tab."""


class _Reading(Record):
    """A file, and how it is read; the last four attributes are parameters of `read`."""

    name: str
    folder: Path
    suffix: str = ""
    options: Options = EMPTY
    of_class: KnownClass | None = None
    as_arrays: bool = False
    pauses: bool = False


def read(
    source: FileName,
    stdin: BinaryIO | None = None,
    options: Options = EMPTY,
    of_class: KnownClass | None = None,
    as_arrays: bool = False,
    pauses: bool = False,
) -> Iterator[Document]:
    """Yield every document of a file as it comes. One that cannot be read holds its error.

    `options` are words that are options in CSV. For answers, `of_class` is what is known of the
    class: a table may hold the answers of all, and a document may be empty. With `as_arrays`, a
    large CSV table is an array, without its written digits; with `pauses`, there is a `PAUSE`
    wherever the next document may not be there yet.
    """
    name, about = os.fspath(source), (options, of_class, as_arrays, pauses)
    if name == "-":
        yield from _documents(opened_stdin(stdin), _Reading(STDIN, Path(), "", *about))
        return
    path = Path(name)
    yield from _of_file(path, _Reading(name, path.parent, path.suffix.lower(), *about))


def read_bytes(
    data: bytes, name: str, folder: Path, suffix: str = "", options: Options = EMPTY
) -> Iterator[Document]:
    """Yield every document of a file's bytes; the contents tell the form of an unknown suffix."""
    return _documents(io.BytesIO(data), _Reading(name, folder, suffix, options))


def read_text(source: FileName, stdin: BinaryIO | None = None) -> str:
    name = os.fspath(source)
    if name == "-":
        file = opened_stdin(stdin)
        with located(lambda _: Place(STDIN)):
            return "".join(decoded(blocks(file), STDIN))
    path = Path(name)
    with located(lambda _: Place(name)), open_file(path) as file:
        start, data = begun(file, path.suffix.lower())
        return "".join(decoded(chain([start], data), name))


def read_table(source: FileName, stdin: BinaryIO | None = None) -> Table:
    """Return the rows of a CSV file, or of the first sheet of a workbook."""
    from attncli.reading.csv_text import CsvText

    path = Path(source)
    if path.suffix.lower() not in WORKBOOK_SUFFIXES:
        return CsvText(read_text(source, stdin), STDIN if source == "-" else os.fspath(source))
    with located(lambda _: Place(os.fspath(source))), open_file(path) as file:
        from attncli.reading import workbook

        first, *_ = workbook.sheets_of(blocks(file), as_shown=True)
        return workbook.class_table(first, os.fspath(source))


def matrix_file(path: Path, name: str, as_arrays: bool = False) -> Document:
    """Read a CSV or NPY file of one matrix, as a document with the key X."""
    reading = _Reading(name, path.parent, path.suffix.lower(), as_arrays=as_arrays)
    first, *others = _of_file(path, reading)
    if first.error:
        raise first.error
    if others or len(first.values) != 1:
        raise error_at(Place(name), "the file holds more than one matrix")
    (key,) = first.values
    return first.renamed(key, "X")


def opened_stdin(stdin: BinaryIO | None) -> BinaryIO:
    if stdin is None:
        raise fail("standard input is closed", hint="name a file")
    return stdin


def begun(file: BinaryIO, suffix: str) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a file and the rest; refuse a file of another program."""
    data = blocks(file)
    start = next(data, b"")
    if error := unsupported(start, suffix):
        raise error
    return start, data


def _of_file(path: Path, reading: _Reading) -> Iterator[Document]:
    with located(lambda _: Place(reading.name)), open_file(path) as file:
        yield from _documents(file, reading)


def _documents(file: BinaryIO, reading: _Reading) -> Iterator[Document]:
    place, suffix = Place(reading.name), reading.suffix
    with located(lambda _: place):
        start, data = begun(file, suffix)
        if is_workbook(start, suffix):
            yield from _of_workbook(chain([start], data), reading)
            return
        if start.startswith(NUMPY_STARTS) or suffix in (".npz", ".npy"):
            yield _of_numpy(file, start, data, reading)
            return
        texts = decoded(chain([start], data), reading.name)
        student = ""
        if reading.of_class is not None:
            above = next(texts)
            if line := LINE_ABOVE.match(above):
                from attncli.reading.worksheets import is_title_above, name_above

                student = name_above(line)
                if student or is_title_above(line):
                    above = re.sub(r"[^\r\n]", " ", line[0]) + above[line.end() :]
            texts = chain([above], texts)
        for one in _of_texts(texts, start, reading):
            yield _of_student(student, one)


def _of_student(student: str, one: Document) -> Document:
    return replace(one, values={"student": student, **one.values}) if student else one


def _of_workbook(data: Iterable[bytes], reading: _Reading) -> Iterator[Document]:
    from attncli.reading import sheets, workbook
    from attncli.reading.worksheets import name_above

    name, folder, known = reading.name, reading.folder, reading.of_class
    every = workbook.sheets_of(data, as_shown=known is not None)
    if known is not None:
        from attncli.reading import class_table

        class_tables = (workbook.class_table(sheet, name) for sheet in every)
        rows = [*chain(*(class_table.submissions_in(one, folder, known) for one in class_tables))]
        if rows:
            yield from rows
            return
    tables = sheets.documents_of(every, name, reading.options, known)
    for table in tables:
        first, *_ = [*table.remarks.items(), ("", "")]
        key = next(iter(table.values.get("steps", table.values)), "")
        line = LINE_ABOVE.match(f"{first[1]}\n{key}\n")
        if student := name_above(line) if line and known else "":
            del table.remarks[first[0]]
        yield _of_student(student, table.document(folder, known is not None))
    if not tables and known is None:
        raise fail("the workbook holds no matrix under a name", hint="write X above its numbers")
    if not tables:
        yield Document(name, folder, {}, lambda _: Place(name))


def _of_texts(texts: Iterator[str], start: bytes, reading: _Reading) -> Iterator[Document]:
    """Yield the documents of a text, whose file begins with the bytes `start`."""
    place, suffix = Place(reading.name), reading.suffix
    if reading.of_class is not None and suffix in (*WORKSHEET_SUFFIXES, ".txt", ""):
        from attncli.reading import worksheets

        if suffix in WORKSHEET_SUFFIXES or worksheets.is_plain_text(start):
            text = whole(texts)
            yield from worksheets.submissions_in(text, reading.name, reading.folder, suffix)
            return
    documents = _of_text(texts, reading)
    first = next((one for one in documents if one is not PAUSE), None)
    if first is None and reading.of_class is None:
        hint = "write matrices into it, such as X: [[1, 0], [0, 1]]"
        raise fail("the file is empty", hint=hint)
    yield first or Document(reading.name, reading.folder, {}, lambda _: place)
    yield from documents


def _of_numpy(file: BinaryIO, start: bytes, data: Iterator[bytes], reading: _Reading) -> Document:
    from attncli.reading import arrays

    if reading.name == STDIN or not file.seekable():
        values = arrays.read(io.BytesIO(b"".join([start, *data])))
    else:
        values = arrays.read(file)
        file.seek(0, os.SEEK_END)
        next(data, None)  # raises an error for a file that was changed
    place, bare = Place(reading.name), start.startswith(NUMPY_STARTS[1])
    return Document(reading.name, reading.folder, values, lambda _: place, bare=bare)


def _of_text(texts: Iterator[str], reading: _Reading) -> Iterator[Document]:
    if reading.suffix in CSV_SUFFIXES:
        yield from _of_csv(whole(texts), reading)
        return
    parts, is_yaml = cut_text(texts, reading.suffix)
    if not is_yaml:
        yield from _of_csv(whole(parts), reading)
        return
    for part in yaml_documents.chunks(parts, reading.name):
        if part.text:
            yield from yaml_documents.documents(part, reading.folder)
        elif reading.pauses:
            yield PAUSE


def cut_text(texts: Iterator[str], suffix: str) -> tuple[Iterator[str], bool]:
    """Return the parts of a text, and whether they are YAML or JSON; if not, they are CSV.

    A text without content has no part.
    """
    parts = yaml_documents.cut(texts)
    above = ""
    for part in parts:
        above += part
        if part.strip():
            break
    if not above.strip():
        return iter(()), False
    first, is_yaml = [above], suffix in YAML_SUFFIXES or _looks_like_yaml(above)
    if not is_yaml and (second := next(filter(None, parts), None)):
        is_yaml = LINE_OF_JSON.match(second) is not None  # the first line is no JSON
        first.append(second)
    return chain(first, parts), is_yaml


def _of_csv(text: str, reading: _Reading) -> Iterator[Document]:
    """Yield the documents of CSV, which only its whole text can tell."""
    if not text.strip():
        return
    name, folder = reading.name, reading.folder
    if reading.of_class is not None:
        from attncli.reading import class_table
        from attncli.reading.csv_text import CsvText

        submissions = class_table.submissions_in(CsvText(text, name), folder, reading.of_class)
        if (first := next(submissions, None)) is not None:
            yield first
            yield from submissions
            return
    if reading.as_arrays:
        from attncli.reading.arrays import table_of

        if (array := table_of(text)) is not None:

            def locate(path: KeyPath) -> Place:
                (document,) = _of_blocks(text, reading)
                return document.locate(path)

            yield Document(name, folder, {"X": array}, locate, bare=True)
            return
    yield from _of_blocks(text, reading)


def _of_blocks(text: str, reading: _Reading) -> Iterator[Document]:
    from attncli.reading.named_blocks import csv_documents

    every = csv_documents(text, reading.name, reading.options)
    return (one.document(reading.folder, reading.of_class is not None) for one in every)


def _looks_like_yaml(text: str) -> bool:
    # A line that starts with # may be a comment of YAML, or a token such as ##ing.
    content = re.sub(r"\A(\s*#.*(\n|\Z))+", "", text).lstrip()
    if content.startswith(("{", "[", "%", "- ", "```", "~~~")) or text.startswith("---\n"):
        return True
    if TSV.match(content):  # what follows may be a sentence with a colon
        return False
    key = r"^(\"[^\"]*\"|'[^']*'|[^\s,;\"'#](\[[^]\n\r]*\]|[^[,;\n\r])*):(\s|$)"
    if re.search(key, text, re.MULTILINE) is not None:
        return True
    from attncli.reading.assignments import is_assigned  # which most files do not need

    return is_assigned(content)

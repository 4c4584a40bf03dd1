"""Bytes of a file to plain values, and the place of each; what a key means is not known here."""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

from attncli.core.errors import KeyPath, Place, fail, located
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import regex
from attncli.reading import yaml_documents
from attncli.reading.decoding import decoded, whole
from attncli.reading.document import (
    PAUSE,
    YAML_SUFFIXES,
    Chunk,
    Document,
    FileName,
    KnownClass,
    Options,
    error_at,
)
from attncli.reading.files import BYTES_AT_ONCE, blocks, open_file
from attncli.reading.programs import (
    MARKDOWN_SUFFIXES,
    WORKBOOK_SUFFIXES,
    are_arrays,
    is_notebook,
    is_web_page,
    is_workbook,
    unsupported,
)
from attncli.reading.yaml_documents import LINE_ABOVE, LINE_OF_JSON

if TYPE_CHECKING:
    from attncli.reading.cells import Table
    from attncli.reading.extracts import Extract


STDIN = "<stdin>"

MAX_CHARACTERS_AROUND = 2**25
"""Maximum length of a file from which a text is taken, whose pieces may take 150 times as much."""

CSV_SUFFIXES = (".csv", ".tsv")
TABLE_SUFFIXES = (*CSV_SUFFIXES, *WORKBOOK_SUFFIXES)
WORKSHEET_SUFFIXES = (*MARKDOWN_SUFFIXES, ".tex")
"""Suffixes of what `attn worksheet` writes; filled in, these are answers."""

TSV = regex(r"[^\s:]+\t(?!\s*:)")
"""How TSV begins, and YAML does not: a first word, which is no key of YAML, and a tab."""
KEY_LINE = regex(
    r"^(\"[^\"]*\"|'[^']*'|[^\s,;\"'#](\[[^]\n\r]*\]|[^[,;\n\r])*):(\s|$)", re.MULTILINE
)
"""A key of YAML at the beginning of a line."""
NUMBERS = regex(r"[0-9.eE+\-\s]*")
MARKS = b"<!-- answer: ", rb"\attnanswer{"
"""Marks of answers in the bytes of a worksheet."""


class _Bytes(NamedTuple):
    """The bytes of a file: the first of them, and all as they come."""

    file: BinaryIO
    start: bytes
    all: Iterator[bytes]


class _Reading(Record):
    """A file, and how it is read; the four attributes after `suffix` are parameters of `read`."""

    name: str
    folder: Path
    suffix: str = ""
    options: Options = EMPTY
    of_class: KnownClass | None = None
    as_arrays: bool = False
    pauses: bool = False
    extract: Extract | None = None  # the text that is read in place of the file


Sign: TypeAlias = Callable[[bytes, str], bool]
"""Returns whether a file is of a form, by its first bytes and its suffix."""

Reader: TypeAlias = Callable[[_Bytes, _Reading], Iterator[Document]]


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
    with located(lambda _: Place(reading.name)):
        start, rest = begun(file, reading.suffix)
        read_form = reader_of(start, reading.suffix)
        yield from read_form(_Bytes(file, start, chain([start], rest)), reading)


def _of_plain_text(data: _Bytes, reading: _Reading) -> Iterator[Document]:
    return _of_text(decoded(data.all, reading.name), data.start, reading)


def _of_text_inside(data: _Bytes, reading: _Reading) -> Iterator[Document]:
    """Yield the documents of the text of a notebook or page, read as a file without a suffix."""
    if is_notebook(data.start, reading.suffix):
        from attncli.reading.notebooks import extract_of
    else:
        from attncli.reading.web_pages import extract_of
    text = whole(decoded(data.all, reading.name))
    if len(text) > MAX_CHARACTERS_AROUND:
        message = f"a notebook or page of more than {MAX_CHARACTERS_AROUND:,} characters"
        raise fail(message, hint="write its matrices into a text, or save them as NPZ")
    extract = extract_of(text, reading.name)
    start = extract.text[:BYTES_AT_ONCE].encode()
    return _of_text(iter([extract.text]), start, replace(reading, suffix="", extract=extract))


def _of_student(student: str, one: Document) -> Document:
    return replace(one, values={"student": student, **one.values}) if student else one


def _of_workbook(data: _Bytes, reading: _Reading) -> Iterator[Document]:
    from attncli.reading import sheets, workbook
    from attncli.reading.worksheets import name_above

    name, folder, known = reading.name, reading.folder, reading.of_class
    every = workbook.sheets_of(data.all, as_shown=known is not None)
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


def _of_text(texts: Iterator[str], start: bytes, reading: _Reading) -> Iterator[Document]:
    """Yield the documents of a text, whose file begins with the bytes `start`."""
    student = ""
    if reading.of_class is not None:
        above = next(texts)
        if line := LINE_ABOVE.match(above):
            from attncli.reading.worksheets import is_title_above, name_above

            student = name_above(line)
            if student or is_title_above(line):
                above = re.sub(r"[^\r\n]", " ", line[0]) + above[line.end() :]
        texts = chain([above], texts)
    is_empty = True
    for one in _told_apart(texts, start, reading):
        is_empty = is_empty and one is PAUSE
        yield _of_student(student, one)
    if is_empty and reading.of_class is None:
        raise fail("the file is empty", hint="write matrices into it, such as X: [[1, 0], [0, 1]]")
    if is_empty:
        yield Document(reading.name, reading.folder, {}, lambda _: Place(reading.name))


def _told_apart(texts: Iterator[str], start: bytes, reading: _Reading) -> Iterator[Document]:
    """Yield the documents of a text, which is a worksheet, CSV, YAML or JSON, or answers in prose.

    The name of a student or a title above it is no part of it.
    """
    name, folder, suffix = reading.name, reading.folder, reading.suffix
    are_answers = reading.of_class is not None
    if are_answers and (suffix in WORKSHEET_SUFFIXES or any(mark in start for mark in MARKS)):
        from attncli.reading import worksheets

        yield from worksheets.submissions_in(whole(texts), name, folder, suffix)
        return
    if reading.extract:
        chunk = Chunk(name, whole(texts), extract=reading.extract)
        yield from yaml_documents.documents(chunk, folder, are_answers)
        return
    parts, is_yaml = cut_text(texts, suffix)
    if not is_yaml:
        yield from _of_csv(whole(parts), reading)
        return
    for part in yaml_documents.chunks(parts, name):
        if part.text:
            yield from yaml_documents.documents(part, folder, are_answers)
        elif reading.pauses:
            yield PAUSE


def _of_arrays(data: _Bytes, reading: _Reading) -> Iterator[Document]:
    from attncli.reading import arrays

    if reading.name == STDIN or not data.file.seekable():
        values = arrays.read(io.BytesIO(b"".join(data.all)))
    else:
        values = arrays.read(data.file)
        data.file.seek(0, os.SEEK_END)
        deque(data.all, maxlen=0)  # raises an error for a file that was changed
    if any(re.fullmatch(r"arr_\d+", key) for key in values):  # np.savez(file, X, W_q) calls them so
        names = "X=…, W_q=…" if reading.of_class is None else "weights=…, output=…"
        raise fail("the arrays have no names", hint=f"save them by np.savez(file, {names})")
    place, bare = Place(reading.name), data.start.startswith(arrays.NPY)
    yield Document(reading.name, reading.folder, values, lambda _: place, bare=bare)


READERS: Sequence[tuple[Sign, Reader]] = (
    (is_workbook, _of_workbook),
    (are_arrays, _of_arrays),
    (is_notebook, _of_text_inside),
    (is_web_page, _of_text_inside),
    (lambda start, suffix: True, _of_plain_text),
)
"""Readers, each with the sign of its files. After `unsupported`, the first sign that a file has
decides. Texts are then told apart in `_told_apart`."""


def reader_of(start: bytes, suffix: str) -> Reader:
    return next(reader for has_sign, reader in READERS if has_sign(start, suffix))


def is_plain_text(start: bytes, suffix: str) -> bool:
    return reader_of(start, suffix) is _of_plain_text


def cut_text(texts: Iterator[str], suffix: str) -> tuple[Iterator[str], bool]:
    """Return the parts of a text, and whether they are YAML or JSON; if not, they are CSV.

    A text without content has no part.
    """
    if suffix in CSV_SUFFIXES:
        return texts, False
    parts = yaml_documents.cut(texts)
    above = second = ""
    for part in parts:
        above += part
        if part.strip():
            break
    else:
        return iter(()), False
    is_yaml = suffix in YAML_SUFFIXES or not _is_csv(above, may_be_more=True)
    if not is_yaml:
        second = next(filter(None, parts), "")
        is_yaml = not _is_csv(above + second) or LINE_OF_JSON.match(second) is not None
    return chain(filter(None, [above, second]), parts), is_yaml


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


def _is_csv(text: str, may_be_more: bool = False) -> bool:
    """Return True for cells with delimiters between them, without keys of YAML or signs of a text.

    With `may_be_more`, the delimiters may be in what comes after the text. A line that starts with
    # may be a comment of YAML, or a token such as ##ing.
    """
    content = re.sub(r"\A(\s*#.*(\n|\Z))+", "", text).lstrip()
    if content.startswith(("{", "[", "%", "- ", "```", "~~~")) or text.startswith("---\n"):
        return False
    if TSV.match(content) and not text.startswith("## "):
        return True  # what follows may be a sentence with a colon
    if KEY_LINE.search(text) or re.search(r"\[\s*\[|\\begin", content):
        return False
    from attncli.reading.text_documents import SIGNS, WRAPPED  # which most files do not need

    if SIGNS.search(content) or WRAPPED.match(content):
        return False
    if may_be_more:
        return True
    from attncli.reading.csv_text import delimiter_of

    is_plain = NUMBERS.fullmatch(text) or not re.search(r"\S[ \t]+\S", text)
    return delimiter_of(text)[0] != " " or bool(is_plain)

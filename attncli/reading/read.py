"""Bytes of a file to plain values, and the place of each; what a key means is not known here."""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from attncli.core.errors import KeyPath, Place, fail, located
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import regex
from attncli.reading import file_forms, yaml_documents
from attncli.reading.chunks import Chunk, blanked, line_ends
from attncli.reading.document import PAUSE, YAML_SUFFIXES, Document, FileName, KnownClass, Options
from attncli.reading.file_forms import MARKDOWN_SUFFIXES, WORKBOOK_SUFFIXES, decoded, whole
from attncli.reading.files import BYTES_AT_ONCE, blocks, open_file
from attncli.reading.yaml_documents import LINE_ABOVE, LINE_OF_JSON

if TYPE_CHECKING:
    from attncli.reading.cells import Table
    from attncli.reading.chunks import Extract


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
NO_CELLS = regex(r"\[\s*\[|\\begin|^[ \t]*\([-+.\d][^()\n]*,[^()\n]*\)[ \t,;]*$", re.MULTILINE)
"""Matrices, and rows in round brackets, whose commas are not those of CSV."""
NUMBERS = regex(r"[0-9.eE+\-\s]*")
MARKS = b"<!-- answer: ", rb"\attnanswer{"
"""Marks of answers in the bytes of a worksheet."""


class Source(Record):
    """An open file, and how it is read; the five attributes after `data` are those of `read`."""

    name: str
    suffix: str
    file: BinaryIO
    start: bytes  # the first bytes
    data: Iterator[bytes]  # all bytes as they come
    options: Options = EMPTY
    of_class: KnownClass | None = None
    as_arrays: bool = False
    pauses: bool = False
    only_shapes: bool = False
    extract: Extract | None = None  # the text that is read in place of the file


def read(
    source: FileName,
    stdin: BinaryIO | None = None,
    options: Options = EMPTY,
    of_class: KnownClass | None = None,
    as_arrays: bool = False,
    pauses: bool = False,
    only_shapes: bool = False,
) -> Iterator[Document]:
    """Yield every document of a file as it comes. One that cannot be read holds its error.

    `options` are words that are options in CSV. For answers, `of_class` is what is known of the
    class: a table may hold the answers of all, and a document may be empty. With `as_arrays`, a
    large CSV table is an array, without its written digits; with `pauses`, there is a `PAUSE`
    wherever the next document may not be there yet. With `only_shapes`, the numbers of large
    arrays are not read.
    """
    with opened(source, stdin) as begun:
        how = replace(begun, options=options, of_class=of_class, as_arrays=as_arrays, pauses=pauses)
        yield from _documents(replace(how, only_shapes=only_shapes))


def read_bytes(
    data: bytes, name: str, suffix: str = "", options: Options = EMPTY
) -> Iterator[Document]:
    """Yield every document of a file's bytes; the contents tell the form of an unknown suffix."""
    with located(lambda _: Place(name)):
        begun = _begun(io.BytesIO(data), name, suffix)
        yield from _documents(replace(begun, options=options))


def read_table(source: FileName, stdin: BinaryIO | None = None) -> Table:
    """Return the rows of a CSV file, or of the first sheet of a workbook."""
    with opened(source, stdin) as begun:
        if begun.suffix in WORKBOOK_SUFFIXES:
            from attncli.reading import workbook

            first, *_ = workbook.sheets_of(begun.data, as_shown=True)
            return workbook.class_table(first, begun.name)
        from attncli.reading.cells import CsvText

        return CsvText("".join(decoded(begun.data, begun.name)), begun.name)


def matrix_file(
    path: Path, name: str, as_arrays: bool = False, only_shapes: bool = False
) -> Document:
    """Read a CSV or NPY file of one matrix, as a document with the key X."""
    with opened(path, name=name) as begun:
        how = replace(begun, as_arrays=as_arrays, only_shapes=only_shapes)
        first, *others = _documents(how)
    if first.error:
        raise first.error
    if others or len(first.values) != 1:
        raise Place(name).error("the file holds more than one matrix")
    (key,) = first.values
    return first.renamed(key, "X")


@contextmanager
def opened(source: FileName, stdin: BinaryIO | None = None, name: str = "") -> Iterator[Source]:
    """Open a file, whose errors say its `name`, or standard input for "-"."""
    is_stdin = not name and os.fspath(source) == "-"
    if is_stdin and stdin is None:
        raise fail("standard input is closed", hint="name a file")
    name = STDIN if is_stdin else name or os.fspath(source)
    path = Path(source)
    with (
        located(lambda _: Place(name)),
        nullcontext(stdin) if is_stdin and stdin else open_file(path) as file,
    ):
        yield _begun(file, name, path.suffix.lower())


def _begun(file: BinaryIO, name: str, suffix: str) -> Source:
    """Return a file of which the first bytes are read; refuse one of another program."""
    data = blocks(file)
    start = next(data, b"")
    if error := file_forms.unsupported(start, suffix):
        raise error
    return Source(name, suffix, file, start, chain([start], data))


def _documents(source: Source) -> Iterator[Document]:
    is_empty = True
    for one in _reader_of(source)(source):
        is_empty = is_empty and one is PAUSE
        yield one
    if is_empty and source.of_class is None:
        raise fail("the file is empty", hint="write matrices into it, such as X: [[1, 0], [0, 1]]")
    if is_empty:
        yield Document(source.name, {}, lambda _: Place(source.name))


def _of_plain_text(source: Source) -> Iterator[Document]:
    return _of_text(decoded(source.data, source.name), source)


def _of_text_inside(source: Source) -> Iterator[Document]:
    """Yield the documents of the text of a notebook or page, read as a file without a suffix."""
    from attncli.reading.extracts import of_notebook, of_web_page

    text = whole(decoded(source.data, source.name))
    if len(text) > MAX_CHARACTERS_AROUND:
        message = f"a notebook or page of more than {MAX_CHARACTERS_AROUND:,} characters"
        raise fail(message, hint="write its matrices into a text, or save them as NPZ")
    is_page = not file_forms.is_notebook(source.start, source.suffix)
    extract = (of_web_page if is_page else of_notebook)(text, source.name)
    start = extract.text[:BYTES_AT_ONCE].encode()
    return _of_text(iter([extract.text]), replace(source, suffix="", start=start, extract=extract))


def _of_student(student: str, one: Document) -> Document:
    return replace(one, values={"student": student, **one.values}) if student else one


def _of_workbook(source: Source) -> Iterator[Document]:
    from attncli.reading import sheets, workbook
    from attncli.reading.worksheets import name_above

    name, known = source.name, source.of_class
    every = workbook.sheets_of(source.data, as_shown=known is not None)
    if known is not None:
        from attncli.reading import class_table

        class_tables = (workbook.class_table(sheet, name) for sheet in every)
        rows = [*chain(*(class_table.submissions_in(one, known) for one in class_tables))]
        if rows:
            yield from rows
            return
    tables = sheets.documents_of(every, name, source.options, known)
    for table in tables:
        first, *_ = [*table.remarks.items(), ("", "")]
        key = next(iter(table.values.get("steps", table.values)), "")
        line = LINE_ABOVE.match(f"{first[1]}\n{key}\n")
        if student := name_above(line) if line and known else "":
            del table.remarks[first[0]]
        yield _of_student(student, table.document(known is not None))
    if not tables and known is None:
        raise fail("the workbook holds no matrix under a name", hint="write X above its numbers")


def _of_text(texts: Iterator[str], source: Source) -> Iterator[Document]:
    """Yield the documents of a text, which is a worksheet, CSV, YAML or JSON, or answers in prose.

    The name of a student or a title above answers is no part of them.
    """
    student, is_worksheet = "", False
    if source.of_class is not None:
        above = next(texts)
        if line := LINE_ABOVE.match(above):
            from attncli.reading.worksheets import is_title_above, name_above

            student = name_above(line)
            if student or is_title_above(line):
                above = blanked(above, [(0, line.end())])
        texts = chain([above], texts)
        has_mark = any(mark in source.start for mark in MARKS)
        is_worksheet = has_mark or source.suffix in WORKSHEET_SUFFIXES
    if is_worksheet:
        from attncli.reading.worksheets import submissions_in

        documents = submissions_in(whole(texts), source.name, source.suffix)
    else:
        parts, is_yaml = (texts, True) if source.extract else cut_text(texts, source.suffix)
        documents = _of_yaml(parts, source) if is_yaml else _of_csv(whole(parts), source)
    for one in documents:
        yield _of_student(student, one)


def _of_yaml(parts: Iterator[str], source: Source) -> Iterator[Document]:
    lines = 0
    for part in parts:
        if part:
            chunk = Chunk(source.name, part, lines, extract=source.extract)
            are_answers = source.of_class is not None
            yield from yaml_documents.documents(chunk, are_answers)
            lines += line_ends(part)
        elif source.pauses:
            yield PAUSE


def _of_arrays(source: Source) -> Iterator[Document]:
    from attncli.reading import arrays

    if source.name == STDIN or not source.file.seekable():
        values = arrays.read(io.BytesIO(b"".join(source.data)), source.only_shapes)
    else:
        values = arrays.read(source.file, source.only_shapes)
        source.file.seek(0, os.SEEK_END)
        deque(source.data, maxlen=0)  # raises an error for a file that was changed
    if any(re.fullmatch(r"arr_\d+", key) for key in values):  # np.savez(file, X, W_q) calls them so
        names = "X=…, W_q=…" if source.of_class is None else "weights=…, output=…"
        raise fail("the arrays have no names", hint=f"save them by np.savez(file, {names})")
    place, bare = Place(source.name), source.start.startswith(arrays.NPY)
    yield Document(source.name, values, lambda _: place, bare=bare)


Reader: TypeAlias = Callable[[Source], Iterator[Document]]

READERS: Sequence[tuple[Callable[[bytes, str], bool], Reader]] = (
    (file_forms.is_workbook, _of_workbook),
    (file_forms.are_arrays, _of_arrays),
    (file_forms.is_notebook, _of_text_inside),
    (file_forms.is_web_page, _of_text_inside),
    (lambda start, suffix: True, _of_plain_text),
)
"""Readers, each with the sign of its files, by their first bytes and their suffix. After
`unsupported`, the first sign that a file has decides. What a text is, `_of_text` finds."""


def _reader_of(source: Source) -> Reader:
    return next(reader for has_sign, reader in READERS if has_sign(source.start, source.suffix))


def is_plain_text(source: Source) -> bool:
    return _reader_of(source) is _of_plain_text


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


def _of_csv(text: str, source: Source) -> Iterator[Document]:
    """Yield the documents of CSV, which only its whole text can tell."""
    if not text.strip():
        return
    name = source.name
    if source.of_class is not None:
        from attncli.reading import class_table
        from attncli.reading.cells import CsvText

        submissions = class_table.submissions_in(CsvText(text, name), source.of_class)
        if (first := next(submissions, None)) is not None:
            yield first
            yield from submissions
            return
    if source.as_arrays:
        from attncli.reading.arrays import table_of

        if (array := table_of(text)) is not None:

            def locate(path: KeyPath) -> Place:
                (document,) = _of_blocks(text, source)
                return document.locate(path)

            yield Document(name, {"X": array}, locate, bare=True)
            return
    yield from _of_blocks(text, source)


def _of_blocks(text: str, source: Source) -> Iterator[Document]:
    from attncli.reading.cells import csv_documents

    every = csv_documents(text, source.name, source.options)
    return (one.document(source.of_class is not None) for one in every)


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
    if KEY_LINE.search(text) or NO_CELLS.search(content):
        return False
    from attncli.reading.texts import TEXT_SIGNS, WRAPPED  # which most files do not need

    if TEXT_SIGNS.search(content) or WRAPPED.match(content):
        return False
    if may_be_more:
        return True
    from attncli.reading.cells import delimiter_of

    is_plain = NUMBERS.fullmatch(text) or not re.search(r"\S[ \t]+\S", text)
    sign, _ = delimiter_of(text)
    is_cut = sign != " " and any(sign in x for x in text.splitlines() if re.search(r"\d", x))
    return is_cut or bool(is_plain)

"""Filled-in worksheets in Markdown and in LaTeX: the matrices that bear the mark of an answer.

What stands around them is the worksheet's own. Rows and columns keep their places, so that the
words beside them are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from pathlib import Path

from attncli.errors import InputError, KeyPath, Place
from attncli.files.document import Document, error_at
from attncli.notation.from_tex import without_tex
from attncli.notation.parser import NumberError
from attncli.records import Record
from attncli.text.escapes import lines_of, visible

MARKDOWN = re.compile(
    r"^Name:[ \t]*(?P<student>[^\n]*)$|^<!-- answer: (?P<name>[^\n]*?) -->[ \t]*$", re.MULTILINE
)
LATEX = re.compile(r"\\attnname\{(?P<student>[^{}]*)\}|\\attnanswer\{(?P<name>[^{}]*)\}\{")
"""What begins a sheet, the line for the student's name, and what stands before an answer."""

MARKS = b"<!-- answer: ", rb"\attnanswer{"
"""What stands before an answer, as it is in a file."""

COMMENT = re.compile(r"(?<!\\)%[^\n]*")
RULE = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*")
TABLE = re.compile(r"\s*((?:^[ \t]*\|[^\n]*(?:\n|\Z))+)", re.MULTILINE)
FENCE = re.compile(r"\s*```math[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
ARRAY = re.compile(
    r"\\begin\{array\}\{[^{}]*\}((?:(?!\\begin\{array\}).)*?)\\end\{array\}"
    r"|\\begin\{block\}\{(?P<lead>\w?)\[[^{}]*\}(?P<block>.*?)\\end\{block\}",
    re.DOTALL,
)
"""A matrix; the labels of a `block` stand in a column before it."""
ROOM = re.compile(r"\\attnroom(?![a-zA-Z])|\\q?quad(?![a-zA-Z])")
WRAPPED = re.compile(r"^[\s$`*]+|[\s$`*]+$")
"""What may stand around a number in a table."""

NO_SHEET = "this is not a worksheet: no answers are marked in it"
WAY_OUT = "attn worksheet writes one; or write the matrices into a YAML, JSON or CSV file"
NO_MATRIX = "there is no matrix below the mark of {}"
KEEP = "keep the table or matrix as it was, with a number in the place of each blank"

Cell = tuple[int, str]
"""Where in the text a cell stands, and what it says."""


class Answer(Record):
    """One matrix of a sheet: where its mark is, and its cells."""

    at: int
    rows: list[list[Cell]]


def has_marks(path: Path) -> bool:
    """Whether answers are marked in a file, whatever its encoding."""
    try:
        with path.open("rb") as file:
            return any(mark in line.replace(b"\0", b"") for line in file for mark in MARKS)
    except OSError:
        return True  # whoever reads it tells why it cannot be read


def sheets(text: str, name: str, folder: Path, suffix: str) -> Iterator[Document]:
    """Yield the sheets of a document; one that cannot be read holds its error.

    Args:
        text: what the file holds.
        name: the file's name as the user wrote it.
        folder: where it lies.
        suffix: how its name ends: `.tex`, or it is Markdown.
    """
    is_tex = suffix == ".tex"
    if is_tex:
        text = COMMENT.sub(lambda m: " " * len(m[0]), text)
    found: list[tuple[str, list[re.Match[str]]]] = []
    for mark in (LATEX if is_tex else MARKDOWN).finditer(text):
        if mark["name"] is None:
            found.append((_student(mark["student"], is_tex), []))
        else:
            found = found or [("", [])]
            found[-1][1].append(mark)
    answered = [(student, marks) for student, marks in found if marks]
    if not answered:
        error = error_at(Place(name), NO_SHEET, WAY_OUT)
        yield Document(name, folder, {}, lambda _: Place(name), error=error)
    for student, marks in answered:
        yield _document(text, name, folder, student, marks, is_tex)


def _document(
    text: str, name: str, folder: Path, student: str, marks: list[re.Match[str]], is_tex: bool
) -> Document:
    answers: dict[str, Answer] = {}
    error: InputError | None = None
    for mark in marks:
        key = _key(mark["name"], is_tex)
        place = _place(text, name, mark.start())
        try:
            rows = (_of_latex if is_tex else _of_markdown)(text, mark.end())
        except NumberError as fault:
            error = error or error_at(place, str(fault))
            continue
        if key in answers:
            error = error or error_at(place, f"{visible(key)} is marked twice", "leave one out")
        elif rows is None:
            error = error or error_at(place, NO_MATRIX.format(visible(key)), KEEP)
        else:
            answers[key] = Answer(mark.start(), rows)
    values = {key: [[cell for _, cell in row] for row in one.rows] for key, one in answers.items()}
    about = {"student": student} if student else {}
    locate = partial(_locate, text, name, answers)
    return Document(name, folder, {**about, "answers": values}, locate, error=error)


def _key(name: str, is_tex: bool) -> str:
    """Return the name of an answer; a mark cannot hold every sign."""
    if is_tex:
        return re.sub(r"!([0-9A-F]{2,5})!", lambda m: chr(int(m[1], 16)), name)
    return unescape(name)


def _student(text: str, is_tex: bool) -> str:
    """Return what was written on the line for the name."""
    try:
        plain = without_tex(text) if is_tex and "\\" in text else text
    except NumberError:
        plain = text
    return re.sub(r"[_\\\s]+", " ", unescape(plain)).strip()


def _of_markdown(text: str, start: int) -> list[list[Cell]] | None:
    """Return the rows of the table, or of the mathematics, that stands next; None for neither."""
    if fence := FENCE.match(text, start):
        return _of_array(text, fence.start(1), fence.end(1))
    table = TABLE.match(text, start)
    if table is None:
        return None
    lines, at = [], table.start(1)
    for line in table[1].splitlines(keepends=True):
        lines.append((at, line))
        at += len(line)
    rows = [_cells(at, line) for at, line in lines if not RULE.fullmatch(line.rstrip())]
    head, *rest = rows
    lead = 1 if head and not head[0][1] else 0
    return [row[lead:] for row in rest]


def _cells(start: int, line: str) -> list[Cell]:
    """Return the cells of a line of a table."""
    found = []
    for piece in re.finditer(r"(?<=\|)(?:\\.|[^|\\\n])*(?=\|)", line):
        cell = WRAPPED.sub("", unescape(piece[0]).replace("\xa0", " "))
        found.append((start + piece.start() + _margin(piece[0]), _plain(cell)))
    return found


def _of_latex(text: str, start: int) -> list[list[Cell]] | None:
    """Return the rows of the matrix in the braces that are open; None for none."""
    depth, end = 1, start
    while depth and end < len(text):
        sign = text[end]
        depth += (sign == "{") - (sign == "}")
        end += 2 if sign == "\\" else 1
    return _of_array(text, start, end)


def _of_array(text: str, start: int, end: int) -> list[list[Cell]] | None:
    """Return the rows of the last matrix between two places; one before it holds its labels."""
    arrays = list(ARRAY.finditer(text, start, end))
    if not arrays:
        return None
    last = arrays[-1]
    lead = 1 if last["lead"] else 0
    first, body = (
        (last.start("block"), last["block"])
        if last["block"] is not None
        else (last.start(1), last[1])
    )
    rows = []
    for at, line in _parted(body, r"\\\\(?:\[[^\]]*\])?"):
        if line.strip():
            pieces = _parted(line, r"(?<!\\)&")
            cells = [(first + at + start + _margin(cell), cell) for start, cell in pieces]
            rows.append([(place, _plain(ROOM.sub("", cell))) for place, cell in cells][lead:])
    return rows


def _parted(text: str, sign: str) -> list[Cell]:
    """Return the pieces of a text between some signs, a pattern, each with where it starts."""
    starts = [0, *(match.end() for match in re.finditer(sign, text))]
    ends = [*(match.start() for match in re.finditer(sign, text)), len(text)]
    return [(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]


def _margin(cell: str) -> int:
    return len(cell) - len(cell.lstrip())


def _plain(cell: str) -> str:
    """Return a cell without TeX."""
    cell = cell.strip()
    return without_tex(cell).strip() if "\\" in cell or "{" in cell else cell


def _locate(text: str, name: str, answers: dict[str, Answer], path: KeyPath) -> Place:
    """Return the place of an answer, or of a row or cell of it."""
    keys = [part for part in path if part != "answers"]
    if not keys or keys[0] not in answers:
        return Place(name)
    answer = answers[str(keys[0])]
    row, column = (*(part for part in keys[1:] if isinstance(part, int)), None, None)[:2]
    if row is None or row >= len(answer.rows) or not answer.rows[row]:
        return _place(text, name, answer.at)
    cells = answer.rows[row]
    return _place(text, name, cells[min(column or 0, len(cells) - 1)][0])


def _place(text: str, name: str, at: int) -> Place:
    before = lines_of(text[:at])
    line = lines_of(text)[len(before) - 1]
    return Place(name, len(before), len(before[-1]) + 1, line)

"""Worksheets that were filled in, in Markdown and LaTeX, and the lines above other answers.

Of a worksheet only matrices with the mark of an answer are read, without the labels beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import unescape

from attncli.core.errors import InputError, KeyPath, Place
from attncli.core.numbers.grid import Words, pieces_of, undecorated
from attncli.core.numbers.notations import cells_of, without_tex
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import table_rows
from attncli.core.tape.step_words import may_mean_step
from attncli.core.text.strings import regex, visible
from attncli.reading.chunks import Chunk
from attncli.reading.document import Document, unread
from attncli.reading.text_documents import text_document
from attncli.reading.text_names import HEAD_HEADING, ROW_HEADING

MARKDOWN = regex(
    r"^(?:Name|[Ss]tudent):[ \t]*(?P<student>[^\n]*)$|^<!-- answer: (?P<name>[^\n]*?) -->[ \t]*$",
    re.MULTILINE,
)
LATEX = regex(
    r"\\attnname\{(?P<student>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
    r"|\\attnanswer\{(?P<name>[^{}]*)\}\{"
)
"""The line for the student's name, which begins a worksheet, and the mark of an answer."""

OTHER_SCRIPT = regex(r"\\attnscript\{\w*\}\{(?:\\attnleftward\{)?([^{}]*)\}{1,2}\{[^{}]*\}")
"""A word in another script, as a worksheet writes it."""

TITLE_WORDS = regex(
    "homework|assignment|exercise|solution|answer|attention|problem|question|task|(?:work)?sheet|"
    "test|quiz|exam|group|team|class|course|name|student|matri|result|part|step|self|cross|head|"
    "softmax|weight|score|output|my$|the$",
    re.IGNORECASE,
)
"""Beginnings of words of titles: a line with one of them is no student's name."""

KEY = regex(r"[\w.\"']+\s?:\s")
"""The beginning of a line of YAML."""

KEEP_FORM = "keep the table or matrix as it was, with a number in the place of each blank"

COMMENT = regex(r"(?<!\\)%[^\n]*")
TABLE = regex(r"\s*((?:^[ \t]*\|[^\n]*(?:\n|\Z))+)", re.MULTILINE)
FENCE = regex(r"\s*```math[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
ARRAY = regex(
    r"\\begin\{array\}\{[^{}]*\}(?: *\\attntop[^\n]*)?((?:(?!\\begin\{array\}).)*?)\\end\{array\}"
    r"|\\begin\{block\}\{(?P<lead>\w?)\[[^{}]*\}(?P<block>.*?)\\end\{block\}",
    re.DOTALL,
)
"""A matrix, without heads; the labels of a `block`, in sheets of old, are in a column before it."""


def name_above(line: re.Match[str]) -> str:
    """Return the student's name, of which a file's `LINE_ABOVE` consists; "" for other words.

    The first word and the last are capitalised, none is one of a title, and the line below has the
    name of a step.
    """
    if not line["name"]:
        return ""
    words = line["name"].split()
    below = line.string[line.end() :].lstrip("> \t\r\n").partition("\n")[0]
    step = undecorated(re.split(r"[:=\[]|<-", below, maxsplit=1)[0])
    is_title = any(map(TITLE_WORDS.match, words))
    are_words = words[0][0].islower() or words[-1][0].islower() or may_mean_step(line["name"], ())
    return "" if is_title or are_words or not step or not may_mean_step(step, ()) else line["name"]


def is_title_above(line: re.Match[str]) -> bool:
    """Return True for words that name no step, row or head, above a line that begins as YAML."""
    words = line[0].strip()
    is_name = may_mean_step(words, ()) or ROW_HEADING.match(words) or HEAD_HEADING.match(words)
    return not is_name and KEY.match(line.string, line.end()) is not None


def submissions_in(text: str, name: str, suffix: str) -> Iterator[Document]:
    """Yield the submissions of a worksheet, or of a text; one may hold why it cannot be read."""
    is_tex = suffix == ".tex"
    page = Chunk(name, COMMENT.sub(lambda m: " " * len(m[0]), text) if is_tex else text)
    parts: list[tuple[str, list[re.Match[str]]]] = []
    for mark in (LATEX if is_tex else MARKDOWN).finditer(page.text):
        if mark["name"] is None:
            parts.append((_student(mark["student"], is_tex), []))
        else:
            parts = parts or [("", [])]
            parts[-1][1].append(mark)
    answered = [(student, marks) for student, marks in parts if marks]
    for student, marks in answered:
        yield _submission(page, student, marks, is_tex)
    if answered:
        return
    if matrices := text_document(page, are_answers=True):
        yield Document(name, matrices.values, matrices.locate)
        return
    message = "this is not a worksheet: no answers are marked in it"
    hint = "attn worksheet writes one; or write each matrix under its step's name"
    yield unread(Place(name).error(message, f"{hint}, such as ## weights"), name)


def _submission(
    page: Chunk, student: str, marks: Iterable[re.Match[str]], is_tex: bool
) -> Document:
    grids: dict[str, list[Words]] = {}
    places: dict[str, Place] = {}
    errors: list[InputError] = []
    rows_after = _of_latex if is_tex else _of_markdown
    for mark in marks:
        place = page.place_at(mark.start())
        key = unescape(mark["name"])
        if is_tex:  # which holds other characters for some
            key = re.sub(r"!([0-9A-F]{2,5})!", lambda m: chr(int(m[1], 16)), mark["name"])
        try:
            rows = rows_after(page.text, mark.end())
        except NumberError as fault:
            errors.append(place.error(str(fault)))
            continue
        if key in grids:
            errors.append(place.error(f"{visible(key)} is there twice", "leave one out"))
        elif rows is None:
            message = f"there is no matrix below the mark of {visible(key)}"
            errors.append(place.error(message, KEEP_FORM))
        else:
            grids[key], places[key] = rows, place

    def locate(path: KeyPath) -> Place:
        key, *rest = [part for part in path if part != "answers"] or [""]
        if key not in grids:
            return Place(page.name)
        row, column = (*(part for part in rest if isinstance(part, int)), None, None)[:2]
        rows = grids[str(key)]
        if row is None or row >= len(rows) or not rows[row]:
            return places[str(key)]
        return page.place_at(rows[row][min(column or 0, len(rows[row]) - 1)][0])

    values = {key: [[cell for _, cell in row] for row in rows] for key, rows in grids.items()}
    about = {"student": student} if student else {}
    error = errors[0] if errors else None
    return Document(page.name, {**about, "answers": values}, locate, error=error)


def _student(text: str, is_tex: bool) -> str:
    if is_tex:
        text = OTHER_SCRIPT.sub(r"\1", text).replace(r"\textquotesingle{}", "'")
    with suppress(NumberError):
        text = without_tex(text) if is_tex else text
    return re.sub(r"[_\\\s]+", " ", unescape(text)).strip()


def _of_markdown(text: str, start: int) -> list[Words] | None:
    """Return the cells of the table, or of the mathematics, that comes next, without heads."""
    if fence := FENCE.match(text, start):
        return _of_array(text, fence.start(1), fence.end(1))
    table = TABLE.match(text, start)
    if table is None:
        return None
    head, *rest = table_rows(pieces_of(table[1].removesuffix("\n"), "\n", table.start(1)))
    lead = 1 if head and not head[0][1] else 0
    return [[(at, without_tex(unescape(cell)).strip()) for at, cell in row[lead:]] for row in rest]


def _of_latex(text: str, start: int) -> list[Words] | None:
    """Return the cells of the matrix in the braces that are open; None for none."""
    depth, end = 1, start
    while depth and end < len(text):
        sign = text[end]
        depth += (sign == "{") - (sign == "}")
        end += 2 if sign == "\\" else 1
    return _of_array(text, start, end)


def _of_array(text: str, start: int, end: int) -> list[Words] | None:
    """Return the cells of the last matrix between two offsets; one before it holds its labels."""
    arrays = list(ARRAY.finditer(text, start, end))
    if not arrays:
        return None
    last = arrays[-1]
    group = 1 if last["block"] is None else "block"
    return [row[bool(last["lead"]) :] for row in cells_of(last[group], last.start(group))]

"""Answers in Markdown, LaTeX and plain text: filled-in worksheets, and matrices under names.

In a worksheet the matrices that bear the mark of an answer are read. What stands around them is
the worksheet's own. Rows and columns keep their places, so that the words beside them are passed
over. In other documents each matrix is of the step that is named before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from html import unescape
from pathlib import Path

from attncli.errors import InputError, KeyPath, Place
from attncli.files.document import Document, error_at
from attncli.notation.commas import Words, pieces_of
from attncli.notation.from_tex import cells_of, without_tex
from attncli.notation.grid import Labels, undecorated
from attncli.notation.parser import NumberError
from attncli.notation.pasted import grid_of, table_rows
from attncli.notation.written import CELL, SEVERAL
from attncli.records import Record, replace
from attncli.tape.words import may_mean_step
from attncli.text.escapes import lines_of, visible

MARKDOWN = re.compile(
    r"^(?:Name|[Ss]tudent):[ \t]*(?P<student>[^\n]*)$|^<!-- answer: (?P<name>[^\n]*?) -->[ \t]*$",
    re.MULTILINE,
)
LATEX = re.compile(r"\\attnname\{(?P<student>[^{}]*)\}|\\attnanswer\{(?P<name>[^{}]*)\}\{")
"""What begins a sheet, the line for the student's name, and what stands before an answer."""

MARKS = b"<!-- answer: ", rb"\attnanswer{"
"""What stands before an answer, as it is in a file."""

COMMENT = re.compile(r"(?<!\\)%[^\n]*")
TABLE = re.compile(r"\s*((?:^[ \t]*\|[^\n]*(?:\n|\Z))+)", re.MULTILINE)
FENCE = re.compile(r"\s*```math[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
ARRAY = re.compile(
    r"\\begin\{array\}\{[^{}]*\}((?:(?!\\begin\{array\}).)*?)\\end\{array\}"
    r"|\\begin\{block\}\{(?P<lead>\w?)\[[^{}]*\}(?P<block>.*?)\\end\{block\}",
    re.DOTALL,
)
"""A matrix; the labels of a `block` stand in a column before it."""
ENTRY = rf"(?:{CELL}|n/a|idk|[-–—]|=[^\s,;]+)"
"""What may stand in the place of a number in a row."""
MATRIX = re.compile(
    r"\\begin\s*\{(?P<kind>[a-zA-Z]*matrix|array|tabular)\*?\}.*?\\end\s*\{(?P=kind)\*?\}"
    r"|\[\s*(?=\[)(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]"
    r"|(?:^[ \t]*\|[^\n]*\|[ \t\r]*(?:\n|\Z))+"
    rf"|(?:^[ \t]*{ENTRY}(?:[ \t,;]+{ENTRY})*[ \t\r]*(?:\n(?:[ \t\r]*\n)?|\Z)){{2,}}"
    rf"|^[ \t]*{SEVERAL}[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)
"""A matrix of LaTeX, as NumPy prints it, as a table of Markdown, or as rows of numbers."""
ASSIGNED = re.compile(r"([^=]*?)[\s&:]*(?:=.*)?[=:][\s$]*(?:[\w.]+\(|\\left\s*[\[(|.])?\s*")
"""What stands before a matrix on its line: a name, and the start of what is around the matrix."""
JOINED = re.compile(
    r"(?!.*\n[ \t\r]*\n)(?:\W|\\(?:right|cdot|times|quad)\b|T)*?(=?)[\s&$\\]*(?:left\W)?[(\[]*",
    re.DOTALL,
)
"""What stands between two matrices of one calculation; the group tells a result."""
LONGEST = 200
"""Maximum number of characters between matrices of one calculation, and of a line with a name."""
AROUND = re.compile(r"\W*|```.*|\s*\\(?:begin|end|left|centering|hline|label)\b.*")
"""A line between a name and its matrix that says nothing."""
COMMAND = re.compile(
    r"\\(?:\w*section|paragraph|text\w+|math\w+|caption|item)\*?(?:\s*\{([^{}]*)\})?|\\"
)
PLAIN_TEXT = re.compile(
    r"^(?:\||\$\$|\\\[|\\begin|[^\W\d][^\n:=]*=\s*(?:[\w.]+\()?(?:$|\[|[-\d])"
    r"|[^\W\d][^\n:=\[]*\n+\[\[)",
    re.MULTILINE,
)
"""What stands in plain text with matrices under names, and in no YAML."""

NO_SHEET = "this is not a worksheet: no answers are marked in it"
WAY_OUT = (
    "attn worksheet writes one; or write each matrix under its step's name, such as ## weights"
)
NO_MATRIX = "there is no matrix below the mark of {}"
KEEP = "keep the table or matrix as it was, with a number in the place of each blank"


class Answer(Record):
    """One matrix of a sheet: where its mark or it itself starts, its cells, the words beside it."""

    at: int
    rows: list[Words]
    labels: Labels = (None, None)


class Found(Record):
    """A matrix that is yet to be read: its name, where its mark ends or it starts, and its end."""

    name: str
    at: int
    start: int
    end: int | None = None  # of a matrix without a mark


def has_answers(path: Path) -> bool:
    """Whether answers are marked in a file, or stand under names of steps, in any encoding."""
    try:
        data = path.read_bytes().replace(b"\0", b"")
    except OSError:
        return True  # whoever reads it tells why it cannot be read
    if any(mark in data for mark in MARKS):
        return True
    return any(_is_name(one.name) for one in _named(data.decode(errors="replace")) if one.name)


def is_plain_text(start: bytes) -> bool:
    """Whether a file without a telling name starts with a matrix under its name, as in prose."""
    text = start.decode(errors="replace").replace("\r\n", "\n")
    if "\t" in text.partition("\n")[0]:
        return False  # a table, in whose title or notes anything may stand
    return PLAIN_TEXT.search(text) is not None and any(one.name for one in _named(text))


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
    found: list[tuple[str, list[Found]]] = []
    for mark in (LATEX if is_tex else MARKDOWN).finditer(text):
        if mark["name"] is None:
            found.append((_student(mark["student"], is_tex), []))
        else:
            found = found or [("", [])]
            found[-1][1].append(Found(_key(mark["name"], is_tex), mark.start(), mark.end()))
    answered = [(student, marked) for student, marked in found if marked]
    if not answered and (named := _named(text)):
        answered = [(next((student for student, _ in found if student), ""), named)]
    if not answered:
        error = error_at(Place(name), NO_SHEET, WAY_OUT)
        yield Document(name, folder, {}, lambda _: Place(name), error=error)
    for student, matrices in answered:
        yield _document(text, name, folder, student, matrices, is_tex)


def _named(text: str) -> list[Found]:
    """Return the matrices of a text, each under the name before it, or else that of its line.

    Of a calculation, Q = X W = …, the result bears the name.
    """
    found: list[Found] = []
    end = first = 0
    for matrix in MATRIX.finditer(text):
        before, start = text[end : matrix.start()], matrix.start()
        joined = JOINED.fullmatch(before) if found and len(before) < LONGEST else None
        one = Found(_name_before(before), start, start, matrix.end())
        if joined and joined[1]:
            found[first] = replace(one, name=found[first].name)
        else:
            first = first if joined else len(found)
            found.append(one)
        end = matrix.end()
    return found


def _name_before(text: str) -> str:
    """Return the name before a matrix, on its line or the nearest line above; "" for none."""
    *above, line = (one if len(one) < LONGEST else "" for one in text.split("\n"))
    assigned = ASSIGNED.fullmatch(line)
    lines = [assigned[1]] if assigned and assigned[1].strip() else above[::-1]
    heads = (
        COMMAND.sub(r"\1", one.partition("=")[0]) for one in lines if not AROUND.fullmatch(one)
    )
    names = [name for head in heads if (name := undecorated(head).strip("[(& "))]
    return next(filter(_is_name, names), names[0] if names else "")


def _is_name(words: str) -> bool:
    """Whether words may mean a step of some problem, a head of it, or a cell."""
    return may_mean_step(re.split(r"\s*\[|\s+head\b", words)[0], ())


def _answer(text: str, found: Found, is_tex: bool) -> Answer | None:
    if found.end is None:
        rows = (_of_latex if is_tex else _of_markdown)(text, found.start)
        return None if rows is None else Answer(found.at, rows)
    block = grid_of(text[found.start : found.end])
    rows = [[(found.start + at, word) for at, word in row] for row in block.rows]
    return Answer(found.at, rows, block.labels)


def _document(
    text: str, name: str, folder: Path, student: str, matrices: Iterable[Found], is_tex: bool
) -> Document:
    answers: dict[str, Answer] = {}
    error: InputError | None = None
    for one in matrices:
        place = _place(text, name, one.at)
        try:
            answer = _answer(text, one, is_tex)
        except NumberError as fault:
            error = error or error_at(place, str(fault))
            continue
        key = one.name or f"line {place.line}, column {place.column}"
        if key in answers:
            error = error or error_at(place, f"{visible(key)} stands twice", "leave one out")
        elif answer is None:
            error = error or error_at(place, NO_MATRIX.format(visible(key)), KEEP)
        else:
            answers[key] = answer
    values = {key: [[cell for _, cell in row] for row in one.rows] for key, one in answers.items()}
    labels = {f"answers.{key}": one.labels for key, one in answers.items() if any(one.labels)}
    about = {"student": student} if student else {}
    locate = partial(_locate, text, name, answers)
    return Document(name, folder, {**about, "answers": values}, locate, labels, error=error)


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


def _of_markdown(text: str, start: int) -> list[Words] | None:
    """Return the cells of the table, or of the mathematics, that comes next; None for neither.

    The first row is that of the heads; if its first cell is blank, the first column is of labels.
    """
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

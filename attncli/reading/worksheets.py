"""Answers in Markdown, LaTeX and plain text: filled-in worksheets, and matrices under names.

In a worksheet only matrices with the mark of an answer are read, without the labels beside them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from html import unescape
from pathlib import Path

from attncli.core.errors import InputError, KeyPath, Place
from attncli.core.numbers.grid import LabelledGrid, Words, pieces_of, undecorated
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import MAKER, grid_of, table_rows
from attncli.core.numbers.tex_matrices import cells_of, without_tex
from attncli.core.numbers.written import CELL, SEVERAL
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import may_mean_step
from attncli.core.text.strings import lines_of, regex, visible
from attncli.reading.document import Document, error_at, unread
from attncli.reading.files import open_file

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

MARKS = b"<!-- answer: ", rb"\attnanswer{"
"""Marks of answers in the bytes of a file."""

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
    r"\\begin\{array\}\{[^{}]*\}((?:(?!\\begin\{array\}).)*?)\\end\{array\}"
    r"|\\begin\{block\}\{(?P<lead>\w?)\[[^{}]*\}(?P<block>.*?)\\end\{block\}",
    re.DOTALL,
)
"""A matrix; the labels of a `block` are in a column before it."""
ENTRY = rf"(?:{CELL}|n/a|idk|[-–—]|=[^\s,;]+)"
"""A number, or what a student writes in its place."""
MATRIX = regex(
    r"\\begin\s*\{(?P<kind>(?:[a-zA-Z]*(?=matrix))?(?P<group>matrix|array|tabular))\*?\}"
    r"(?:[^\\]|\\(?!begin\s*\{[a-zA-Z]*(?P=group)))*?\\end\s*\{(?P=kind)\*?\}"
    r"|\[\s*(?=\[)(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]"
    r"|\[[^\[\];]*+;[^\[\]]*+\]|(?:matrix|[rc]bind)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*+\))*+\)"
    r"|^[ \t]*\[,1\][^\n]*\n(?:[ \t]*[^\s=]+[ \t]+[-\d.][^\n]*(?:\n|\Z))+"
    r"|(?:^[ \t]*\|[^\n]*\|[ \t\r]*(?:\n|\Z))+"
    rf"|(?:^[ \t]*{ENTRY}(?:[ \t,;]+{ENTRY})*[ \t\r]*(?:\n(?:[ \t\r]*\n)?|\Z)){{2,}}"
    rf"|^[ \t]*{SEVERAL}[ \t\r]*$"
    rf"|(?:(?<=[=:])|(?<=[=:][ \t]))(?P<flat>\[[^\[\]\n]*\]|{CELL})(?=[ \t\r]*$)"
    r"|(?P<endless>\\begin\s*\{(?:[a-zA-Z]*matrix|array|tabular)\*?\})",
    re.DOTALL | re.MULTILINE,
)
"""A matrix of LaTeX, NumPy, MATLAB or R, as a table of Markdown, or as rows of numbers.

The search for the end of a matrix stops at the next one that begins: else a file of beginnings
alone would take time that grows with the square of its size. A matrix without an end is `endless`;
one row, or one number, after a name is `flat`.
"""
SHORT = r"(?s:(?=.{0,200}\Z))"
"""Matches where at most 200 characters follow, so that a pattern behind it takes bounded time."""
ASSIGNED = regex(
    rf"{SHORT}([^=]*?)[\s&:]*(?:=.*)?(?:[=:]|<-)[\s$]*(?:[\w.]+\(|\\left\s*[\[(|.])?\s*"
)
"""The text before a matrix on its line: a name, and the start of what encloses the matrix."""
BEFORE = regex(
    rf"{SHORT}.*(?:=|<-|:)[\s$&]*(?:{MAKER}\s*+)*+(?P<code>[^=:(]*[-+−*/@·×^]|(?:[A-Za-z][\w.]*\()+)\s*"
)
AFTER = regex(
    r"[)\] \t]*(?P<code>\.m?T\b|\.\w+\(|ᵀ|(?:[@×·/^]|\*(?!\*)|[-+−])[ \t]*(?:[\d\[(\\]|[\w.]+\())"
)
"""Code before a matrix on its line, or after it, by which its numbers are not those of the name."""
CALCULATED = regex(rf"{AFTER.pattern}[^\n]*?(=)[\s&$\\]*(?:left\W)?[(\[]*")
"""The text between a matrix with code after it and the result."""
JOINED = regex(
    SHORT
    + r"(?!.*\n[ \t\r]*\n)(?:\W|\\(?:right|cdot|times|quad)\b|T)*?(=?)[\s&$\\]*(?:left\W)?[(\[]*",
    re.DOTALL,
)
"""The text between two matrices of one calculation; the group is = before a result."""
MAX_BETWEEN = 200
"""Maximum number of characters between matrices of one calculation, and of a line with a name."""
AROUND = regex(r"\W*|```.*|\s*\\(?:begin|end|left|centering|hline|label)\b.*")
"""A line between a name and its matrix that is neither."""
COMMAND = regex(
    r"\\(?:\w*section|paragraph|text\w+|math\w+|caption|item)\*?(?:\s*\{([^{}]*)\})?|\\"
)
PLAIN_TEXT = regex(
    r"^(?:\||\$\$|\\\[|\\begin|[ \t]*\[,1\]"
    r"|[^\W\d][^\n:=]*(?:=|<-)\s*(?:[\w.]+\()?(?:$|\[|[-\d]|c\()"
    r"|[^\W\d][^\n:=\[]*\n+\[\[)",
    re.MULTILINE,
)
"""The beginnings of matrices under names in plain text; none is in YAML."""


class FoundMatrix(Record):
    """A matrix in a text: the name of its step or "", and the offsets of its mark and of itself.

    The end is None for a marked matrix, whose form tells it. `fault` is why it cannot be read.
    """

    name: str
    at: int
    start: int
    end: int | None = None
    fault: str = ""


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
    """Return True for words that name no step, above a line that begins as YAML."""
    words = line[0].strip()
    return not may_mean_step(words, ()) and KEY.match(line.string, line.end()) is not None


def has_answers(path: Path) -> bool:
    """Return True if a file, in any encoding, has marked answers or matrices under names."""
    try:
        with open_file(path) as file:
            data = file.read().replace(b"\0", b"")
    except InputError:
        return True  # the reader of the file says why it cannot be read
    if any(mark in data for mark in MARKS):
        return True
    return any(_is_name(one.name) for one in _named(data.decode(errors="replace")) if one.name)


def is_plain_text(start: bytes) -> bool:
    """Return True if a file starts with a matrix under a name, as in prose, by its first bytes."""
    text = start.decode(errors="replace").replace("\r\n", "\n")
    if "\t" in text.partition("\n")[0]:
        return False  # a table, in whose title or notes anything may be
    return PLAIN_TEXT.search(text) is not None and any(one.name for one in _named(text))


def submissions_in(text: str, name: str, folder: Path, suffix: str) -> Iterator[Document]:
    """Yield the submissions of a document; one that cannot be read holds its error."""
    page = _Page(text, name, folder, is_tex=suffix == ".tex")
    parts: list[tuple[str, list[FoundMatrix]]] = []
    for mark in (LATEX if page.is_tex else MARKDOWN).finditer(page.text):
        if mark["name"] is None:
            parts.append((_student(mark["student"], page.is_tex), []))
        else:
            parts = parts or [("", [])]
            key = _marked_name(mark["name"], page.is_tex)
            parts[-1][1].append(FoundMatrix(key, mark.start(), mark.end()))
    answered = [(student, marked) for student, marked in parts if marked]
    if not answered and (named := _named(page.text)):
        answered = [(next((student for student, _ in parts if student), ""), named)]
    if not answered:
        message = "this is not a worksheet: no answers are marked in it"
        hint = "attn worksheet writes one; or write each matrix under its step's name"
        yield unread(error_at(Place(name), message, f"{hint}, such as ## weights"), name, folder)
    for student, matrices in answered:
        yield page.document(student, matrices)


class _Page:
    def __init__(self, text: str, name: str, folder: Path, is_tex: bool) -> None:
        self.text = COMMENT.sub(lambda m: " " * len(m[0]), text) if is_tex else text
        self.name, self.folder, self.is_tex = name, folder, is_tex
        self._starts = [0, *(end.end() for end in re.finditer("\r\n?|\n", self.text))]  # of lines

    def document(self, student: str, matrices: Iterable[FoundMatrix]) -> Document:
        grids: dict[str, LabelledGrid] = {}
        marks: dict[str, int] = {}
        errors: list[InputError] = []
        for one in matrices:
            place = self._place(one.at)
            key = one.name or f"line {place.line}, column {place.column}"
            try:
                grid = self._grid(one)
            except NumberError as fault:
                errors.append(error_at(place, str(fault)))
                continue
            if key in grids:
                errors.append(error_at(place, f"{visible(key)} is there twice", "leave one out"))
            elif grid is None:
                message = f"there is no matrix below the mark of {visible(key)}"
                errors.append(error_at(place, message, KEEP_FORM))
            else:
                grids[key], marks[key] = grid, one.at
        values = {k: [[cell for _, cell in row] for row in grid.rows] for k, grid in grids.items()}
        labels = {f"answers.{key}": one.labels for key, one in grids.items() if any(one.labels)}
        about = {"student": student} if student else {}
        locate = partial(self._locate, grids, marks)
        error = errors[0] if errors else None
        document = {**about, "answers": values}
        return Document(self.name, self.folder, document, locate, labels, error=error)

    def _grid(self, matrix: FoundMatrix) -> LabelledGrid | None:
        """Return the cells of a matrix with their offsets; None if there is no matrix."""
        if matrix.end is None:
            marked = _of_latex if self.is_tex else _of_markdown
            rows = marked(self.text, matrix.start)
            return None if rows is None else LabelledGrid(rows)
        if matrix.fault:
            raise NumberError(matrix.fault)
        grid = grid_of(self.text[matrix.start : matrix.end])
        return replace(grid, rows=[[(matrix.start + at, w) for at, w in row] for row in grid.rows])

    def _locate(
        self, grids: Mapping[str, LabelledGrid], marks: Mapping[str, int], path: KeyPath
    ) -> Place:
        key, *rest = [part for part in path if part != "answers"] or [""]
        if key not in grids:
            return Place(self.name)
        row, column = (*(part for part in rest if isinstance(part, int)), None, None)[:2]
        rows = grids[str(key)].rows
        if row is None or row >= len(rows) or not rows[row]:
            return self._place(marks[str(key)])
        return self._place(rows[row][min(column or 0, len(rows[row]) - 1)][0])

    def _place(self, at: int) -> Place:
        line = bisect_right(self._starts, at)
        start, end = self._starts[line - 1], [*self._starts[line : line + 1], None][0]
        shown = lines_of(self.text[start:end])[0]
        return Place(self.name, line, at - start + 1, shown)


def _named(text: str) -> list[FoundMatrix]:
    """Return the matrices of a text, each with the name before it.

    Of a calculation, Q = X W = …, only the result is returned, with the first name.
    """
    named: list[FoundMatrix] = []
    end = first = 0
    matrices = [*MATRIX.finditer(text)]
    if all(one["flat"] for one in matrices):
        return []  # these are lines of keys and values
    for matrix in matrices:
        start = matrix.start()
        line = text[max(text.rfind("\n", 0, start) + 1, start - MAX_BETWEEN) : start]
        if matrix["flat"] and not _is_name(line.rstrip("=: \t")):
            continue
        before = text[end:start]
        is_near = named and len(before) < MAX_BETWEEN
        joined = (JOINED.fullmatch(before) or CALCULATED.fullmatch(before)) if is_near else None
        fault = _fault(text, before, matrix)
        one = FoundMatrix(_name_before(before), start, start, matrix.end(), fault)
        if matrix["endless"]:
            return [*named, one]
        if joined and joined[joined.lastindex or 1]:  # the last group is =
            named[first:] = [replace(one, name=named[first].name)]
        else:
            first = first if joined else len(named)
            named.append(one)
        end = matrix.end()
    return named


def _fault(text: str, before: str, matrix: re.Match[str]) -> str:
    """Return why a matrix of a text cannot be read; "" if it can."""
    if matrix["endless"]:
        return r"the matrix has no \end; % begins a comment, \% is percent"
    line = before.rpartition("\n")[2]
    code = BEFORE.fullmatch(line) if len(line) < MAX_BETWEEN else None
    if matrix[0].rstrip()[-1] in "])}":
        code = code or AFTER.match(text, matrix.end())
    way = "is written beside the matrix; write the matrix itself, worked out"
    return f"{visible(code['code'].strip())} {way}" if code else ""


def _name_before(text: str) -> str:
    """Return the name before a matrix, on its line or the nearest line above; "" for none."""
    *above, line = (one if len(one) < MAX_BETWEEN else "" for one in text.split("\n"))
    assigned = ASSIGNED.fullmatch(line)
    lines = [assigned[1]] if assigned and assigned[1].strip() else above[::-1]
    heads = (
        COMMAND.sub(r"\1", one.partition("=")[0]) for one in lines if not AROUND.fullmatch(one)
    )
    names = [name for head in heads if (name := undecorated(head).strip("[(&>,; "))]
    return next(filter(_is_name, names), names[0] if names else "")


def _is_name(words: str) -> bool:
    return may_mean_step(re.split(r"(?<!\s)\s*+\[|(?<!\s)\s++head\b", words)[0], ())


def _marked_name(name: str, is_tex: bool) -> str:
    """Return the name in a mark, which holds other characters for some."""
    if is_tex:
        return re.sub(r"!([0-9A-F]{2,5})!", lambda m: chr(int(m[1], 16)), name)
    return unescape(name)


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

"""Cells with their places, in a workbook or in CSV as spreadsheets and people write it.

Named blocks of them are the options and the matrices of a problem or of a submission.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, groupby
from typing import NamedTuple

from attncli.core.errors import KeyPath, Place, fail
from attncli.core.numbers.grid import GROUPED, Edges, Labels, ambiguous, edges, is_word, undecorated
from attncli.core.records import Record
from attncli.core.tape.step_words import may_mean_step
from attncli.core.text.strings import lines_of, of_cell, regex, visible
from attncli.reading.document import MAX_PARTS, Document, Options, Raw, assign, twice


class CellRow(NamedTuple):  # made in a fifth of the time of a record: large tables have many
    """Cells beside each other, and where the first of them is, from 1."""

    cells: list[str]
    line: int
    column: int = 1
    sheet: str = ""  # of a workbook

    def after(self, count: int) -> CellRow:
        """Return the row without its first cells."""
        return self._replace(cells=self.cells[count:], column=self.column + count)


class Table:
    """Rows of the cells of a file, none of them empty, without the empty cells at their ends."""

    def __init__(self, name: str, rows: list[CellRow]) -> None:
        self.name, self.rows = name, rows

    def place(self, row: CellRow, cell: int | None = None) -> Place:
        """Return the place of a row, or of a cell of it, from 0: in a workbook that of the cell."""
        column = row.column + (cell or 0)
        said = f"sheet {row.sheet}, cell {cell_name(row.line, column)}"
        return Place(self.name, row.line, column, cell=said)


def cell_name(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


def trimmed(rows: Iterable[CellRow]) -> list[CellRow]:
    """Return rows that are not empty, without the empty cells at their ends.

    One behind a label stays, as a row of a matrix may have a label and no numbers.
    """
    kept = []
    for row in rows:
        if filled := [n for n, cell in enumerate(row.cells, 1) if cell]:
            kept.append(row._replace(cells=row.cells[: max(filled[-1], 2)]))
    return kept


WITH_COMMA = regex(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
DECIMALS = regex(
    r"\s*+([^\W\d][^\s,]*+\s++)?(([+−-]?(\d++(,\d++)?|inf|∞)|[-–—?_~])(\s++|\Z))+", re.IGNORECASE
)
"""A row of numbers between blanks, whose commas are decimal ones, perhaps behind a label."""
TWO_DECIMALS = regex(r"\d,\d+\s+\S|\d\s+[+−-]?\d+,\d")
"""A decimal comma beside another cell; token 1,2 may be two cells between commas."""
TITLE_LINE = regex(
    r"# (?s:.*)[^\W\d]{2}(?s:.*)|(?:step|part) \d.*|[^\d:=]*\w(?: ?[:=]| \([^()\d]*\))",
    re.IGNORECASE,
)
"""A line that is one name, or a comment, though blanks separate cells."""
MAX_FIELD = 2**31 - 1
"""The largest limit on the characters of a cell that the csv module takes on every system."""


class CsvText(Table):
    """The rows of a CSV text; `delimiter` is the sign between cells, or " " for any blanks."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(name, [])
        self.text = text
        self.delimiter, skipped = delimiter_of(text)
        if self.delimiter == " ":
            lines = enumerate(map(str.strip, self._lines), 1)
            words = ((n, [x] if TITLE_LINE.fullmatch(x) else x.split()) for n, x in lines)
            rows = [CellRow(cells, n) for n, cells in words]
        else:
            rows = self._rows_of_cells()
        has_escapes = "'" in text
        for row in rows:
            while row.cells and not row.cells[-1]:
                row.cells.pop()
            if has_escapes:
                row.cells[:] = map(of_cell, row.cells)
        self.rows = [row for row in rows if row.cells and row.line > skipped]

    @cached_property
    def _lines(self) -> list[str]:
        return lines_of(self.text)

    def _rows_of_cells(self) -> list[CellRow]:
        csv.field_size_limit(MAX_FIELD)
        source = io.StringIO(self.text, newline="")
        reader = csv.reader(source, delimiter=self.delimiter, skipinitialspace=True, strict=True)
        rows, line = list[CellRow](), 1
        try:
            for cells in reader:
                rows.append(CellRow([cell.strip() for cell in cells], line))
                line = reader.line_num + 1
        except csv.Error:
            message = "a quotation mark is not closed, or is inside a cell"
            hint = 'write a quotation mark inside a cell twice: "a ""b"" c"'
            raise self.place(CellRow([], line)).error(message, hint) from None
        if self.delimiter != ",":
            self._set_points(rows)
        return rows

    def _set_points(self, rows: list[CellRow]) -> None:
        """Write a point for each decimal comma; between tabs, 1,000 alone may be a thousand."""
        cells = ((row, n, cell) for row in rows for n, cell in enumerate(row.cells))
        commas = [(row, n, cell) for row, n, cell in cells if WITH_COMMA.fullmatch(cell)]
        grouped = (GROUPED.fullmatch(cell) for *_, cell in commas)
        if commas and self.delimiter == "\t" and all(grouped):
            row, n, cell = commas[0]
            message = str(ambiguous(cell, ("decimal", "thousands")))
            raise self.place(row, n).error(message)
        for row, n, cell in commas:
            row.cells[n] = cell.replace(",", ".")

    def place(self, row: CellRow, cell: int | None = None) -> Place:
        written = "".join(self._lines[row.line - 1 : row.line])
        column = 0 if cell is None else _column(written, self.delimiter, cell)
        return Place(self.name, row.line, column, written)


def delimiter_of(text: str) -> tuple[str, int]:
    """Return the sign between cells, and the number of lines to skip (Excel's `sep=;`)."""
    if declared := re.match(r'"?sep=([^"\r\n])"?[\r\n]', text + "\n", re.IGNORECASE):
        return declared[1], 1
    bare = re.sub(r'"[^"]*"', "", text)
    lines = lines_of(bare)
    # The delimiter is in most lines; a comma may also be a decimal point, so it comes last.
    best = max("\t;|,", key=lambda sign: sum(sign in line for line in lines))
    numbers = [line for line in lines if best == "," and re.search(r"\d,\d", line)]
    if any(map(TWO_DECIMALS.search, numbers)) and all(map(DECIMALS.fullmatch, numbers)):
        return " ", 0
    return best if best in bare else " ", 0


def _column(line: str, delimiter: str, index: int) -> int:
    if delimiter == " ":
        starts = [word.start() + 1 for word in re.finditer(r"\S+", line)]
        return starts[index] if index < len(starts) else 1
    sign = re.escape(delimiter)
    cells = re.finditer(rf'( *(?:"(?:[^"]|"")*"?)?[^{sign}]*)(?:{sign}|\Z)', line)
    for cell in [*cells][index : index + 1]:
        blanks = len(cell[1]) - len(cell[1].lstrip())
        return max(1, min(cell.start() + blanks + 1, len(line)))
    return max(1, len(line))


NAME = regex(r"\A(.+?)((?:\[\d{1,6}\]){0,4})\Z", re.DOTALL)
HEADING_NUMBER = regex(r"\A\d{1,2}[.)]\s+(?=\S)")
"""The number of a heading, such as 2. Weights, which is no part of the name."""
RESULTS = "steps"
"""A line with this word alone separates the results from the problem."""
RESULT = f"{RESULTS}."
"""The start of the name of a block that is a result."""


class NamedBlock(Record):
    """The rows of a matrix, and the row of its name, with the place of its first cell if it has "".

    `is_result` is True in a workbook for what is written as the result of a calculation.
    """

    header: CellRow
    rows: list[CellRow]
    is_result: bool = False

    @property
    def name(self) -> str:
        return self.header.cells[0]

    def edges(self) -> Edges:
        return edges([row.cells for row in self.rows], is_csv=True)


class NamedBlocks:
    """One problem, or one submission, of options and named blocks.

    `W_q[2]` is the key of the labels of a second matrix, and ("W_q", 1) its key in `blocks`;
    `remarks` are comments and titles, each by the key that it would be; `above` is what the names
    of blocks to come begin with.
    """

    def __init__(self, table: Table, first: CellRow, options: Options) -> None:
        self.values: dict[str, Raw] = {}
        self.labels: dict[str, Labels] = {}
        self.blocks: dict[KeyPath, NamedBlock] = {}
        self.remarks: dict[str, str] = {}
        self.above = ""
        self._table, self._first, self._options = table, first, options
        self._rows: dict[KeyPath, CellRow] = {}  # of the options and the names
        self._parts: dict[KeyPath | str, CellRow] = {}  # the row of the first part of a key

    def set_option(self, row: CellRow) -> None:
        key, *values = row.cells
        self._begin((key,), row, self._rows.get((key,)))
        is_list = len(values) > 1 or self._options.get(key, False)
        assign(self.values, key, values if is_list else values[0], in_place=True)

    def begin_results(self) -> None:
        self.above = RESULT
        self.values.setdefault(RESULTS, {})

    def add_block(self, block: NamedBlock) -> KeyPath:
        """Add a block and return its key, which is X without a name; its rows may still grow."""
        word, numbers = NAME.findall(HEADING_NUMBER.sub("", block.name or "X"))[0]
        key = (self.above + word, *(int(n) - 1 for n in re.findall(r"\d+", numbers)))
        wholes = (self._rows.get(key[:count]) for count in range(1, len(key)))
        known = self._parts.get(key), *wholes, self._parts.get(self.above + word)
        self._begin(key, block.header, next(filter(None, known), None))
        self.blocks[key] = block
        return key

    def _begin(self, key: KeyPath, row: CellRow, known: CellRow | None) -> None:
        """Refuse a known key; note the row of another, also for all that it is a part of."""
        if known:
            message = twice(row.cells[0], known.line, self._table.place(known, 0))
            raise self._table.place(row, 0).error(message)
        self._rows[key] = row
        words = str(key[0]).split(".", MAX_PARTS)
        for whole in accumulate(words[:-1], "{}.{}".format):  # score.W is a part of score
            self._parts.setdefault(whole, row)
        for count in range(1, len(key) + 1):
            self._parts.setdefault(key[:count], row)

    def fill(self) -> None:
        """Set the values and the labels, when all blocks have their rows."""
        stacks: dict[str, Raw] = {}
        for key, block in self.blocks.items():
            inside: Raw = stacks
            for part in key[:-1]:
                inside = inside.setdefault(part, {})
            sides = block.edges()
            inside[key[-1]] = [row.cells[sides.left :] for row in block.rows[sides.top :]]
            name, places = str(key[0]), "".join(f"[{int(number) + 1}]" for number in key[1:])
            self.labels.setdefault(name, sides.labels)
            self.labels[name + places] = sides.labels
        for name, slices in stacks.items():
            matrix = _stacked(slices, name.removeprefix(RESULT))
            if name.startswith(RESULT):
                self.values.setdefault(RESULTS, {})[name.removeprefix(RESULT)] = matrix
            else:
                assign(self.values, name, matrix, in_place=True)

    def locate(self, path: KeyPath) -> Place:
        name = ".".join(part for part in path if isinstance(part, str))
        at = tuple(part for part in path if isinstance(part, int))
        for count in range(len(at), -1, -1):
            if block := self.blocks.get((name, *at[:count])):
                return self._in_block(block, at[count:])
        row = self._rows.get((name,)) or self._rows.get(path[:1]) or self._first
        return self._table.place(row)

    def _in_block(self, block: NamedBlock, at: tuple[int, ...]) -> Place:
        sides = block.edges()
        if at and at[0] + sides.top < len(block.rows):
            return self._table.place(block.rows[at[0] + sides.top], (*at, 0)[1] + sides.left)
        return self._table.place(block.header, 0 if block.name else None)

    def document(self, are_answers: bool) -> Document:
        """Return what was read; of answers, a word in the corner of a matrix may be its key."""
        values = self.values
        if are_answers and self.remarks:
            values = {key: raw for key, raw in values.items() if key not in self.remarks}
            comment = values.get("comment", [])
            comments = comment if isinstance(comment, list) else [comment]
            values["comment"] = [*self.remarks.values(), *comments]
        block = self.blocks.get(("X",))
        bare = block is not None and not block.name
        one = Document(self._table.name, values, self.locate, self.labels, bare=bare)
        corner = block.edges().corner if block and bare and are_answers else ""
        return one.renamed("X", corner) if corner else one


class CsvBlocks(NamedBlocks):
    """The matrices of CSV under lines that are their names, below the lines of options."""

    def __init__(self, table: CsvText, rows: list[CellRow], options: Options) -> None:
        super().__init__(table, CellRow([], 1), options)
        self._are_words = table.delimiter == " "
        self._has_headers = any(map(_is_header, rows))
        self._has_begun = False  # whether the numbers have begun
        self._key: KeyPath = ("X",)
        for row in rows:
            self._take(row)
        self.fill()

    def _take(self, row: CellRow) -> None:
        first, block = row.cells[0], self.blocks.get(self._key)
        if _is_comment(row, in_block=bool(block and block.rows)):
            self.remarks[first] = ", ".join(row.cells).removeprefix("# ").strip()
        elif _is_header(row) and not (block and _is_empty_row(first, block.rows)):
            if first == RESULTS and not self.above:
                self._key = ()
                self.begin_results()
                return
            self._key = self.add_block(NamedBlock(row, []))
            self._note_title(row, may_be_title=first not in self._options)
        elif block is not None and not (first in self._options and self._key[0] in self.remarks):
            self.remarks.pop(str(self._key[0]), None)
            block.rows.append(row)
            self._has_begun = True
        elif self._is_option(row):
            self.set_option(row)
            is_known = first.split(".")[0] in self._options
            self._note_title(row, may_be_title=self._are_words and not is_known)
        elif self._has_headers:
            hint = "write the key of the matrix, such as X, alone on the line before"
            raise self._table.place(row).error("these numbers belong to no matrix", hint)
        else:
            self.add_block(NamedBlock(row._replace(cells=[""]), [row]))

    def _note_title(self, row: CellRow, may_be_title: bool) -> None:
        """Note a line before the first numbers that may be a title, as it names no step."""
        first = row.cells[0]
        is_step = may_mean_step(undecorated(first), ())
        if may_be_title and not self._has_begun and not is_step:
            self.remarks[first] = " ".join(row.cells)

    def _is_option(self, row: CellRow) -> bool:
        """Return True if a line before the first block sets an option, and is no row of X."""
        if len(row.cells) < 2 or not is_word(row.cells[0]):
            return False
        key, options = row.cells[0], self._options
        # Several values fit only a list, so `kind,1,0` is a row with the label "kind".
        may_be_list = len(row.cells) == 2 or "." in key or options.get(key, False)
        return self._has_headers or (key.split(".")[0] in options and may_be_list)


def csv_documents(text: str, name: str, options: Options) -> list[CsvBlocks]:
    """Return the problems of the CSV text of a file, separated by lines of `---`."""
    table = CsvText(text, name)
    parts = groupby(table.rows, lambda row: row.cells == ["---"])
    return [CsvBlocks(table, [*rows], options) for is_separator, rows in parts if not is_separator]


def _stacked(slices: Raw, key: str) -> Raw:
    """Return a matrix, or nested lists of the matrices `key[1]`, `key[2]`, … by their numbers."""
    if isinstance(slices, list):
        return slices
    numbers = range(len(slices))
    if slices.keys() != set(numbers):
        raise fail(f"the matrices of {visible(key)} must be numbered [1] to [{len(slices)}]")
    return [_stacked(slices[number], key) for number in numbers]


def _is_header(row: CellRow) -> bool:
    return len(row.cells) == 1 and is_word(row.cells[0])


def _is_empty_row(word: str, rows: list[CellRow]) -> bool:
    """Return True if a word alone is the label of a row without numbers, as it is a column's."""
    return bool(rows) and word in rows[0].cells and len(rows) < len(rows[0].cells)


def _is_comment(row: CellRow, in_block: bool) -> bool:
    """Return True for a comment, and not for a name as `numpy.savetxt` writes it: # weights.

    Between the rows of a block a name is one word, and a comment may have commas.
    """
    words = row.cells[0].removeprefix("# ").strip()
    if words == row.cells[0]:
        return False
    if not in_block:
        return len(row.cells) == 1 and not may_mean_step(words, ())
    if len(row.cells) == 1:
        return " " in words and not may_mean_step(undecorated(row.cells[0]), ())
    return all(map(is_word, row.cells))

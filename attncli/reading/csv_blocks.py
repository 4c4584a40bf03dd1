"""CSV as spreadsheets and people write it: one matrix, or blocks under their keys."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, groupby

from attncli.core.errors import InputError, KeyPath, Place, fail
from attncli.core.numbers.grid import GROUPED, Edges, Labels, ambiguous, edges, is_word, undecorated
from attncli.core.records import Record
from attncli.core.tape.cell_names import ALIASES, may_mean_step
from attncli.core.text.strings import lines_of, near_words, of_cell, regex, visible
from attncli.reading.document import MAX_PARTS, Options, Raw, assign, error_at, twice

HEADER = regex(r"\A(.+?)((?:\[\d{1,6}\]){0,4})\Z", re.DOTALL)
RESULTS = "steps"
"""A line with this word alone separates the results from the problem."""

WITH_COMMA = regex(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
TITLE_LINE = regex(
    r"# (?s:.*)[^\W\d]{2}(?s:.*)|(?:step|part) \d.*|[^\d:=]*\w(?: ?[:=]| \([^()\d]*\))",
    re.IGNORECASE,
)
"""A line that is one name, or a comment, though blanks separate cells."""
MIN_FIELD_LIMIT = 131_072
"""The default limit of the csv module on the characters of a cell."""


class CsvRow(Record):
    """The cells of one line, and its number from 1."""

    line: int
    cells: list[str]


class Table:
    """The rows of a table, without empty rows, and without the empty cells at their ends.

    `delimiter` is the sign between cells, or " " for any blanks.
    """

    name: str  # of the file
    delimiter: str
    rows: list[CsvRow]

    def place(self, line: int, cell: int | None = None) -> Place:
        """Return the place of a line, or of a cell of it, from 0."""
        raise NotImplementedError

    def error(self, line: int, message: str, hint: str = "", cell: int | None = None) -> InputError:
        return error_at(self.place(line, cell), message, hint)


class CsvText(Table):
    """The rows of a CSV text."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.delimiter, skipped = delimiter_of(text)
        pairs = self._lines_of_words() if self.delimiter == " " else self._lines_of_cells()
        has_escapes = "'" in text
        self.rows = []
        for line, cells in pairs:
            while cells and not cells[-1]:
                cells.pop()
            if cells and line > skipped:
                self.rows.append(CsvRow(line, list(map(of_cell, cells)) if has_escapes else cells))

    @cached_property
    def _lines(self) -> list[str]:
        return lines_of(self.text)

    def _lines_of_words(self) -> list[tuple[int, list[str]]]:
        lines = enumerate(map(str.strip, self._lines), 1)
        return [(n, [line] if TITLE_LINE.fullmatch(line) else line.split()) for n, line in lines]

    def _lines_of_cells(self) -> list[tuple[int, list[str]]]:
        csv.field_size_limit(max(len(self.text), MIN_FIELD_LIMIT))
        source, comma = io.StringIO(self.text, newline=""), self.delimiter == ","
        lines, commas, before = [], [], 0
        reader = csv.reader(source, delimiter=self.delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                texts = [cell.strip() for cell in cells]
                lines.append((before + 1, texts))
                if not comma:
                    at = [at for at, cell in enumerate(texts) if WITH_COMMA.fullmatch(cell)]
                    commas += [(before + 1, texts, cell) for cell in at]
                before = reader.line_num
        except csv.Error:
            message = "a quotation mark is not closed, or is inside a cell"
            hint = 'write a quotation mark inside a cell twice: "a ""b"" c"'
            raise self.error(before + 1, message, hint) from None
        # Semicolons tell that commas are decimal; between tabs, 1,000 alone may be a thousand.
        grouped = (GROUPED.fullmatch(texts[cell]) for _, texts, cell in commas)
        if commas and self.delimiter == "\t" and all(grouped):
            line, texts, cell = commas[0]
            message = str(ambiguous(texts[cell], ("decimal", "thousands")))
            raise self.error(line, message, cell=cell)
        for _, texts, cell in commas:
            texts[cell] = texts[cell].replace(",", ".")
        return lines

    def place(self, line: int, cell: int | None = None) -> Place:
        written = "".join(self._lines[line - 1 : line])
        column = 0 if cell is None else _column(written, self.delimiter, cell)
        return Place(self.name, line, column, written)


class CsvBlock(Record):
    """The rows of a matrix, and the line of its key; 0 for a matrix without one."""

    header: int
    rows: list[CsvRow]

    def edges(self) -> Edges:
        return edges([row.cells for row in self.rows], is_csv=True)


class CsvDocument:
    """One problem of a CSV text, or of a workbook.

    `W_q[2]` is the key of the labels of a second matrix, and ("W_q", 1) its path in `blocks`;
    `remarks` are comments and titles, each by the key that it would be.
    """

    def __init__(self, source: Table, rows: list[CsvRow], options: Options) -> None:
        self.values: dict[str, Raw] = {}
        self.labels: dict[str, Labels] = {}
        self.blocks: dict[KeyPath, CsvBlock] = {}
        self.remarks: dict[str, str] = {}
        self._source, self._options = source, options
        self._lines: dict[str, int] = {}  # of the options
        self._parts: dict[KeyPath | str, int] = {}  # the line of the first part of a key
        self._has_headers = any(_is_header(row) for row in rows)
        self._key: KeyPath = ("X",)
        self._in_results = self._has_begun = False  # whether the results, the numbers have begun
        for row in rows:
            self._take(row)
        self._fill()

    def locate(self, path: KeyPath) -> Place:
        words, numbers = _split(path)
        dotted = (words[0], ".".join(words[1:])) if words[:1] == (RESULTS,) else (".".join(words),)
        for count in range(len(numbers), -1, -1):
            if block := self.blocks.get((*dotted, *numbers[:count])):
                return self._in_block(block, numbers[count:])
        first = self._lines.get(words[0] if words else "", 1)
        return self._source.place(self._lines.get(".".join(words), first))

    def _in_block(self, block: CsvBlock, rest: tuple[int, ...]) -> Place:
        sides = block.edges()
        if rest and rest[0] + sides.top < len(block.rows):
            line = block.rows[rest[0] + sides.top].line
            return self._source.place(line, (*rest, 0)[1] + sides.left)
        if block.header:
            return self._source.place(block.header, 0)
        return self._source.place(block.rows[0].line if block.rows else 1)

    def _take(self, row: CsvRow) -> None:
        first, block = row.cells[0], self.blocks.get(self._key)
        if _is_comment(row, in_block=bool(block and block.rows)):
            self.remarks[first] = ", ".join(row.cells).removeprefix("# ").strip()
        elif _is_header(row) and not (block and _is_empty_row(first, block.rows)):
            self._begin_block(row)
        elif block is not None and not (first in self._options and self._key[0] in self.remarks):
            self.remarks.pop(str(self._key[0]), None)
            block.rows.append(row)
            self._has_begun = True
        elif self._is_option(row):
            self._set_option(row)
        elif self._has_headers:
            hint = "write the key of the matrix, such as X, alone on the line before"
            raise self._source.error(row.line, "these numbers belong to no matrix", hint)
        else:
            self.blocks[self._key] = CsvBlock(0, [row])

    def _begin_block(self, row: CsvRow) -> None:
        header = row.cells[0]
        if header == RESULTS and not self._in_results:
            self._in_results, self._key = True, ()
            return
        word, numbers = HEADER.findall(header)[0]
        key: KeyPath = (word, *(int(number) - 1 for number in re.findall(r"\d+", numbers)))
        self._key = (RESULTS, *key) if self._in_results else key
        self._begin_key(row, self._key, self._known(self._key))
        self.blocks[self._key] = CsvBlock(row.line, [])

    def _is_option(self, row: CsvRow) -> bool:
        """Return True if a line before the first block sets an option, and is no row of X."""
        if len(row.cells) < 2 or not is_word(row.cells[0]):
            return False
        key, options = row.cells[0], self._options
        is_known = key.split(".")[0] in options
        # Several values fit only a list, so `kind,1,0` is a row with the label "kind".
        may_set = is_known and (len(row.cells) == 2 or "." in key or options[key])
        return self._has_headers or may_set

    def _set_option(self, row: CsvRow) -> None:
        key, *values = row.cells
        self._begin_key(row, (key,), self._lines.get(key, 0))
        is_list = len(values) > 1 or self._options.get(key, False)
        assign(self.values, key, values if is_list else values[0], in_place=True)
        self._lines[key] = row.line

    def _begin_key(self, row: CsvRow, key: KeyPath, known: int) -> None:
        """Refuse a known key; note the line of another, also for all that it is a part of."""
        first = row.cells[0]
        if known:
            message = twice(first, known, self._source.place(known, 0))
            raise self._source.error(row.line, message, cell=0)
        # A line before the first numbers may be a title if it names no step.
        may_be_option = self._source.delimiter != " " or first.split(".")[0] in self._options
        is_line = (len(row.cells) == 1 and first not in self._options) or not may_be_option
        if is_line and not self._has_begun and not may_mean_step(undecorated(first), ()):
            self.remarks[first] = " ".join(row.cells)
        parts = str(key[0]).split(".", MAX_PARTS)
        for whole in accumulate(parts[:-1], "{}.{}".format):  # score.W is a part of score
            self._parts.setdefault(whole, row.line)
        for count in range(1, len(key) + 1):
            self._parts.setdefault(key[:count], row.line)

    def _known(self, key: KeyPath) -> int:
        """Return the line of a key, of a part of it or of a matrix that holds it; 0 for none."""
        wholes = [self.blocks[key[:n]].header for n in range(1, len(key)) if key[:n] in self.blocks]
        word = str(key[0])
        lines = self._parts.get(key), *wholes, self._lines.get(word), self._parts.get(word)
        return next(filter(None, lines), 0)

    def _fill(self) -> None:
        stacks: dict[tuple[str, ...], dict[tuple[int, ...], Raw]] = {}
        for key, block in self.blocks.items():
            words, numbers = _split(key)
            sides = block.edges()
            cells = [row.cells[sides.left :] for row in block.rows[sides.top :]]
            stacks.setdefault(words, {})[numbers] = cells
            place = "".join(f"[{number + 1}]" for number in numbers)
            self.labels.setdefault(".".join(words), sides.labels)
            self.labels[".".join(words) + place] = sides.labels
        results: dict[str, Raw] = {}
        for words, slices in stacks.items():
            value = _stacked(slices, words[-1])
            if words[0] == RESULTS and len(words) > 1:
                results[words[1]] = value
            else:
                assign(self.values, words[0], value, in_place=True)
        if self._in_results:
            self.values[RESULTS] = results


def csv_documents(text: str, name: str, options: Options) -> list[CsvDocument]:
    """Return the problems of the CSV text of a file, separated by lines of `---`."""
    source = CsvText(text, name)
    parts = groupby(source.rows, lambda row: row.cells == ["---"])
    return [
        CsvDocument(source, [*rows], options) for is_separator, rows in parts if not is_separator
    ]


def _split(path: KeyPath) -> tuple[tuple[str, ...], tuple[int, ...]]:
    words = tuple(part for part in path if isinstance(part, str))
    return words, tuple(part for part in path if isinstance(part, int))


def _stacked(slices: dict[tuple[int, ...], Raw], key: str) -> Raw:
    """Return a matrix, or nested lists of the matrices `key[1]`, `key[2]`, …."""
    if () in slices:
        return slices[()]
    parts: dict[int, dict[tuple[int, ...], Raw]] = {}
    for place, raw in slices.items():
        parts.setdefault(place[0], {})[place[1:]] = raw
    count = len(parts)
    if parts.keys() != set(range(count)):
        raise fail(f"the matrices of {visible(key)} must be numbered [1] to [{count}]")
    return [_stacked(parts[number], key) for number in range(count)]


def _is_header(row: CsvRow) -> bool:
    return len(row.cells) == 1 and is_word(row.cells[0])


def _is_empty_row(word: str, rows: list[CsvRow]) -> bool:
    """Return True if a word alone is the label of a row without numbers, as it is a column's."""
    return bool(rows) and word in rows[0].cells and len(rows) < len(rows[0].cells)


def _is_comment(row: CsvRow, in_block: bool) -> bool:
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


def delimiter_of(text: str) -> tuple[str, int]:
    """Return the sign between cells, and the number of lines to skip (Excel's `sep=;`)."""
    declared = re.match(r'"?sep=([^"\r\n])"?[\r\n]', text + "\n", re.IGNORECASE)
    if declared:
        return declared[1], 1
    lines = lines_of(re.sub(r'"[^"]*"', "", text))
    # The delimiter is in most lines; a comma may also be a decimal point, so it comes last.
    counts = {delimiter: sum(delimiter in line for line in lines) for delimiter in "\t;,"}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return (best, 0) if counts[best] else (" ", 0)


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


IN_BRACKETS = regex(
    r"(?<!\s)\s*+((?:\[\s*+(?:(?:head|batch)\s*+)?\d++\s*+\]\s*+){0,9}"
    r'\[(?!(?:score|points|feedback|comment)\])(?:"[^"]{0,200}"|[^\[\]"]){1,400}\])',
    re.IGNORECASE,
)
"""The places in brackets behind the name of a step; not `[Score]`, which forms add."""

AXIS_WORD = regex(r"(?<=[\[,])\s*(?:row|column|col)\s+(?=\d)", re.IGNORECASE)
"""A word before the number of a place, as in the grids of forms."""

WHOLE_STEPS = ALIASES.keys() - {"sum"}
"""Steps that a heading may name without places; a column `sum` may hold points."""

NEARLY = regex(
    r"([^\W\d]{3,40}?)([\s_({]{0,9})(?:\[([^\[\]\d]{0,40}\d[^\[\]]*)|(\d{1,9})[\s_,;]{1,9}(\d{1,9}))"
)
"""A word, what is between, and places in brackets or two numbers: perhaps a cell."""


def named_cell(heading: str) -> tuple[str, str] | None:
    """Return the text before the cell, or the step, that a heading names, and its name.

    A heading that names several cells names none of them.

    >>> named_cell("Problem 2: what is weights [row 1]? (2 points)"), named_cell("Response 1")
    (('Problem 2: what is', 'weights[1]'), None)
    """
    names = list(_cells(heading))
    if len({cell for _, cell in names}) == 1:
        return names[0]
    before, _, name = heading.rpartition(":")
    return (before, name.strip()) if not names and name.strip() in WHOLE_STEPS else None


def _cells(heading: str) -> Iterator[tuple[str, str]]:
    for places in IN_BRACKETS.finditer(heading):
        before = heading[: places.start()].rstrip(" ?:")
        starts = [word.start() for word in re.finditer(r"(?<![^\s:;,])[\w√∂(][^\s:;,]*", before)]
        for start in starts:  # of several words, the longest name counts
            if _may_be_cell(before[start:], places[0]):
                yield before[:start].strip(), before[start:] + AXIS_WORD.sub("", places[1])
                break


def _may_be_cell(name: str, places: str) -> bool:
    row, line, _ = name.partition("_")  # z_love is a row of z
    is_step = may_mean_step(name, ()) or (line != "" and len(row) <= 3)
    if len(name) == 2 and name.isalpha():  # "in [1-5]"
        is_step = any(name.casefold() in words for words in ALIASES.values())
    are_places = not places.startswith(" ") or re.search(r"[\d,]", places) is not None
    return is_step and (are_places or name in ALIASES)


def likely_cell(heading: str) -> str:
    """Return the cell that a heading may mean which names no single one; "" if it may mean none.

    >>> likely_cell("weigths[1,1]"), likely_cell("weights_1_2"), likely_cell("Group [A]")
    ('weights[1,1]', 'weights[1,2]', '')
    """
    cells = [cell for _, cell in _cells(heading)]
    for name, between, places, row, column in NEARLY.findall(heading):
        near = near_words(name, ALIASES) or ([] if between else ["weights"])
        is_pair = re.fullmatch(r"\d+\s*,\s*\d+", places)
        if row and may_mean_step(name, ()):
            cells.append(f"{name}[{row},{column}]")
        elif places and near and (is_pair or not between):
            cells.append(f"{near[0]}[{places}]")
    return cells[0] if cells else ""

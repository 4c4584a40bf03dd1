"""CSV as spreadsheets and people write it: one matrix, or blocks under their keys."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attncli.errors import Fault, InputError, KeyPath, Place
from attncli.files.document import Labels, Raw, assign
from attncli.notation.written import NumberError, number
from attncli.text.escapes import lines_of, visible

COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
QUOTED = re.compile(r'"[^"]*"')
HEADER = re.compile(r"(.+?)((?:\[\d{1,6}\]){0,4})", re.DOTALL)
BLANK = ("", "~", "_", "?")
RESULTS = "steps"
"""A line with this word alone: what follows are results, not the problem."""


@dataclass(eq=False, repr=False)
class Row:
    """The cells of one line, and its number from 1."""

    line: int
    cells: list[str]


@dataclass(eq=False, repr=False)
class Block:
    """A matrix under its key."""

    header: int
    rows: list[Row] = field(default_factory=list)
    labels: Labels = (None, None)
    left: int = 0  # how many cells of a line are labels
    top: int = 0  # how many lines are labels


@dataclass(eq=False, repr=False)
class Table:
    """One problem of a CSV file."""

    values: dict[str, Raw] = field(default_factory=dict)
    labels: dict[str, Labels] = field(default_factory=dict)
    blocks: dict[KeyPath, Block] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # of the options


def tables(text: str, name: str, options: Mapping[str, bool]) -> list[Table]:
    """Return the problems of a CSV text, parted by lines of `---`.

    Args:
        text: the file.
        name: its name, for messages.
        options: the words that, first in a leading line, make it an option and not numbers, and
            whether the option is a list.

    Raises:
        InputError: for a block that stands twice, or slices of a matrix with gaps.
    """
    delimiter, lines = _delimiter(text)
    parts: list[list[Row]] = [[]]
    for row in _rows(text, name, delimiter, lines):
        if row.cells == ["---"]:
            parts.append([])
        else:
            parts[-1].append(row)
    return [_table(rows, name, text, options) for rows in parts if rows]


def locate(text: str, name: str, table: Table, path: KeyPath) -> Place:
    """Return the place of a key, a row or a cell of a table that was read from the text."""
    lines = lines_of(text)
    words = tuple(part for part in path if isinstance(part, str))
    places = tuple(part for part in path if isinstance(part, int))
    dotted = (words[0], ".".join(words[1:])) if words[:1] == (RESULTS,) else (".".join(words),)
    line, column = 1, 0
    for count in range(len(places), -1, -1):
        block = table.blocks.get((*dotted, *places[:count]))
        if block is None:
            continue
        line = block.header or (block.rows[0].line if block.rows else 1)
        column = 1 if block.header else 0
        rest = places[count:]
        if rest and rest[0] + block.top < len(block.rows):
            line = block.rows[rest[0] + block.top].line
            delimiter, _ = _delimiter(text)
            cell = (rest[1] if len(rest) > 1 else 0) + block.left
            column = _column(lines[line - 1], delimiter, cell)
        break
    else:
        key = ".".join(words)
        line = table.lines.get(key, table.lines.get(words[0] if words else "", 1))
    return Place(name, line, column, lines[line - 1] if line <= len(lines) else "")


def _delimiter(text: str) -> tuple[str, int]:
    """Return what parts the cells, and how many lines to skip (Excel's `sep=;`)."""
    told = re.match(r'"?sep=([^"\r\n])"?[\r\n]', text + "\n", re.IGNORECASE)
    if told:
        return told[1], 1
    lines = lines_of(QUOTED.sub("", text))
    # What parts cells stands in most lines; a comma may also be a decimal point, so it comes last.
    counts = {delimiter: sum(delimiter in line for line in lines) for delimiter in "\t;,"}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return (best, 0) if counts[best] else (" ", 0)


def _rows(text: str, name: str, delimiter: str, skip: int) -> list[Row]:
    """Return the lines that are not blank, without the empty cells that spreadsheets add."""
    if delimiter == " ":
        pairs = [(n, line.split()) for n, line in enumerate(lines_of(text), 1)]
    else:
        csv.field_size_limit(max(len(text), 131072))
        source = io.StringIO(text, newline="")
        reader = csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=True)
        pairs = []
        before = 0
        try:
            for cells in reader:
                pairs.append((before + 1, [cell.strip() for cell in cells]))
                before = reader.line_num
        except csv.Error:
            place = Place(name, before + 1, 0, lines_of(text)[before])
            message = "a quotation mark is not closed, or stands inside a cell"
            hint = 'write a quotation mark inside a cell twice: "a ""b"" c"'
            raise InputError(Fault(message, hint=hint, place=place)) from None
    rows = []
    for line, cells in pairs:
        while cells and not cells[-1]:
            cells.pop()
        if cells and line > skip:
            if delimiter in ";\t":
                with_points = [c.replace(",", ".") if COMMA.fullmatch(c) else c for c in cells]
                rows.append(Row(line, with_points))
            else:
                rows.append(Row(line, cells))
    return rows


def _table(rows: list[Row], name: str, text: str, options: Mapping[str, bool]) -> Table:
    table = Table()
    has_headers = any(_is_header(row) for row in rows)
    key: KeyPath = ()
    block: Block | None = None
    in_results = False
    for row in rows:
        first = row.cells[0]
        if _is_header(row):
            if first == RESULTS and not in_results:
                in_results = True
                block = None
                continue
            match = HEADER.fullmatch(first)
            assert match is not None  # it matches any text
            places = tuple(int(p) - 1 for p in re.findall(r"\d+", match[2]))
            key = (RESULTS, match[1], *places) if in_results else (match[1], *places)
            if known := _known(key, table):
                raise _twice(first, row.line, known, text, name)
            block = table.blocks[key] = Block(row.line)
        elif block is not None:
            block.rows.append(row)
        elif _is_option(row, has_headers, options):
            if first in table.lines:
                raise _twice(first, row.line, table.lines[first], text, name)
            is_list = len(row.cells) > 2 or options.get(first, False)
            assign(table.values, first, list(row.cells[1:]) if is_list else row.cells[1])
            table.lines[first] = row.line
        elif has_headers:
            place = Place(name, row.line, 0, lines_of(text)[row.line - 1])
            hint = "write the key of the matrix, such as X, alone on the line before"
            raise InputError(Fault("these numbers belong to no matrix", hint=hint, place=place))
        else:
            block = table.blocks[("X",)] = Block(0, [row])
    _finish(table, in_results, name)
    return table


def _is_option(row: Row, has_headers: bool, options: Mapping[str, bool]) -> bool:
    """Whether a line before the first block sets an option, and is no row of X."""
    if len(row.cells) < 2 or not _is_word(row.cells[0]):
        return False
    key = row.cells[0]
    known = key.split(".")[0] in options
    # Several values fit only a list, so `kind,1,0` is a row with the label "kind".
    return has_headers or (known and (len(row.cells) == 2 or "." in key or options[key]))


def _known(key: KeyPath, table: Table) -> int:
    """Return the line where a block, a slice of it, or a part of its mapping stands; 0 for none."""
    for other, block in table.blocks.items():
        inside = str(other[0]).startswith(f"{key[0]}.")
        if inside or other[: len(key)] == key or key[: len(other)] == other:
            return block.header
    for word, line in table.lines.items():
        if word == key[0] or word.startswith(f"{key[0]}."):
            return line
    return 0


def _twice(word: str, line: int, known: int, text: str, name: str) -> InputError:
    message = f"{visible(word)} stands twice; it stood in line {known} already"
    return InputError(Fault(message, place=Place(name, line, 1, lines_of(text)[line - 1])))


def _finish(table: Table, in_results: bool, name: str) -> None:
    """Give every block its labels, put slices together, and fill the values."""
    stacks: dict[KeyPath, dict[KeyPath, Raw]] = {}
    for key, block in table.blocks.items():
        cells = _without_labels(block)
        words: KeyPath = tuple(part for part in key if isinstance(part, str))
        places: KeyPath = tuple(part for part in key if isinstance(part, int))
        stacks.setdefault(words, {})[places] = cells
        table.labels.setdefault(".".join(map(str, words)), block.labels)
    results: dict[str, Raw] = {}
    for names, slices in stacks.items():
        value = _stacked(slices, str(names[-1]), name)
        if names[0] == RESULTS and len(names) > 1:
            results[str(names[1])] = value
        else:
            assign(table.values, str(names[0]), value)
    if in_results:
        table.values[RESULTS] = results


def _stacked(slices: dict[KeyPath, Raw], key: str, name: str) -> Raw:
    """Return a matrix, or nested lists of the matrices `key[1]`, `key[2]`, …."""
    if () in slices:
        return slices[()]
    firsts = sorted({place[0] for place in slices}, key=str)
    count = len(firsts)
    if set(firsts) != set(range(count)):
        message = f"the matrices of {visible(key)} must be numbered [1] to [{count}]"
        raise InputError(Fault(message, place=Place(name)))
    return [
        _stacked({p[1:]: raw for p, raw in slices.items() if p[0] == i}, key, name)
        for i in range(count)
    ]


def _without_labels(block: Block) -> Any:
    """Return the cells of a block that are numbers, and note which were labels."""
    rows = [row.cells for row in block.rows]
    if not rows:
        return []
    columns = None
    corner = len(rows[0]) > 1 and rows[0][0] == ""
    if corner or (len(rows) > 1 and _are_labels(rows[0])):
        columns, rows = rows[0], rows[1:]
        block.top = 1
    labelled = corner or (
        all(len(row) > 1 for row in rows) and _are_labels([row[0] for row in rows])
    )
    words = None
    if labelled and rows:
        words = [row[0] for row in rows]
        rows = [row[1:] for row in rows]
        block.left = 1
        if columns is not None and (corner or len(columns) > max(len(row) for row in rows)):
            columns = columns[1:]
    block.labels = (words, columns)
    return rows


def _are_labels(cells: list[str]) -> bool:
    """Whether cells are words: one at least that cannot be a number, and none that must be."""
    return any(_is_word(cell) for cell in cells) and all(
        _is_word(cell) or cell.isalpha() or (cell and not any(map(str.isalnum, cell)))
        for cell in cells
    )


def _is_header(row: Row) -> bool:
    return len(row.cells) == 1 and _is_word(row.cells[0])


def _is_word(cell: str) -> bool:
    """Whether a cell cannot be meant as a number; 1..2 is a slip, not a word."""
    if cell in BLANK or not any(c not in "0123456789.,+-eE_ " for c in cell):
        return len(cell) > 1 and cell.isalpha()
    try:
        number(cell)
    except NumberError:
        return True
    return False


def _column(line: str, delimiter: str, index: int) -> int:
    """Return the column, from 1, where a cell of a line starts."""
    if delimiter == " ":
        starts = [m.start() for m in re.finditer(r"\S+", line)]
        return starts[index] + 1 if index < len(starts) else 1
    quoted = False
    cell, is_quoted_cell, begins = 0, False, True
    for at, character in enumerate(line):
        ends = character == delimiter and not quoted
        if cell == index and (ends or not character.isspace()):
            return at + 1
        if ends:
            cell, is_quoted_cell, begins = cell + 1, False, True
            continue
        is_quoted_cell |= begins and character == '"'  # elsewhere it is a character like others
        quoted ^= is_quoted_cell and character == '"'
        begins &= character == " "
    return max(1, len(line))

"""CSV as spreadsheets and people write it: one matrix, or blocks under their keys."""

from __future__ import annotations

import re
from typing import Any

from attncli.errors import InputError, KeyPath, Place, fail
from attncli.files.csv_cells import Row, column_of, delimiter_of, place_of, rows_of
from attncli.files.document import Options, Raw, assign, error_at
from attncli.notation.grid import Labels, edges, is_word, undecorated
from attncli.records import replace
from attncli.tape.words import may_mean_step
from attncli.text.escapes import visible

HEADER = re.compile(r"\A(.+?)((?:\[\d{1,6}\]){0,4})\Z", re.DOTALL)
RESULTS = "steps"
"""A line with this word alone: what follows are results, not the problem."""


class CsvBlock:
    """A matrix under its key, whose line is the header."""

    def __init__(self, header: int) -> None:
        self.header = header
        self.rows: list[Row] = []
        self.labels: Labels = (None, None)
        self.left = False  # whether the first cell of a line is a label
        self.top = False  # whether the cells of the first line are labels
        self.corner = ""  # the word where the labels of rows and of columns meet


class Table:
    """One problem of a CSV file."""

    def __init__(self) -> None:
        self.values: dict[str, Raw] = {}
        self.labels: dict[str, Labels] = {}
        self.blocks: dict[KeyPath, CsvBlock] = {}
        self.remarks: dict[str, str] = {}  # comments and titles, each by the key that it would be
        self.lines: dict[str, int] = {}  # of the options
        self._parts: dict[KeyPath | str, int] = {}  # where the first part of a key stands

    def note_title(self, row: Row, options: Options) -> None:
        """Note a line before the first numbers that may be a title, as it names no step."""
        first = row.cells[0]
        is_option = not row.is_parted_by_blanks or first.split(".")[0] in options
        has_begun = any(block.rows for block in self.blocks.values())
        is_line = (len(row.cells) == 1 and first not in options) or not is_option
        if is_line and not has_begun and not may_mean_step(undecorated(first), ()):
            self.remarks[first] = " ".join(row.cells)

    def add(self, key: KeyPath, line: int) -> None:
        """Note the line where a block or an option stands."""
        word = str(key[0])
        while word := word.rpartition(".")[0]:  # score.W is a part of score
            self._parts.setdefault(word, line)
        for count in range(1, len(key) + 1):
            self._parts.setdefault(key[:count], line)

    def known(self, key: KeyPath) -> int:
        """Return the line where a key, a slice of it, or a part of its mapping stands; 0 for none.

        A slice stands where the whole matrix does, too.
        """
        wholes = [self.blocks.get(key[:count]) for count in range(1, len(key))]
        lines = (whole.header for whole in wholes if whole is not None)
        option = self.lines.get(str(key[0]), 0)
        found = self._parts.get(key, 0) or next(lines, 0) or option
        return found or self._parts.get(str(key[0]), 0)


def tables(text: str, name: str, options: Options) -> list[Table]:
    """Return the problems of the CSV text of a file, parted by lines of `---`.

    Raises:
        InputError: for a block that stands twice, or slices of a matrix with gaps.
    """
    delimiter, lines = delimiter_of(text)
    parts: list[list[Row]] = [[]]
    for row in rows_of(text, name, delimiter, lines):
        if row.cells == ["---"]:
            parts.append([])
        else:
            parts[-1].append(row)
    return [_table(rows, name, text, options) for rows in parts if rows]


def locate(text: str, name: str, table: Table, path: KeyPath) -> Place:
    """Return the place of a key, a row or a cell of a table that was read from the text."""
    words, numbers = _parted(path)
    dotted = (words[0], ".".join(words[1:])) if words[:1] == (RESULTS,) else (".".join(words),)
    for count in range(len(numbers), -1, -1):
        if block := table.blocks.get((*dotted, *numbers[:count])):
            return _in_block(text, name, block, numbers[count:])
    first = table.lines.get(words[0] if words else "", 1)
    return place_of(text, name, table.lines.get(".".join(words), first))


def _in_block(text: str, name: str, block: CsvBlock, rest: tuple[int, ...]) -> Place:
    """Return the place of a block, or of a row or cell of it."""
    if rest and rest[0] + block.top < len(block.rows):
        place = place_of(text, name, block.rows[rest[0] + block.top].line)
        cell = (*rest, 0)[1] + block.left
        return replace(place, column=column_of(place.text, delimiter_of(text)[0], cell))
    if block.header:
        return place_of(text, name, block.header, 1)
    return place_of(text, name, block.rows[0].line if block.rows else 1)


def _parted(path: KeyPath) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the words of a path, and its numbers."""
    words = tuple(part for part in path if isinstance(part, str))
    return words, tuple(part for part in path if isinstance(part, int))


def _table(rows: list[Row], name: str, text: str, options: Options) -> Table:
    table = Table()
    has_headers = any(_is_header(row) for row in rows)
    key: KeyPath = ("X",)
    block: CsvBlock | None = None
    in_results = False
    for row in rows:
        first = row.cells[0]
        if _is_comment(row, in_block=bool(block and block.rows)):
            table.remarks[first] = ", ".join(row.cells).removeprefix("# ").strip()
            continue
        if _is_header(row) and not (block and _is_empty_row(first, block.rows)):
            if first == RESULTS and not in_results:
                in_results, block = True, None
                continue
            key = _key_of(first, in_results)
            if known := table.known(key):
                raise _twice(first, row.line, known, text, name)
            table.note_title(row, options)
            block = table.blocks[key] = CsvBlock(row.line)
            table.add(key, row.line)
        elif block is not None and not (first in options and table.remarks.keys() & {*key}):
            table.remarks.pop(str(key[0]), None)
            block.rows.append(row)
        elif _is_option(row, has_headers, options):
            if first in table.lines:
                raise _twice(first, row.line, table.lines[first], text, name)
            table.note_title(row, options)
            is_list = len(row.cells) > 2 or options.get(first, False)
            assign(table.values, first, list(row.cells[1:]) if is_list else row.cells[1])
            table.lines[first] = row.line
            table.add((first,), row.line)
        elif has_headers:
            hint = "write the key of the matrix, such as X, alone on the line before"
            place = place_of(text, name, row.line)
            raise error_at(place, "these numbers belong to no matrix", hint)
        else:
            block = table.blocks[key] = CsvBlock(0)
            block.rows.append(row)
    _finish(table, in_results)
    return table


def _key_of(header: str, in_results: bool) -> KeyPath:
    """Return the key in a header, such as ("W_q", 0) for W_q[1]."""
    word, numbers = HEADER.findall(header)[0]
    key = (word, *(int(number) - 1 for number in re.findall(r"\d+", numbers)))
    return (RESULTS, *key) if in_results else key


def _is_option(row: Row, has_headers: bool, options: Options) -> bool:
    """Whether a line before the first block sets an option, and is no row of X."""
    if len(row.cells) < 2 or not is_word(row.cells[0]):
        return False
    key = row.cells[0]
    known = key.split(".")[0] in options
    # Several values fit only a list, so `kind,1,0` is a row with the label "kind".
    return has_headers or (known and (len(row.cells) == 2 or "." in key or options[key]))


def _twice(word: str, line: int, known: int, text: str, name: str) -> InputError:
    message = f"{visible(word)} stands twice; it stood in line {known} already"
    return error_at(place_of(text, name, line, 1), message)


def _finish(table: Table, in_results: bool) -> None:
    """Give every block its labels, put slices together, and fill the values."""
    stacks: dict[tuple[str, ...], dict[tuple[int, ...], Raw]] = {}
    for key, block in table.blocks.items():
        words, numbers = _parted(key)
        stacks.setdefault(words, {})[numbers] = _without_labels(block)
        place = "".join(f"[{number + 1}]" for number in numbers)
        table.labels.setdefault(".".join(words), block.labels)
        table.labels[".".join(words) + place] = block.labels
    results: dict[str, Raw] = {}
    for words, slices in stacks.items():
        value = _stacked(slices, words[-1])
        if words[0] == RESULTS and len(words) > 1:
            results[words[1]] = value
        else:
            assign(table.values, words[0], value)
    if in_results:
        table.values[RESULTS] = results


def _stacked(slices: dict[tuple[int, ...], Raw], key: str) -> Raw:
    """Return a matrix, or nested lists of the matrices `key[1]`, `key[2]`, …."""
    if () in slices:
        return slices[()]
    parts: dict[int, dict[tuple[int, ...], Raw]] = {}
    for place, raw in slices.items():
        parts.setdefault(place[0], {})[place[1:]] = raw
    count = len(parts)
    if parts.keys() != set(range(count)):
        message = f"the matrices of {visible(key)} must be numbered [1] to [{count}]"
        raise fail(message)
    return [_stacked(parts[number], key) for number in range(count)]


def _without_labels(block: CsvBlock) -> Any:
    """Return the cells of a block that are numbers, and note which were labels."""
    rows = [row.cells for row in block.rows]
    if not rows:
        return []
    found = edges(rows, is_csv=True)
    block.top, block.left, block.labels, block.corner = (getattr(found, f) for f in found.fields)
    return [row[found.left :] for row in rows[found.top :]]


def _is_header(row: Row) -> bool:
    return len(row.cells) == 1 and is_word(row.cells[0])


def _is_empty_row(word: str, rows: list[Row]) -> bool:
    """Whether a word alone is the label of a row without numbers, as it is that of a column."""
    return bool(rows) and word in rows[0].cells and len(rows) < len(rows[0].cells)


def _is_comment(row: Row, in_block: bool) -> bool:
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

"""Matrices as people paste them: output of programs, Markdown, spreadsheets.

Each form is rewritten as lines of words or of cells, in which every number keeps its offset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from attncli.core.numbers.grid import (
    LabelledGrid,
    Labels,
    Words,
    are_labels,
    cells_in,
    edges,
    is_word,
    pieces_of,
    rows_of,
    trimmed,
    whole_number,
    words_of,
)
from attncli.core.numbers.notations import (
    matrix_rows,
    rows_at_semicolons,
    rows_of_call,
    with_commas,
    without_brackets,
    without_tex,
)
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.written import SEVERAL
from attncli.core.records import replace
from attncli.core.text.strings import regex, visible

SET_NAME = regex(r"\s*[^\W\d][\w^{}]*\s*(?::?=|<-)(?=\s*\S)\s*")
FACTOR = regex(r"\s*1\.0+(e[-+]\d{2,3})[ \t]*\*[ \t\r]*(?=\n)")
"""The line `1.0e+03 *`, which MATLAB prints above the numbers of which it is a factor."""
ROW_CONTINUED = regex(r";[ \t]*\.\.\.[ \t]*$", re.MULTILINE)
"""The end of a row of MATLAB with another below it; dots elsewhere are numbers left out."""
LABELLED_LIST = regex(
    r"^([ \t]*[^\s\[\]:][^\[\]:\n]*:[ \t]*)\[([^\[\]\n]*)\](?=[ \t\r,;]*$)", re.MULTILINE
)
"""A row in brackets behind a label and a colon."""
LIST_IN_CELL = regex(r"(?<=[| ])\[([^\[\]|]*)\](?=[ \t]*\|)")
"""A row of numbers in one cell of a table: | I | [1, 0] |."""
ROW_NUMBER = regex(r"[ \t]*(?:\(?(\d{1,3})\)|(\d{1,3})\.)[ \t]+(?=\S)")
"""The number of a row: (1) or 1), or as its second group 1., as NumPy prints a float, too."""
REMARK = regex(r"(?<=[\d.)%])\s+(?:[✓✔✗✘]|\([^\W\d]+\)|(?:[-=]>|[→⇒])\s*[^\W\d][^|]*)\s*\Z")
"""What people write behind a row: a tick, its token in parentheses, or a note after an arrow."""
RECURRING = regex(r"(\.\d*?(\d)\2\d?)(?:\.\.\.|…)(?=[\s,;\])|&]|\Z)")
"""A number of which a digit is repeated for ever, 0.333…, as far as it is written."""
ELLIPSIS = r"\.\.\.|[…⋯⋮⋱]|\\[cvdl]?dots"
RULE = r"(?=.*(?:---|:-|-:|\+-|(?:\||^)-+(?:\||$)))[\s|+:-]+"
"""The line below the headings of a table; `| - | - |` is a row of cells."""
BARE_LABEL = r"[^\W\d]\w*|[^\w()*/^√+.,-][^\d()*/^√]*"
"""A word that is a label, not a misspelt number, even without a colon or bar after it."""


def grid_of(text: str) -> LabelledGrid:
    """Return the numbers of a text block and the labels beside them.

    >>> grid_of("| am | 1 | 0 |")
    LabelledGrid(rows=[[(7, '1'), (11, '0')]], labels=(['am'], None), lead=())
    """
    if len(text) > 2**16 and not re.search(r"\w", text):  # longer than 100 × 100 blank cells
        raise NumberError("there is no number in it")
    if ";" in text:
        text = ROW_CONTINUED.sub(lambda end: ";".ljust(len(end[0])), text)
    if re.search(ELLIPSIS, text):
        text = RECURRING.sub(lambda number: number[1].ljust(len(number[0])), text)
    if re.search(ELLIPSIS, text):
        raise NumberError("the numbers in place of … are missing; print or copy the whole matrix")
    text = with_commas(text)
    if name := SET_NAME.match(text):
        text = re.sub(r"[^\n]", " ", name[0]) + text[name.end() :]
    for read in (rows_of_call, rows_at_semicolons):
        if (rows := read(text)) is not None:
            return LabelledGrid(rows)
    if factor := FACTOR.match(text):
        return _multiplied(_grid(" " * factor.end() + text[factor.end() :]), factor[1])
    return _grid(text)


def _grid(text: str) -> LabelledGrid:
    """Return the numbers of a text that is no call, without a name before it."""
    text = LABELLED_LIST.sub(lambda row: f"{row[1]} {row[2]} ", _without_r_signs(text))
    if "\\" in text:
        if "\\\\" in text or "&" in text or "\\begin" in text:
            return _of_cells(matrix_rows(text))
        text = without_tex(text)
    rows, lead = without_brackets(text)
    if isinstance(rows, list):
        return LabelledGrid(rows, lead=lead)
    text = rows
    lines = _lines(text)
    for sign in (r"\s/\s", r"\|") if len(lines) == 1 else ():
        beside = pieces_of(lines[0][1], sign, lines[0][0])
        if len(beside) > 1 and all(_are_several(row) for _, row in beside):
            cells = [cells_in(row, ";") for row in beside] if ";" in text else []
            return _of_cells(cells) if cells else _of_words(beside)
    lines = _rows_at_semicolons(lines) if ";" in text else lines
    if "|" in text:
        return _of_table([(at, LIST_IN_CELL.sub(_as_cells, line)) for at, line in lines])
    lines = _without_row_numbers(lines)
    cells = [cells_in(line, "\t") for line in lines] if "\t" in text else []
    while cells and all(len(row) > 1 and not row[0][1] for row in cells):  # tabs before all rows
        cells = [row[1:] for row in cells]
    grid = _of_cells(cells) if _is_spreadsheet(cells) else _of_words(lines)
    return replace(grid, lead=lead) if lead else grid


def _are_several(text: str) -> bool:
    """Return True for numbers with blanks between them, unlike 0,5."""
    return len(text.split()) > 1 and re.fullmatch(SEVERAL, text.strip()) is not None


def _as_cells(listed: re.Match[str]) -> str:
    return f" {listed[1].replace(',', '|')} "


def _lines(text: str) -> Words:
    lines = text.splitlines(keepends=True)
    starts = accumulate(map(len, lines), initial=0)
    return [(at, x.rstrip("\r\n")) for at, x in zip(starts, lines, strict=False) if x.strip()]


def _multiplied(grid: LabelledGrid, power: str) -> LabelledGrid:
    words = [word for row in grid.rows for _, word in row]
    if other := next((w for w in words if not re.fullmatch(r"[-+−]?[\d.]+|-?Inf|NaN", w)), None):
        raise NumberError(f"{visible(other)} is written below a factor of all numbers; multiply it")
    rows = [[(at, w + power if w[-1].isdigit() else w) for at, w in row] for row in grid.rows]
    return replace(grid, rows=rows)


def _without_r_signs(text: str) -> str:
    """Return a text with blanks in place of the numbers that R prints: [1,], [,1], [1]."""
    if len(re.findall(r"(?m)^[ \t]*(?:\[,\d+\]|Columns? \d)", text)) > 1:
        raise NumberError("its columns are in several parts; print all of them side by side")
    signs = r"\[,\d+\](?=[ \t]*(?:\[,|$))|^[ \t]*\[\d+,\](?=[ \t])"
    if re.match(r"\s*\[1\][ \t]+[-\d.]", text):  # a vector: its lines are one row
        signs = r"^[ \t]*\[\d+\]|\n"
    return re.sub(f"(?m){signs}", lambda sign: " " * len(sign[0]), text) if "[" in text else text


def _rows_at_semicolons(lines: Words) -> Words:
    """Return the rows of `1 0; 0 1`; at the end of a line a semicolon means nothing."""
    rows = [(at, line.replace(";", " ")) for at, line in lines]
    if len(lines) == 1:
        rows = pieces_of(lines[0][1], ";", lines[0][0])
    return [(at, row) for at, row in rows if row.strip()]


def _is_spreadsheet(rows: Sequence[Words]) -> bool:
    """Return True if tabs separate cells: the same count in each row, each a number or words."""
    if len({len(row) for row in rows}) != 1 or len(rows[0]) == 1:
        return False
    several = [cell for row in rows for _, cell in row if len(words_of(cell, "")) > 1]
    for cell in several:
        if whole_number(cell) != cell:  # 1 202
            message = f"{visible(cell)} may mean several numbers; write {whole_number(cell)}"
            raise NumberError(f"{message}, or a tab in place of the blank")
    return all(are_labels([cell]) for cell in several)


def table_rows(lines: Words) -> list[Words]:
    """Return the cells of the lines of a table whose columns are separated by `|`."""
    cells = [cells_in(line, r"(?<!\\)\|") for line in _without_outer_bars(lines)]
    return [[(at, cell.strip("*`$ ")) for at, cell in row] for row in cells]


def _without_outer_bars(lines: Words) -> Words:
    """Return the lines of a table without rules, and without `|` at their ends."""
    rows = []
    for at, line in lines:
        if not re.fullmatch(RULE, line):
            start, row = trimmed(at, line)
            begins = row.startswith("|")
            rows.append((start + begins, row[begins:].removesuffix("|")))
    return rows


def _of_table(lines: Words) -> LabelledGrid:
    """Return the numbers of a table whose columns, or whose labels, are followed by `|`."""
    rows = _without_outer_bars(lines)
    bars = {line.count("|") for _, line in rows}
    if bars <= {0}:
        return _of_words(rows)
    if bars <= {0, 1} and "|" in rows[-1][1]:
        halves = [line.partition("|") for _, line in rows if "|" in line]
        if any(len(words_of(right, "")) > 1 and not are_labels([right]) for *_, right in halves):
            if are_labels([left.strip() for left, *_ in halves if left.strip()]):
                rows = [(at, line.replace("|", ":")) for at, line in rows]
            return _of_words(rows)
    cells = table_rows(lines)
    several = [[cell for _, cell in row if _are_several(cell)] for row in cells]
    if all(several):
        raise NumberError(f"{visible(several[0][0])} is not one number; write bars between all")
    if len(rows) < len(lines) and len(rows) > 1 and not any(cell for _, cell in cells[0]):
        cells = cells[1:]  # heads that are blank, with a rule below them
    return _of_cells(cells)


def _of_cells(rows: Sequence[Words]) -> LabelledGrid:
    rows = [[(at, cell.removesuffix(",").rstrip()) for at, cell in row] for row in rows]
    sides = edges([[cell for _, cell in row] for row in rows])
    numbers = [[(at, whole_number(c)) for at, c in row[sides.left :]] for row in rows[sides.top :]]
    return LabelledGrid(numbers, _fitting(sides.labels, numbers))


def _of_words(lines: Words) -> LabelledGrid:
    labels: Labels = (None, None)
    if len(lines) > 1 and all(REMARK.search(line) for _, line in lines):
        lines = [(at, REMARK.sub("", line)) for at, line in lines]
    first = [word for _, word in words_of(lines[0][1])] if lines else []
    counted = [str(number) for number in range(len(first))]  # as pandas counts
    if (first and first == counted) or any(re.search(r"[^\W\d_]|:", line) for _, line in lines):
        lines, labels = _without_labels(lines)
    numbers = zip(lines, rows_of([line for _, line in lines]), strict=True)
    rows = [[(start + at, word) for at, word in row] for (start, _), row in numbers if row]
    if labels[0] and len(rows) < len(labels[0]):
        raise NumberError("there are words without a number beside them")
    firsts, heads = labels[0] or [], labels[1] or []
    if firsts == [str(number) for number in range(len(rows))]:
        labels = (None, None)
    elif "0" in (*firsts, *heads[:1]) and firsts and all(map(str.isdecimal, firsts)):
        raise NumberError(f"the rows are numbered {', '.join(firsts)}, so some are missing")
    return LabelledGrid(rows, _fitting(labels, rows))


def _without_row_numbers(lines: Words) -> Words:
    """Return rows without the 1., 2., 3. before them, unless all numbers end with points."""
    numbered = [*filter(None, (ROW_NUMBER.match(line) for _, line in lines))]
    numbers = [one[1] or one[2] for one in numbered]
    is_count = len(lines) > 1 and numbers == [str(n) for n in range(1, len(lines) + 1)]
    if not is_count or re.search(r"\s\d+\.(?!\d)", "\n".join(line[1:] for _, line in lines)[2:]):
        return lines
    ends = [one.end() for one in numbered]
    rows = [(at + end, line[end:]) for (at, line), end in zip(lines, ends, strict=True)]
    are_single = all(len(words_of(row)) == 1 for _, row in rows)
    if any(one[2] and (are_single or one[0].endswith("  ")) for one in numbered):
        raise NumberError("1. may be a number, or that of a row; write 1.0, or (1) for a row")
    return rows


def _without_labels(lines: Words) -> tuple[Words, Labels]:
    """Return lines without the words before and above their numbers, and these words."""
    words = [words_of(line) for _, line in lines]
    if not all(words):
        return lines, (None, None)
    cells = [[word for _, word in row] for row in words]
    is_shorter = {len(row) for row in cells[1:]} == {len(cells[0]) + 1}
    if is_shorter and words[0][0][0] > words[1][0][0]:
        cells[0].insert(0, "")  # a table of pandas, whose corner is blank
    sides = edges(cells)
    heads = sides.labels[1]
    has_heads = sides.top and not (_colon(lines[0][1]) or are_labels(cells[1]))
    rest = lines[has_heads:]
    if all(ends := [_colon(line) for _, line in rest]):
        before = (line[:end].strip() for (_, line), end in zip(rest, ends, strict=True))
        labels = [re.sub(r"(?i)\Arow\s+(?=\d+\Z)", "", word) for word in before]
        return _cut(rest, [end + 1 for end in ends]), (labels, heads if has_heads else None)
    are_bare = len(cells) > sides.top + 1 and all(
        re.fullmatch(BARE_LABEL, row[0]) and not any(map(is_word, row[1:2]))
        for row in cells[sides.top :]
    )
    if not sides.left or not (sides.top or are_bare):
        return rest, (None, heads if has_heads else None)
    ends = [row[0][0] + len(row[0][1]) for row in words[sides.top :]]
    return _cut(lines[sides.top :], ends), sides.labels


def _colon(line: str) -> int:
    """Return the index of the colon after a label; 0 where there is none."""
    label, colon, rest = line.partition(":")
    return len(label) if colon and label.strip() and rest[:1] in ("", " ", "\t") else 0


def _cut(lines: Words, ends: Sequence[int]) -> Words:
    return [
        (at + end, re.sub(r"^(\s*),", r"\1 ", line[end:]))
        for (at, line), end in zip(lines, ends, strict=True)
    ]


def _fitting(labels: Labels, rows: Sequence[Words]) -> Labels:
    """Return labels, without those of the columns if it is unclear to which column each belongs."""
    firsts, heads = labels
    width = len(rows[0]) if rows else 0
    if heads and firsts is None and len(heads) == width + 1:
        heads = heads[1:]  # the first is above labels that are left out
    return firsts, heads if heads and len(heads) == width else None

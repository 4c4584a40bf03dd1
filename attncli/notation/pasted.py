"""Text blocks as people paste them: prints of programs, tables of Markdown, LaTeX, spreadsheets.

A form is undone by blanks in the place of its signs, sign by sign, so that what is left is plain
rows of numbers in which every number still starts where it stood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from attncli.notation.blocks import Words, rows_of, whole_number
from attncli.notation.grid import LabelledGrid, are_labels, are_words, is_word, sides
from attncli.notation.parser import NumberError
from attncli.notation.written import SEVERAL, words_of
from attncli.text.escapes import visible

Lines: TypeAlias = list[tuple[int, str]]
"""Lines that are not blank, each with where it starts."""

PLAIN_BLOCK = r"[0-9.eE+\-, \n]*"
"""A block that needs none of this."""
SIGNS = str.maketrans("⎡⎢⎣⎛⎜⎝⎤⎥⎦⎞⎟⎠│┃║─━═┌┬┐├┼┤└┴┘", "[[[[[[]]]]]]|||---+++++++++")
"""Brackets over several lines and lines of boxes, in the signs of a keyboard."""
LONG_BRACKETS = "⎡⎢⎣⎛⎜⎝"
PRINTED = (
    r"\s*(?:Parameter containing:\s*)?(?:[\w.]+\(\s*)?(\[.*\])"
    r"(?:\s*,\s*\w+=[\w.':<>]+)*\s*,?\s*\)?[\s;,.]*"
)
"""A matrix in brackets, as it is or as NumPy and PyTorch print it."""
ROUND = rf"\(?\s*(?:\(\s*{SEVERAL}\s*\)[\s,;]*)+\)?"
"""Rows in round brackets."""
ELLIPSIS = r"\.\.\.|[…⋯⋮⋱]|\\[cvdl]?dots"
ELIDED = "the numbers in place of … are missing; print or copy the whole matrix"
RULE = r"(?=.*(?:---|:-|-:|\+-|(?:\||^)-+(?:\||$)))[\s|+:-]+"
"""What is drawn under the heads of a table; `| - | - |` are cells."""
BARE = r"[^\W\d]\w*|[^\w()*/^√+.,-][^\d()*/^√]*"
"""A word that is told from a number with a slip in it, also where nothing parts them."""


@lru_cache(maxsize=4)  # the numbers and the words of one text are asked for one after the other
def grid_of(text: str) -> LabelledGrid:
    """Return the numbers of a text block and the words beside them.

    Raises:
        NumberError: for a comma that may be either, several matrices, numbers left out.

    >>> grid_of("| am | 1 | 0 |")
    LabelledGrid(rows=[[(7, '1'), (11, '0')]], labels=(['am'], None))
    """
    if re.fullmatch(PLAIN_BLOCK, text):
        return LabelledGrid(_numbers(_lines(text)))
    if re.search(ELLIPSIS, text):
        raise NumberError(ELIDED)
    text = _unnamed(text)
    if re.fullmatch(ROUND, text.strip()):
        text = text.translate(str.maketrans("()", "[]"))
    if "\\" in text:
        from attncli.notation.from_tex import is_matrix, rows_in_lines, without_tex

        if is_matrix(text):
            text = without_tex(rows_in_lines(text))
            return _of_cells(_split(_lines(_unnamed(text)), "&"), ruled=False)
        text = without_tex(text)
    is_drawn = any(sign in text for sign in LONG_BRACKETS)
    text = text.translate(SIGNS)
    if is_drawn:
        text = _undrawn(text)
    if "[" in text:
        text = _unbracketed(text)
    lines = _lines(text)
    if ";" in text:
        lines = _split_at_semicolons(lines)
    if "|" in text:
        return _of_table(lines)
    rows = _split(lines, "\t") if "\t" in text else []
    return _of_cells(rows, ruled=False) if _is_sheet(rows) else _of_words(lines)


def _lines(text: str) -> Lines:
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            found.append((start, line.rstrip("\r\n")))
        start += len(line)
    return found


def _unnamed(text: str) -> str:
    """Return a text without the `W_q =` before a matrix."""
    name = re.match(r"\s*[^\W\d][\w^{}]*\s*:?=(?=\s*\S)\s*", text)
    return _blanked(text, 0, name.end()) if name else text


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def _undrawn(text: str) -> str:
    """Return a matrix in brackets over several lines with colons after its labels."""
    if any(line.count("[") > 1 for line in text.splitlines()):
        raise NumberError("the text holds several matrices; write each under its own key")
    text = re.sub(r"(?m)^([ \t]*[^\s\[\]][^\[\]\n]*?)\s\[", r"\1: ", text)
    return text.replace("[", " ").replace("]", " ")


def _unbracketed(text: str) -> str:
    """Return [[1, 0], [0, 1]], [1 0; 0 1] or what NumPy prints as lines."""
    whole = re.fullmatch(PRINTED, text, re.DOTALL)
    if whole is None or whole[1].count("[") != whole[1].count("]"):
        return text
    first, inner = whole.start(1), whole[1]
    if re.match(r"\[\s*\[\s*\[", inner):
        message = "the text holds several matrices; write the lists without quotes around them"
        raise NumberError(message)
    rows = list(re.finditer(r"\[([^\[\]]*)\]", inner))
    between = re.sub(r"\[[^\[\]]*\]", "", inner)
    if not re.fullmatch(r"\[?[\s,;]*\]?", between):
        return text
    found = [" "] * len(text)
    for row in rows:
        numbers = row[1]
        if len(rows) == 1:
            numbers = numbers.replace(";", "\n")
        elif "\n" in numbers:
            numbers = numbers.replace("\r", " ").replace("\n", " ")
        if "," in between:  # in lists a comma parts numbers, as YAML reads it too
            numbers = numbers.replace(",", " ")
        found[first + row.start(1) : first + row.end()] = [*numbers, "\n"]
    return "".join(found)


def _split_at_semicolons(lines: Lines) -> Lines:
    """Return the rows of `1 0; 0 1`; at the end of a line a semicolon says nothing."""
    if len(lines) != 1:
        ends = ((start, line.replace(";", " ")) for start, line in lines)
        return [(start, line) for start, line in ends if line.strip()]
    ((first, whole),) = lines
    pieces = ((first + m.start(), m[0]) for m in re.finditer("[^;]+", whole))
    return [(start, piece) for start, piece in pieces if piece.strip()]


def _split(lines: Lines, sign: str) -> list[Words]:
    """Return the cells of each line that a sign parts, and trimmed."""
    found = []
    for start, line in lines:
        cells: Words = []
        for piece in re.finditer(rf"(?:^|(?<=[{sign}]))[^{sign}]*", line):
            cell = piece[0].lstrip()
            at = start + piece.end() - len(cell)
            cells.append((at, cell.rstrip().removesuffix(",").rstrip()))
        found.append(cells)
    return found


def _is_sheet(rows: Sequence[Words]) -> bool:
    """Whether tabs part the cells: as many in each row, each one number or some words."""
    if len({len(row) for row in rows}) != 1 or len(rows[0]) == 1:
        return False
    cells = [cell for row in rows for _, cell in row]
    several = [
        cell for cell in cells if len(words_of(cell, "")) > 1 and len(rows_of([cell])[0]) > 1
    ]
    for cell in several:
        if whole_number(cell) != cell:  # 1 202
            message = f"{visible(cell)} may mean several numbers; write {whole_number(cell)}"
            raise NumberError(f"{message}, or a tab in place of the blank")
    return all(are_labels([cell]) for cell in several)


def _of_table(lines: Lines) -> LabelledGrid:
    """Return what stands in a table whose columns are parted by `|`, or beside such a line."""
    rules = [bool(re.fullmatch(RULE, line)) for _, line in lines]
    rows = [line for line, is_rule in zip(lines, rules, strict=True) if not is_rule]
    ruled = any(rules)
    bare = []
    for start, line in rows:
        left = len(line) - len(line.lstrip())
        right = len(line.rstrip())
        begins, ends = line[left] == "|", right - left > 1 and line[right - 1] == "|"
        bare.append((start + left + begins, line[left + begins : right - ends]))
    counts = {line.count("|") for _, line in bare}
    if counts <= {0}:
        return _of_words(bare)
    numbered = [line.partition("|") for _, line in bare if "|" in line]
    if (
        counts <= {0, 1}
        and "|" in bare[-1][1]
        and any(len(words_of(right, "")) > 1 and not are_labels([right]) for *_, right in numbered)
    ):
        if are_labels([left.strip() for left, *_ in numbered if left.strip()]):
            bare = [(start, line.replace("|", ":")) for start, line in bare]
        return _of_words(bare)
    cells = [[(at, cell.strip("*`$ ")) for at, cell in row] for row in _split(bare, "|")]
    return _of_cells(cells, ruled)


def _of_cells(rows: list[Words], ruled: bool) -> LabelledGrid:
    """Return what stands in cells; `ruled` tells whether a line is drawn under the heads."""
    if ruled and len(rows) > 1 and not any(cell for _, cell in rows[0]):
        rows = rows[1:]
    top, left = sides([[cell for _, cell in row] for row in rows])
    words = [row[0][1] for row in rows[top:]] if left else None
    heads = [cell for _, cell in rows[0]] if top else None
    numbers = [[(at, whole_number(cell)) for at, cell in row[left:]] for row in rows[top:]]
    return LabelledGrid(numbers, (words, _fitting(heads, numbers)))


def _of_words(lines: Lines) -> LabelledGrid:
    """Return what stands in lines whose numbers are parted by blanks or commas."""
    lines, words, heads = _without_labels(lines)
    rows = _numbers(lines)
    if words and len(rows) < len(words):
        raise NumberError("there are words without a number beside them")
    return LabelledGrid(rows, (words, _fitting(heads, rows)))


def _numbers(lines: Lines) -> list[Words]:
    found = zip(lines, rows_of([line for _, line in lines]), strict=True)
    return [[(start + at, word) for at, word in row] for (start, _), row in found if row]


def _without_labels(lines: Lines) -> tuple[Lines, list[str] | None, list[str] | None]:
    """Return lines without the words before and above their numbers, and these."""
    has_words = any(re.search(r"[^\W\d_]|:", line) for _, line in lines)
    cells = [[word for _, word in words_of(line)] for _, line in lines] if has_words else []
    if not cells or not all(cells):
        return lines, None, None
    heads, rest = None, lines
    has_heads = len(lines) > 1 and not _colon(lines[0][1]) and are_words(cells[0])
    if has_heads and not are_labels(cells[1]):
        heads, rest = cells[0], lines[1:]
    colons = [_colon(line) for _, line in rest]
    if all(colons):
        words = [line[:end].strip() for (_, line), end in zip(rest, colons, strict=True)]
        return _cut(rest, [end + 1 for end in colons]), words, heads
    begins = [words_of(line)[0][0] for _, line in lines[:2]]
    is_shorter = {len(row) for row in cells[1:]} == {len(cells[0]) + 1}
    if is_shorter and begins[0] > begins[1]:
        cells[0].insert(0, "")  # a table of pandas, which has nothing in its corner
    top, left = sides(cells)
    rows = cells[top:]
    is_told = all(re.fullmatch(BARE, row[0]) and not any(map(is_word, row[1:2])) for row in rows)
    if not left or not (top or (is_told and len(rows) > 1)):
        return (rest, None, heads) if heads else (lines, None, None)
    firsts = [words_of(line)[0] for _, line in lines[top:]]
    ends = [at + len(word) for at, word in firsts]
    return _cut(lines[top:], ends), [word for _, word in firsts], cells[0] if top else None


def _colon(line: str) -> int:
    """Return where the colon after a label is; 0 where there is none."""
    label, colon, rest = line.partition(":")
    return len(label) if colon and label.strip() and rest[:1] in ("", " ", "\t") else 0


def _cut(lines: Lines, ends: Sequence[int]) -> Lines:
    """Return lines with blanks up to a place, and in place of a comma there."""
    found = []
    for (start, line), end in zip(lines, ends, strict=True):
        rest = re.sub(r"^(\s*),", r"\1 ", line[end:])
        found.append((start, " " * end + rest))
    return found


def _fitting(heads: list[str] | None, rows: Sequence[Words]) -> list[str] | None:
    """Return the words above the columns; None where they do not tell above which."""
    width = len(rows[0]) if rows else 0
    return heads[-width:] if heads and 0 <= len(heads) - width <= 1 else None

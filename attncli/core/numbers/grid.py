"""Numbers in lines of text and in tables: what separates them, and which cells are labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

from attncli.core.numbers.parser import MAX_DEPTH, NumberError
from attncli.core.numbers.written import ABOUT, BLANK_CELLS, WITH_UNIT, value_of
from attncli.core.records import Record
from attncli.core.text.languages import words_for
from attncli.core.text.strings import regex, visible

Words: TypeAlias = list[tuple[int, str]]
"""The words of a line, each with the offset where it starts."""

SIGN = rf"[{ABOUT}]?\s*+(?:[-+−–]\s*+)?"
DECIMAL_COMMA = regex(rf"{SIGN}\d++,\d++([eE][+-]?\d+)?\s*%?")
GROUPED = regex(
    rf"{SIGN}[1-9]\d{{0,2}}([.,'’ \u00a0\u2009\u202f])\d{{3}}(\1\d{{3}})*"
    r"((?!\1)(?:\.\d*|,\d+))?\s*%?"
)
"""A number whose thousands are separated by points, commas, apostrophes or blanks."""
THIN_SPACE = regex(r"(?<!\d)\d++(?:[\u2009\u202f]\d++)++(?:[.,]\d++)?")
"""Digits with a thin space between them, which separates thousands and not numbers."""


def words_of(line: str, sign: str = ",") -> Words:
    """Return the words of a line, separated by blanks or a sign; with no sign, by blanks alone.

    Nothing separates words inside parentheses that match. A percent sign belongs to the number
    before it, and ≈ to the number after it.

    >>> words_of("1, sqrt( 4 ) ≈ 1/2")
    [(0, '1'), (3, 'sqrt( 4 )'), (13, '≈ 1/2')]
    """
    one = rf"(?:[{ABOUT[:-1]}]\s+)?[^\s{sign}]+(?:\s+%(?=[\s{sign}]|\Z))?"
    masked, has_pairs = line, "(" in line and line.count("(") == line.count(")")
    for _ in range(MAX_DEPTH if has_pairs else 0):  # the parser reads none that are deeper
        before = masked
        masked = re.sub(r"\([^()]*\)", lambda group: "x" * len(group[0]), masked)
        if masked == before:
            break
    words = re.finditer(one, masked)
    return [(word.start(), line[word.start() : word.end()]) for word in words]


def pieces_of(text: str, separator: str, start: int = 0) -> Words:
    """Return the pieces of a text between separators, a pattern, each with its offset.

    >>> pieces_of("1 & 2", "&")
    [(0, '1 '), (3, ' 2')]
    """
    ends = [(0, 0), *(match.span() for match in re.finditer(separator, text)), (len(text), 0)]
    return [(start + a, text[a:b]) for (_, a), (b, _) in pairwise(ends)]


def trimmed(at: int, piece: str) -> tuple[int, str]:
    """Return a piece without the blanks around it, and where it starts then."""
    cell = piece.lstrip()
    return at + len(piece) - len(cell), cell.rstrip()


def cells_in(line: tuple[int, str], separator: str) -> Words:
    """Return the cells of a line with its offset, between separators, a pattern."""
    at, text = line
    return [trimmed(start, cell) for start, cell in pieces_of(text, separator, at)]


def rows_of(lines: Sequence[str]) -> list[Words]:
    """Return the numbers of each line of a text block, separated by blanks or commas.

    A comma between digits may separate two numbers, be a decimal comma, or separate thousands. The
    reading that makes all rows equally long is taken; if several do, decimal commas are taken if
    every number has one, else a NumberError is raised.

    >>> [word for _, word in rows_of(["1,50 0,5"])[0]], [word for _, word in rows_of(["1, 5"])[0]]
    (['1.50', '0.5'], ['1', '5'])
    """
    _refuse_thin_spaces("\n".join(lines))
    separated = [words_of(line) for line in lines]
    if not any("," in line for line in lines):
        return separated
    pieces = [words_of(line, "") for line in lines]
    words = [word for row in pieces for _, word in row]
    commas = [word for word in words if "," in word and "(" not in word]
    for word in commas:
        if _separator(word) == ".":
            message = f"{visible(word)} may mean several numbers; write {whole_number(word)}"
            raise NumberError(message)
    doubtful = [w for w in commas if DECIMAL_COMMA.fullmatch(w) or _separator(w) == ","]
    if not doubtful:
        return separated
    readings: dict[str, list[Words]] = {}
    # A 5 is not written 05, so the comma in 1,05 does not separate numbers.
    if _is_even(separated) and not any(re.search(r",0\d", word) for word in doubtful):
        readings["separated"] = separated
    if _is_even(pieces) and all(map(DECIMAL_COMMA.fullmatch, commas)):
        readings["decimal"] = _rewritten(pieces, ".")
    if _is_even(pieces) and all(_separator(word) == "," for word in commas):
        readings["thousands"] = _rewritten(pieces, "")
    if len(readings) > 1:
        one_in_each = len(words) == len(commas) and all(len(row) != 1 for row in pieces)
        if one_in_each and "thousands" not in readings and "decimal" in readings:
            return readings["decimal"]
        raise ambiguous(doubtful[0], readings)
    return next(iter(readings.values()), separated)


def decimal_comma(text: str) -> tuple[int, str] | None:
    """Return the first number of a list that may have a decimal comma, with its offset.

    It may, if the commas with a blank alone part the rows into equally many whole or such numbers.

    >>> decimal_comma("[[1,5, 0], [0, 1]]"), decimal_comma("[[1,5, 0], [0, 1, 2]]")
    ((2, '1,5'), None)
    """
    if not re.search(r"\d,\d", text):
        return None
    lists = re.finditer(r"\[([^\[\]]*)\]", text)
    rows = [pieces_of(one[1], r",\s+", one.start(1)) for one in lists]
    numbers = [trimmed(*piece) for row in rows for piece in row]
    is_even = len({*map(len, rows)}) == 1 and len(rows[0]) > 1
    if not (is_even and all(re.fullmatch(r"[-+−]?\d+(?:,\d+)?", word) for _, word in numbers)):
        return None
    return next(((at, word) for at, word in numbers if "," in word), None)


def _refuse_thin_spaces(text: str) -> None:
    if not text.isascii() and (digits := THIN_SPACE.search(text)):
        joined, parted = (re.sub(r"[\u2009\u202f]", sign, digits[0]) for sign in ("", " "))
        message = f"{visible(digits[0])} has a thin space; write {joined}"
        raise NumberError(f"{message}, or {parted} for several numbers")


def whole_number(text: str) -> str:
    """Return a number that is alone in its cell with a decimal point and without separators.

    >>> whole_number("0,14"), whole_number("1,202,604.28"), whole_number("1/2")
    ('0.14', '1202604.28', '1/2')
    """
    separator = _separator(text)
    if separator == "," and DECIMAL_COMMA.fullmatch(text):
        raise ambiguous(text, ("decimal", "thousands"))
    if separator:
        text = re.sub(rf"(?<=\d){re.escape(separator)}(?=\d{{3}})", "", text)
    return text.replace(",", ".") if separator or DECIMAL_COMMA.fullmatch(text) else text


def _separator(text: str) -> str:
    """Return the sign between the thousands of a number; a single point is a decimal point."""
    grouped = GROUPED.fullmatch(text)
    if grouped is None or (grouped[1] == "." and not grouped[2] and not grouped[3]):
        return ""
    return grouped[1]


def _is_even(rows: Sequence[Words]) -> bool:
    return len({len(row) for row in rows if row}) == 1


def _rewritten(rows: Sequence[Words], comma: str) -> list[Words]:
    return [[(at, w if "(" in w else w.replace(",", comma)) for at, w in row] for row in rows]


def ambiguous(word: str, readings: Collection[str], at: int | None = None) -> NumberError:
    """Return the error for a comma with several readings: decimal, thousands, separated."""
    ways = {"decimal": ".", "thousands": ""}
    written = [word.replace(",", sign) for reading, sign in ways.items() if reading in readings]
    if "separated" in readings:
        written.append(f"{word.replace(',', ', ')} with a blank")
    message = f"{visible(word)} may mean several numbers; write {' or '.join(written)}"
    return NumberError(message, at=at)


Labels: TypeAlias = tuple[list[str] | None, list[str] | None]
"""The labels of a matrix's rows and of its columns."""

LIKE_NUMBER = regex(
    r"[-+−±][lIOo.,\d]+|[-+−]?[\d½¼¾⅓⅔][\dOolI|x.,/:²³¹½¼¾⅓⅔]*|[OolI]?[.,]\d+|#N/A|#[A-Z/0]+[!?]"
)
"""A misspelt number, such as 1O, 1:2 and 1.5.2, or an error such as #DIV/0!; it is not a label."""
NO_CLEAR_LABEL = regex(rf"{WITH_UNIT}|=.+")
"""A number with a unit, $5 or 5 kg, and a formula; nothing else in a column makes no labels."""
CORNERS = ("", "token", "tokens", "word", "row", "query", "index", "position", "no", "nr", "#")
"""Headings of a column of labels, which may then be numbers that count."""
LIKE_DIGITS = frozenset("lIOo")
"""Letters that may be misspelt digits; a row or column of nothing else is not labels."""
NO_LABELS = ("true", "false", "nan", "na", "null", "none", "n/a", "idk")
"""Words that programs and people write in the place of a number."""
WORDS_BEFORE_NUMBERS = "|".join(
    ["step", "part", "table", "figure", "task", "exercise", "question", *words_for("STEP")]
)
NAME_IN_PARENTHESES = (
    rf"(?i)((?:{WORDS_BEFORE_NUMBERS})\s*+\d{{1,2}})[.\d]*\s?(?:[a-z]\b)?\)?\s*\(([^()]+)\)"
)
"""The number of a heading with the name behind it in parentheses."""
HEADING = regex(
    rf"[#*`$\s]*+(?:(?:{WORDS_BEFORE_NUMBERS})\s*+(?:\d{{1,2}}\s?[a-z]?|[a-z]|[一二三四五六七八九十]{{1,3}})\s*"
    r"(?:步\s*[.:：、)–-]?|[.:：、)–-])\s*(?:[a-z]\)\s*)?"
    r"|(?:(?:\d{1,2}\.)+\d{1,2}\s+|(?<=# )\d{1,2}\s+|\d{1,2}\s*[.:)]\s*\**)(?=[^\W\d]|[/÷×·⋅]\S)"
    r"|\(?[a-z]\)(?:\s+|\Z))?(.*?)(?:(?:(?<!\s)\s++|(?<=[⺀-鿿]))\([^()]*\))?",
    re.IGNORECASE,
)
"""A name with the signs of a heading around it, its number before it or a remark after it."""


class LabelledGrid(Record):
    """The numbers of a table, and the labels beside them.

    Of a table of three or four axes, `rows` has the rows of all its matrices, and `lead` the sizes
    of the axes before those of a matrix.
    """

    rows: list[Words]
    labels: Labels = (None, None)
    lead: tuple[int, ...] = ()

    def words(self) -> list[Any]:
        """Return the numbers as nested lists."""
        items: list[Any] = [[word for _, word in row] for row in self.rows]
        height = len(items) // prod(self.lead)
        for size in (height, *self.lead[:0:-1]) if self.lead else ():
            items = [items[at : at + size] for at in range(0, len(items), size)]
        return items

    def offset(self, place: Sequence[int]) -> int:
        """Return where the number at a place begins, or its row; raise IndexError for no such one.

        Of a matrix of one row, a place may be that of the column alone.
        """
        sizes = (*self.lead, len(self.rows) // prod(self.lead))
        place = (0, *place) if len(self.rows) == len(place) == 1 else place
        *rows, column = (*place, *[0] * len(sizes), 0)[: len(sizes) + 1]
        number = 0
        for index, size in zip(rows, sizes, strict=True):
            number = number * size + index
        return self.rows[number][column][0]


class Edges(Record):
    """Which edges of a table are labels."""

    top: bool  # whether the first row is labels
    left: bool  # whether the first column is
    labels: Labels
    corner: str = ""  # the word in the first row above the labels of the rows


def edges(rows: Sequence[Sequence[str]], is_csv: bool = False) -> Edges:
    """Return which cells of a table are labels.

    In CSV a blank corner is one of labels, and I is a label and not a misspelt 1, unlike l.
    """
    top, left = _sides(rows, is_csv)
    firsts = [row[0] for row in rows[top:]] if left else None
    if not top:
        return Edges(top, left, (firsts, None))
    heads = list(rows[0])
    widths = [len(row) - left for row in rows[top:]]
    has_corner = left and (heads[0] == "" or len(heads) > max(widths))
    return Edges(top, left, (firsts, heads[has_corner:]), heads[0] if has_corner else "")


def _sides(rows: Sequence[Sequence[str]], is_csv: bool) -> tuple[bool, bool]:
    """Return whether the first row, and the first column, of a table are labels."""
    if not rows or not all(rows):
        return False, False
    head, rest = rows[0], rows[1:]
    if is_csv and len(head) > 1 and head[0] == "":
        return True, bool(rest)
    has_corner = len(head) > 1 and head[0].casefold() in CORNERS
    names = head[1:] if has_corner else head
    firsts = [row[0] for row in rest]
    is_table = has_corner and rest and (are_labels(names) or _count(names))
    if is_table and (are_labels(firsts) or (_count(firsts) and len(rest[0]) == len(head))):
        return True, True
    misspelt = LIKE_DIGITS - {"I"} if is_csv else LIKE_DIGITS
    top = bool(rest) and are_labels(names, misspelt)
    firsts = firsts if top else [head[0], *firsts]
    return top, are_labels(firsts, misspelt) and all(len(row) > 1 for row in rows[top:])


def is_word(cell: str) -> bool:
    """Return True if a cell cannot be meant as a number; 1..2 is a misspelt one."""
    if cell.lower() in NO_LABELS or LIKE_NUMBER.fullmatch(cell) or "\\" in cell:
        return False
    if re.search(r"\d[.,]\d", cell) and not re.search(r"\s", cell):
        return False
    if cell in BLANK_CELLS or not any(c not in "0123456789.,+-eE_ " for c in cell):
        return len(cell) > 1 and cell.isalpha()
    return not _is_number(cell) and not all(_is_number(word) for _, word in words_of(cell))


def _is_number(text: str) -> bool:
    try:
        value_of(text)
    except NumberError:
        return False
    return True


def are_labels(cells: Sequence[str], misspelt: frozenset[str] = frozenset()) -> bool:
    """Return True if a cell cannot be a number, none has to be one, and not all are misspelt."""
    clear = (is_word(cell) and not NO_CLEAR_LABEL.fullmatch(cell) for cell in cells)
    if not any(clear) or misspelt.issuperset(cells):
        return False
    return all(
        is_word(cell) or cell.isalpha() or (cell and not any(map(str.isalnum, cell)))
        for cell in cells
    )


def _count(words: Sequence[str]) -> bool:
    numbers = [*map(str, range(len(words) + 1))]
    return len(words) > 1 and [*words] in (numbers[:-1], numbers[1:])


def undecorated(heading: str) -> str:
    """Return the name in a heading.

    >>> [undecorated(line) for line in ("## Weights:", "Step 3: A", "b) sum", "A (softmax) =")]
    ['Weights', 'A', 'sum', 'A']
    """
    bare = re.sub(r"\((head \d+)\)", r"\1", heading).rstrip(" \t\r\n:=*`$")
    bare = re.sub(NAME_IN_PARENTHESES, r"\1: \2", bare)
    match = HEADING.fullmatch(bare)
    return match[1] if match else heading

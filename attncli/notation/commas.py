"""Numbers in lines of text: what separates them, and what a comma between digits means."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TypeAlias

from attncli.notation.parser import NumberError
from attncli.notation.written import ABOUT
from attncli.text.escapes import visible

Words: TypeAlias = list[tuple[int, str]]
"""The words of a line, each with the offset where it starts."""

SIGN = rf"[{ABOUT}]?\s*[-+−–]?\s*"
DECIMAL_COMMA = re.compile(rf"{SIGN}\d+,\d+([eE][+-]?\d+)?\s*%?")
"""A number with a decimal comma."""
GROUPED = re.compile(
    rf"{SIGN}[1-9]\d{{0,2}}([.,'’ \u00a0\u2009\u202f])\d{{3}}(\1\d{{3}})*"
    r"((?!\1)(?:\.\d*|,\d+))?\s*%?"
)
"""A number whose thousands are separated by points, commas, apostrophes or blanks."""
THIN_SPACE = re.compile(r"\d+(?:[\u2009\u202f]\d+)+(?:[.,]\d+)?")
"""Digits with a thin space between them, which separates thousands and not numbers."""


def words_of(line: str, sign: str = ",") -> Words:
    """Return the words of a line, separated by blanks or a sign; with no sign, by blanks alone.

    Nothing separates words inside parentheses that match. A percent sign belongs to the number
    before it, and ≈ to the number after it.

    >>> words_of("1, sqrt( 4 ) ≈ 1/2")
    [(0, '1'), (3, 'sqrt( 4 )'), (13, '≈ 1/2')]
    """
    one = rf"(?:[{ABOUT[:-1]}]\s+)?[^\s{sign}]+(?:\s+%(?=[\s{sign}]|\Z))?"
    if "(" not in line:
        return [(word.start(), word[0]) for word in re.finditer(one, line)]
    words = re.finditer(one, _without_groups(line))
    return [(word.start(), line[word.start() : word.end()]) for word in words]


def _without_groups(line: str) -> str:
    """Return a line with a letter for each character inside parentheses, if these match."""
    if line.count("(") != line.count(")"):
        return line
    masked, depth = [], 0
    for character in line:
        depth += character == "("
        masked.append("x" if depth > 0 else character)
        depth -= character == ")"
    return "".join(masked)


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


def _refuse_thin_spaces(text: str) -> None:
    if not text.isascii() and (found := THIN_SPACE.search(text)):
        joined, parted = (re.sub(r"[\u2009\u202f]", sign, found[0]) for sign in ("", " "))
        message = f"{visible(found[0])} has a thin space; write {joined}"
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
    found = GROUPED.fullmatch(text)
    if found is None or (found[1] == "." and not found[2] and not found[3]):
        return ""
    return found[1]


def _is_even(rows: Sequence[Words]) -> bool:
    return len({len(row) for row in rows if row}) == 1


def _rewritten(rows: Sequence[Words], comma: str) -> list[Words]:
    """Return rows with another sign for the commas of numbers that are no expressions."""
    return [[(at, w if "(" in w else w.replace(",", comma)) for at, w in row] for row in rows]


def ambiguous(word: str, readings: Collection[str]) -> NumberError:
    """Return the error for a comma with several readings: decimal, thousands, separated."""
    ways = {"decimal": ".", "thousands": ""}
    found = [word.replace(",", sign) for reading, sign in ways.items() if reading in readings]
    if "separated" in readings:
        found.append(f"{word.replace(',', ', ')} with a blank")
    return NumberError(f"{visible(word)} may mean several numbers; write {' or '.join(found)}")

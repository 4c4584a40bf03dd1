"""Text blocks, a row a line: what parts their numbers, and what a comma between digits means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from attncli.notation.parser import NumberError
from attncli.notation.written import ABOUT, words_of
from attncli.text.escapes import visible

Words: TypeAlias = list[tuple[int, str]]
"""The numbers of a line, each with where it starts."""

SIGN = rf"[{ABOUT}]?\s*[-+−–]?\s*"
DECIMAL_COMMA = re.compile(rf"{SIGN}\d+,\d+([eE][+-]?\d+)?\s*%?")
"""A number with a decimal comma."""
GROUPS = re.compile(rf"{SIGN}[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?\s*%?")
"""A number whose thousands are parted by commas, such as 1,202,604.28."""
OTHER_GROUPS = (
    (re.compile(rf"{SIGN}[1-9]\d{{0,2}}(\.\d{{3}})+,\d+\s*%?"), "."),
    (re.compile(rf"{SIGN}[1-9]\d{{0,2}}(\.\d{{3}}){{2,}}\s*%?"), "."),
    (re.compile(rf"{SIGN}[1-9]\d{{0,2}}([ \u00a0\u2009\u202f]\d{{3}})+([.,]\d*)?\s*%?"), "\\s"),
    (re.compile(rf"{SIGN}[1-9]\d{{0,2}}(['’]\d{{3}})+([.,]\d*)?\s*%?"), "'’"),
)
"""The same with points, blanks or apostrophes, and what parts the thousands."""

THIN = re.compile(r"\d+(?:[\u2009\u202f]\d+)+(?:[.,]\d+)?")
"""Digits with a thin space between, which parts thousands and not numbers."""

POINT_AND_COMMA = OTHER_GROUPS[0][0]


def rows_of(lines: Sequence[str]) -> list[Words]:
    """Return the numbers of each line of a text block, parted by blanks or commas.

    A comma between digits may part two numbers, be a decimal comma, or part thousands. It is what
    makes all rows as long; where several do, a decimal comma if every number has one.

    Raises:
        NumberError: for a comma that may be either, or a thin space within a number.

    >>> [word for _, word in rows_of(["1,50 0,5"])[0]], [word for _, word in rows_of(["1, 5"])[0]]
    (['1.50', '0.5'], ['1', '5'])
    """
    _refuse_thin_spaces(lines)
    parted = [_joined(words_of(line), line) for line in lines]
    pieces = [_joined(words_of(line, ""), line) for line in lines]
    words = [word for row in pieces for _, word in row]
    commas = [word for word in words if "," in word and "(" not in word]
    for word in commas:
        if POINT_AND_COMMA.fullmatch(word):
            plain = word.replace(".", "").replace(",", ".")
            raise NumberError(f"{visible(word)} may mean several numbers; write {plain}")
    doubtful = [word for word in commas if DECIMAL_COMMA.fullmatch(word) or GROUPS.fullmatch(word)]
    if not doubtful:
        return parted
    readings: dict[str, list[Words]] = {}
    # Nobody writes 05 for 5, so in 1,05 the comma parts no numbers.
    if _is_even(parted) and not any(re.search(r",0\d", word) for word in doubtful):
        readings["parted"] = parted
    if _is_even(pieces) and all(map(DECIMAL_COMMA.fullmatch, commas)):
        readings["decimal"] = _rewritten(pieces, ",", ".")
    if _is_even(pieces) and all(map(GROUPS.fullmatch, commas)):
        readings["thousands"] = _rewritten(pieces, ",", "")
    if len(readings) > 1:
        one_in_each = len(words) == len(commas) and all(len(row) != 1 for row in pieces)
        if one_in_each and "thousands" not in readings and "decimal" in readings:
            return readings["decimal"]
        raise doubt(doubtful[0], readings)
    return next(iter(readings.values()), parted)


def _refuse_thin_spaces(lines: Sequence[str]) -> None:
    text = "\n".join(lines)
    if not text.isascii() and (found := THIN.search(text)):
        joined, parted = (re.sub(r"[\u2009\u202f]", sign, found[0]) for sign in ("", " "))
        message = f"{visible(found[0])} has a thin space; write {joined}"
        raise NumberError(f"{message}, or {parted} for several numbers")


def whole_number(text: str) -> str:
    """Return a number that stands alone in a cell with a point, and its thousands unparted.

    Raises:
        NumberError: for a comma that may be a decimal one, or part thousands.

    >>> whole_number("0,14"), whole_number("1,202,604.28"), whole_number("1/2")
    ('0.14', '1202604.28', '1/2')
    """
    if GROUPS.fullmatch(text):
        if text.count(",") == 1 and "." not in text:
            raise doubt(text, ("decimal", "thousands"))
        return text.replace(",", "")
    if DECIMAL_COMMA.fullmatch(text):
        return text.replace(",", ".")
    for form, signs in OTHER_GROUPS:
        if form.fullmatch(text):
            return re.sub(rf"(?<=\d)[{signs}](?=\d{{3}})", "", text).replace(",", ".")
    return text


def _joined(words: Words, line: str) -> Words:
    """Return words with `≈` joined to the number after it and `%` to the one before it."""
    if not any(sign in line for sign in f"%{ABOUT}"):
        return words
    found: Words = []
    for start, word in words:
        before = found[-1][1] if found else ""
        if found and (word == "%" or (before in ABOUT and before != "~")):
            begin = found[-1][0]
            found[-1] = (begin, line[begin : start + len(word)])
        else:
            found.append((start, word))
    return found


def _is_even(rows: Sequence[Words]) -> bool:
    return len({len(row) for row in rows if row}) == 1


def _rewritten(rows: Sequence[Words], old: str, new: str) -> list[Words]:
    return [
        [(start, word if "(" in word else word.replace(old, new)) for start, word in row]
        for row in rows
    ]


def doubt(word: str, readings: Iterable[str]) -> NumberError:
    """Return the error for a comma that may be read in several ways."""
    ways = {
        "decimal": word.replace(",", "."),
        "thousands": word.replace(",", ""),
        "parted": word.replace(",", ", "),
    }
    found = [ways[reading] for reading in readings]
    if "parted" in readings:  # told last: it is more than one number
        found = [way for way in found if way != ways["parted"]]
        found.append(f"{ways['parted']} with a blank")
    return NumberError(f"{visible(word)} may mean several numbers; write {' or '.join(found)}")

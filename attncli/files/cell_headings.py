"""The cells of steps that the headings of forms and spreadsheets name: `What is scores[1,1]?`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attncli.tape.words import ALIASES, may_mean_step
from attncli.text.suggestions import near_words

IN_BRACKETS = re.compile(
    r"\s*((?:\[\s*(?:(?:head|batch)\s*)?\d+\s*\]\s*)*"
    r'\[(?!(?:score|points|feedback|comment)\])(?:"[^"]*"|[^\[\]"])+\])',
    re.IGNORECASE,
)
"""The places in brackets behind the name of a step; not `[Score]`, which forms add."""

AXIS_WORD = re.compile(r"(?<=[\[,])\s*(?:row|column|col)\s+(?=\d)", re.IGNORECASE)
"""A word before the number of a place, as in the grids of forms."""

WHOLE_STEPS = ALIASES.keys() - {"sum"}
"""Steps that a heading may name without places; a column `sum` may hold points."""

NEARLY = re.compile(r"([^\W\d]{3,}?)([\s_({]*)(?:\[([^\[\]]*\d[^\[\]]*)|(\d+)[\s_,;]+(\d+))")
"""A word, what is between, and places in brackets or two numbers: perhaps a cell."""


def named_cell(heading: str) -> tuple[str, str] | None:
    """Return the text before the cell, or the step, that a heading names, and its name.

    A heading that names several cells names none of them.

    >>> named_cell("Problem 2: what is weights [row 1]? (2 points)"), named_cell("Response 1")
    (('Problem 2: what is', 'weights[1]'), None)
    """
    found = list(_cells(heading))
    if len({cell for _, cell in found}) == 1:
        return found[0]
    before, _, name = heading.rpartition(":")
    return (before, name.strip()) if not found and name.strip() in WHOLE_STEPS else None


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

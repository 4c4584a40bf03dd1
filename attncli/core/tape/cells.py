"""The names of cells, as they are written: `scores[am, I]`, `weights[head 2][am, I]`, q_am."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Cell, Vector
from attncli.core.tape.step import LEADING, Step

Index = tuple[int, ...]

PLAIN_WORD = re.compile(r"[\w.-]+")
"""A label that has no special meaning in any format."""


def place_of(step: Step, at: Index) -> Index:
    """Return the index into `Step.value` of a place in the step's array."""
    lead = [i for name, i in zip(LEADING, at, strict=False) if name in step.leading]
    return (*lead, *step.swapped(at[len(at) - len(step.trailing) :]))


def at_of(step: Step, place: Index) -> Index:
    """Return the place in a step's array of an index into `Step.value`."""
    leading = dict(zip(step.leading, place, strict=False))
    lead = [leading.get(name, 0) for name in LEADING]
    last = step.swapped(place[len(leading) :])
    return (*lead, *[0] * (step.array.ndim - 2 - len(last)), *last)


def cell(step: Step, place: Index) -> Cell:
    """Return the name of a cell on paper as a formula; every name of a cell is made here."""
    if step.name.isdigit():  # a start of zeros, which has no name of its own
        return Cell(step.name, (), ())
    count = len(step.leading)
    lead = tuple((axis, i + 1) for axis, i in zip(step.leading, place, strict=False))
    # The axis of sums has one place, which says nothing.
    pairs = [p for p in zip(step.axes[count:], place[count:], strict=True) if p[0] != "sum"]
    return Cell(step.word, lead, tuple(place_word(step.labels, axis, i) for axis, i in pairs))


def matrix_name(step: Step, place: Index) -> str:
    """Return the name of one matrix of a step on paper, such as `weights[head 2]`.

    `place` is its place along the axes before its rows, or along some of them for several matrices
    side by side. The name is used in files of several formats, so labels that are not plain words
    give way to numbers.
    """
    lead = tuple((axis, i + 1) for axis, i in zip(step.leading, place, strict=False))
    words = []
    for axis, i in zip(step.axes[len(step.leading) :], place[len(lead) :], strict=False):
        labels = step.labels.get(axis, ())
        is_plain = all(map(PLAIN_WORD.fullmatch, labels)) or any(map(str.isdecimal, labels))
        words.append(place_word(step.labels, axis, i) if is_plain else str(i + 1))
    return text(Cell(step.name, lead, tuple(words)))


def cell_name(step: Step, place: Index) -> str:
    """Return the name of a cell on paper, such as `weights[head 2][am, I]`."""
    return text(cell(step, place))


def row(step: Step, at: Index) -> Vector:
    """Return the name of the row of a step's array that a cell is in, such as q_am."""
    axes = step.trailing[:-1]
    if len(axes) == 1 and step.array.shape[-2] == 1 and axes[0] not in step.labels:
        return Vector(row_letter(step), ())
    places = at[len(at) - len(step.trailing) : -1]
    alone = len(axes) == 1
    words = (place_word(step.labels, axis, i, alone) for axis, i in zip(axes, places, strict=True))
    return Vector(row_letter(step), tuple(words))


def place_word(
    labels: Mapping[str, tuple[str, ...]], axis: str, place: int, alone: bool = False
) -> str:
    """Return the label of a place along an axis; its number if there is no unambiguous label.

    Labels are ambiguous if they occur twice, or hold a bracket or a comma; where no other place is
    named, as in z_am, a comma does no harm.
    """
    words = labels.get(axis, ())
    if place < len(words):
        label = words[place]
        tells = alone and _is_plain(label, '["') and words.count(label) == 1
        if are_clear(words)[place] or (tells and not label.isdecimal()):
            return label
    return str(place + 1)


def row_letter(step: Step) -> str:
    """Return the letter or name of a step's rows: q for those of Q, weights for its own."""
    return step.word.lower() if len(step.word) == 1 else step.word


def _is_plain(label: str, signs: str) -> bool:
    return label == label.strip() not in ("", ":") and not set(label) & set(signs)


def told_apart(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels with the number of the place behind each that occurs several times.

    >>> told_apart(("the", "cat", "the"))
    ('the(1)', 'cat', 'the(3)')
    """
    counts = Counter(labels)
    pairs = enumerate(labels, 1)
    return tuple(f"{x}({number})" if counts[x] > 1 else x for number, x in pairs)


@lru_cache  # every cell of a matrix asks
def are_clear(labels: tuple[str, ...]) -> list[bool]:
    """Whether each label is unambiguous; if one is not, no label that is a number is."""
    counts = Counter(labels)
    clear = [_is_plain(x, ',[]"') and counts[x] == 1 for x in labels]
    return [c and (all(clear) or not x.isdecimal()) for c, x in zip(clear, labels, strict=True)]

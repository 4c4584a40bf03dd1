"""The names of cells and places: `scores[am, I]`, `weights[head 2][am, I]`, q_am."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import product

from attncli.core.errors import InputError, NotThere, fail
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Cell, Vector
from attncli.core.records import Record
from attncli.core.tape.step import LEADING, Step, row_letter
from attncli.core.text.strings import count_in, regex, visible

Index = tuple[int, ...]

PLAIN_WORD = regex(r"[\w.-]+")
"""A label that has no special meaning in any format."""


class Cells(Record):
    """Some cells of a step: along each axis of its value one place, or several in a row."""

    step: Step
    along: tuple[int | range, ...]
    is_transposed: bool = False  # whether the name is that of the whole step transposed

    @property
    def places(self) -> list[Index]:
        """Every cell, as an index into the `value` of the step."""
        return list(product(*([x] if isinstance(x, int) else x for x in self.along)))

    @property
    def at(self) -> tuple[int | slice, ...]:
        """All cells, as an index of NumPy into the `value` of the step; () for all that it has."""
        if self.is_whole:
            return ()
        return tuple(x if isinstance(x, int) else slice(x.start, x.stop) for x in self.along)

    @property
    def is_whole(self) -> bool:
        """Whether they are every cell of the step."""
        return self.along == tuple(map(range, self.step.value.shape))


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
    """Return the name of a cell on paper as a formula; every name of a cell comes from here."""
    if step.name.isdigit():  # a start of zeros, which has no name
        return Cell(step.name, (), ())
    count = len(step.leading)
    lead = [(axis, i + 1) for axis, i in zip(step.leading, place, strict=False)]
    pairs = zip(step.axes[count:], place[count:], strict=True)
    # The axis of sums has one place, which says nothing.
    words = [place_word(step.labels, axis, i) for axis, i in pairs if axis != "sum"]
    return Cell(step.word, tuple(lead), tuple(words))


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


def _is_plain(label: str, signs: str) -> bool:
    return label == label.strip() not in ("", ":") and not set(label) & set(signs)


def told_apart(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels, each that occurs several times with the number of its place behind it.

    >>> told_apart(("the", "cat", "the"))
    ('the(1)', 'cat', 'the(3)')
    """
    counts = Counter(labels)
    pairs = enumerate(labels, 1)
    return tuple(f"{x}({number})" if counts[x] > 1 else x for number, x in pairs)


@lru_cache  # called for every cell of a matrix
def are_clear(labels: tuple[str, ...]) -> list[bool]:
    """Return whether each label is unambiguous.

    If any label is ambiguous, so is every label that is a number: it may be that of a place.
    """
    counts = Counter(labels)
    clear = [_is_plain(x, ',[]"') and counts[x] == 1 for x in labels]
    return [c and (all(clear) or not x.isdecimal()) for c, x in zip(clear, labels, strict=True)]


MOST_LISTED = 12
"""Maximum number of labels that an error message lists, and of steps if it lists all."""


def find_places(written: str, axis: str, steps: Mapping[str, Step], name: str) -> list[int]:
    """Return the places along an axis that are written, in their order: `love`, `1-3,AI`.

    It is called `name` in messages.

    Raises:
        InputError: for a place that does not exist, or an axis that no step has.
    """
    step = next((one for one in steps.values() if axis in one.axes), None)
    if step is None:
        raise fail(f"{visible(name)}: no step of this calculation has an axis {axis}")
    places: list[int] = []
    for part in filter(None, map(str.strip, written.split(","))):
        is_place = "-" not in part or places_of(step, axis, part)
        span = span_of(step, axis, part if is_place else part.replace("-", ":", 1), name)
        places += [span] if isinstance(span, int) else span
    return list(dict.fromkeys(places))


def size_along(step: Step, axis: str) -> int:
    return step.value.shape[step.axes.index(axis)]


def span_of(step: Step, axis: str, word: str, name: str) -> int | range:
    """Return the place along an axis that a word names, or the places from one to another."""
    size = size_along(step, axis)
    if word == ":":
        return range(size)
    for colon in (match.start() for match in re.finditer(":", word)):
        ends = word[:colon].strip(), word[colon + 1 :].strip()
        known_ends = [places_of(step, axis, end) if end else [None] for end in ends]
        if places_of(step, axis, word) or [len(places) for places in known_ends] != [1, 1]:
            continue
        (first,), (last,) = known_ends
        first, last = first or 0, size - 1 if last is None else last
        if first > last:
            message = f"{visible(name)}: {visible(ends[0])} comes after {visible(ends[1])}"
            raise fail(message, hint=f"write {visible(ends[1])}:{visible(ends[0])}")
        return range(first, last + 1)
    places = places_of(step, axis, word)
    if len(places) == 1:
        return places[0]
    if places:
        at = f"the places {' and '.join(str(i + 1) for i in places)} of the {axis} axis"
        raise fail(f"{visible(name)}: {visible(word)} is at {at}", hint="give the number")
    labels = step.labels.get(axis, ())
    known = f"the numbers 1 to {size}"
    if labels and len(labels) <= MOST_LISTED:
        known = f"{', '.join(map(visible, labels))}, or {known}"
    message = f"{visible(name)}: there is no {axis} {visible(word)}"
    raise InputError(NotThere(message, hint=f"there are {known}"))


def places_of(step: Step, axis: str, word: str) -> list[int]:
    """Return the places along an axis that a word means: a label, in quotes or not, or a number."""
    labels = step.labels.get(axis, ())
    places = step.labelled(axis, word[1:-1] if re.fullmatch('".*"', word, re.DOTALL) else word)
    if word.isdecimal() and not all(are_clear(labels)[i] for i in places):
        places = []  # the number of a place
    if not places:  # the label and number that tables show, as the(1), if the label occurs twice
        pairs = zip(labels, told_apart(labels), strict=True)
        places = [i for i, (label, told) in enumerate(pairs) if told == word != label]
    if not places and 1 <= count_in(word) <= size_along(step, axis):
        places = [int(word) - 1]
    return places

"""The words beside a student's matrix: they say which row and column of a step each cell is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.layouts import Layout
from attncli.errors import InputError, KeyPath, fail
from attncli.records import Record
from attncli.tape.step import Step
from attncli.text.escapes import label_text, visible
from attncli.text.suggestions import near_words

MOST_LISTED = 12

Labels: TypeAlias = tuple[list[str] | None, list[str] | None]
"""The words of a matrix's rows and of its columns."""


class Beside(Record, eq=False):
    """The words beside each cell of a matrix: of its row and of its column; None where none is.

    Both arrays have the shape of the matrix.
    """

    rows: Array
    columns: Array

    def changed(self, layout: Layout) -> Beside:
        """Return the words beside the same cells in another layout."""
        return Beside(layout(self.rows), layout(self.columns))


def beside(shape: tuple[int, ...], labels: Mapping[tuple[int, ...], Labels]) -> Beside | None:
    """Return the words beside the cells of a matrix, or of a stack of them; None without any.

    Args:
        shape: of what was written.
        labels: of each matrix of a stack by its place, from 0; () stands for all others.
    """
    if not labels or len(shape) < 2:
        return None
    found = Beside(np.full(shape, None, object), np.full(shape, None, object))
    for lead in np.ndindex(shape[:-2]):
        rows, columns = labels.get(lead) or labels.get((), (None, None))
        if rows and len(rows) >= shape[-2]:
            found.rows[lead] = np.array(rows[: shape[-2]], object)[:, None]
        if columns and len(columns) >= shape[-1]:
            found.columns[lead] = np.array(columns[: shape[-1]], object)
    has_words = any((words != None).any() for words in (found.rows, found.columns))  # noqa: E711
    return found if has_words else None


def is_turned(step: Step, words: Beside) -> bool:
    """Return whether a matrix was written with rows for columns, as its words tell."""
    if len(step.trailing) != 2:
        return False
    (row, column), lead = step.axes[-2:], (0,) * (words.rows.ndim - 2)
    rows, columns = words.rows[lead][:, 0], words.columns[lead][0]
    as_is = [_fits(step, row, rows), _fits(step, column, columns)]
    turned = [_fits(step, column, rows), _fits(step, row, columns)]
    return -1 not in turned and (-1 in as_is or sum(turned) > sum(as_is))


def _fits(step: Step, axis: str, words: Array) -> int:
    """Return 1 where words are labels of an axis, 0 where nothing tells, −1 where they are not."""
    own = step.labels.get(axis, ())
    if not own or words[0] is None or all(str(word).isdecimal() for word in words):
        return 0
    return 1 if all(_known(str(word), own) for word in words) else -1


def targets(step: Step, words: Beside, own: tuple[int, ...], path: KeyPath) -> Array | None:
    """Return where on paper each cell belongs, an index into the cells one after the other.

    Args:
        step: what was written.
        words: in the layout of the step on paper; it may have fewer rows and columns.
        own: the shape of the step on paper, or of a head of it.
        path: the key, for messages.

    Returns:
        None where no words tell, or where there are more rows or columns than the step has.

    Raises:
        InputError: for a word that the step does not have, or that stands twice.
    """
    found = np.empty(words.rows.shape, int)
    flat = np.arange(prod(own)).reshape(own)
    for lead in np.ndindex(own[:-2]):
        places = [
            _places(step, axis, _along(words, lead, axis), own[axis], (*path, *lead))
            for axis in (-2, -1)
        ]
        if places[0] is None or places[1] is None:
            return None
        found[lead] = flat[lead][np.ix_(*places)]
    return found


def _along(words: Beside, lead: tuple[int, ...], axis: int) -> list[str | None]:
    """Return the words along an axis: −2 of the rows, −1 of the columns.

    Where one row was written as a column, its words are those of the rows.
    """
    sides = (words.rows, words.columns) if axis == -2 else (words.columns, words.rows)
    found = [side[lead][:, 0] if axis == -2 else side[lead][0] for side in sides]
    for line in found:
        if len(set(line)) > 1:
            return list(line)
    # A word that is the same all along is not of this axis, unless the axis has one place.
    alone = len(found[0]) == 1 or len(sides[0][lead].ravel()) == 1
    return list(found[0]) if alone else [None] * len(found[0])


def _places(
    step: Step, axis: int, words: Sequence[str | None], size: int, path: KeyPath
) -> list[int] | None:
    """Return the place of each row or column; None where there are more of them than places."""
    name = step.axes[axis]
    own = step.labels.get(name, ())
    count = len(words)
    in_order = list(range(count)) if count == size else None
    told = [word for word in words if word is not None]
    if len(told) < count or (own and _plain(told) == _plain(own)):
        return in_order
    are_labels = own and all(_known(word, own) for word in told)
    if not are_labels and all(word.isdecimal() and 1 <= int(word) <= size for word in told):
        return _once([int(word) - 1 for word in told], told, name, path, axis)
    if not own:
        return in_order  # the step has no words for features, so theirs are not looked at
    found = []
    for index, word in enumerate(told):
        places = _known(word, own)
        inside = (*path, index) if axis == -2 else path
        if not places:
            raise _unknown(step, name, own, word, inside)
        if len(places) > 1:
            at = " and ".join(str(place + 1) for place in places)
            message = f"{visible(word)} is the {name} at {at}, so it does not tell which"
            hint = f"label the rows 1 to {size}, or keep the order {_listed(own)}"
            raise fail(message, *inside, hint=hint)
        found += places
    return _once(found, told, name, path, axis)


def _once(found: list[int], words: Sequence[str], name: str, path: KeyPath, axis: int) -> list[int]:
    place, count = Counter(found).most_common(1)[0]
    if count > 1:
        index = len(found) - 1 - found[::-1].index(place)
        inside = (*path, index) if axis == -2 else path
        raise fail(f"the {name} {visible(words[index])} stands twice", *inside)
    return found


def _known(word: str, own: Sequence[str]) -> list[int]:
    """Return the places of a label: of the same word, or of one in other letters or blanks."""
    exact = [i for i, one in enumerate(own) if word in (one, visible(one), label_text(one))]
    return exact or [i for i, one in enumerate(_plain(own)) if one == _plain([word])[0]]


def _plain(words: Sequence[str]) -> list[str]:
    return [" ".join(visible(word).casefold().split()) for word in words]


def _unknown(step: Step, name: str, own: Sequence[str], word: str, path: KeyPath) -> InputError:
    near = near_words(word, own)
    hint = f"did you mean {visible(near[0])}? " if near else ""
    hint += f"there are {_listed(own)}, or the numbers 1 to {len(own)}"
    key = visible(str(path[0]))
    message = f"{step.name} has no {name} {visible(word) or 'without a word'}"
    if key != step.name:
        message = f"{key}: {message}"
    return fail(message, *path, hint=hint)


def _listed(own: Sequence[str]) -> str:
    more = ", …" if len(own) > MOST_LISTED else ""
    return ", ".join(map(visible, own[:MOST_LISTED])) + more

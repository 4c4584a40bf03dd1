"""The masks: which key each query may attend to.

To add a form: write a function that takes the form's value and the positions, and returns what
it keeps; give it a row in `MASKS`. All forms that are given apply together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array, because
from attncli.errors import KeyPath, fail, needing
from attncli.forms.form import (
    BITS,
    STRING,
    TRUTH,
    ArrayForm,
    Form,
    Schema,
    choice,
    count,
    in_one_line,
    whole_number,
)
from attncli.forms.matrices import dotted, to_array, to_count, to_number, to_vector
from attncli.notation.tree import Formula, Listed, Minus, Number, Phrase, Relation, Words
from attncli.records import Record
from attncli.tape.step import Expression, Operation, notation_of

Mask: TypeAlias = Mapping[str, Any]
"""What a mask is made of: values by the keys of `mask`; an empty one keeps everything."""


class Grid(Record):
    """The positions that a mask is asked for."""

    query: Array  # the numbers of the queries, (rows, 1)
    key: Array  # the numbers of the keys, (1, m)
    position: Array  # the place of each query among the keys, (rows, 1)
    rows: slice  # which of all queries these are


def kept(mask: Mask, n: int, m: int, rows: slice | None = None) -> Array | None:
    """Return 1 where a query may attend and 0 where not, or None where nothing is blocked.

    The mask's matrices broadcast to (batch, head, n, m), for n queries and m keys; so does what is
    returned, with only some rows where these are asked for.
    """
    if not mask:
        return None
    rows = rows or slice(0, n)
    query = np.arange(n)[rows, None]
    start = m - n if mask.get("align") == "bottom-right" else 0
    grid = Grid(query, np.arange(m)[None, :], query + start + mask.get("offset", 0), rows)
    found = [MASKS[name].keeps(mask[name], grid) for name in MASKS if name in mask]
    together = np.ones((1, 1, 1, 1), bool)
    for part in found:
        if part is not None and not part.all():
            together = together & part
    return None if together.all() else together.astype(float)


def causal(wanted: bool, grid: Grid) -> Array | None:
    """A query sees no key that comes after it."""
    return grid.key <= grid.position if wanted else None


def keep(matrix: Array, grid: Grid) -> Array:
    """A matrix of 1 where a query may attend."""
    return np.not_equal(rows_of(matrix, grid.rows), 0)


def block(matrix: Array, grid: Grid) -> Array:
    """A matrix of 1 where a query may not attend."""
    return np.equal(rows_of(matrix, grid.rows), 0)


def lengths(real: Array, grid: Grid) -> Array:
    """Only the first keys are real, the others padding."""
    return grid.key < real.reshape(-1, 1, 1, 1)


def window(sides: tuple[int, int], grid: Grid) -> Array:
    """A query sees so many keys to its left and right."""
    left, right = sides
    first = grid.position - left if left >= 0 else 0
    last = grid.position + right if right >= 0 else grid.key.size
    return np.logical_and(grid.key >= first, grid.key <= last)


def check_lengths(real: Array, batch: int, m: int) -> None:
    """Raise an InputError for lengths that are not one a batch element, or not from 0 to m."""
    if len(real) not in (1, batch):
        message = f"mask.lengths has {len(real)} numbers, but there are {batch} batch elements"
        raise fail(message, "mask", "lengths")
    for length in real:
        if not 0 <= length <= m or length != int(length):
            message = f"mask.lengths holds {length:g}, but there are {m} keys"
            raise fail(message, "mask", "lengths", hint=f"use whole numbers from 0 to {m}")


BLOCKING = -1e4
"""What other tools add to a score to block it is this or less."""


def _zeros_and_ones(raw: object, path: KeyPath) -> Array:
    array = to_array(raw, path, infinite=True, truths=True)
    added = array <= BLOCKING
    if added.any() and (added | (array == 0)).all():
        message = f"{dotted(path)} is added to the scores, but a mask is made of 0 and 1"
        hint = "write it under bias, or with 1 for 0 (may attend) and 0 for the others"
        raise fail(message, *path, hint=hint, needs="values")
    wrong = np.argwhere((array != 0) & (array != 1))
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        message = f"{dotted(path)} holds {array[place]:g}, but a mask is made of 0 and 1"
        hint = "1 = may attend; numbers to be added to the scores go into bias"
        raise fail(message, *path, *place, hint=hint, needs="values")
    return array


def _lengths(raw: object, path: KeyPath) -> Array:
    is_several = isinstance(raw, list | tuple | np.ndarray | str)
    return to_vector(raw, path) if is_several else np.array([to_number(raw, path)])


def _window(raw: object, path: KeyPath) -> tuple[int, int]:
    if isinstance(raw, str) and re.search(TWO_WORDS, raw):
        with needing("text"):
            return _window(re.findall(r"[^\s,]+", raw), path)
    if not isinstance(raw, list | tuple | np.ndarray) or len(raw) != 2:
        message = f"{dotted(path)} must be two numbers, left and right"
        raise fail(message, *path, hint="write window: [2, 0]; -1 is no bound")
    left, right = (to_count(side, (*path, index), -1) for index, side in enumerate(raw))
    return left, right


TWO_WORDS = r"^[\s,]*[^\s,]+[\s,]+[^\s,]+[\s,]*$"
PAIR: tuple[Schema, ...] = (
    {"type": "array", "items": whole_number(-1), "minItems": 2, "maxItems": 2},
    STRING | {"pattern": TWO_WORDS},
)

BLOCK: Schema = {"type": ["string", "boolean"]}  # true alone is a matrix of one number

ZEROS_AND_ONES = ArrayForm(_zeros_and_ones, (BLOCK, *BITS), stack="either", broadcasts=True)
LENGTHS = Form(_lengths, (whole_number(0), STRING, *in_one_line(whole_number(0))))
WINDOW = Form(_window, PAIR)
POSITION = {"align": choice(("top-left", "bottom-right")), "offset": count(least=None)}
"""Which query and key stand at the same position, and how many keys are before the first query."""

NO_SETTINGS: Mapping[str, Form] = {}


class MaskForm(Record):
    """One row of the table.

    `keeps` takes the value and the positions, and returns what is kept, broadcasting to (batch,
    head, rows, m), or None where nothing was asked for. `check` takes the value, the batch and m,
    and raises an InputError where they do not fit.
    """

    keeps: Callable[[Any, Grid], Array | None]
    form: Form  # how the value is written
    formula: str  # when a key j is kept for a query i
    summary: str  # one line for `attn scores`
    check: Callable[[Any, int, int], None] | None = None
    settings: Mapping[str, Form] = NO_SETTINGS  # more keys of `mask`, which say what a position is
    by_position: bool = False  # whether it asks for the places of queries among the keys
    # A value to start from, for n queries and m keys, where the name alone is no mask.
    start: Callable[[int, int], Any] | None = None


def without_the_last(n: int, m: int, blocked: int = 0) -> list[list[int]]:
    """Return a matrix (n, m) for `keep` in which the first query does not see the last key.

    With `blocked` = 1 it is one for `block`.
    """
    first = [1 - blocked] * (m - 1) + [blocked]
    return [first if m > 1 else [1 - blocked], *([1 - blocked] * m for _ in range(n - 1))]


MASKS: dict[str, MaskForm] = {
    "causal": MaskForm(
        causal, TRUTH, "j ≤ i + offset", "no query looks ahead", settings=POSITION, by_position=True
    ),
    "keep": MaskForm(
        keep,
        ZEROS_AND_ONES,
        "keep[i, j] = 1",
        "0/1 matrix, 1 where it may attend",
        start=without_the_last,
    ),
    "block": MaskForm(
        block,
        ZEROS_AND_ONES,
        "block[i, j] = 0",
        "0/1 matrix, 1 where it may not attend",
        start=partial(without_the_last, blocked=1),
    ),
    "lengths": MaskForm(
        lengths,
        LENGTHS,
        "j < length",
        "how many keys are real, or one a batch",
        check_lengths,
        start=lambda n, m: max(m - 1, 1),
    ),
    "window": MaskForm(
        window,
        WINDOW,
        "p − left ≤ j ≤ p + right",
        "[left, right] of the query; −1: open",
        by_position=True,
        start=lambda n, m: [1, 0],
    ),
}


def rows_of(array: Array, rows: slice) -> Array:
    """Return some rows of a matrix (…, n, m); one row stands for any."""
    return array if array.shape[-2] == 1 else array[..., rows, :]


class Masked(Operation):
    """−∞ where the mask is 0: e^−∞ = 0, so such a key gets no weight."""

    operand: Expression
    mask: Expression
    blocks = True
    pointwise = True
    why = "Where −∞ stands, the weight becomes 0: this query may not see this key."

    def apply(self, *arrays: Array) -> Array:
        scores, keep = arrays
        masked = np.where(keep != 0, scores, -np.inf).astype(scores.dtype)
        return because(masked, keep, "{seen}", keep == 0)

    def notation(self, columns: bool) -> Formula:
        blocked = Relation((notation_of(self.mask, columns), Number("0")))
        where = Phrase((Minus(Number("∞")), Words("where"), blocked))
        return Listed((notation_of(self.operand, columns), where))

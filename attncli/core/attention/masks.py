"""The masks: which key each query may attend to.

To add a form: write a function that takes the form's value and the positions, and returns what
it keeps, below the row that it has in `MASKS`. All forms that are written apply together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array, because
from attncli.core.attention.parameters import Table
from attncli.core.errors import KeyPath, fail, needing
from attncli.core.formulas import tree
from attncli.core.numbers import forms
from attncli.core.numbers.forms import TRUTH, Form, Schema, whole_number
from attncli.core.numbers.matrices import to_array, to_vector
from attncli.core.numbers.written import dotted, to_count
from attncli.core.records import EMPTY, Record
from attncli.core.tape.backward_operations import Pointwise
from attncli.core.tape.evaluation import array_of, cut
from attncli.core.tape.step import Derivatives, Expression, ShapeError

Mask: TypeAlias = Mapping[str, Any]
"""The values of a mask by the keys of `mask`; an empty mask keeps everything."""


class Grid(Record, eq=False):
    """The positions of queries and keys for which a mask is evaluated."""

    query: Array  # the numbers of the queries, (rows, 1)
    key: Array  # the numbers of the keys, (1, m)
    position: Array  # the place of each query among the keys, (rows, 1)
    rows: slice  # which of all queries these are
    keys: slice  # which of all keys these are
    n: int  # how many queries there are
    m: int  # how many keys there are


Reach: TypeAlias = tuple[Array | float, Array | float]
"""The first and the last key that each query sees, (rows, 1) or (batch, 1, 1, 1); or infinite."""


class MaskForm(Record):
    """One row of the table.

    `rule` takes the value and the positions, and returns where a key is kept, broadcasting to
    (batch, head, rows, keys), or None if every key is; or the first and the last key that are kept.
    `check` takes the value, the batch, n and m, and raises an InputError where they do not fit.
    """

    rule: Callable[[Any, Grid], Array | Reach | None]
    form: Form  # how the value is written
    formula: str  # when a key j is kept for a query i
    summary: str  # one line for `attn scores`
    check: Callable[[Any, int, int, int], None] | None = None
    settings: Mapping[str, Form] = EMPTY  # more keys of `mask`, which say what a position is
    by_position: bool = False  # whether it depends on the places of queries among the keys
    # A value to start from, for n queries and m keys, where the name alone is no mask.
    start: Callable[[int, int], Any] | None = None


MASKS = Table(MaskForm)


def is_kept(
    mask: Mask, n: int, m: int, rows: slice | None = None, keys: slice | None = None
) -> Array | None:
    """Return where a query may attend to a key, or None if nothing is blocked.

    The result broadcasts to (batch, head, n, m), or to only some of these rows and keys. With
    `shown` in the mask it is returned even if nothing is blocked, for pages on which cells can be.
    """
    if not mask:
        return None
    grid = _grid(mask, n, m, rows or slice(0, n), keys or slice(0, m))
    together = np.ones((1, 1, *grid.key.shape), bool)
    for name in (name for name in MASKS if name in mask):
        part = MASKS[name].rule(mask[name], grid)
        if isinstance(part, tuple):
            first, last = part
            part = np.logical_and(grid.key >= first, grid.key <= last)
        if part is not None and not part.all():
            together = together & part
    return None if together.all() and "shown" not in mask else together


def reach_of(mask: Mask, n: int, m: int, rows: slice) -> tuple[Array, Array, bool]:
    """Return the first and the last key that each of some queries may see.

    Also whether it sees every key between them: False if a form has no reach.
    """
    grid = _grid(mask, n, m, rows, slice(0, 1))
    first, last, is_exact = np.zeros_like(grid.query), np.full_like(grid.query, m - 1), True
    for name, row in ((name, row) for name, row in MASKS.items() if name in mask):
        reach = row.rule(mask[name], grid)
        if isinstance(reach, tuple):
            first, last = np.maximum(first, reach[0]), np.minimum(last, reach[1])
        else:
            is_exact = False
    first, last = np.minimum(first, m), np.maximum(last, -1)
    return first.astype(np.int32).ravel(), last.astype(np.int32).ravel(), is_exact


def of_head(mask: Mask, batch: int, head: int) -> Mask:
    """Return the mask of one head of one element of the batch."""

    def of_value(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        # A vector has one number for each element of the batch, or one for all.
        places = (batch,) if value.ndim == 1 else (batch, head)
        cells = (min(place, size - 1) for place, size in zip(places, value.shape, strict=False))
        return value[tuple(slice(cell, cell + 1) for cell in cells)]

    return {name: of_value(value) for name, value in mask.items()}


def _grid(mask: Mask, n: int, m: int, rows: slice, keys: slice) -> Grid:
    query, key = np.arange(rows.start, rows.stop)[:, None], np.arange(keys.start, keys.stop)[None]
    return Grid(query, key, query + first_place(mask, n, m), rows, keys, n, m)


def first_place(mask: Mask, n: int, m: int) -> int:
    """Return the index of the key at the position of the first query."""
    start = m - n if mask.get("align") == "bottom-right" else 0
    return int(start + mask.get("offset", 0))


BLOCKING = -1e4
"""Largest number that other tools add to a score to block it."""


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
PAIR: Schema = {"type": "array", "items": whole_number(-1), "minItems": 2, "maxItems": 2}
MASK_TEXT: Schema = {"type": ["string", "boolean"]}  # true alone is a matrix of one number

ZEROS_AND_ONES = forms.ArrayForm(
    _zeros_and_ones, (MASK_TEXT, *forms.BITS), stack="either", broadcasts=True
)
LENGTHS = Form(to_vector, (whole_number(0), forms.STRING, *forms.in_one_line(whole_number(0))))
WINDOW = Form(_window, (PAIR, forms.STRING | {"pattern": TWO_WORDS}))
POSITION = {"align": forms.choice(("top-left", "bottom-right")), "offset": forms.count(least=None)}
"""Keys of `mask` that align queries with keys, and count the keys before the first query."""


def without_the_last(n: int, m: int, blocked: int = 0) -> list[list[int]]:
    """Return a matrix (n, m) for `keep`, or for `block`, that hides the last key from query 1."""
    first = [1 - blocked] * (m - 1) + [blocked]
    return [first if m > 1 else [1 - blocked], *([1 - blocked] * m for _ in range(n - 1))]


def check_lengths(real: Array, batch: int, n: int, m: int) -> None:
    """Raise an InputError unless there is a length from 0 to m for each batch element."""
    if len(real) not in (1, batch):
        message = f"mask.lengths has {len(real)} numbers, but there are {batch} batch elements"
        raise fail(message, "mask", "lengths")
    for length in real:
        if not 0 <= length <= m or length != int(length):
            message = f"mask.lengths holds {length:g}, but there are {m} keys"
            raise fail(message, "mask", "lengths", hint=f"use whole numbers from 0 to {m}")


@MASKS.row(
    "causal", TRUTH, "j ≤ i + offset", "no query looks ahead", settings=POSITION, by_position=True
)
def causal(wanted: bool, grid: Grid) -> Reach:
    """A query sees no key that comes after it."""
    return 0, grid.position if wanted else np.inf


@MASKS.row(
    "keep",
    ZEROS_AND_ONES,
    "keep[i, j] = 1",
    "0/1 matrix, 1 where it may attend",
    start=without_the_last,
)
def keep(matrix: Array, grid: Grid) -> Array:
    """A matrix of 1 where a query may attend."""
    return np.not_equal(cut(matrix, (grid.rows, grid.keys)), 0)


@MASKS.row(
    "block",
    ZEROS_AND_ONES,
    "block[i, j] = 0",
    "0/1 matrix, 1 where it may not attend",
    start=partial(without_the_last, blocked=1),
)
def block(matrix: Array, grid: Grid) -> Array:
    """A matrix of 1 where a query may not attend."""
    return np.equal(cut(matrix, (grid.rows, grid.keys)), 0)


@MASKS.row(
    "lengths",
    LENGTHS,
    "j < length",
    "how many keys are real, or one a batch",
    check_lengths,
    start=lambda n, m: max(m - 1, 1),
)
def lengths(real: Array, grid: Grid) -> Reach:
    """Only the first keys are real, the others padding."""
    return 0, real.reshape(-1, 1, 1, 1) - 1


@MASKS.row(
    "window",
    WINDOW,
    "p − left ≤ j ≤ p + right",
    "[left, right] of the query; −1: open",
    by_position=True,
    start=lambda n, m: [1, 0],
)
def window(sides: tuple[int, int], grid: Grid) -> Reach:
    """A query sees the keys within two distances, to its left and to its right."""
    left, right = sides
    first = grid.position - left if left >= 0 else 0
    return first, grid.position + right if right >= 0 else np.inf


@MASKS.row(
    "when",
    Form(forms.as_text, ({"type": ["string", "boolean"]},)),
    "when is true",
    "a condition on i, j and lists: j <= i",
    lambda condition, _, n, m: condition.check(n, m),
    start=lambda n, m: "j <= i",
)
def when(condition: Any, grid: Grid) -> Array:
    """A query sees the keys for which an expression is true, which `values` reads."""
    values = condition.values(grid)
    if (no_truth := np.isnan(values)).any():
        query, key = np.argwhere(no_truth)[0]
        where = f"i = {grid.query[query, 0] + 1} and j = {grid.key[0, key] + 1}"
        hint = "write a condition such as j <= i; a division by 0 has no value"
        raise fail(f"mask.when is neither true nor false for {where}", "mask", "when", hint=hint)
    return values != 0


class Masked(Pointwise):
    """−∞ where the mask is 0: e^−∞ = 0, so such a key gets no weight."""

    mask: Expression
    rule: Mask = EMPTY  # that of the problem, if it has a condition
    blocks = True
    why = "Where a score is −∞, the weight becomes 0: this query may not see this key."

    def apply(self, scores: Array, keep: Array) -> Array:
        """The last axes of the mask are broadcast into those of the scores, which keep theirs."""
        if np.broadcast_shapes(scores.shape[-2:], keep.shape[-2:]) != scores.shape[-2:]:
            raise ShapeError(scores.shape, keep.shape)  # before memory is taken for all pairs
        masked = np.where(keep != 0, scores, -np.inf).astype(scores.dtype)
        said = self._reason if self.rule else "{seen}"
        return because(masked, keep, said, keep == 0)

    def _reason(self, cell: Any) -> str:
        """Return why a cell of the mask is 0, as `because` takes it."""
        *_, n, m = array_of(self.mask).shape
        *_, i, j = cell.at
        grid = _grid(self.rule, n, m, slice(i, i + 1), slice(j, j + 1))
        failing = self.rule["when"].failing(grid)
        return f"{{seen}} because {failing}" if failing else "{seen}"

    @property
    def note(self) -> tree.Formula | None:
        """`mask = 0 unless j ≤ i`, where the mask has a condition."""
        if not self.rule:
            return None
        blocked = tree.Relation((tree.Name("mask"), tree.Number("0")))
        return tree.Phrase((blocked, tree.Words("unless"), self.rule["when"].formula))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """As it is, which is 0 where the score is blocked: see `Operation.derivative`."""
        yield self.operand, upstream

    def notation(self, columns: bool) -> tree.Formula:
        scores, mask = self.notations(columns)
        blocked = tree.Relation((mask, tree.Number("0")))
        where = tree.Minus(tree.Number("∞")), tree.Words("where"), blocked
        return tree.Listed((scores, tree.Phrase(where)))

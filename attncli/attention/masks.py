"""The masks: which key each query may attend to.

To add a form: write a function that takes the settings and a grid of positions and returns what
it keeps, and give it a row in `MASKS`. All forms that are given apply together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attncli.arithmetic.elements import Array, because
from attncli.notation.tree import Formula, Listed, Minus, Number, Phrase, Relation, Words
from attncli.records import Record
from attncli.tape.step import Expression, Operation, notation_of


class Mask(Record):
    """What a mask is made of; the default keeps everything.

    Attributes:
        causal: whether a query may not look ahead.
        align: "top-left" or "bottom-right": which query and key stand at the same position.
        offset: how many keys stand before the first query (a cache of past keys).
        keep: 1 where a query may attend, broadcasting to (batch, head, n, m).
        block: 1 where it may not.
        lengths: how many keys are real, (batch,) or (1,).
        window: how many keys to the left and right; −1 for no bound.
    """

    causal: bool = False
    align: str = "top-left"
    offset: int = 0
    keep: Array | None = None
    block: Array | None = None
    lengths: Array | None = None
    window: tuple[int, int] | None = None

    def __call__(self, n: int, m: int, rows: slice | None = None) -> Array | None:
        """Return 1 where a query may attend and 0 where not, or None where nothing is blocked.

        Args:
            n: how many queries there are.
            m: how many keys.
            rows: which queries to give, all by default.

        Returns:
            An array that broadcasts to (batch, head, queries, m).
        """
        rows = rows or slice(0, n)
        grid = Grid(np.arange(n)[rows, None], np.arange(m)[None, :], n, m, rows)
        kept = [form.keeps(self, grid) for form in MASKS.values()]
        blocking = [k for k in kept if k is not None and not k.all()]
        if not blocking:
            return None
        together = blocking[0]
        for other in blocking[1:]:
            together = together & other
        return together.astype(float)


class Grid(Record):
    """Positions: queries (rows, 1) against keys (1, m), and which of the n queries these are."""

    query: Array
    key: Array
    n: int
    m: int
    rows: slice

    def position(self, mask: Mask) -> Array:
        """Return the place of each query among the keys."""
        start = self.m - self.n if mask.align == "bottom-right" else 0
        position: Array = self.query + start + mask.offset
        return position


class MaskForm(Record):
    """One row of the table: what it keeps (None where it was not asked for), and its formula."""

    keeps: Callable[[Mask, Grid], Array | None]
    formula: str
    summary: str


def causal(mask: Mask, grid: Grid) -> Array | None:
    """A query sees no key that comes after it."""
    return lift(grid.key <= grid.position(mask)) if mask.causal else None


def keep(mask: Mask, grid: Grid) -> Array | None:
    """A matrix of 1 where a query may attend."""
    return None if mask.keep is None else _of_rows(mask.keep, grid) != 0


def block(mask: Mask, grid: Grid) -> Array | None:
    """A matrix of 1 where a query may not attend."""
    return None if mask.block is None else _of_rows(mask.block, grid) == 0


def lengths(mask: Mask, grid: Grid) -> Array | None:
    """Only the first keys are real, the others padding."""
    if mask.lengths is None:
        return None
    return grid.key < mask.lengths.reshape(-1, 1, 1, 1)


def window(mask: Mask, grid: Grid) -> Array | None:
    """A query sees so many keys to its left and right."""
    if mask.window is None:
        return None
    left, right = mask.window
    kept = np.ones((len(grid.query), grid.m), bool)
    if left >= 0:
        kept &= grid.key >= grid.position(mask) - left
    if right >= 0:
        kept &= grid.key <= grid.position(mask) + right
    return lift(kept)


MASKS: dict[str, MaskForm] = {
    "causal": MaskForm(causal, "j ≤ i + offset", "no query looks ahead"),
    "keep": MaskForm(keep, "keep[i, j] = 1", "0/1 matrix, 1 where it may attend"),
    "block": MaskForm(block, "block[i, j] = 0", "0/1 matrix, 1 where it may not attend"),
    "lengths": MaskForm(lengths, "j < length", "how many keys are real, or one a batch"),
    "window": MaskForm(window, "p − left ≤ j ≤ p + right", "[left, right] of the query; −1: open"),
}


def lift(array: Array) -> Array:
    """Return a matrix (n, m) with axes for batch and head before it."""
    return array[None, None]


def _of_rows(array: Array, grid: Grid) -> Array:
    return array if array.shape[-2] == 1 else array[..., grid.rows, :]


class Masked(Operation):
    """−∞ where the mask is 0: e^−∞ = 0, so such a key gets no weight."""

    operand: Expression
    mask: Expression
    blocks = True
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Broadcasts."""
        scores, keep = arrays
        masked = np.where(keep != 0, scores, -np.inf).astype(scores.dtype)
        return because(masked, keep, "{seen}", keep == 0)

    def notation(self, columns: bool) -> Formula:
        """`scores, −∞ where mask = 0`."""
        blocked = Relation((notation_of(self.mask, columns), Number("0")))
        where = Phrase((Minus(Number("∞")), Words("where"), blocked))
        return Listed((notation_of(self.operand, columns), where))

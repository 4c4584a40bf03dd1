"""The numbers of a step as a student wrote them, and marks that stand for blocked cells."""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.errors import Fault
from attncli.core.records import Record, replace
from attncli.core.tape.evaluation import sources
from attncli.core.tape.step import Step

LIKE_BLOCKED = -999.0
"""Maximum number that programs write for the −∞ of a blocked cell."""

MUCH_LOWER = 100.0
"""Factor by which it is below the lowest right number in a cell that is not blocked. Chosen."""

BLOCKED_MARKS = frozenset((*"-–—−xX×/", "masked", "blocked"))
"""What people write into a blocked cell, in the place of −∞ or of a weight of 0."""


def blocked_in(step: Step) -> Array | None:
    """Return the cells of a step that are −∞, or 0 because they are so in its formula, on paper.

    None if there is none.
    """
    blocked = np.asarray(step.array == -np.inf)
    if blocked.any():
        return step.on_paper(blocked)
    for one in sources(step):
        if one.axes == step.axes and one.array.shape == step.array.shape:
            found = blocked_in(one)
            if found is not None and not step.value[found].any():
                return found
    return None


class Written(Record, eq=False):
    """The numbers of one step as a student wrote them, in the layout of the step's array."""

    values: Array  # nan where a cell is blank
    unit: Array  # one unit in the last place; 0 for what is exact, such as 1/3
    texts: Array  # a percentage, or a number with a decimal comma, as a decimal
    dtype: str = ""  # float16, float32 or float64 of a computer; "" for handwork
    unreadable: Array | None = None  # the cells that hold something else than a number

    @cached_property
    def blank(self) -> Array:
        return np.isnan(self.values)

    @cached_property
    def missing(self) -> Array:
        return self.blank if self.unreadable is None else self.blank & ~self.unreadable

    def beside(self, step: Step) -> Written:
        """Return the numbers with −∞, or 0, where a mark or a number like −1e9 stands for it."""
        right = step.array
        is_share = step.is_weights or step.plain.startswith("exp")
        blocked = 0.0 if is_share else -np.inf
        if not (right == blocked).any():
            return self
        least = 0.0 if is_share else np.min(right, initial=0.0, where=np.isfinite(right))
        is_low = (right == blocked) | (self.values <= MUCH_LOWER * least)
        stands = np.zeros(right.shape, bool) if is_share else is_low & (self.values <= LIKE_BLOCKED)
        no_number = self.unreadable
        if no_number is not None:
            stands[no_number] = [text in BLOCKED_MARKS for text in self.texts[no_number].tolist()]
            no_number = no_number & ~stands
        if not stands.any():
            return self
        values, unit = np.where(stands, blocked, self.values), np.where(stands, 0.0, self.unit)
        return replace(self, values=values, unit=unit, unreadable=no_number)


class ShapeMismatch(Record, eq=False):
    """A matrix of the wrong shape, and the fault that describes it."""

    texts: Array
    fault: Fault
    transposed: bool


Matrices: TypeAlias = dict[str, Written | ShapeMismatch]
"""The numbers that were written, by the name of the step."""

"""Draws of numbers for a problem, each looked at only as closely as anybody asks."""

from __future__ import annotations

from functools import cached_property
from math import inf

import numpy as np

from attncli.errors import InputError
from attncli.mechanisms.flaws import GRAVE, alike, saturated, small_flaws
from attncli.mechanisms.trace import Trace
from attncli.problem.problem import Problem
from attncli.teaching.drawing import Matrices, calculated, sketched
from attncli.teaching.effects import Effect, Effects, Key, Question
from attncli.teaching.work import rough_work

LARGE = 1000.0
"""From here on a number has more digits before the point than a hand likes to write."""


class Draw:
    """One draw: its numbers, and what is wrong with them.

    Args:
        matrices: the drawn numbers.
        problem: the problem with them.
        question: what is asked.
        given: the calculation of the given problem.

    Attributes:
        matrices: as given.
        rough: how many flaws it has that no variant should have, but for warnings.
        saturated: how many of them are saturated rows of weights.
        hidden: mistakes that are not seen, or in fewer numbers than could be; None where nobody
            has looked.
        alike: pairs of mistakes that are not told apart and could be.
        seen: what is seen.
    """

    def __init__(
        self, matrices: Matrices, problem: Problem, question: Question, given: Trace
    ) -> None:
        self.matrices = matrices
        self._problem = problem
        self._question = question
        self._given = given
        self._sketch = sketched(problem, matrices, given)
        self.saturated = saturated(self._sketch)
        sizes = np.concatenate([np.abs(step.array).ravel() for step in self._sketch])
        large = int(((sizes >= LARGE) & (sizes < inf)).sum())
        self.rough = self.saturated + large
        self.hidden: list[Key] | None = None
        self.alike: list[tuple[Key, Key]] = []
        self.seen: list[Effect] = []

    @cached_property
    def is_whole(self) -> bool:
        """Whether it can be calculated, in the steps of the given problem."""
        try:
            return tuple(self.trace.steps) == self._question.steps
        except InputError:  # such as for the cosine of a row of zeros
            return False

    @cached_property
    def trace(self) -> Trace:
        """The calculation."""
        return calculated(self._problem)

    @cached_property
    def effects(self) -> Effects:
        """What mistakes make of it."""
        return Effects(self.trace, self._question)

    @cached_property
    def grave(self) -> int:
        """How many flaws it has that no variant should have."""
        return self.rough + self._warnings

    @property
    def _warnings(self) -> int:
        """How many warnings it has: those of the given problem, but for ties of a hardmax."""
        of_keys = len(self._problem.warnings)  # which no numbers change
        if self._problem.normalize["name"] != "hardmax":
            return len(self._given.warnings) - of_keys
        return len(self.trace.warnings) - of_keys if self.is_whole else GRAVE

    @property
    def faults(self) -> float:
        """How many mistakes it hides or does not tell apart; ∞ where nobody has looked."""
        return inf if self.hidden is None else len(self.hidden) + len(self.alike)

    @cached_property
    def small(self) -> int:
        """How often it hides a little."""
        return small_flaws(self._sketch) + GRAVE * alike(self._sketch)

    @cached_property
    def rough_work(self) -> int:
        """About how much work it is."""
        return rough_work(self._sketch)

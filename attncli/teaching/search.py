"""The search for numbers with which a problem shows every mistake.

A search draws candidates within a `Budget`. It begins with the best of a few fresh ones, draws one
matrix after the other anew, or a row or a number of it, and keeps what is no worse, first in flaws
of the numbers, then in mistakes that are hidden. If that stops helping, it begins again.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from random import Random

import numpy as np

from attncli.errors import InputError, fail
from attncli.mechanisms.start import GRAVE, alike, saturated, small_flaws
from attncli.problem.problem import Problem
from attncli.records import Record
from attncli.tape.step import Step
from attncli.tape.walk import walk
from attncli.teaching.distractors import Distractor, Distractors, Key, Question
from attncli.teaching.drawing import Drawing, Matrices, calculated, numbers_of, sketched
from attncli.teaching.pool import Pool
from attncli.teaching.work import rough_work

LARGE_NUMBER = 1000.0
"""From here on a number is a flaw: it has more digits before the point than is comfortable."""

POOL_SIZE = 12
"""Number of candidates from which it is learned what can be shown."""

POOL_BUDGET = 60
"""Maximum number of draws for each candidate of the pool."""

VARIANT_BUDGET = 400
"""Maximum number of draws for a variant; then the best one is taken."""

FRESH_DRAWS = 6
"""Number of fresh draws of which a search takes the best as its start."""

MAX_STALE = 60
"""Number of draws in a row without improvement after which the search begins again."""

WORK_DIFFERENCE = 0.1
"""Difference in work from the given problem, relative to it, that counts as one small flaw."""

DRAWS_PER_FLAW = 10
"""Number of draws after which one more small flaw is accepted."""


class Budget:
    """The draws of a search: how many were made, of how many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.made = 0

    @property
    def is_left(self) -> bool:
        return self.made < self.most

    def spend(self) -> int:
        """Return the number of the next draw, from 0."""
        self.made += 1
        return self.made - 1


class Findings(Record, eq=False):
    """What a candidate shows of what can be shown.

    Attributes:
        seen: the distractors that are seen.
        hidden: mistakes that are not seen, or in fewer numbers than they could be.
        alike: pairs of mistakes that are not told apart, and could be.
    """

    seen: tuple[Distractor, ...]
    hidden: tuple[Key, ...]
    alike: tuple[tuple[Key, Key], ...]

    @property
    def faults(self) -> int:
        return len(self.hidden) + len(self.alike)


class Candidate:
    """Drawn numbers, and what is wrong with them; most of it is only worked out if it is needed.

    Attributes:
        matrices: the numbers.
        saturated: the number of saturated rows of weights.
        rough: the number of grave flaws, but for warnings.
        findings: what it shows, once it was looked at.
    """

    def __init__(self, matrices: Matrices, problem: Problem, question: Question) -> None:
        self.matrices = matrices
        self.problem = problem
        self.question = question
        self.findings: Findings | None = None
        self._sketch = sketched(problem, matrices, question.given)
        self.saturated = saturated(self._sketch)
        sizes = np.concatenate([np.abs(step.array).ravel() for step in self._sketch])
        self.rough = self.saturated + int(((sizes >= LARGE_NUMBER) & (sizes < inf)).sum())

    @cached_property
    def is_whole(self) -> bool:
        """Whether it can be calculated, in the steps of the given problem."""
        try:
            return tuple(self.distractors.trace.steps) == self.question.steps
        except InputError:  # such as for the cosine of a row of zeros
            return False

    @cached_property
    def distractors(self) -> Distractors:
        return Distractors(calculated(self.problem), self.question)

    @cached_property
    def grave(self) -> int:
        """The number of flaws that no variant should have, warnings of its numbers included."""
        problem, warnings = self.problem, self.question.given.warnings
        if problem.normalize["name"] == "hardmax":  # it warns of ties
            if not self.is_whole:
                return self.rough + GRAVE
            warnings = self.distractors.trace.warnings
        return self.rough + len(warnings) - len(problem.warnings)

    @cached_property
    def small(self) -> int:
        """The number of small flaws, the difference in work included."""
        usual = self.question.usual_work
        difference = abs(rough_work(self._sketch) - usual) / usual
        flaws = small_flaws(self._sketch) + GRAVE * alike(self._sketch)
        return flaws + int(difference / WORK_DIFFERENCE)

    @property
    def flaws(self) -> tuple[int, int]:
        return self.grave, self.small

    @property
    def faults(self) -> float:
        """The number of mistakes that are hidden or not told apart; ∞ before it was looked at."""
        return inf if self.findings is None else self.findings.faults

    def is_as_good_as(self, other: Candidate) -> bool:
        """Return whether it has no more flaws than another."""
        # Most draws have more grave ones, which is known before the small ones are counted.
        return self.rough <= other.grave and self.flaws <= other.flaws


class Search:
    """Finds numbers for variants of one problem.

    Args:
        drawing: the matrices that are drawn.
        question: what is asked.

    Attributes:
        pool: what can be shown.
        fewest: the number of grave flaws that every candidate has.
    """

    def __init__(self, drawing: Drawing, question: Question) -> None:
        self.drawing = drawing
        self.question = question
        self.pool = Pool(question)
        self._taken = {numbers_of(drawing.given)}
        weights = [s for s in question.given if s.name.startswith("weights")]
        behind = {n.key for s in weights for n in walk(s, into_steps=True) if isinstance(n, Step)}
        self._weighing = [key for key in drawing.cells if key in behind]
        self.fewest = self._learn()
        self._order = list(self.pool.places)  # what was hidden last is looked at first

    def _learn(self) -> int:
        """Fill the pool; return the fewest grave flaws of any candidate."""
        self.pool.add(Distractors(self.question.given, self.question))
        randoms = (Random(f"pool/{number}") for number in range(POOL_SIZE))
        found = [self._with_few_flaws(random, Budget(POOL_BUDGET), 0) for random in randoms]
        pooled = [candidate for candidate in found if candidate is not None]
        if not pooled:
            raise fail("no numbers that were drawn can be calculated with", hint="give others")
        for candidate in pooled:
            self.pool.add(candidate.distractors)
        return min(candidate.grave for candidate in pooled)

    def best(self, random: Random) -> Candidate | None:
        """Return the best candidate, and no such one again; None if none is new."""
        best: Candidate | None = None
        budget = Budget(VARIANT_BUDGET)
        while (found := self._with_few_flaws(random, budget, self.fewest)) is not None:
            if found.grave <= self.fewest:
                found = self._with_few_faults(random, budget, found)
            if best is None or self._cost(found) < self._cost(best):
                best = found
            if best.grave <= self.fewest and not best.faults:
                break
        if best is not None:
            self._taken.add(numbers_of(best.matrices))
            best.findings = best.findings or self._findings(best)
        return best

    def _cost(self, candidate: Candidate) -> tuple[float, float, float]:
        return max(candidate.grave - self.fewest, 0), candidate.faults, candidate.small

    def _with_few_flaws(self, random: Random, budget: Budget, fewest: int) -> Candidate | None:
        """Return a candidate with no more grave flaws than the fewest, and few small ones.

        The more of the budget is spent, the more small flaws are accepted. None if no candidate
        can be calculated.
        """
        current: Candidate | None = None
        fresh = stale = 0
        while budget.is_left:
            number = budget.spend()
            found = self._redrawn(random, None if fresh < FRESH_DRAWS else current, number)
            fresh += 1
            stale += 1
            if found is not None and (current is None or found.is_as_good_as(current)):
                if current is None or found.flaws < current.flaws:
                    stale = 0
                current = found  # one that is no better, too, or the search ends in a corner
            if current is None:
                continue
            is_good = current.grave <= fewest and current.small <= number // DRAWS_PER_FLAW
            if is_good or stale >= MAX_STALE:
                if current.is_whole:
                    return current
                current, fresh, stale = None, 0, 0
        return current if current is not None and current.is_whole else None

    def _with_few_faults(self, random: Random, budget: Budget, current: Candidate) -> Candidate:
        """Return a candidate that hides as little as can be found from the current one on."""
        findings = current.findings = self._findings(current)
        stale = 0
        while findings.faults and stale < MAX_STALE and budget.is_left:
            found = self._redrawn(random, current, budget.spend())
            stale += 1
            is_good = found is not None and found.rough <= self.fewest and found.is_whole
            if found is None or not is_good or found.grave > self.fewest:
                continue
            if not self._may_hide_less(found, findings):
                continue
            found.findings = self._findings(found, findings.faults - 1)
            if found.faults < findings.faults:
                current, findings, stale = found, found.findings, 0
        return current

    def _may_hide_less(self, candidate: Candidate, than: Findings) -> bool:
        """Return whether a candidate shows any of what the findings are."""
        distractors = candidate.distractors
        hidden = sum(self.pool.is_hidden(distractors.of(key)) for key in than.hidden)
        return hidden + sum(distractors.are_alike(*pair) for pair in than.alike) < than.faults

    def _redrawn(self, random: Random, current: Candidate | None, number: int) -> Candidate | None:
        """Return a candidate with some new numbers, or fresh ones; None if they are taken."""
        if current is None:
            matrices = self.drawing.draw(random)
        else:
            among = self._weighing if current.saturated else ()
            matrices = self.drawing.redrawn(random, current.matrices, number, among)
        if numbers_of(matrices) in self._taken:
            return None
        try:
            problem = self.drawing.problem(matrices, as_lists=False)
            return Candidate(matrices, problem, self.question)
        except InputError:  # such as for the cosine of a row of zeros
            return None

    def _findings(self, candidate: Candidate, most: float = inf) -> Findings:
        """Return what a candidate shows; the look ends where more than `most` is hidden."""
        seen: list[Distractor] = []
        hidden: list[Key] = []
        for place in [*self._order]:
            for distractor in candidate.distractors.at(*place).values():
                if distractor.key not in self.pool.shown or not distractor.is_asked:
                    continue
                if distractor.is_seen:
                    seen.append(distractor)
                if not self.pool.is_hidden(distractor):
                    continue
                hidden.append(distractor.key)
                self._order.remove(place)
                self._order.insert(0, place)
                if len(hidden) > most:
                    return Findings(tuple(seen), tuple(hidden), ())
        together = self.pool.alike(candidate.distractors, seen)
        return Findings(tuple(seen), tuple(hidden), tuple(together))

"""The search for numbers with which a problem shows every mistake.

A search makes a limited number of draws. It begins with the best of a few fresh ones. Then it draws
one matrix after the other anew, or only a row or a number of it, and keeps the result unless it has
more flaws, or as many flaws and more hidden mistakes. If that stops helping, it begins again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from math import inf
from random import Random

from attncli.checking.shown_mistakes import Faults, ShownMistakes
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.drawing.numbers_like import Drawing
from attncli.core.errors import InputError

POOL_SIZE = 12
"""Number of candidates that decide which mistakes a variant can show. Chosen."""

POOL_BUDGET = 60
"""Maximum number of draws for each candidate of the pool."""

VARIANT_BUDGET = 400
"""Maximum number of draws for a variant; then the best one is used. Chosen."""

FRESH_DRAWS = 6
"""Number of fresh draws, of which a search starts with the best. Chosen."""

MAX_STALE = 60
"""Number of draws in a row without improvement after which the search begins again."""

MAX_DRAWS_IN_BOUND = 10
"""Maximum number of draws until one has about as many products as the original problem. Chosen."""

DRAWS_PER_SMALL_FLAW = 10
"""Number of draws after which one more small flaw is accepted."""


class Candidate:
    """Drawn numbers, with their flaws and faults."""

    def __init__(self, matrices: Mapping[str, Array], trace: Trace, drawing: Drawing) -> None:
        self.matrices, self.trace = matrices, trace
        self.flaws = drawing.flaws_of(trace)
        self.faults = Faults()  # which are counted when it is examined

    def is_as_good_as(self, other: Candidate) -> bool:
        return self.flaws.grave <= other.flaws.grave and self.flaws.counts <= other.flaws.counts


class Search:
    """Finds numbers for variants of one problem."""

    def __init__(self, drawing: Drawing, mistakes: ShownMistakes) -> None:
        self.drawing = drawing
        self.mistakes = mistakes
        self._used: Set[bytes] = {drawing.numbers_of(drawing.original)}
        self.drawn: set[bytes] = set()  # what the last search drew, in the form of `numbers_of`
        self.fewest = self._learn()  # grave flaws, which every candidate has

    def _learn(self) -> int:
        """Fill the pool; return the fewest grave flaws of any candidate."""
        randoms = (Random(f"pool/{number}") for number in range(POOL_SIZE))
        candidates = [
            self._with_few_flaws(random, iter(range(POOL_BUDGET)), 0) for random in randoms
        ]
        pooled = [candidate for candidate in candidates if candidate is not None]
        if not pooled:
            message = "no numbers that were drawn can be calculated with"
            raise self.drawing.calculation.problem.error(message, hint="give others")
        for trace in (self.drawing.calculation, *(candidate.trace for candidate in pooled)):
            self.mistakes.add(trace)
        return min(candidate.flaws.grave for candidate in pooled)

    def best(self, random: Random, used: Set[bytes]) -> Candidate | None:
        """Return the best candidate with numbers that are not used; else None.

        The result is the same for other `used` numbers of which `drawn` has none.
        """
        self._used, self.drawn = {self.drawing.numbers_of(self.drawing.original), *used}, set()
        best = self._best_drawn(random)
        bounded, loose = self.drawing, self.drawing.with_any_zeros()
        if loose is not None and not (best is not None and self._is_fair(best)):
            self.drawing = loose  # that mistakes show matters more
            other = self._best_drawn(random)
            self.drawing = bounded
            if best is None or (other is not None and self._is_fair(other)):
                best = other
        if best is not None and best.faults.count == inf:
            best.faults = self.mistakes.faults_of(best.trace)
        return best

    def _is_fair(self, candidate: Candidate) -> bool:
        return candidate.flaws.grave <= self.fewest and not candidate.faults.count

    def _best_drawn(self, random: Random) -> Candidate | None:
        best: Candidate | None = None
        draws = iter(range(VARIANT_BUDGET))
        while (candidate := self._with_few_flaws(random, draws, self.fewest)) is not None:
            if candidate.flaws.grave <= self.fewest:
                candidate = self._with_few_faults(random, draws, candidate)
            if best is None or self._cost(candidate) < self._cost(best):
                best = candidate
            if self._is_fair(best):
                break
        return best

    def _cost(self, candidate: Candidate) -> tuple[float, ...]:
        grave = max(candidate.flaws.grave, self.fewest)
        return grave, candidate.faults.count, candidate.flaws.excess, candidate.flaws.small

    def _with_few_flaws(
        self, random: Random, draws: Iterator[int], fewest: int
    ) -> Candidate | None:
        """Return a candidate with few flaws; None if no draw can be calculated.

        The more draws it takes, the more small flaws are accepted.
        """
        current: Candidate | None = None
        stale = 0
        for tried, number in enumerate(draws):
            candidate = self._redrawn(random, None if tried < FRESH_DRAWS else current, number)
            stale += 1
            if candidate is not None and (current is None or candidate.is_as_good_as(current)):
                if current is None or candidate.flaws.counts < current.flaws.counts:
                    stale = 0
                current = candidate  # also one that is equally good, to leave a local optimum
            if current is None:
                continue
            few = number // DRAWS_PER_SMALL_FLAW
            is_good = current.flaws.grave <= fewest and current.flaws.small <= few
            if is_good or stale >= MAX_STALE:
                break
        return current

    def _with_few_faults(
        self, random: Random, draws: Iterator[int], current: Candidate
    ) -> Candidate:
        current.faults = self.mistakes.faults_of(current.trace)
        stale = 0
        while current.faults.count and stale < MAX_STALE:
            number = next(draws, None)
            if number is None:
                break
            candidate = self._redrawn(random, current, number)
            stale += 1
            if candidate is not None and candidate.flaws.grave <= self.fewest:
                candidate.faults = self.mistakes.faults_of(candidate.trace, current.faults)
                if candidate.faults.count < current.faults.count:
                    current, stale = candidate, 0
        return current

    def _redrawn(self, random: Random, current: Candidate | None, number: int) -> Candidate | None:
        """Return `current` with some numbers redrawn, or fresh draws; None if they have no use.

        They are drawn so often, at most, until they have about as many products as the original.
        """
        among = self.drawing.behind_weights if current and current.flaws.saturated else ()
        for _ in range(MAX_DRAWS_IN_BOUND):
            if current is None:
                matrices = self.drawing.draw(random)
            else:
                matrices = self.drawing.redrawn(random, current.matrices, number, among)
            if not self.drawing.excess(matrices):
                break
        numbers = self.drawing.numbers_of(matrices)
        self.drawn.add(numbers)
        if numbers in self._used:
            return None
        try:
            trace = self.drawing.trace(matrices)
        except InputError:  # such as for the cosine of a row of zeros
            return None
        is_alike = list(trace.steps) == list(self.drawing.calculation.steps)
        return Candidate(matrices, trace, self.drawing) if is_alike else None

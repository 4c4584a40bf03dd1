"""The search for numbers with which a problem shows every mistake.

A search makes a limited number of draws. It begins with the best of a few fresh ones. Then it draws
one matrix after the other anew, or only a row or a number of it, and keeps the result unless it has
more flaws, or as many flaws and more hidden mistakes. If that stops helping, it begins again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, combinations, islice, product
from math import inf
from random import Random

import numpy as np

from attncli.checking.distractors import Distractor, Distractors, Key, Question, alike_pairs
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.naming.catalogued import is_like
from attncli.core.calculation.trace import Trace
from attncli.core.drawing.numbers import GRAVE, Flaws
from attncli.core.drawing.numbers_like import Drawing, Matrices, Projections, numbers_of
from attncli.core.errors import InputError, fail
from attncli.core.tape.evaluation import walk
from attncli.core.tape.step import Step

LARGE_NUMBER = 1000.0
"""Minimum size of a number that is a flaw, as it has too many digits before the point. Chosen."""

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

WORK_DIFFERENCE = 0.1
"""Difference in work from the original problem, relative to it, that counts as one small flaw."""

MAX_DRAWS_IN_BOUND = 10
"""Maximum number of draws until one has about as many products as the original problem. Chosen."""

LIKELY_FAULTS = 40
"""Number of places in which most faults were, and which are looked at before the others. Chosen."""

DRAWS_PER_SMALL_FLAW = 10
"""Number of draws after which one more small flaw is accepted."""

MAX_REASON_STEPS = 4
"""Maximum number of steps that a reason names."""


class Pool:
    """The mistakes that sample calculations of one form show, and so may be shown by a variant."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.known: dict[Key, None] = {}  # every mistake, in the order of the search
        self.shown: dict[Key, int] = {}  # the largest count of numbers that show one
        self._met: set[frozenset[Key]] = set()
        self._apart: set[frozenset[Key]] = set()

    def add(self, distractors: Distractors) -> None:
        places = product(MISTAKES, distractors.trace.steps)
        every = distractors.at(places)
        seen = [one for one in every if one.asked and one.seen]
        self.known |= dict.fromkeys(one.key for one in every)
        self.shown |= {one.key: max(one.seen, self.shown.get(one.key, 0)) for one in seen}
        pairs = set(map(frozenset, combinations([one.key for one in seen], 2)))
        self._met |= pairs
        self._apart |= pairs - alike_pairs(seen, distractors.right, self.question.unit)

    def alike(self, distractors: Distractors, seen: Sequence[Distractor]) -> set[frozenset[Key]]:
        """Return the pairs of mistakes that one calculation does not tell apart, but others do."""
        pairs = alike_pairs(seen, distractors.right, self.question.unit) & self._apart
        return {pair for pair in pairs if not _may_be_one(*pair)}

    @property
    def never_apart(self) -> list[tuple[str, str]]:
        """The pairs of mistakes that give the same numbers in every step."""
        never = self._met - self._apart
        pairs = [pair for pair in combinations(self.shown, 2) if frozenset(pair) in never]
        return list(dict.fromkeys((a[0], b[0]) for a, b in pairs if not _may_be_one(a, b)))

    def unseen(self, left_out: Mapping[str, str]) -> dict[str, str]:
        """Return the mistakes that are not seen in some of their steps, each with the reason.

        `left_out` has the reasons for mistakes that cannot change a number.
        """
        shown = {key[0] for key in self.shown}
        reasons = {id_: reason for id_, reason in left_out.items() if id_ not in shown}
        hidden = [key[:2] for key in self.known if key not in self.shown]
        for id_ in dict(hidden):
            steps = list(dict.fromkeys(at for other, at in hidden if other == id_))
            reached = self.question.reached(steps)
            names = [name for name in self.question.asked if name in reached]
            more = ", …" if len(names) > MAX_REASON_STEPS else ""
            if id_ in shown:
                reasons[id_] = f"not always in {', '.join(steps)}"
            elif names:
                reasons[id_] = f"no difference in {', '.join(names[:MAX_REASON_STEPS])}{more}"
            else:
                reasons[id_] = f"{steps[0]} comes after what is asked"
        return {id_: reasons[id_] for id_ in MISTAKES if id_ in reasons}


def _may_be_one(one: Key, other: Key) -> bool:
    return one[0] == other[0] or is_like(one[0], other[0])


class Candidate:
    """Drawn numbers, with their flaws and faults: mistakes that are hidden or alike.

    Mistakes are hidden if they are not seen, or in fewer numbers than they could be; they are alike
    if they give the same numbers, though other numbers tell them apart.
    """

    def __init__(
        self, matrices: Matrices, trace: Trace, question: Question, projections: Projections
    ) -> None:
        self.matrices = matrices
        self.trace = trace
        self.question = question
        self._projections = projections
        self._flaws = Flaws(trace)
        self.saturated = self._flaws.saturated
        sizes = np.concatenate([np.abs(step.array).ravel() for step in trace])
        large = int(((sizes >= LARGE_NUMBER) & (sizes < inf)).sum())
        warnings = len(trace.warnings) - len(trace.problem.warnings)
        self.grave = self.saturated + large + warnings  # flaws that no variant should have
        self.seen: list[Distractor] = []
        self.hidden: list[Distractor] = []
        self.alike: set[frozenset[Key]] = set()
        self.faults = inf  # before the candidate is examined

    @cached_property
    def excess(self) -> int:
        return self._projections.excess(self.trace)

    @cached_property
    def small(self) -> int:
        usual = rough_work(self.question.original) or 1
        difference = abs(rough_work(self.trace) - usual) / usual
        flaws = self._flaws.small + GRAVE * self.excess
        return flaws + int(difference / WORK_DIFFERENCE)

    @property
    def flaws(self) -> tuple[int, int]:
        return self.grave, self.small

    @property
    def places(self) -> list[tuple[str, str]]:
        """The mistakes that are hidden or alike, and the steps in which they are."""
        keys = (*[one.key for one in self.hidden], *chain(*self.alike))
        return [*dict.fromkeys(key[:2] for key in keys)]

    def is_as_good_as(self, other: Candidate) -> bool:
        return self.grave <= other.grave and self.flaws <= other.flaws


class Search:
    """Finds numbers for variants of one problem."""

    def __init__(self, drawing: Drawing, question: Question) -> None:
        self.drawing = drawing
        self.question = question
        self.pool = Pool(question)
        self._used: Set[bytes] = {numbers_of(drawing.original)}
        self.drawn: set[bytes] = set()  # what the last search drew, in the form of `numbers_of`
        self._faulty = Counter[tuple[str, str]]()  # how many draws had a fault there
        weights = [s for s in question.original if s.is_weights]
        behind = {n.key for s in weights for n in walk(s, into_steps=True) if isinstance(n, Step)}
        self._weighing = [key for key in drawing.cells if key in behind]
        self.fewest = self._learn()  # grave flaws, which every candidate has

    def _learn(self) -> int:
        """Fill the pool; return the fewest grave flaws of any candidate."""
        randoms = (Random(f"pool/{number}") for number in range(POOL_SIZE))
        candidates = [
            self._with_few_flaws(random, iter(range(POOL_BUDGET)), 0) for random in randoms
        ]
        pooled = [candidate for candidate in candidates if candidate is not None]
        if not pooled:
            raise fail("no numbers that were drawn can be calculated with", hint="give others")
        for trace in (self.question.original, *(candidate.trace for candidate in pooled)):
            self.pool.add(Distractors(trace, self.question))
        return min(candidate.grave for candidate in pooled)

    def best(self, random: Random, used: Set[bytes]) -> Candidate | None:
        """Return the best candidate with numbers that are not used; else None.

        The result is the same for other `used` numbers of which `drawn` has none.
        """
        self._used, self.drawn = {numbers_of(self.drawing.original), *used}, set()
        best = self._best_drawn(random)
        bounded, loose = self.drawing, self.drawing.with_any_zeros()
        if loose is not None and not (best is not None and self._is_fair(best)):
            self.drawing = loose  # that mistakes show matters more
            other = self._best_drawn(random)
            self.drawing = bounded
            if best is None or (other is not None and self._is_fair(other)):
                best = other
        if best is not None and best.faults == inf:
            self._examine(best)
        return best

    def _is_fair(self, candidate: Candidate) -> bool:
        return candidate.grave <= self.fewest and not candidate.faults

    def _best_drawn(self, random: Random) -> Candidate | None:
        best: Candidate | None = None
        draws = iter(range(VARIANT_BUDGET))
        while (candidate := self._with_few_flaws(random, draws, self.fewest)) is not None:
            if candidate.grave <= self.fewest:
                candidate = self._with_few_faults(random, draws, candidate)
            if best is None or self._cost(candidate) < self._cost(best):
                best = candidate
            if self._is_fair(best):
                break
        return best

    def _cost(self, candidate: Candidate) -> tuple[float, ...]:
        grave = max(candidate.grave, self.fewest)
        return grave, candidate.faults, candidate.excess, candidate.small

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
                if current is None or candidate.flaws < current.flaws:
                    stale = 0
                current = candidate  # also one that is equally good, to leave a local optimum
            if current is None:
                continue
            is_good = current.grave <= fewest and current.small <= number // DRAWS_PER_SMALL_FLAW
            if is_good or stale >= MAX_STALE:
                break
        return current

    def _with_few_faults(
        self, random: Random, draws: Iterator[int], current: Candidate
    ) -> Candidate:
        self._examine(current)
        stale = 0
        while current.faults and stale < MAX_STALE:
            number = next(draws, None)
            if number is None:
                break
            candidate = self._redrawn(random, current, number)
            stale += 1
            if candidate is not None and candidate.grave <= self.fewest:
                self._examine(candidate, current)
                if candidate.faults < current.faults:
                    current, stale = candidate, 0
        return current

    def _redrawn(self, random: Random, current: Candidate | None, number: int) -> Candidate | None:
        """Return `current` with some numbers redrawn, or fresh draws; None if they have no use.

        They are drawn so often, at most, until they have about as many products as the original.
        """
        among = self._weighing if current is not None and current.saturated else ()
        for _ in range(MAX_DRAWS_IN_BOUND):
            if current is None:
                matrices = self.drawing.draw(random)
            else:
                matrices = self.drawing.redrawn(random, current.matrices, number, among)
            if not self.drawing.excess(matrices):
                break
        numbers = numbers_of(matrices)
        self.drawn.add(numbers)
        if numbers in self._used:
            return None
        try:
            trace = self.drawing.trace(matrices)
        except InputError:  # such as for the cosine of a row of zeros
            return None
        is_alike = tuple(trace.steps) == self.question.steps
        projections = self.drawing.projections
        return Candidate(matrices, trace, self.question, projections) if is_alike else None

    def _examine(self, candidate: Candidate, other: Candidate | None = None) -> None:
        """Set the faults of a candidate, unless they are as many as those of `other`."""
        distractors = Distractors(candidate.trace, self.question)
        faulty = other.places if other else []
        likely = (place for place, _ in self._faulty.most_common())
        every = (key[:2] for key in self.pool.known)
        rest, most = iter(dict.fromkeys((*faulty, *likely, *every))), other.faults if other else inf
        for count in (len(faulty), LIKELY_FAULTS, None):
            for one in distractors.at(islice(rest, count)):
                if one.key in self.pool.shown and one.asked:
                    candidate.seen += [one] if one.seen else []
                    candidate.hidden += [one] if one.seen < self.pool.shown[one.key] else []
            if len(candidate.hidden) < most:
                candidate.alike = self.pool.alike(distractors, candidate.seen)
            faults = len(candidate.hidden) + len(candidate.alike)
            if faults >= most:
                break
        else:
            candidate.faults = faults
        self._faulty.update(candidate.places)


def rough_work(trace: Trace) -> int:
    """Return how many numbers are not 0, 1, −1 or −∞: a quick measure of work."""
    steps = (*trace.inputs.values(), *trace)
    sizes = np.concatenate([np.abs(step.array).ravel() for step in steps])
    return int(((sizes != 1) & (sizes != 0) & (sizes < inf)).sum())

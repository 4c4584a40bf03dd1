"""Problems like a given one, with other numbers, in which every mistake shows.

The best of some draws is taken, and as long as it hides something one of its matrices after the
other is drawn anew; what hides no more than before is kept. What can be shown at all is learned
from a pool of draws. The same seed gives the same variants on every machine; a variant depends on
its own number and on those before it, not on how many are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from random import Random
from typing import Any

from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.requested_steps import with_step_names
from attncli.checking.weakness import without_effect
from attncli.errors import InputError, fail, located
from attncli.forms.matrices import to_count
from attncli.mechanisms.named import equal_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.marking import Marking
from attncli.problem.problem import Problem
from attncli.records import Record
from attncli.tape.step import Step
from attncli.tape.walk import walk
from attncli.teaching.drawing import Drawing, calculated, numbers_of, read_values
from attncli.teaching.draws import Draw
from attncli.teaching.effects import Effects, Question
from attncli.teaching.pool import Pool
from attncli.teaching.work import Work, rough_work, work_of

DECIMALS = 2
"""Mistakes must show in so many decimals where no number of them is asked for."""

MOST_VARIANTS = 1_000

POOLED = 12
"""So many draws tell what can be shown."""

DRAWS = 400
"""After so many draws the best one is taken."""

LEARNING_DRAWS = 60
"""After so many draws a draw of the pool is taken as it is."""

FRESH = 6
"""The best of so many draws is that with which the search begins."""

STALE = 60
"""After so many draws in a row that are no better, the search begins again."""

UNLIKE = 0.1
"""To be more or less work than the given problem by so much is a small flaw."""

PATIENCE = 10
"""After so many draws that are no better, one small flaw more is let pass."""


class Variant(Record, eq=False):
    """A problem like the given one.

    Attributes:
        number: which of the variants of its seed it is, from 1.
        problem: the problem, with what is asked in its marking.
        trace: its calculation, to 12 decimals.
        hidden: mistakes that leave the asked numbers as they are, though others show them, each
            with the step in which it is made.
        faint: mistakes that change a single one of the asked numbers, as a slip would, though
            others show them in several.
        alike: pairs of mistakes that give the same asked numbers, though others tell them apart.
        flaws: how many flaws it has beyond those that every draw has: rows of weights that give one
            key nearly all or every key the same, numbers of 1000 and more, warnings.
        shown: the mistakes that it shows.
        form: what all variants of the problem have in common.
    """

    number: int
    problem: Problem
    trace: Trace
    hidden: tuple[tuple[str, str], ...]
    faint: tuple[tuple[str, str], ...]
    alike: tuple[tuple[str, str], ...]
    flaws: int
    shown: tuple[str, ...]
    form: Form

    @property
    def is_fair(self) -> bool:
        """Whether it has all that is to be had."""
        return not (self.hidden or self.faint or self.alike or self.flaws)

    @cached_property
    def work(self) -> Work:
        """How much work it is, in the digits that are asked."""
        return work_of(self.trace, self.form.decimals)


class Form(Record):
    """What all variants of a problem have in common.

    Attributes:
        steps: the names of all steps.
        asked: the names of those in which mistakes must show.
        decimals: in so many decimals.
        shown: the mistakes that some draw shows.
        unseen: the mistakes that can be made and that no draw shows, and why.
        partly: those that no draw shows in some of the steps in which they are made, or in some way
            to make them there, and these steps.
        never_apart: the pairs of mistakes that give the same numbers in every draw.
        fewest: how many grave flaws every draw has at least.
        work: how much work the given problem is.
    """

    steps: tuple[str, ...]
    asked: tuple[str, ...]
    decimals: int
    shown: tuple[str, ...]
    unseen: Mapping[str, str]
    partly: Mapping[str, tuple[str, ...]]
    never_apart: tuple[tuple[str, str], ...]
    fewest: int
    work: Work


def vary(
    problem: Problem,
    count: int,
    seed: int = 0,
    values: str | Sequence[float] | None = None,
    ask: str | Sequence[str] | None = None,
    decimals: int | None = None,
) -> Iterator[Variant]:
    """Return problems like a given one, of the same shapes, options and labels.

    In each, as far as that can be had, every mistake of the catalogue changes asked numbers, more
    than one, in the digits that are asked, no two give the same numbers, no row of weights is
    saturated and no number is 1000 or more.

    Args:
        problem: the given problem.
        count: how many.
        seed: any whole number; the same one gives the same variants.
        values: what a drawn number may be, such as "-2..3", "-1..1 by 0.5" or [0, 1, 2]; by
            default, for each matrix, from its least to its largest number in the step they share.
        ask: the steps that are asked; by default those of the problem's marking, or all.
        decimals: the digits that are asked; by default those of the marking, or 2.

    Raises:
        InputError: for values that are none, a step that is not there, a problem that cannot be
            calculated or is too large for a hand, or more variants than there are.

    >>> given = Problem(X=[[1, 0], [0, 2], [2, 1]], W_q=[[1, 2], [0, 1]], score="dot")
    >>> for one in vary(given, 2, seed=7, ask="weights"):
    ...     print(one.problem.written["X"], one.is_fair, one.work)
    [[1, 2], [1, 1], [2, 1]] True Work(products=16, exponentials=5, digits=112)
    [[1, 0], [1, 1], [2, 0]] True Work(products=14, exponentials=7, digits=117)
    """
    if not isinstance(problem, Problem):
        raise fail(f"a problem is taken here, not {type(problem).__name__}")
    wanted = to_count(count, ("count",))
    if wanted > MOST_VARIANTS:
        raise fail(f"{wanted:,} variants are asked for; {MOST_VARIANTS:,} is the most", "count")
    start = to_count(seed, ("seed",), None)
    asked = {"ask": ask, "decimals": decimals}
    problem = problem.marked({key: part for key, part in asked.items() if part is not None})
    search = Search(problem, None if values is None else read_values(values))
    return search.variants(start, wanted)


class Search:
    """Finds the variants of one problem.

    Args:
        problem: the given problem.
        values: what a drawn number may be; by default those of each matrix.
    """

    def __init__(self, problem: Problem, values: tuple[float, ...] | None) -> None:
        self.drawing = Drawing(problem, values)
        if not self.drawing.others:
            raise fail("nothing can be drawn: every number has one value", hint="give --values")
        self.given = calculated(problem)
        with located(problem.source):
            self.marking, meant = with_step_names(problem.marking, self.given)
        same = equal_steps(self.given)
        names = [meant[name][0].name for name in self.marking.ask]
        asked = [same.get(name, name) for name in names] or [*self.given.steps]
        decimals = DECIMALS if self.marking.decimals is None else self.marking.decimals
        self.question = Question(self.given, asked, decimals, self.marking.tolerance)
        self.pool = Pool(self.question)
        self._taken = {numbers_of(self.drawing.given)}
        weights = [s for s in self.given if s.name.startswith("weights")]
        behind = {n.key for s in weights for n in walk(s, into_steps=True) if isinstance(n, Step)}
        self._weighing = [key for key in self.drawing.cells if key in behind]
        self._usual_work = rough_work(self.given) or 1
        self._fewest = self._learn()  # grave flaws that every draw has
        self._order = list(self.pool.places)  # what was hidden last is tried first
        self.form = self._form()

    def variants(self, seed: int, count: int) -> Iterator[Variant]:
        """Return variants as they are found; an InputError tells where no other can be found."""
        if self.drawing.others < count:
            message = f"only {self.drawing.others} other problems can be drawn from these values"
            raise fail(message, hint="let numbers be more --values, or ask for fewer variants")
        return self._variants(seed, count)

    def _variants(self, seed: int, count: int) -> Iterator[Variant]:
        for number in range(1, count + 1):
            draw = self._best(Random(f"{seed}/{number}"))
            if draw is None:
                message = f"only {number - 1} different variants were found"
                raise fail(message, hint="let numbers be more --values, or ask for fewer variants")
            self._taken.add(numbers_of(draw.matrices))
            yield self._variant(number, draw)

    def _learn(self) -> int:
        """Fill the pool with the given problem and with draws that have few flaws.

        Returns:
            How many grave flaws a draw has at the least.
        """
        self.pool.add(Effects(self.given, self.question))
        pooled = (Random(f"pool/{number}") for number in range(POOLED))
        draws = [self._with_few_flaws(random, iter(range(LEARNING_DRAWS))) for random in pooled]
        found = [draw for draw in draws if draw is not None]
        if not found:
            raise fail("no numbers that were drawn can be calculated with", hint="give others")
        for draw in found:
            self.pool.add(draw.effects)
        return min(draw.grave for draw in found)

    def _best(self, random: Random) -> Draw | None:
        """Return the best draw that is found; None where none is new and can be calculated."""
        best: Draw | None = None
        turns = iter(range(DRAWS))
        while (draw := self._with_few_flaws(random, turns, self._fewest)) is not None:
            if draw.grave <= self._fewest:
                draw = self._with_few_faults(random, turns, draw)
            if best is None or self._cost(draw) < self._cost(best):
                best = draw
            if best.grave <= self._fewest and not best.faults:
                break
        return best

    def _cost(self, draw: Draw) -> tuple[float, float, float]:
        """Return how bad a draw is; the least is the best."""
        return max(draw.grave - self._fewest, 0), draw.faults, draw.small

    def _with_few_flaws(self, random: Random, turns: Iterator[int], fewest: int = 0) -> Draw | None:
        """Return a draw without grave flaws and with few small ones; None where turns have ended.

        The more turns are over, the more small flaws are let pass.
        """
        current: Draw | None = None
        fresh = stale = 0
        for turn in turns:
            draw = self._redrawn(random, None if fresh < FRESH else current, turn)
            fresh += 1
            stale += 1
            if draw is not None and self._is_as_good(draw, current):
                if current is None or self._flaws(draw) < self._flaws(current):
                    stale = 0
                current = draw  # one that is no better, too, or the search ends in a corner
            if current is None:
                continue
            is_good = current.grave <= fewest and self._small(current) <= turn // PATIENCE
            if is_good or stale >= STALE:
                if current.is_whole:
                    return current
                current, fresh, stale = None, 0, 0
        return current if current is not None and current.is_whole else None

    def _is_as_good(self, draw: Draw, current: Draw | None) -> bool:
        """Return whether a draw has no more flaws than the current one."""
        if current is None:
            return True
        most = self._flaws(current)
        # Most draws have more grave ones, which is seen before others are counted.
        return draw.rough <= most[0] and self._flaws(draw) <= most

    def _flaws(self, draw: Draw) -> tuple[int, int]:
        """Return how many flaws a draw has, grave and small ones."""
        return draw.grave, self._small(draw)

    def _small(self, draw: Draw) -> int:
        unlike = abs(draw.rough_work - self._usual_work) / self._usual_work
        return draw.small + int(unlike / UNLIKE)

    def _with_few_faults(self, random: Random, turns: Iterator[int], current: Draw) -> Draw:
        """Return a draw that hides as little as can be found from the current one on."""
        self._look_for_mistakes(current)
        stale = 0
        while current.faults and stale < STALE and (turn := next(turns, None)) is not None:
            draw = self._redrawn(random, current, turn)
            stale += 1
            is_good = draw is not None and draw.rough <= self._fewest and draw.is_whole
            if draw is None or not is_good or draw.grave > self._fewest:
                continue
            if not self._may_hide_less(draw, current):
                continue
            self._look_for_mistakes(draw, current.faults - 1)
            if draw.faults < current.faults:
                current, stale = draw, 0
        return current

    def _may_hide_less(self, draw: Draw, current: Draw) -> bool:
        """Return whether a draw hides less of what the current one does."""
        hidden = sum(self.pool.is_hidden(draw.effects.of(key)) for key in current.hidden or ())
        alike = sum(draw.effects.are_alike(*pair) for pair in current.alike)
        return hidden + alike < current.faults

    def _redrawn(self, random: Random, current: Draw | None, turn: int) -> Draw | None:
        """Return the current draw with some numbers drawn anew, or a fresh one; None if taken."""
        if current is None:
            matrices = self.drawing.draw(random)
        else:
            among = self._weighing if current.saturated else ()
            matrices = self.drawing.redrawn(random, current.matrices, turn, among)
        if numbers_of(matrices) in self._taken:
            return None
        try:
            problem = self.drawing.problem(matrices, as_lists=False)
            return Draw(matrices, problem, self.question, self.given)
        except InputError:  # such as for the cosine of a row of zeros
            return None

    def _look_for_mistakes(self, draw: Draw, most: float = inf) -> None:
        """Find what a draw hides; stop when it is more than `most`."""
        draw.hidden = []
        for place in [*self._order]:
            for effect in draw.effects.at(*place).values():
                if effect.key not in self.pool.shown or not effect.is_asked:
                    continue
                if effect.is_seen:
                    draw.seen.append(effect)
                if not self.pool.is_hidden(effect):
                    continue
                draw.hidden.append(effect.key)
                self._order.remove(place)
                self._order.insert(0, place)
                if len(draw.hidden) > most:
                    return
        draw.alike = self.pool.alike(draw.effects, draw.seen)

    def _variant(self, number: int, draw: Draw) -> Variant:
        if draw.hidden is None:  # it was never good enough to be asked for mistakes
            self._look_for_mistakes(draw)
        missed = [draw.effects.at(*key[:2])[key] for key in draw.hidden or ()]
        hidden = {effect.key[:2] for effect in missed if not effect.is_seen}
        faint = {effect.key[:2] for effect in missed} - hidden
        ids = [sorted((one[0], other[0])) for one, other in draw.alike]
        problem = self.drawing.problem(draw.matrices, self._marking())
        shown = {effect.key[0] for effect in draw.seen}
        return Variant(
            number,
            problem,
            calculated(problem),
            tuple(sorted(hidden)),
            tuple(sorted(faint)),
            tuple(sorted({(one, other) for one, other in ids})),
            max(draw.grave - self._fewest, 0),
            tuple(id_ for id_ in MISTAKES if id_ in shown),
            self.form,
        )

    def _marking(self) -> dict[str, Any]:
        """Return what is asked, as a file has it."""
        parts = {name: getattr(self.marking, name) for name in Marking.fields}
        own = {name: part for name, part in parts.items() if part != getattr(Marking(), name)}
        return {k: [*v] if isinstance(v, tuple) else v for k, v in own.items()}

    def _form(self) -> Form:
        """Return what all variants have in common."""
        shown = {key[0] for key in self.pool.shown}
        return Form(
            self.question.steps,
            tuple(self.question.asked),
            self.question.decimals,
            tuple(id_ for id_ in MISTAKES if id_ in shown),
            self.pool.unseen(without_effect(self.given)),
            self.pool.partly,
            tuple(self.pool.never_apart),
            self._fewest,
            work_of(self.given, self.question.decimals),
        )

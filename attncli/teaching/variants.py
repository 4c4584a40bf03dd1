"""Problems like a given one, with other numbers, in which every mistake shows.

The same seed gives the same variants on every machine. A variant depends on its own number and on
the variants before it, not on how many are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any

from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.names import with_step_names
from attncli.checking.weakness import without_effect
from attncli.errors import fail, located
from attncli.forms.scalars import to_count
from attncli.mechanisms.named import equal_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.marking import Marking
from attncli.problem.problem import Problem
from attncli.records import Record
from attncli.teaching.distractors import Key, Question
from attncli.teaching.drawing import Drawing, calculated, read_values
from attncli.teaching.search import Candidate, Search
from attncli.teaching.work import Work, work_of

DEFAULT_DECIMALS = 2
"""Decimals in which mistakes must show where no number of them is asked for."""

MAX_VARIANTS = 1_000


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
    form: VariantForm

    @property
    def is_fair(self) -> bool:
        """Whether it shows all that can be shown, without flaws."""
        return not (self.hidden or self.faint or self.alike or self.flaws)

    @cached_property
    def work(self) -> Work:
        """The work, in the digits that are asked."""
        return work_of(self.trace, self.form.decimals)


class VariantForm(Record):
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
    if wanted > MAX_VARIANTS:
        raise fail(f"{wanted:,} variants are asked for; {MAX_VARIANTS:,} is the most", "count")
    start = to_count(seed, ("seed",), None)
    asked = {"ask": ask, "decimals": decimals}
    problem = problem.marked({key: part for key, part in asked.items() if part is not None})
    search = _Variants(problem, None if values is None else read_values(values))
    return search.variants(start, wanted)


class _Variants:
    """The variants of one problem."""

    def __init__(self, problem: Problem, values: tuple[float, ...] | None) -> None:
        self.drawing = Drawing(problem, values)
        if not self.drawing.others:
            raise fail("nothing can be drawn: every number has one value", hint="give --values")
        given = calculated(problem)
        with located(problem.source):
            self.marking, meant = with_step_names(problem.marking, given)
        same = equal_steps(given)
        names = [meant[name][0].name for name in self.marking.ask]
        asked = [same.get(name, name) for name in names] or [*given.steps]
        decimals = self.marking.decimals
        decimals = DEFAULT_DECIMALS if decimals is None else decimals
        self.question = Question(given, asked, decimals, self.marking.tolerance)
        self.search = Search(self.drawing, self.question)
        self.form = self._form()

    def variants(self, seed: int, count: int) -> Iterator[Variant]:
        """Return an iterator of variants, which raises an InputError where no other is found."""
        hint = "let numbers be more --values, or ask for fewer variants"
        if self.drawing.others < count:
            message = f"only {self.drawing.others} other problems can be drawn from these values"
            raise fail(message, hint=hint)

        def found() -> Iterator[Variant]:
            for number in range(1, count + 1):
                best = self.search.best(Random(f"{seed}/{number}"))
                if best is None:
                    raise fail(f"only {number - 1} different variants were found", hint=hint)
                yield self._variant(number, best)

        return found()

    def _variant(self, number: int, best: Candidate) -> Variant:
        assert best.findings is not None  # as the search has looked at it
        findings, distractors = best.findings, best.distractors
        missed = [distractors.at(*key[:2])[key] for key in findings.hidden]
        hidden = {distractor.key[:2] for distractor in missed if not distractor.is_seen}
        faint = {distractor.key[:2] for distractor in missed} - hidden
        alike = {tuple(sorted((one[0], other[0]))) for one, other in findings.alike}
        problem = self.drawing.problem(best.matrices, self._marking())
        return Variant(
            number,
            problem,
            calculated(problem),
            tuple(sorted(hidden)),
            tuple(sorted(faint)),
            tuple(sorted((one, other) for one, other in alike)),
            max(best.grave - self.search.fewest, 0),
            _in_order(distractor.key for distractor in findings.seen),
            self.form,
        )

    def _marking(self) -> dict[str, Any]:
        """Return what is asked, as a file has it."""
        parts = {name: getattr(self.marking, name) for name in Marking.fields}
        own = {name: part for name, part in parts.items() if part != getattr(Marking(), name)}
        return {k: [*v] if isinstance(v, tuple) else v for k, v in own.items()}

    def _form(self) -> VariantForm:
        question, pool = self.question, self.search.pool
        return VariantForm(
            question.steps,
            tuple(question.asked),
            question.decimals,
            _in_order(pool.shown),
            pool.unseen(without_effect(question.given)),
            pool.partly,
            tuple(pool.never_apart),
            self.search.fewest,
            work_of(question.given, question.decimals),
        )


def _in_order(keys: Iterable[Key]) -> tuple[str, ...]:
    """Return the mistakes of some keys, in the order of the catalogue."""
    shown = {key[0] for key in keys}
    return tuple(id_ for id_ in MISTAKES if id_ in shown)

"""Problems like another, with other numbers, in which every mistake shows.

The same seed gives the same variants on every machine. A variant depends on its number and on
the variants before it, not on how many are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import repeat
from math import inf
from random import Random
from typing import NoReturn

import numpy as np

from attncli.checking.answers.step_names import with_step_names
from attncli.checking.distractors import Question
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.unseen_mistakes import without_effect
from attncli.classroom.variant_search import Candidate, Search
from attncli.core.calculation.trace import Trace, equal_steps
from attncli.core.drawing.numbers_like import (
    Drawing,
    Projections,
    calculated,
    numbers_of,
    read_values,
)
from attncli.core.errors import fail, located
from attncli.core.explaining.terms import Made, StepTerms, terms_in
from attncli.core.jobs import Pool, in_order
from attncli.core.numbers.written import to_count
from attncli.core.problem.problem import Problem
from attncli.core.records import Record
from attncli.core.tape.step import Operation

ASKED_DECIMALS = 2
"""Default number of decimals in which mistakes must show. Chosen."""

MAX_VARIANTS = 1_000
"""Maximum number of variants of one call. Chosen."""

PRODUCT_SIGNS = ("*", "/", "square")
POWERS = ("exp", "tanh", "sqrt", "^")
TRIVIAL = (-1.0, 0.0, 1.0)
"""Operands with which a product or a power counts as no work."""

MORE_VALUES = "allow more --values, or ask for fewer variants"

COUNTED_DECIMALS = 9
"""Number of decimals by which a number is told from a whole one: later ones may be errors."""


class Work(Record):
    """The amount of work in a calculation by hand."""

    projections: int  # products with weight matrices in which neither factor is 0
    products: int  # multiplications and divisions, except by 0, 1 and −1
    exponentials: int  # powers, tangents and roots, except of 0, 1 and −∞
    digits: int  # of the numbers of all steps; whole numbers are written without decimals


class VariantForm(Record):
    """What all variants of a problem have in common."""

    steps: tuple[str, ...]  # the names of all steps
    asked: tuple[str, ...]  # the names of the steps in which mistakes must show
    decimals: int  # the number of decimals in which they must show
    unseen: Mapping[str, str]  # the mistakes that some step cannot show in any draw, and why
    never_apart: tuple[tuple[str, str], ...]  # pairs of mistakes with the same numbers in each draw
    fewest: int  # the minimum number of grave flaws in any draw
    work: Work  # the work in the original problem


class Variant(Record, eq=False):
    """A problem like the original one."""

    number: int  # its number among the variants of its seed, from 1
    problem: Problem  # with its number under `variant`, and what is asked in its marking
    trace: Trace  # its calculation, to 12 decimals
    hidden: tuple[tuple[str, str], ...]  # mistakes that others show in more numbers, and where
    alike: tuple[tuple[str, str], ...]  # pairs of mistakes that only other variants tell apart
    flaws: int  # saturated rows, numbers of 1000 and more, warnings; above the least of any draw
    shown: tuple[str, ...]  # the mistakes that it shows
    excess: int  # how often the products of its projections exceed a difference of 20 %
    form: VariantForm

    @property
    def is_fair(self) -> bool:
        """True if it shows every mistake that other variants show, and has no more flaws."""
        return not (self.hidden or self.alike or self.flaws)

    @property
    def work(self) -> Work:
        """The work of calculating it with the asked decimals."""
        return work_of(self.trace, self.form.decimals)


def vary(
    problem: Problem,
    count: int,
    seed: int = 0,
    values: str | Sequence[float] | None = None,
    ask: str | Sequence[str] | None = None,
    decimals: int | None = None,
) -> Iterator[Variant]:
    """Return problems like another, of the same shapes, options and labels.

    In each, as far as possible, every mistake of the catalogue changes at least two of the wanted
    numbers, in the wanted decimals; no two mistakes give the same numbers; no row of weights is
    saturated; no number is 1000 or more; and the projections have as many products without a 0 as
    the original ones, to 20 %. No weight matrix has more rows and columns of zeros than before.

    Args:
        problem: the original problem.
        count: the number of variants.
        seed: any whole number; the same one gives the same variants.
        values: what a drawn number may be, such as "-2..3", "-1..1 by 0.5" or [0, 1, 2]; by
            default, for each matrix, from its least to its largest number in the step they share.
        ask: the wanted steps; by default those of the problem's marking, or all.
        decimals: the number of wanted decimals; by default that of the marking, or 2.

    Raises:
        InputError: for values that cannot be read, an unknown step, a problem that cannot be
            calculated or is too large to work by hand, or more variants than can be drawn.

    >>> original = Problem(X=[[1, 0], [0, 2], [2, 1]], W_q=[[1, 2], [0, 1]], score="dot")
    >>> for one in vary(original, 2, seed=7, ask="weights"):
    ...     print(one.problem.written["X"], one.is_fair, one.work)
    [[0, 2], [1, 0], [1, 1]] True Work(projections=6, products=13, exponentials=8, digits=116)
    [[2, 0], [1, 1], [1, 0]] True Work(projections=7, products=14, exponentials=8, digits=119)
    """
    if not isinstance(problem, Problem):
        raise fail(f"a problem is taken here, not {type(problem).__name__}")
    marked = problem.marked({"ask": ask, "decimals": decimals})
    return (variant for (variant,) in vary_all([marked], count, seed, values))


def vary_all(
    problems: Iterable[Problem],
    count: int,
    seed: int = 0,
    values: str | Sequence[float] | None = None,
    pool: Pool | None = None,
) -> Iterator[list[Variant]]:
    """Return the variants of each of some problems, those of one number together; see `vary`.

    With a pool its processes search, and the variants are the same.
    """
    wanted, start = to_count(count, ("count",)), to_count(seed, ("seed",), None)
    if wanted > MAX_VARIANTS:
        raise fail(f"{wanted:,} variants are asked for; {MAX_VARIANTS:,} is the most", "count")
    allowed = None if values is None else read_values(values)
    return _numbered([_Variation(one, wanted, start, allowed) for one in problems], wanted, pool)


def _numbered(
    every: Sequence[_Variation], count: int, pool: Pool | None
) -> Iterator[list[Variant]]:
    lists = [[number] for number in range(1, count + 1)]
    tried: Iterable[tuple[list[int], Sequence[Trial | None]]]
    if pool is None:
        tried = zip(lists, repeat([None] * len(every)), strict=False)
    else:
        pool.total = count
        tried = in_order(partial(_tried, every), lists, pool, _lost)
    for (number,), trials in tried:
        yield [one.variant(number, trial) for one, trial in zip(every, trials, strict=True)]


def _tried(every: Sequence[_Variation], numbers: list[int]) -> list[Trial | None]:
    return [one.tried(number) for number in numbers for one in every]


def _lost(number: int) -> NoReturn:
    raise fail(f"variant {number}: the process that worked on it ended, and so did another")


class Trial(Record, eq=False):
    """A variant, its numbers, and all that were drawn for it, in the form of `numbers_of`."""

    variant: Variant
    numbers: bytes
    drawn: Set[bytes]


class _Variation:
    """A problem of which variants are made."""

    def __init__(
        self, problem: Problem, count: int, seed: int, values: tuple[float, ...] | None
    ) -> None:
        self.problem, self.seed = problem, seed
        self.first = next(iter(problem.matrices())).split(".")  # its place tells the problem
        self.used = set[bytes]()  # the numbers of the variants before
        with located(problem.source):
            self.drawing = Drawing(problem, values)
            if (others := self.drawing.others) < count:
                message = f"only {others} other problem{'s'[: others != 1]} can be drawn"
                raise fail(message, *self.first, hint=MORE_VALUES)
            trace = self.drawing.calculation
            self.marking, meant = with_step_names(problem.marking, trace)
            same = equal_steps(trace)
            names = [meant[name][0].name for name in self.marking.ask]
            asked = [same.get(name, name) for name in names] or [*trace.steps]
            decimals = self.marking.decimals
            self.decimals = ASKED_DECIMALS if decimals is None else decimals
            question = Question(trace, asked, self.decimals, self.marking.tolerance)
            self.search = Search(self.drawing, question)

    @cached_property
    def form(self) -> VariantForm:
        question, pool = self.search.question, self.search.pool
        return VariantForm(
            question.steps,
            tuple(question.asked),
            self.decimals,
            pool.unseen(without_effect(question.original)),
            tuple(pool.never_apart),
            self.search.fewest,
            work_of(question.original, self.decimals),
        )

    def tried(self, number: int, used: Set[bytes] = frozenset()) -> Trial | None:
        best = self.search.best(Random(f"{self.seed}/{number}"), used)
        if best is None:
            return None
        new = self.drawing.problem(best.matrices, self.marking).with_texts(variant=str(number))
        variant = _variant(number, new, best, self.form)
        return Trial(variant, numbers_of(best.matrices), self.search.drawn)

    def variant(self, number: int, trial: Trial | None) -> Variant:
        """Return a variant: that of a search without regard to the others, if it is like none."""
        if trial is None or not self.used.isdisjoint(trial.drawn):
            trial = self.tried(number, self.used)
        if trial is None:
            with located(self.problem.source):
                message = f"only {number - 1} different variants were found"
                raise fail(message, *self.first, hint=MORE_VALUES)
        self.used.add(trial.numbers)
        return trial.variant


def _variant(number: int, problem: Problem, best: Candidate, form: VariantForm) -> Variant:
    hidden = {distractor.key[:2] for distractor in best.hidden}
    alike = {(min(one, other), max(one, other)) for (one, *_), (other, *_) in best.alike}
    shown = {distractor.key[0] for distractor in best.seen}
    return Variant(
        number,
        problem,
        calculated(problem),
        tuple(sorted(hidden)),
        tuple(sorted(alike)),
        max(best.grave - form.fewest, 0),
        tuple(id_ for id_ in MISTAKES if id_ in shown),
        best.excess,
        form,
    )


def work_of(trace: Trace, decimals: int) -> Work:
    """Return the amount of work in a calculation that is written with so many decimals.

    >>> from attncli import Problem, compute
    >>> work_of(compute(Problem(X=[[1, 2], [3, 0]], score="dot")), 2)
    Work(projections=0, products=10, exponentials=4, digits=70)
    """
    worked, counts = StepTerms(), Counter[str]()
    for step in trace:
        if isinstance(step.operation, Operation):
            cells = (worked.term(step, at) for at in np.ndindex(step.array.shape))
            # What several numbers depend on, as the length of a row, is worked once.
            nodes = {id(node): node for cell in cells for node in terms_in(cell, Made)}
            counts.update(node.op for node in nodes.values() if not _is_trivial(node))
    products, powers = (sum(counts[op] for op in ops) for ops in (PRODUCT_SIGNS, POWERS))
    numbers = (x for step in trace for x in step.array.ravel().tolist() if abs(x) < inf)
    return Work(
        Projections(trace).count, products, powers, sum(_digits(x, decimals) for x in numbers)
    )


def _is_trivial(node: Made) -> bool:
    sizes = [operand.value for operand in node.operands]
    return any(size in TRIVIAL or abs(size) == inf for size in sizes)


def _digits(number: float, decimals: int) -> int:
    size = round(abs(number), COUNTED_DECIMALS)
    return len(f"{size:.{decimals if size % 1 else 0}f}".replace(".", ""))

"""Problems like another, with other numbers, in which every mistake shows.

The same seed gives the same variants on every machine. A variant depends on its number and on
the variants before it, not on how many are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import repeat
from random import Random
from typing import NoReturn

from attncli.checking.shown_mistakes import ShownMistakes
from attncli.classroom.variant_search import Search
from attncli.core.calculation.trace import Trace
from attncli.core.drawing.hand_work import Work, work_of
from attncli.core.drawing.numbers_like import Drawing, calculated
from attncli.core.errors import fail, located
from attncli.core.jobs import Pool, each_in_order
from attncli.core.numbers.written import to_count
from attncli.core.problem.problem import Problem
from attncli.core.records import Record

MAX_VARIANTS = 1_000
"""Maximum number of variants of one call. Chosen."""

MORE_VALUES = "allow more --values, or ask for fewer variants"


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
    return _numbered([_Variation(one, wanted, start, values) for one in problems], wanted, pool)


def _numbered(
    every: Sequence[_Variation], count: int, pool: Pool | None
) -> Iterator[list[Variant]]:
    numbers = range(1, count + 1)
    tried: Iterable[tuple[int, list[Trial | None]]]
    if pool is None:
        tried = zip(numbers, repeat([None] * len(every)), strict=False)
    else:
        tried = each_in_order(partial(_tried, every), numbers, pool, _lost, at_once=1)
    for number, trials in tried:
        yield [one.variant(number, trial) for one, trial in zip(every, trials, strict=True)]


def _tried(every: Sequence[_Variation], numbers: list[int]) -> list[list[Trial | None]]:
    return [[one.tried(number) for one in every] for number in numbers]


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
        self, problem: Problem, count: int, seed: int, values: str | Sequence[float] | None
    ) -> None:
        self.problem, self.seed = problem, seed
        self.first = next(iter(problem.matrices())).split(".")  # its place tells the problem
        self.used = set[bytes]()  # the numbers of the variants before
        self.drawing = Drawing(problem, values)
        with located(problem.source):
            if (others := self.drawing.others) < count:
                message = f"only {others} other problem{'s'[: others != 1]} can be drawn"
                raise fail(message, *self.first, hint=MORE_VALUES)
            self.mistakes = ShownMistakes(self.drawing.calculation)
            self.search = Search(self.drawing, self.mistakes)

    @cached_property
    def form(self) -> VariantForm:
        mistakes = self.mistakes
        return VariantForm(
            mistakes.question.steps,
            tuple(mistakes.question.asked),
            mistakes.decimals,
            mistakes.unseen,
            mistakes.never_apart,
            self.search.fewest,
            work_of(self.drawing.calculation, mistakes.decimals),
        )

    def tried(self, number: int, used: Set[bytes] = frozenset()) -> Trial | None:
        best = self.search.best(Random(f"{self.seed}/{number}"), used)
        if best is None:
            return None
        marking = self.mistakes.marking
        new = self.drawing.problem(best.matrices, marking).with_texts(variant=str(number))
        variant = Variant(
            number,
            new,
            calculated(new),
            best.faults.hidden,
            best.faults.alike,
            max(best.grave - self.form.fewest, 0),
            best.faults.shown,
            best.excess,
            self.form,
        )
        return Trial(variant, self.drawing.numbers_of(best.matrices), self.search.drawn)

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

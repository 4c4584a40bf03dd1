"""Problems like another, with other numbers, in which every mistake shows; and their summary.

The same seed gives the same variants on every machine. A variant depends on its number and on
the variants before it, not on how many are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from itertools import repeat
from random import Random
from typing import Any, NoReturn

from attncli.checking.shown_mistakes import ShownMistakes
from attncli.classroom.variant_search import Search
from attncli.core.calculation.trace import Trace
from attncli.core.drawing.hand_work import Work
from attncli.core.drawing.numbers_like import Drawing
from attncli.core.errors import fail
from attncli.core.jobs import Pool
from attncli.core.numbers.written import to_count
from attncli.core.problem.problem import Problem
from attncli.core.records import Record, replace
from attncli.core.text.strings import all_of, count_of, visible
from attncli.printing.layout import Line

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
        return Work.of(self.trace, self.form.decimals)


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
        tried = pool.each(partial(_tried, every), numbers, _lost, at_once=1)
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
        if (others := self.drawing.others) < count:
            message = f"only {others} other problem{'s'[: others != 1]} can be drawn"
            raise problem.error(message, *self.first, hint=MORE_VALUES)
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
            Work.of(self.drawing.calculation, mistakes.decimals),
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
            replace(best.trace, problem=new),
            best.faults.hidden,
            best.faults.alike,
            max(best.flaws.grave - self.form.fewest, 0),
            best.faults.shown,
            best.flaws.excess,
            self.form,
        )
        return Trial(variant, self.drawing.numbers_of(best.matrices), self.search.drawn)

    def variant(self, number: int, trial: Trial | None) -> Variant:
        """Return a variant: that of a search without regard to the others, if it is like none."""
        if trial is None or not self.used.isdisjoint(trial.drawn):
            trial = self.tried(number, self.used)
        if trial is None:
            message = f"only {number - 1} different variants were found"
            raise self.problem.error(message, *self.first, hint=MORE_VALUES)
        self.used.add(trial.numbers)
        return trial.variant


class Summary(Record, eq=False):
    """The variants of one problem that one seed gives, each with its file, if it has one."""

    seed: int
    variants: Sequence[Variant]
    files: Sequence[str]

    @property
    def unfair(self) -> dict[str, str]:
        """The variants that are not fair, by student or number, and what is wrong with each."""
        unfair = {}
        for one in self.variants:
            flaws = {
                "hides or hardly shows ": [f"{id_} in {at}" for id_, at in one.hidden],
                "does not tell ": [f"{id_} from {other}" for id_, other in one.alike],
                "has ": ["saturated weights, large numbers or warnings"] if one.flaws else [],
            }
            if not one.is_fair:
                parts = (start + ", ".join(which) for start, which in flaws.items() if which)
                unfair[_name(one)] = "; ".join(parts)
        return unfair


def _name(variant: Variant) -> str:
    return visible(variant.problem.student) or str(variant.number)


def summary_lines(summary: Summary) -> Iterator[Line]:
    from statistics import median  # which imports much

    variants = summary.variants
    form, problem, count = variants[0].form, variants[0].problem, len(variants)
    asked = "every step" if form.asked == form.steps else all_of(form.asked)
    digits = count_of(form.decimals, "decimal")
    of = f"problem {problem.problem}, " if problem.problem else ""
    heading = f"{count_of(count, 'variant')} of {of}seed {summary.seed}"
    yield [(f"{heading}; asked: {asked}, in {digits}", "title")]
    yield []
    yield [("work          least  middle    most   given", "label")]
    for name in Work.fields[not form.work.projections :]:
        numbers = [getattr(variant.work, name) for variant in variants]
        ends = (min(numbers), round(median(numbers)), max(numbers), getattr(form.work, name))
        yield [(f"{name:<12}", "label"), ("".join(f"{n:>8}" for n in ends).removeprefix(" "), "")]
    yield []
    if not summary.unfair:
        yield [("Every variant is fair: it shows each mistake that the others show.", "right")]
    yield from _listed("Variants that are less fair than others:", "wrong", summary.unfair)
    usual = form.work.projections
    counts = {_name(v): f"{v.work.projections}, not about {usual}" for v in variants if v.excess}
    title = "Variants with over 20 % more or fewer products in their projections:"
    yield from _listed(title, "near", counts)
    yield from _listed("Mistakes that do not show, or not in every step:", "title", form.unseen)
    ids = dict.fromkeys(one for one, _ in form.never_apart)
    same = {id_: ", ".join(b for a, b in form.never_apart if a == id_) for id_ in ids}
    yield from _listed("Mistakes that always give the same numbers as others:", "title", same)
    if form.fewest:
        which = "saturated weights, large numbers or warnings"
        yield [(f"No numbers are without {which}; other --values may help.", "near")]


def _listed(title: str, style: str, pairs: Mapping[str, str]) -> Iterator[Line]:
    if pairs:
        yield [(title, style)]
    width = max(map(len, pairs), default=0)
    for name, words in pairs.items():
        yield [(f"  {name.ljust(width)}  ", "label"), (words, "")]


def _summary_record(summary: Summary) -> dict[str, Any]:
    form = summary.variants[0].form
    return {
        "seed": summary.seed,
        "asked": form.asked,
        "decimals": form.decimals,
        "fair": not summary.unfair,
        "unseen": form.unseen,
        "never_apart": form.never_apart,
        "flaws_in_all": form.fewest,
        "given": vars(form.work),
        "variants": [
            {
                "number": variant.number,
                "student": variant.problem.student or None,
                "file": file or None,
                "hidden": [{"mistake": id_, "step": at} for id_, at in variant.hidden],
                "alike": variant.alike,
                "flaws": variant.flaws,
                "work": vars(variant.work),
            }
            for variant, file in zip(summary.variants, summary.files, strict=True)
        ],
    }


def summaries_as_json(summaries: Sequence[Summary]) -> bytes:
    """Return one line per problem, with its number if there are several."""
    records = [_summary_record(one) for one in summaries]
    if len(records) > 1:
        records = [{"problem": number, **one} for number, one in enumerate(records, 1)]
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in records).encode()

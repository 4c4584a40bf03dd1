"""Problems like a given one, with other numbers, in which every mistake shows.

The same seed gives the same variants on every machine. A variant depends on its own number and on
the variants before it, not on how many are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from random import Random
from typing import Any

import numpy as np

from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.names import with_step_names
from attncli.checking.weakness import without_effect
from attncli.errors import fail, located
from attncli.explaining.terms import Made, Worked
from attncli.explaining.terms import found as terms_in
from attncli.forms.scalars import to_count
from attncli.mechanisms.named import equal_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.marking import Marking
from attncli.problem.problem import Problem
from attncli.records import Record
from attncli.tape.step import Operation, Step
from attncli.teaching.distractors import Key, Question
from attncli.teaching.drawing import Drawing, calculated, read_values
from attncli.teaching.search import Candidate, Search

ASKED_DECIMALS = 2
"""Default number of decimals in which mistakes must show. Chosen."""

MAX_VARIANTS = 1_000
"""Maximum number of variants of one call. Chosen."""

PRODUCT_SIGNS = ("*", "/", "square")
POWERS = ("exp", "tanh", "sqrt", "^")
TRIVIAL = (-1.0, 0.0, 1.0)
"""Operands with which a product or a power counts as no work."""

NEAR_WHOLE = 1e-9
"""Maximum distance, by errors of floats, of a number from the one with fewer digits that it is."""


class Work(Record):
    """How much work a calculation by hand is.

    Attributes:
        products: multiplications and divisions, but those by 0, 1 and −1.
        exponentials: powers, tangents and roots, but those of 0, 1 and −∞.
        digits: those of all numbers of all steps; whole numbers are written without decimals.
    """

    products: int
    exponentials: int
    digits: int


class VariantForm(Record):
    """What all variants of a problem have in common.

    Attributes:
        steps: the names of all steps.
        asked: the names of those in which mistakes must show.
        decimals: the number of decimals in which they must show.
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


class Variant(Record, eq=False):
    """A problem like the given one.

    Attributes:
        number: which of the variants of its seed it is, from 1.
        problem: the problem, with what is asked in its marking.
        trace: its calculation, to 12 decimals.
        hidden: mistakes that change no wanted number here, but do in other variants; each with the
            step in which it is made.
        faint: mistakes that change a single wanted number, as a slip would, but several in other
            variants.
        alike: pairs of mistakes that give the same wanted numbers here, but not in other variants.
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
        """Whether it shows every mistake that other variants show, and has no more flaws."""
        return not (self.hidden or self.faint or self.alike or self.flaws)

    @property
    def work(self) -> Work:
        """The work of calculating it with the wanted decimals."""
        return work_of(self.trace, self.form.decimals)


def vary(
    problem: Problem,
    count: int,
    seed: int = 0,
    values: str | Sequence[float] | None = None,
    ask: str | Sequence[str] | None = None,
    decimals: int | None = None,
) -> Iterator[Variant]:
    """Return problems like a given one, of the same shapes, options and labels.

    In each, as far as possible, every mistake of the catalogue changes at least two of the wanted
    numbers, in the wanted decimals; no two mistakes give the same numbers; no row of weights is
    saturated; and no number is 1000 or more.

    Args:
        problem: the given problem.
        count: how many.
        seed: any whole number; the same one gives the same variants.
        values: what a drawn number may be, such as "-2..3", "-1..1 by 0.5" or [0, 1, 2]; by
            default, for each matrix, from its least to its largest number in the step they share.
        ask: the wanted steps; by default those of the problem's marking, or all.
        decimals: the number of wanted decimals; by default that of the marking, or 2.

    Raises:
        InputError: for values that are none, a step that is not there, a problem that cannot be
            calculated or is too large to work by hand, or more variants than there are.

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
    return _varied(problem, wanted, start, None if values is None else read_values(values))


def _varied(
    problem: Problem, count: int, seed: int, values: tuple[float, ...] | None
) -> Iterator[Variant]:
    drawing = Drawing(problem, values)
    if not drawing.others:
        raise fail("nothing can be drawn: every number has one value", hint="give --values")
    given = calculated(problem)
    with located(problem.source):
        marking, meant = with_step_names(problem.marking, given)
    same = equal_steps(given)
    names = [meant[name][0].name for name in marking.ask]
    asked = [same.get(name, name) for name in names] or [*given.steps]
    decimals = ASKED_DECIMALS if marking.decimals is None else marking.decimals
    search = Search(drawing, Question(given, asked, decimals, marking.tolerance))
    hint = "let numbers be more --values, or ask for fewer variants"
    if drawing.others < count:
        message = f"only {drawing.others} other problems can be drawn from these values"
        raise fail(message, hint=hint)

    def found() -> Iterator[Variant]:
        form = _form(search)
        for number in range(1, count + 1):
            best = search.best(Random(f"{seed}/{number}"))
            if best is None:
                raise fail(f"only {number - 1} different variants were found", hint=hint)
            new = drawing.problem(best.matrices, _as_in_a_file(marking))
            yield _variant(number, new, best, search.fewest, form)

    return found()


def _form(search: Search) -> VariantForm:
    question, pool = search.question, search.pool
    return VariantForm(
        question.steps,
        tuple(question.asked),
        question.decimals,
        _in_order(pool.shown),
        pool.unseen(without_effect(question.given)),
        pool.partly,
        tuple(pool.never_apart),
        search.fewest,
        work_of(question.given, question.decimals),
    )


def _variant(
    number: int, problem: Problem, best: Candidate, fewest: int, form: VariantForm
) -> Variant:
    hidden = {distractor.key[:2] for distractor in best.hidden if not distractor.seen}
    faint = {distractor.key[:2] for distractor in best.hidden} - hidden
    alike = {tuple(sorted(key[0] for key in pair)) for pair in best.alike}
    return Variant(
        number,
        problem,
        calculated(problem),
        tuple(sorted(hidden)),
        tuple(sorted(faint)),
        tuple(sorted((one, other) for one, other in alike)),
        max(best.grave - fewest, 0),
        _in_order(distractor.key for distractor in best.seen),
        form,
    )


def _as_in_a_file(marking: Marking) -> dict[str, Any]:
    parts = {name: getattr(marking, name) for name in Marking.fields}
    own = {name: part for name, part in parts.items() if part != getattr(Marking(), name)}
    return {name: [*part] if isinstance(part, tuple) else part for name, part in own.items()}


def _in_order(keys: Iterable[Key]) -> tuple[str, ...]:
    """Return the mistakes of some keys, in the order of the catalogue."""
    shown = {key[0] for key in keys}
    return tuple(id_ for id_ in MISTAKES if id_ in shown)


def work_of(trace: Trace, decimals: int) -> Work:
    """Return how much work a calculation is that is written with so many decimals.

    >>> from attncli import Problem, compute
    >>> work_of(compute(Problem(X=[[1, 2], [3, 0]], score="dot")), 2)
    Work(products=10, exponentials=4, digits=70)
    """
    tally, worked = Counter[str](), Worked()
    for step in trace:
        if isinstance(step.operation, Operation):
            _count(step, worked, tally)
    numbers = (x for step in trace for x in step.array.ravel().tolist() if abs(x) < inf)
    digits = sum(_digits(x, decimals) for x in numbers)
    return Work(tally["products"], tally["exponentials"], digits)


def _count(step: Step, worked: Worked, tally: Counter[str]) -> None:
    cells = (worked.term(step, at) for at in np.ndindex(step.array.shape))
    # What several numbers of a step are made from, as the length of a row, is worked once.
    nodes = {id(node): node for cell in cells for node in terms_in(cell, Made)}
    for node in nodes.values():
        sizes = [operand.value for operand in node.operands]
        if not any(size in TRIVIAL or abs(size) == inf for size in sizes):
            tally["products"] += node.op in PRODUCT_SIGNS
            tally["exponentials"] += node.op in POWERS


def _digits(number: float, decimals: int) -> int:
    """Return the number of digits of a written number."""
    size = abs(number) + NEAR_WHOLE
    is_whole = size % 1 <= 2 * NEAR_WHOLE
    return len(f"{size:.{0 if is_whole else decimals}f}".replace(".", ""))

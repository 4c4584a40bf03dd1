"""The correct calculations of a problem, and joint intervals for them."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from functools import cached_property, partial
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.answers.written_cells import Matrices, Written
from attncli.checking.judging import agreement
from attncli.checking.judging.agreement import RoundingRule, agrees, is_exact, roundings_of
from attncli.checking.judging.judged_steps import CORRECT, LAST_DIGIT, MISSING, WRONG, Given, Judged
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import Outline
from attncli.core.arithmetic.intervals import Interval, hull, interval, where
from attncli.core.attention.normalizers import Hardmax, Sparsemax
from attncli.core.attention.softmax import ALONG_KEYS, Exp, Sum
from attncli.core.calculation.compute import (
    BYTES_OF_NUMBER,
    SURELY_FITS,
    compute,
    numbers_of_steps,
    outlined,
)
from attncli.core.calculation.trace import Result, Trace, with_named_steps
from attncli.core.numbers.matrices import SHORT_FLOATS
from attncli.core.problem.keys import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.records import EMPTY, Record
from attncli.core.tape.evaluation import Change, Replay, Values, sources
from attncli.core.tape.operations import Divide, MatMul
from attncli.core.tape.step import Expression, Operation, ShapeError, Step

MAX_KEPT_NUMBERS = 5_000
"""Maximum number of numbers of a calculation for which results are kept in memory. Chosen."""


class Reference(Record, eq=False):
    """The correct calculations of a problem, with which submissions are compared.

    Of attention over so many tokens that memory counts, it has the names and shapes of the steps,
    by which arrays of programs are read; then only the steps that these hold are calculated.
    """

    trace: Trace  # the calculation by which a submission is judged
    others: tuple[Trace, ...] = ()  # that are correct as well, such as one without rounding

    @classmethod
    def of(cls, problem: Problem) -> Reference:
        """Return the calculations of a problem, in double precision.

        Raises:
            InputError: if the problem cannot be calculated.
        """
        if isinstance(problem, Problem):
            short = {k: a for k, a in problem.matrices().items() if a.dtype in SHORT_FLOATS}
            wide = {key: array.astype(float) for key, array in short.items()}
            problem = problem.with_arrays(wide) if wide else problem
            is_whole = problem.round or problem.gradient or not KINDS[problem.kind].last
            if not is_whole and numbers_of_steps(problem) * BYTES_OF_NUMBER >= SURELY_FITS:
                return cls(outlined(problem))
        # A student who keeps every digit is right, too, if the problem asks for rounded steps.
        trace = compute(problem)
        return cls(trace, (compute(problem, rounded=False),) if problem.round else ())

    @property
    def has_numbers(self) -> bool:
        return not isinstance(self.trace.last.array, Outline)

    @cached_property
    def whole(self) -> Reference:
        """This reference with the numbers of every step."""
        if self.has_numbers:
            return self
        return Reference(with_named_steps(compute(self.trace.problem), self.trace.added))

    @cached_property
    def is_small(self) -> bool:
        return sum(step.array.size for step in self.trace) <= MAX_KEPT_NUMBERS

    def kept(self, key: tuple[Hashable, ...], make: Callable[[], Result]) -> Result:
        """Return a result that depends on the problem and a key alone; work it out only once.

        Where the students of a class hand in only the output, this makes judging a wrong one three
        times as fast (benchmarks/commands.py).
        """
        return self.trace.kept(key, make) if self.is_small else make()

    def is_like(self, other: Reference, name: str) -> bool:
        """Return True if the correct numbers of a step are the same in both."""
        pairs = zip((self.trace, *self.others), (other.trace, *other.others), strict=True)
        return self is other or all(one[name].array is two[name].array for one, two in pairs)

    def sources(self, step: Step) -> list[Step]:
        return self.kept(("sources", step), partial(sources, step))

    def changed(self, change: Callable[[Trace], Trace]) -> Reference:
        return Reference(change(self.trace), tuple(map(change, self.others)))


def together(steps: Iterable[Step], shown: Container[str]) -> Change:
    """Return operations with joint intervals for those whose operands depend on each other.

    Of two powers in [1, 2] each, a share is between 1/3 and 2/3; the intervals of the powers and of
    their sum, taken as independent, would give 1/4 to 1. A shown sum is an ordinary divisor.
    """
    change: dict[str, Expression] = {}
    for step in steps:
        node, total = step.operation, shares_of(step.operation)
        if isinstance(node, Divide) and isinstance(node.divisor, Step):
            if total is not None and node.divisor.name not in shown:
                change[step.name] = Share(node.dividend, total.along, node.divisor)
        elif isinstance(node, MatMul) and axis_of_shares(node.left) == ALONG_KEYS:
            change[step.name] = Mixture(node.left, node.right)
    return change


def shares_of(node: Expression | None) -> Sum | None:
    """Return the sum by which each number is divided, if it is the sum of the same numbers."""
    if isinstance(node, Divide) and isinstance(node.divisor, Step):
        total = node.divisor.operation
        if isinstance(total, Sum) and total.operand is node.dividend:
            return total
    return None


def axis_of_shares(step: Expression) -> int | None:
    """Return the axis along which a step's numbers are parts of 1, or all 0; else None."""
    node = step.operation if isinstance(step, Step) else None
    if isinstance(node, Hardmax | Sparsemax):
        return node.along
    total = shares_of(node)
    powers = total.operand if total is not None else None
    is_softmax = isinstance(powers, Step) and isinstance(powers.operation, Exp)
    return total.along if total is not None and is_softmax else None


class Share(Operation):
    """Each number divided by the sum of its line, which may have been rounded."""

    part: Expression
    along: int
    total: Expression

    def apply(self, *arrays: Any) -> Any:
        return Divide(self.part, self.total).apply(*arrays)

    def bounds(self, *operands: Any) -> Any:
        """A positive number has its least share where it is least and all others are largest."""
        part, total = operands
        if (part.low < 0).any():
            return part / total
        lows, highs = (end.sum(axis=self.along, keepdims=True) for end in (part.low, part.high))
        least, most = part.low + (highs - part.high), part.high + (lows - part.low)
        low = np.where(least > 0, part.low / least, part.high > 0)
        high = np.where(most > 0, part.high / most, 0.0)
        # By which part of itself the sum may have been rounded, if it was.
        off = np.maximum(total.high - lows, highs - total.low)
        is_rounded = (total.high > highs) | (total.low < lows)
        by = np.where(is_rounded & (lows > 0), off / lows, 0.0)
        return Interval(low / (1 + by), high * (1 + by))


class Mixture(Operation):
    """Values mixed by weights whose rows sum to 1, so between the least and the largest value."""

    weights: Expression
    values: Expression

    def apply(self, *arrays: Any) -> Any:
        return arrays[0] @ arrays[1]

    def bounds(self, *operands: Any) -> Any:
        """As the product, but within the range of the values, times the sums of the weights."""
        weights, values = operands
        plain = weights @ values
        if (weights.low + weights.high < 0).any():  # no shares, by a mistake
            return plain
        least = values.low.min(axis=-2, keepdims=True)
        most = values.high.max(axis=-2, keepdims=True)
        inside = weights.sum(axis=-1, keepdims=True) * Interval(least, most)
        low, high = np.maximum(plain.low, inside.low), np.minimum(plain.high, inside.high)
        return Interval(np.minimum(low, high), np.maximum(low, high))


MAX_KEPT_SIZE = 100
"""Maximum size of a step for which results are kept; all take a few megabytes."""


Numbers: TypeAlias = Callable[[Step], Any]
"""A function that gives the numbers of a shown step, or their intervals."""


class Operands:
    """The numbers from which later steps of one submission are made."""

    def __init__(
        self, reference: Reference, matrices: Matrices, judged: Mapping[str, Judged]
    ) -> None:
        self.reference, self.trace, self.judged = reference, reference.trace, judged
        self._shown = {name: one for name, one in matrices.items() if isinstance(one, Written)}
        self._together = together(self.trace, matrices)
        self._once: dict[Hashable, Any] = {}

    def replay(
        self, shown: Numbers, settle: Callable[[Any], Any] = lambda x: x, instead: Change = EMPTY
    ) -> Replay[Values]:
        """Return the calculation with some numbers for shown steps, and hidden ones settled."""
        return Replay(
            self.trace,
            lambda step: self._known(step, shown),
            lambda step, result: self.completed(step, settle(result), shown),
            instead={**self._together, **instead},
        )

    @cached_property
    def written(self) -> Replay[Array]:
        return Replay(self.trace, self._known, self.completed)

    @cached_property
    def meant(self) -> Replay[Values]:
        return self.replay(self._meant)

    @cached_property
    def ranges(self) -> Replay[Values]:
        """The calculation on intervals that hold both, and hidden steps rounded or not."""
        return self.replay(
            lambda step: hull(self.written(step), self.meant(step)),
            lambda result: hull(result, *(one.interval(result) for one in self.roundings)),
        )

    @cached_property
    def rounded(self) -> list[Replay[Values]]:
        """The calculation with hidden steps rounded as shown ones are, or with one digit more."""
        rules = [rule for one in self.roundings for rule in (one, one.finer)]
        return [self.replay(self.written, rule) for rule in rules]

    def once(self, name: Hashable, make: Callable[[], Result]) -> Result:
        """Return a result that depends on the submission; work it out only once."""
        if name not in self._once:
            self._once[name] = make()
        result: Result = self._once[name]
        return result

    def kept(self, name: Hashable, step: Step, make: Callable[[], Result]) -> Result:
        """Return a result for a step, kept for a class if it depends on no number of a student."""
        if step.array.size > MAX_KEPT_SIZE:
            return make()
        if not self.is_first(step):
            return self.once((name, step.name), make)
        key = name, step.name, self.roundings, frozenset(self._together)
        return self.reference.kept(key, make)

    @cached_property
    def texts(self) -> list[str]:
        """Every number that was handed in, as it was written."""
        return [text for one in self._shown.values() for text in one.texts.ravel().tolist()]

    @cached_property
    def roundings(self) -> tuple[RoundingRule, ...]:
        return roundings_of(self.texts)

    def shown(self, step: Step) -> Given | None:
        """Return a step that was written in its shape, so that later steps go on from it."""
        judged = self.judged.get(step.name)
        return judged if isinstance(judged, Given) else None

    def is_whole(self, step: Step) -> bool:
        answer = self.shown(step)
        return answer is not None and not answer.written.blank.any()

    def is_first(self, step: Step) -> bool:
        before = takewhile(lambda one: one.step.name != step.name, self.judged.values())
        return not any(self.shown(one.step) for one in before)

    def ancestors(self, step: Step) -> list[Step]:
        """Return every step that a step is made of, shown or not, in the order of computation."""
        sources = self.reference.sources
        wanted, before = {source.name for source in sources(step)}, []
        for other in reversed(list(takewhile(lambda other: other is not step, self.trace))):
            if other.name in wanted:
                before.append(other)
                wanted.update(source.name for source in sources(other))
        return before[::-1]

    def hidden_before(self, step: Step) -> list[Step]:
        """Return the steps between a step and the shown ones that it is made of."""
        return self.written.unknown_before(step)

    def _answer(self, step: Step) -> Given:
        answer = self.shown(step)
        assert answer is not None  # as every caller passes a shown step
        return answer

    def _values(self, step: Step) -> Array:
        return self._answer(step).values

    def _known(self, step: Step, shown: Numbers | None = None) -> Any:
        return (shown or self._values)(step) if self.is_whole(step) else None

    def completed(
        self, step: Step, result: Any, shown: Numbers | None = None, is_kept: bool = False
    ) -> Any:
        """Return worked numbers with shown ones instead; if `is_kept`, only where they differ.

        Raises:
            ShapeError: if the shown ones are of another shape, as after a mistake.
        """
        if (answer := self.shown(step)) is None:
            return result
        stays = wide_as(answer.written.blank, result)
        numbers = wide_as((shown or self._values)(step), result)
        if is_kept:
            unit = wide_as(answer.unit, result)
            stays = stays | agrees(numbers, unit, result, agreement.CUT_OFF)
        try:
            return np.where(stays, result, numbers)
        except ValueError as error:
            raise ShapeError(*error.args) from error

    def _meant(self, step: Step) -> Values:
        """Return the numbers of a step before rounding: of a wrong one, whatever rounds to it."""
        answer = self._answer(step)
        wrong = answer.codes == WRONG
        before = takewhile(lambda other: other is not answer, self.judged.values())
        seen = [code for one in (*before, answer) for code in (WRONG, LAST_DIGIT) if one.has(code)]
        if not seen:
            return answer.expected
        follows = bounded(self.meant.result(step))
        # Numbers of a wrong row or column are right by accident.
        beside = wrong.any(axis=-1, keepdims=True) | wrong.any(axis=-2, keepdims=True)
        unit = np.where(answer.codes == CORRECT, answer.unit_if_correct, answer.unit)
        # A wrong decimal, or one beside it, may be the rounding of anything, even where all right
        # numbers are exact; a whole number beside decimals is what it is.
        right = step.array, self.meant.result(step)
        is_unrounded = all(is_exact(numbers, answer.unit) for numbers in right)
        is_exact_here = is_unrounded & ~(beside & (unit < 1)) | (wrong & answer.is_whole)
        half = np.where(is_exact_here, 0.0, agreement.ROUNDED * unit)
        # Away from 0, the size of a number that may be cut off is up to a unit more.
        more, values = 2 * half if LAST_DIGIT in seen else half, answer.values
        low, high = np.where(values > 0, half, more), np.where(values < 0, half, more)
        around = Interval(values - low, values + high)
        both = Interval(np.maximum(follows.low, around.low), np.minimum(follows.high, around.high))
        # A number that is off by a unit may be a slip in writing down what was used.
        is_near, is_correct = answer.codes == LAST_DIGIT, answer.codes == CORRECT
        ends = hull(answer.expected, np.where(is_near, answer.values, answer.expected))
        doubtful = (follows.low < follows.high) & (both.low <= both.high)
        ends = where(doubtful, where(is_near | is_correct, hull(ends, both), both), ends)
        return where(wrong | (beside & is_correct), around, ends)

    def numbers(self, step: Step) -> list[Array]:
        """Return the numbers with which the student may have gone on from a shown step.

        These are the written ones; what explains them, with every digit; and, where it is written
        so, what the numbers before them give, and what explains them, with one and two digits more.
        """
        return self.once(("numbers", step), partial(self._numbers, step))

    def _numbers(self, step: Step) -> list[Array]:
        answer, written = self._answer(step), self.written(step)
        every = [written]
        meant = np.where(np.isin(answer.codes, (WRONG, MISSING)), written, answer.expected)
        rules = self.roundings[:1]
        finer = (one(meant) for rule in rules for one in (rule.finer, rule.finer.finer))
        again = (*self.unrounded(step)[1:], *finer)
        for other in (meant, *(self.completed(step, one, is_kept=True) for one in again)):
            if not any(np.array_equal(other, one) for one in every):
                every.append(other)
        return every

    def unrounded(self, step: Step) -> list[Array]:
        return [step.array, self.written.result(step), middle(self.meant.result(step))]


def wide_as(array: Any, other: Any) -> Any:
    times = other.shape[0] // array.shape[0] or 1
    return np.tile(array, (times, *[1] * (array.ndim - 1))) if times > 1 else array


def bounded(numbers: Values) -> Interval:
    ends = interval(numbers)
    return Interval(np.fmax(ends.low, -np.inf), np.fmin(ends.high, np.inf))


def middle(numbers: Values) -> Array:
    """Return numbers as they are, and the middle of each interval."""
    if not isinstance(numbers, Interval):
        return numbers
    ends = interval(numbers)
    return np.where(ends.low == ends.high, ends.low, (ends.low + ends.high) / 2)

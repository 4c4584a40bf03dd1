"""The result of judging each step: statuses, findings, and which steps earn no points.

Numbers that follow from invented numbers earn nothing if they need no work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np

from attncli.checking.answers.program_arrays import MAX_HAND_DECIMALS
from attncli.checking.answers.written_cells import ShapeMismatch, Written
from attncli.checking.judging.agreement import (
    CUT_OFF,
    FLOAT_ERROR_OF_EXACT,
    ROUNDED,
    agrees,
    is_same,
)
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval
from attncli.core.records import EMPTY, Record, replace
from attncli.core.tape.evaluation import Change, Values, sources
from attncli.core.tape.step import Step
from attncli.core.text.strings import small

SHAPES = ("wrong_shape", "transposed")
"""Ids of findings about the shape of a matrix."""

ALL_THE_SAME = "all_the_same"
"""The id of the finding that a step holds one number everywhere, which nobody calculated."""


class Finding(Record):
    """What explains a wrong step: a mistake of the catalogue, a slip, or a wrong shape.

    Attributes:
        id: the public name of the mistake.
        what: a sentence that says what was done; "" where only the place is known.
        advice: a sentence that says what to do.
        place: the words before the colon, such as "In scaled" or "Only row 2 is wrong"; or "".
        certain: False if the numbers may be so by chance.
        hint: the sentence in the place of `what` for readers who must not see a correct number;
            None where `what` holds none.
        gives_all: True if it gives every number of the step, the correct ones, too; of
            `ALL_THE_SAME`, if a mistake does.
        also: another mistake that gives the same numbers, if there is one.
        together: the two causes that only together give the numbers; or none.
        worked: lines that work wrong numbers out from the student's own earlier ones.
        change: the operations of a mistake, by the step in which it was made.
    """

    id: str
    what: str
    advice: str
    place: str = ""
    certain: bool = True
    hint: str | None = None
    gives_all: bool = False
    also: tuple[Finding, ...] = ()
    together: tuple[Finding, ...] = ()
    worked: tuple[str, ...] = ()
    change: Change = EMPTY

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"change": EMPTY}  # only judging needs it, and functions are in it

    @property
    def is_cause(self) -> bool:
        """True if it says how the numbers came about, and not only where or that they are wrong."""
        return bool(self.what) and (self.id != ALL_THE_SAME or self.gives_all)

    @property
    def message(self) -> str:
        return self.sentence()

    def sentence(self, solution: bool = True) -> str:
        """Return where and what was done; without the solution, no number that tells a correct one.

        >>> slip = Finding("row_slip", "It was divided by 2, not by 3.", "", "Only row 1 is wrong",
        ...     certain=False, hint="")
        >>> slip.sentence(), slip.sentence(solution=False)
        ('Only row 1 is wrong: perhaps it was divided by 2, not by 3.', 'Only row 1 is wrong.')
        """
        what = self.what if solution or self.hint is None else self.hint
        if what and not self.certain:
            what = f"Perhaps {small(what)}"
        if not what:
            return f"{self.place}."
        return f"{self.place}: {small(what)}" if self.place else what

    @property
    def others(self) -> Iterator[str]:
        for other in self.also:
            place = f", {small(other.place)}," if other.place else ""
            said = f"Another mistake{place} gives the same numbers: {small(other.what)}"
            # A wrong shape is no other mistake, but what one led to.
            yield other.message if other.id in SHAPES else said


STATUSES = ("correct", "last_digit", "rounded_early", "follows", "wrong", "missing")
CORRECT, LAST_DIGIT, ROUNDED_EARLY, FOLLOWS, WRONG, MISSING = range(6)
WORST_FIRST = (WRONG, FOLLOWS, ROUNDED_EARLY, LAST_DIGIT, CORRECT)


class Judged(Record, eq=False):
    """One step of a student's answers. Arrays have the layout of the step's array.

    Attributes:
        step: the step of the correct calculation.
        codes: the status of each cell, an index of `STATUSES`.
    """

    step: Step
    codes: Array

    @cached_property
    def _tally(self) -> list[int]:
        self.codes.setflags(write=False)
        counts: list[int] = np.bincount(self.codes.ravel(), minlength=len(STATUSES)).tolist()
        return counts

    def has(self, code: int) -> bool:
        return self._tally[code] > 0

    @property
    def counts(self) -> dict[str, int]:
        return dict(zip(STATUSES, self._tally, strict=True))

    @cached_property
    def status(self) -> str:
        return next((STATUSES[code] for code in WORST_FIRST if self.has(code)), "missing")

    @property
    def on_paper(self) -> Array:
        """The status of each cell, in the layout on paper."""
        codes: Array = self.step.on_paper(self.codes)
        return codes

    @property
    def wrong_numbers(self) -> Array:
        """Which cells hold a wrong number, and not one with too few digits, or no number."""
        wrong: Array = self.codes == WRONG
        return wrong


class NotGiven(Judged):
    """A step of which nothing was handed in."""


class Misshapen(Judged):
    """A step that was handed in with the wrong shape; no cell of it can be judged."""

    mismatch: ShapeMismatch

    @cached_property
    def status(self) -> str:
        return "wrong"

    @property
    def on_paper(self) -> Array:
        return np.full_like(super().on_paper, WRONG)


class Difference(Judged):
    """An array from a program that was handed in for a step.

    Attributes:
        values: the numbers, on paper; nan where none was written.
        largest: the largest difference from the right numbers, of those that are not nan.
        errors: the same, in errors that the calculation carries.
        fault: what is wrong with the shape; or "".
    """

    values: Array
    largest: float
    errors: float
    fault: str = ""

    @cached_property
    def nan_count(self) -> int:
        is_nan = np.isnan(self.values) & (self.on_paper == WRONG)
        return 0 if self.fault else int(is_nan.sum())

    @cached_property
    def farthest(self) -> tuple[int, ...] | None:
        """The place, on paper, of the largest difference; None if no number differs."""
        differs = np.isin(self.on_paper, (FOLLOWS, WRONG)) & ~np.isnan(self.values)
        if self.fault or not differs.any():
            return None
        with np.errstate(invalid="ignore"):
            off = np.where(differs, np.abs(self.values - self.step.value), -1.0)
        place = np.unravel_index(int(np.argmax(off)), off.shape)
        return tuple(int(i) for i in place)


class Given(Judged):
    """A step that was handed in with the right shape; unless it is `Compared`, no number is wrong.

    Attributes:
        written: the numbers as they were written.
        unit: the units of the last informative digits.
        unit_if_correct: the same for correct numbers, among which 4 may be written for 3.88.
        is_whole: which numbers are whole beside decimals, so that no error of a unit is tolerated.
    """

    written: Written
    unit: Array
    unit_if_correct: Array
    is_whole: Array

    @property
    def texts(self) -> Array:
        """What was written, as on paper; `_` for a cell that was left out."""
        return self.step.on_paper(np.where(self.written.missing, "_", self.written.texts))

    @property
    def wrong_numbers(self) -> Array:
        wrong, no_number = super().wrong_numbers, self.written.unreadable
        return wrong if no_number is None else wrong & ~no_number

    @property
    def expected(self) -> Array:
        """The number with which each cell was compared: here the correct one, with every digit."""
        right: Array = self.step.array
        return right

    @cached_property
    def values(self) -> Array:
        """The written numbers; a correct number with all its digits is that number exactly."""
        self.codes.setflags(write=False)
        written, right = self.written, self.step.array
        same = is_same(written.values, right, FLOAT_ERROR_OF_EXACT) & (self.codes == CORRECT)
        return np.where(same, right, written.values)

    def agrees(self, expected: Values, units: float = ROUNDED, unit: Array | None = None) -> Array:
        return agrees(self.written.values, self.unit if unit is None else unit, expected, units)


class Compared(Given):
    """A step with a number that is not correct, so that the student's earlier numbers matter.

    Attributes:
        explained: for each cell the number of the hypothesis that explains it; for a wrong cell the
            number that the student's own earlier numbers give.
        yours: what the student's own earlier numbers give.
        follows: the same as intervals, as each written number may be any that rounds to it.
        rounding: the schedule by which numbers were rounded early, such as "√3 taken as 1.73".
        short: which numbers are wrong because they have too few digits for the marking.
    """

    explained: Array
    yours: Array
    follows: Interval
    rounding: str = ""
    short: Array | None = None

    @property
    def wrong_numbers(self) -> Array:
        wrong = super().wrong_numbers
        return wrong if self.short is None else wrong & ~self.short

    @property
    def expected(self) -> Array:
        return self.explained

    @property
    def without_wrong_numbers(self) -> Compared:
        """Return the step without its wrong numbers."""
        values = np.where(self.codes == WRONG, np.nan, self.written.values)
        written = replace(self.written, values=values)
        codes = np.where(written.missing, np.int8(MISSING), self.codes)
        return replace(self, codes=codes, written=written)

    def following(self, cells: Array) -> Compared:
        """Return the same step, in which wrong numbers in some cells follow."""
        return replace(self, codes=np.where(cells & self.wrong_numbers, FOLLOWS, self.codes))

    def followed(self, other: Judged) -> Compared:
        """Return the same step, in which wrong numbers follow that `other` says how to explain."""
        cells = (self.codes == WRONG) & (other.codes != WRONG) & (other.codes != MISSING)
        if not isinstance(other, Given) or not cells.any():
            return self
        codes = np.where(other.codes == CORRECT, FOLLOWS, other.codes)
        return replace(
            self,
            codes=np.where(cells, codes, self.codes),
            explained=np.where(cells, other.expected, self.explained),
            rounding=getattr(other, "rounding", "") or self.rounding,
        )


def behind(names: Collection[str], steps: Mapping[str, Judged]) -> Iterator[str]:
    """Yield the steps of the submission from whose numbers the named ones follow.

    They count even if the marking does not ask for them: else an error carried forward would pass.
    """
    seen, todo = set[str](), [steps[name].step for name in names]
    unsure = (MISSING, FOLLOWS, WRONG)  # a step without them is right
    while todo:
        for source in sources(todo.pop()):
            judged = steps.get(source.name)
            if judged is None or source.name in seen:
                continue
            seen.add(source.name)
            yield source.name
            if isinstance(judged, Misshapen) or any(map(judged.has, unsure)):
                todo.append(judged.step)


def without_work(
    steps: Mapping[str, Judged], findings: Mapping[str, Finding]
) -> Iterator[tuple[str, Array]]:
    """Yield steps that follow from invented numbers, and which of their rows need no work."""
    invented = {*_invented(steps, findings)}
    earning = (LAST_DIGIT, ROUNDED_EARLY, FOLLOWS)
    for name, judged in steps.items() if invented else ():
        if any(map(judged.has, earning)) and invented & {*behind([name], steps)}:
            rows = _trivial_rows(judged, steps)
            if rows.any():
                yield name, rows


def _invented(steps: Mapping[str, Judged], findings: Mapping[str, Finding]) -> Iterator[str]:
    """Yield the steps of which more than half is wrong, and no mistake or slip says why.

    Of arrays from a program only the first wrong one was searched for mistakes.
    """
    for name, judged in steps.items():
        is_explained = name in findings and findings[name].is_cause
        written = judged.codes.size - judged.counts["missing"]
        if 2 * judged.wrong_numbers.sum() > written and not is_explained:
            yield name
        if isinstance(judged, Difference) and judged.has(WRONG):
            return


def _trivial_rows(judged: Judged, steps: Mapping[str, Judged]) -> Array:
    """Return the rows of a step that need no work, though the right ones do."""
    right, operands = judged.step.array, sources(judged.step)
    numbers = _written(judged.step, judged)
    # A unit of 1 would make 2 of 1.
    unit = judged.unit * (judged.unit < 1) if isinstance(judged, Given) else np.zeros(right.shape)
    is_fixed = ~np.isfinite(right) | ((numbers == 0) & (right == 0))  # such as by a mask
    yours = [_written(one, steps.get(one.name) if one.operation else None) for one in operands]
    in_yours = _patterns(np.where(is_fixed, np.nan, numbers), CUT_OFF * unit, yours)
    arrays = [one.array for one in operands]
    in_right = _patterns(np.where(is_fixed, np.nan, right), ROUNDED * unit, arrays)
    patterns = (is_yours & ~needed for is_yours, needed in zip(in_yours, in_right, strict=True))
    return reduce(np.logical_or, patterns)


def _written(step: Step, judged: Judged | None) -> Array:
    """Return the numbers of a step that were written, and right ones where there are none."""
    numbers = step.array
    if isinstance(judged, Given):
        numbers = judged.values
    elif isinstance(judged, Difference):
        numbers = step.from_paper(judged.values)
    return np.where(np.isnan(numbers), step.array, numbers)


def _patterns(numbers: Array, error: Array, operands: Sequence[Array]) -> Iterator[Array]:
    """Yield where there are rows of 0 and 1, of one number, and of an operand.

    Also matrices of one row again and again, and of at most two numbers; nan may be any number.
    """
    error = np.maximum(error, 10.0**-MAX_HAND_DECIMALS)

    def holds(*others: Array | float, axis: int | tuple[int, int] = (-2, -1)) -> Array:
        with np.errstate(invalid="ignore"):  # −∞ − −∞, of blocked cells, is nan: they are near
            near: Array = np.any([~(np.abs(numbers - other) > error) for other in others], axis=0)
        return near.all(axis=axis, keepdims=True)  # type: ignore[return-value]

    width, ends = numbers.shape[-1], (np.fmin, np.fmax)
    rows = (x for one in operands if one.shape[-1] == width for x in one.reshape(-1, width))
    yield holds(0.0, 1.0, axis=-1)
    yield holds(np.fmin.reduce(numbers, axis=-1, keepdims=True), axis=-1)
    yield np.any([holds(np.inf, axis=-1), *(holds(x, axis=-1) for x in rows)], axis=0)
    yield holds(np.fmin.reduce(numbers, axis=-2, keepdims=True))
    yield holds(*(find.reduce(numbers, axis=(-2, -1), keepdims=True) for find in ends))

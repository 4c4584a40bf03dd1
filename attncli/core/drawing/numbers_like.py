"""New numbers for the matrices of a problem: like the original ones, or among some values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import floor, inf, prod
from random import Random
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.drawing.hand_work import Projections
from attncli.core.drawing.numbers import GRAVE, Flaws, draw, in_lists, with_new_row
from attncli.core.errors import InputError, fail, located
from attncli.core.numbers.written import to_number
from attncli.core.problem.keys import KEYS
from attncli.core.problem.marking import Marking
from attncli.core.problem.problem import Problem
from attncli.core.records import Record, replace
from attncli.core.tape.evaluation import walk
from attncli.core.tape.operations import TOKEN_AXES
from attncli.core.tape.step import Step
from attncli.core.text.strings import regex, visible

MAX_VARIED_NUMBERS = 2_000
"""Maximum number of numbers in a problem that is varied, its scores included."""

MAX_VARIED_SIZE = 1e15
"""Largest number in a problem that is varied: a larger one has no decimals as a float."""

MAX_VALUES = 10_000
"""Maximum number of values that a number is drawn from."""

VALUE_STEPS = (1.0, 0.5, 0.25, 0.2, 0.1, 0.05, 0.025, 0.02, 0.01, 0.005, 0.001, 0.0001)
"""Distances between values, of which the coarsest that fits a matrix is used."""

STEPS_BETWEEN = 10
"""About how many steps lie between numbers that share no distance, such as 1/3 and 2/3."""

MAX_ZEROS = 0.9
"""Maximum share of zeros in a matrix. More zeros than in the original one keep products small."""

RANGE = regex(r"(.{1,99}?)(?:\.\.|…)(.{1,99}?)(?:\s+by\s+(.+))?")
VALUES_HINT = "write such as -2..3, '-1..1 by 0.5' or 0,1,2"

DECIMALS_KEPT = 12
"""Decimals to which steps are rounded: later ones differ between machines."""

SOFTMAX_STEPS = ("exp", "sum", "weights")
"""Steps that are not rounded: they may be small, and nothing compares their numbers."""

LARGE_NUMBER = 1000.0
"""Minimum size of a number that is a flaw, as it has too many digits before the point. Chosen."""

WORK_DIFFERENCE = 0.1
"""Difference in work from the original problem, relative to it, that counts as one small flaw."""

Matrices = Mapping[str, Array]
"""The drawn matrices by key; parameters of a score function as `score.W`."""


class DrawnMatrix(Record, eq=False):
    """How one matrix is drawn."""

    values: tuple[float, ...]  # what a number may be
    original: Array
    drawn: Array  # which numbers are drawn anew; a −∞ stays
    keeps_zeros: bool  # whether it has as many zeros as the original one
    is_weight: bool  # whether both its axes are features

    def draw(self, random: Random) -> Array:
        """Return a matrix of new numbers, with zeros as often as in the original one, or more.

        Where it keeps zeros, they are those of the original one, with rows and columns in another
        order: as many, so that products are about as many, and no other rows or columns of zeros.
        """
        others, shape, zeros = self._others, self.original.shape, self.original == 0
        if 0.0 not in self.values:
            new = draw(random, shape, others, 0.0)
        elif self.keeps_zeros and (zeros.any() or len(others) > 1):
            for axis, size in enumerate(shape):
                zeros = zeros.take(sorted(range(size), key=lambda _: random.random()), axis)
            new = np.where(zeros, 0.0, draw(random, shape, others, 0.0))
        else:
            share = float(zeros[self.drawn].mean())
            more = max(MAX_ZEROS - share, 0.0) * max(2 * random.random() - 1, 0.0)
            new = draw(random, shape, others, max(share + more, 1 / len(self.values)))
        return self._without_zero_lines(random, np.where(self.drawn, new, self.original))

    def with_new_row(self, random: Random, before: Array, width: int) -> Array:
        """Return a matrix with a new row of that width, or a new number."""
        new = with_new_row(random, before, self.draw(random), width)
        return self._without_zero_lines(random, new)

    def _without_zero_lines(self, random: Random, new: Array) -> Array:
        if self.is_weight and zero_lines(new) > zero_lines(self.original):
            return draw(random, new.shape, self._others, 0.0)
        return new

    @property
    def _others(self) -> Sequence[float]:
        return [value for value in self.values if value] or [0.0]


def zero_lines(matrix: Array) -> int:
    """Return how many rows and columns of a matrix are all zeros."""
    return sum(int(np.count_nonzero(~matrix.any(axis=axis))) for axis in (-1, -2))


class FlawsOfDrawn(Flaws):
    """The flaws of drawn numbers, of which more or less work than the original has is one."""

    def __init__(self, trace: Trace, drawing: Drawing) -> None:
        super().__init__(trace)
        self._drawing = drawing

    @cached_property
    def grave(self) -> int:
        """The number of flaws that no variant should have."""
        trace = self._trace
        sizes = np.concatenate([np.abs(step.array).ravel() for step in trace])
        large = int(((sizes >= LARGE_NUMBER) & (sizes < inf)).sum())
        return self.saturated + large + len(trace.warnings) - len(trace.problem.warnings)

    @cached_property
    def excess(self) -> int:
        """See `Projections.excess`."""
        return self._drawing.projections.excess(self._trace)

    @cached_property
    def small(self) -> int:
        usual = rough_work(self._drawing.calculation) or 1
        difference = abs(rough_work(self._trace) - usual) / usual
        return super().small + GRAVE * self.excess + int(difference / WORK_DIFFERENCE)

    @property
    def counts(self) -> tuple[int, int]:
        return self.grave, self.small


def rough_work(trace: Trace) -> int:
    """Return how many numbers are not 0, 1, −1 or −∞: a quick measure of work."""
    steps = (*trace.inputs.values(), *trace)
    sizes = np.concatenate([np.abs(step.array).ravel() for step in steps])
    return int(((sizes != 1) & (sizes != 0) & (sizes < inf)).sum())


class Drawing:
    """The matrices of a problem that are drawn anew; masks and a bias that only blocks stay.

    Args:
        problem: the original problem.
        values: what a drawn number may be, such as "-2..3", "-1..1 by 0.5" or [0, 1, 2]; by
            default, for each matrix, from its least to its largest number in the step they share.

    Raises:
        InputError: for values that cannot be read, and a problem that cannot be calculated or is
            too large to work by hand.
    """

    cells: dict[str, DrawnMatrix]  # how each matrix is drawn, by key
    others: int  # how many problems can be drawn, beside the original one

    def __init__(self, problem: Problem, values: str | Sequence[float] | None = None) -> None:
        self._problem = problem
        chosen = None if values is None else read_values(values)
        with located(problem.source):
            _check_size(problem)
            self.calculation = calculated(problem)
        self.projections = Projections(self.calculation)
        inputs = self.calculation.inputs.values()
        is_weight = {s.key: len(s.trailing) > 1 and not TOKEN_AXES & {*s.trailing} for s in inputs}
        keeps_zeros = any(is_weight.values())  # which decide how many products there are
        self.cells = {}
        for key, array in problem.matrices().items():
            numbers, drawn = array.astype(float), np.isfinite(array)
            if key.startswith("mask") or (not drawn.all() and len(np.unique(numbers[drawn])) < 2):
                continue
            allowed = chosen or usual_values(numbers[drawn])
            self.cells[key] = DrawnMatrix(
                allowed, numbers, drawn, keeps_zeros, is_weight.get(key, False)
            )
        cells = self.cells.values()
        is_one = all(np.isin(c.original[c.drawn], c.values).all() for c in cells)
        self.others = prod(len(c.values) ** int(c.drawn.sum()) for c in cells) - is_one

    @property
    def original(self) -> Matrices:
        return {key: cells.original for key, cells in self.cells.items()}

    @staticmethod
    def numbers_of(matrices: Matrices) -> bytes:
        """Return a key by which drawn numbers are compared."""
        return b"".join((array + 0.0).tobytes() for array in matrices.values())  # −0 becomes 0

    @cached_property
    def behind_weights(self) -> list[str]:
        """The keys of drawn matrices that weights depend on."""
        weights = [step for step in self.calculation if step.is_weights]
        behind = {n.key for s in weights for n in walk(s, into_steps=True) if isinstance(n, Step)}
        return [key for key in self.cells if key in behind]

    def excess(self, matrices: Matrices) -> int:
        """Return `Projections.excess` of some numbers, with steps that have the original zeros."""

        def numbers_of(step: Step) -> Array:
            drawn = matrices.get(step.key)
            return step.array if drawn is None else self._problem.laid_out(step.key, drawn)

        return self.projections.excess_with(numbers_of)

    def with_any_zeros(self) -> Drawing | None:
        """Return this with any number of zeros; None if no matrix keeps those of the original."""
        if not any(cells.keeps_zeros for cells in self.cells.values()):
            return None
        loose = copy(self)
        loose.cells = {k: replace(cells, keeps_zeros=False) for k, cells in self.cells.items()}
        return loose

    def draw(self, random: Random) -> Matrices:
        return {key: cells.draw(random) for key, cells in self.cells.items()}

    def redrawn(
        self, random: Random, matrices: Matrices, number: int, among: Sequence[str] = ()
    ) -> Matrices:
        """Return the same matrices with one of them drawn anew, or a row or a number of it.

        By `number`, the matrices `among` these keys take turns, and whole ones, rows and numbers.
        """
        keys = among or [*self.cells]
        key = keys[number // 3 % len(keys)]
        before, cells = matrices[key], self.cells[key]
        width = 1 if number % 3 == 2 or before.ndim < 2 else before.shape[-1]
        new = cells.with_new_row(random, before, width) if number % 3 else cells.draw(random)
        return {**matrices, key: new}

    def trace(self, matrices: Matrices) -> Trace:
        return calculated(self._problem.with_arrays(matrices))

    def flaws_of(self, trace: Trace) -> FlawsOfDrawn:
        return FlawsOfDrawn(trace, self)

    def problem(self, matrices: Matrices, marking: Marking | None = None) -> Problem:
        """Return the problem with other numbers and marking, as in a file."""
        every = {**self._problem.matrices(), **matrices}
        new = {key: in_lists(array) for key, array in every.items()}
        values = _with_new(self._problem, self._problem.given, new)
        parts = {part: getattr(marking, part) for part in Marking.fields} if marking else {}
        changed = {part: x for part, x in parts.items() if x != Marking.defaults[part]}
        lists = {part: [*x] if isinstance(x, tuple) else x for part, x in changed.items()}
        left_out = dict.fromkeys(("student", "variant", "answers", "tour"))
        return Problem(**{**values, **left_out, "marking": lists or None})


def _with_new(problem: Problem, keys: Iterable[str], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of some keys of a problem, or of a layer, with other numbers."""
    values: dict[str, Any] = {}
    for key in keys:
        raw = problem.written.get(key)
        if key == "layers":
            layers = enumerate(problem.layers, 1)
            values[key] = [_of_layer(one, f"layers.{number}.", new) for number, one in layers]
        elif isinstance(raw, Mapping) or key == "positions":
            values[key] = _renewed(raw, key, new)
        else:  # a matrix alone is its only part: `mask.keep`, `gradient.upstream`
            names = (name for name in new if name.partition(".")[0] == key)
            values[key] = new.get(next(names, ""), raw)
    return values


def _of_layer(layer: Problem, start: str, new: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key.removeprefix(start): array for key, array in new.items() if start in key}
    return _with_new(layer, [key for key in KEYS if key in layer.layer_keys], numbers)


def _renewed(raw: Any, key: str, new: Mapping[str, Any]) -> Any:
    if isinstance(raw, Mapping):
        return {part: new.get(f"{key}.{part}", x) for part, x in raw.items()}
    return [_renewed(row, key, new) for row in raw] if isinstance(raw, list) else raw


def calculated(problem: Problem) -> Trace:
    """Return the calculation of a problem as it is on every machine.

    Processors differ in the order of sums: 0.3 − 0.3 may not be 0, and ties may be broken.
    """
    return compute(problem, settle=tidy(problem))


def tidy(problem: Problem) -> Callable[[str, Array], Array]:
    """Return a function that rounds the numbers of a step to the digits that are sure."""
    skipped = SOFTMAX_STEPS if problem.normalize["name"] == "softmax" else ()

    def settle(name: str, array: Array) -> Array:
        return array if skipped and name.startswith(skipped) else array.round(DECIMALS_KEPT) + 0.0

    return settle


def _check_size(problem: Problem) -> None:
    sizes = problem.sizes
    scores = prod(sizes.size(letter) or 1 for letter in ("batch", "n", "m")) * problem.heads
    count = scores + sum(array.size for array in problem.matrices().values())
    hint = "variants are for problems that are worked by hand"
    if count > MAX_VARIED_NUMBERS:
        message = f"this problem has {count:,} numbers, its scores among them"
        raise fail(f"{message}; one that is varied has at most {MAX_VARIED_NUMBERS:,}", hint=hint)
    for key, array in problem.matrices().items():
        most = float(np.abs(array).max(initial=0, where=np.isfinite(array)))
        if most > MAX_VARIED_SIZE:
            message = f"{key} holds {most:g}; at most {MAX_VARIED_SIZE:g} is varied"
            raise fail(message, *key.split("."), hint=hint)


def usual_values(numbers: Array) -> tuple[float, ...]:
    """Return the values from the least to the largest of some numbers, in the step they share.

    >>> usual_values(np.array([0.5, 2, 1])), usual_values(np.array([0.0, 0.0]))
    ((0.5, 1.0, 1.5, 2.0), (-1.0, 0.0, 1.0))
    """
    low, high = float(numbers.min()), float(numbers.max())
    spread = (high - low) or abs(high) or 1.0
    rough = 10.0 ** int(f"{spread / STEPS_BETWEEN:e}".partition("e")[2])
    step = next((step for step in VALUE_STEPS if _are_multiples(numbers, step)), rough)
    while (high - low) / step >= MAX_VALUES - 1:
        step *= 10
    if low == high:  # the neighbours, but for a sign that the number has not
        low, high = max(low - step, 0.0) if low > 0 else low - step, high + step
        high = min(high, 0.0) if high < step / 2 else high
    return _values(low, high, step)


def _are_multiples(numbers: Array, step: float) -> bool:
    parts = numbers / step
    return bool((np.abs(parts - np.round(parts)) < 1e-9 * np.maximum(1, np.abs(parts))).all())


def _values(low: float, high: float, step: float) -> tuple[float, ...]:
    count = floor((high - low) / step + 1e-9)
    if count >= MAX_VALUES:
        message = f"from {low:g} to {high:g} there are more than {MAX_VALUES:,} values"
        raise fail(message, "values", hint="take a coarser step, such as '-1..1 by 0.1'")
    return tuple(round(low + number * step, 12) + 0.0 for number in range(count + 1))


def read_values(raw: str | Sequence[float]) -> tuple[float, ...]:
    """Return the values that a text names, or a list of numbers.

    >>> read_values("1..-1 by 0.5"), read_values("0, 1, 1/2"), read_values([2, 3])
    ((-1.0, -0.5, 0.0, 0.5, 1.0), (0.0, 0.5, 1.0), (2.0, 3.0))
    """
    if not isinstance(raw, str):
        values = tuple(sorted({_number(x) for x in raw}))
    elif match := RANGE.fullmatch(raw.strip()):
        low, high = sorted((_number(match[1]), _number(match[2])))
        step = _number(match[3]) if match[3] else 1.0
        if step <= 0:
            message = f"the step of the values {visible(raw)} must be above 0"
            raise fail(message, "values", hint=VALUES_HINT)
        values = _values(low, high, step)
    else:
        words = raw.strip().removeprefix("[").removesuffix("]").replace(",", " ").split()
        values = tuple(sorted({_number(word) for word in words}))
    if len(values) < 2:
        message = f"{visible(str(raw))} names {len(values) or 'no'} value{'s'[: not values]}"
        raise fail(f"{message}, and numbers are drawn from several", "values", hint=VALUES_HINT)
    return values


def _number(raw: object) -> float:
    try:
        return float(to_number(raw, ("values",)))
    except InputError as error:
        message = f"{visible(str(raw))} is not a number to draw"
        raise fail(message, "values", hint=error.faults[0].hint or VALUES_HINT) from None

"""How far the arrays of a program may be off: the error that a calculation in floats carries."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from attncli.checking.answers.program_arrays import ROUNDOFF
from attncli.checking.answers.written_cells import LIKE_BLOCKED
from attncli.checking.judging.agreement import largest
from attncli.checking.judging.equivalent_forms import operation_or_input
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.weights import Tiled
from attncli.core.calculation.trace import Trace
from attncli.core.tape import evaluation
from attncli.core.tape.step import Expression, Step

MAX_ERRORS = {"float64": 4.0, "float32": 4.0, "float16": 2.0, "bfloat16": 2.0}
"""Maximum difference of a right array, in errors that its calculation carries, by the type of its
numbers. Derived: n terms that are added one by one are off by about √n roundings, and sums of more
than 16 terms are granted more (see `errors_of`); sums of 16-bit floats are made in 32 bits."""

MANY_NUMBERS = 100_000
"""Number of numbers of a calculation from which its error is estimated by one sample. Chosen."""

MAX_SAMPLES = 8
"""Maximum number of samples by which an error is estimated. Chosen."""


def errors_of(trace: Trace, steps: Collection[str], dtype: str) -> dict[str, float]:
    """Return an estimate of the error that some steps carry in floats of a type.

    By stochastic arithmetic (Vignes 1993), it is how far the same calculation comes out if every
    input and every step is off by one rounding, up or down at random. Where sums are long, it is
    off by more, as each addition rounds, too.
    """
    longest = max(max(step.array.shape[-2:]) for step in (*trace, *trace.inputs.values()))
    of_sums = longest**0.5 / MAX_ERRORS[dtype] if dtype in ("float32", "float64") else 1.0
    roundoff = ROUNDOFF[dtype] * max(1.0, of_sums)
    errors = {name: roundoff * largest(trace[name].array) for name in steps}
    size = sum(step.array.size for step in trace)
    for seed in range(min(max(MANY_NUMBERS // size, 1), MAX_SAMPLES)):
        for step, numbers in _sample(trace, np.random.default_rng(seed), roundoff):
            if step.name in errors:
                off = largest(distance(numbers, step.array))
                errors[step.name] = max(errors[step.name], off)
    return errors


def _sample(
    trace: Trace, random: np.random.Generator, roundoff: float
) -> Iterator[tuple[Step, Array]]:
    """Yield every step with numbers that are off by one rounding, up or down at random.

    Numbers are kept until their last use, as all of them together may take much memory. In the
    place of roundings inside of tiles, what these are made of is off by one more: that gives 0.7 to
    1.35 times the error of all steps (measured on 20 problems of 512 tokens).
    """

    def rounded(numbers: Array) -> Array:
        is_up = random.integers(0, 2, numbers.shape, np.int8).astype(bool)
        off: Array = numbers * np.where(is_up, 1 + roundoff, 1 - roundoff)
        return off

    def key(step: Step) -> tuple[str, bool]:
        return step.name, step.operation is None  # an input may have the name of a step

    def worked(operation: Expression) -> Array:
        again = rounded if isinstance(operation, Tiled) else np.asarray
        values: Array = evaluation.evaluate(operation, lambda one: again(held[key(one)]))
        return values

    last = {key(source): step.name for step in trace for source in evaluation.sources(step)}
    used_up: dict[str, list[tuple[str, bool]]] = {}
    for one, name in last.items():
        used_up.setdefault(name, []).append(one)
    held = {key(one): rounded(one.array) for one in trace.inputs.values()}
    for step in trace:
        values = worked(operation_or_input(step))
        held[key(step)] = rounded(values)
        yield step, held[key(step)]
        for one in used_up.get(step.name, ()):
            held.pop(one, None)


def distance(numbers: Array, right: Array) -> Array:
    """Return how far numbers are from the right ones; ∞ for nan, 0 for the same infinity."""
    with np.errstate(invalid="ignore"):
        off: Array = np.abs(numbers - right)
    off[np.isnan(off)] = np.inf
    off[(numbers == right) | ((right == -np.inf) & (numbers <= LIKE_BLOCKED))] = 0.0
    return off

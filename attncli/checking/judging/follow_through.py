"""Follow-through that earns nothing: what follows from invented numbers without any work."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from attncli.checking.answers.agreement import CUT_OFF, MAX_HAND_DECIMALS, ROUNDED
from attncli.checking.judging import judged as status
from attncli.checking.judging.judged import Difference, Finding, Given, Judged, Misshapen
from attncli.core.arithmetic.elements import Array
from attncli.core.tape.step import Step
from attncli.core.tape.walk import sources


def behind(names: Collection[str], steps: Mapping[str, Judged]) -> Iterator[str]:
    """Yield the steps of the submission from whose numbers the named ones follow.

    They count even if the marking does not ask for them: else an error carried forward would pass.
    """
    seen, todo = set[str](), [steps[name].step for name in names]
    unsure = (status.MISSING, status.FOLLOWS, status.WRONG)  # a step without them is right
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
    earning = (status.LAST_DIGIT, status.ROUNDED_EARLY, status.FOLLOWS)
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
        given = judged.codes.size - judged.counts["missing"]
        if 2 * judged.wrong_numbers.sum() > given and not is_explained:
            yield name
        if isinstance(judged, Difference) and judged.has(status.WRONG):
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
    patterns = (own & ~needed for own, needed in zip(in_yours, in_right, strict=True))
    return reduce(np.logical_or, patterns)


def _written(step: Step, judged: Judged | None) -> Array:
    """Return the numbers of a step that were given, and right ones where there are none."""
    found = step.array
    if isinstance(judged, Given):
        found = judged.values
    elif isinstance(judged, Difference):
        found = step.from_paper(judged.values)
    return np.where(np.isnan(found), step.array, found)


def _patterns(numbers: Array, error: Array, operands: Sequence[Array]) -> Iterator[Array]:
    """Yield where there are rows of 0 and 1, of one number, and of an operand.

    Also matrices of one row again and again, and of at most two numbers; nan may be any number.
    """
    error = np.maximum(error, 10.0**-MAX_HAND_DECIMALS)

    def holds(*others: Array | float, axis: int | tuple[int, int] = (-2, -1)) -> Array:
        found: Array = np.any([~(np.abs(numbers - other) > error) for other in others], axis=0)
        return found.all(axis=axis, keepdims=True)  # type: ignore[return-value]

    width, ends = numbers.shape[-1], (np.fmin, np.fmax)
    rows = (x for one in operands if one.shape[-1] == width for x in one.reshape(-1, width))
    yield holds(0.0, 1.0, axis=-1)
    yield holds(np.fmin.reduce(numbers, axis=-1, keepdims=True), axis=-1)
    yield np.any([holds(np.inf, axis=-1), *(holds(x, axis=-1) for x in rows)], axis=0)
    yield holds(np.fmin.reduce(numbers, axis=-2, keepdims=True))
    yield holds(*(find.reduce(numbers, axis=(-2, -1), keepdims=True) for find in ends))

"""The data of the practice page: for each number what is right and what mistakes give, and hints.

The script (`web/judging.js`) compares typed numbers with these, and judges the numbers of a step as
`check` does for a submission of them alone. Whether rounding on the way explains a wrong number is
worked out by `check` only; the page knows how far it may lead, and says that it cannot tell.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import interval
from attncli.checking import agreement, answers
from attncli.checking.early_rounding import reach_of_finer_steps, reach_of_schedules
from attncli.checking.reference import Reference, axis_of_shares
from attncli.checking.ways import BEFORE_MASK, masked_early, shifts, with_change
from attncli.mechanisms.trace import Trace
from attncli.notation.written import BLANK_CELLS
from attncli.rendering.cell_formulas import CellFormulas, CellPlace
from attncli.tape.replay import Change, Replay, Values
from attncli.tape.step import Step
from attncli.teaching.distractors import wrong_numbers
from attncli.text.escapes import visible

MASK_BYTE = 0x5A
"""Each byte of the data is changed by this, so that right numbers are not read by accident."""

MISTAKE_DECIMALS = 6
"""Number of decimals in which the numbers of two mistakes must differ for both to be kept."""

FINER = agreement.RoundingRule(2)
"""The rounding of hidden steps whose effect on a number is kept: others are in proportion to it."""

Form = tuple[Change, Reference]
"""Operations that are as right as those of the problem, and the calculation with them."""

OTHERWISE = 0.05
"""Maximum error, relative to a number of another right calculation, that rounding may explain: then
the page does not judge. Chosen; benchmarks/practice.py counts what it judges otherwise."""

CONSTANTS = {
    "rounded": agreement.ROUNDED,
    "cutOff": agreement.CUT_OFF,
    "finer": agreement.MAX_FINER,
    "share": agreement.FLOAT_ERROR,
    "shareOfExact": agreement.FLOAT_ERROR_OF_EXACT,
    "coarsestShare": agreement.MAX_TOLERATED_UNIT,
    "fine": agreement.FINE_UNIT,
    "fewest": agreement.MIN_GIVEN,
    "fewestShare": agreement.MIN_SHARE_GIVEN,
    "otherwise": OTHERWISE,
    "likeBlocked": answers.LIKE_BLOCKED,
    "missing": sorted(BLANK_CELLS),
}
"""Tolerances shared with judging.js, so that the page and the program agree."""


def page_data(
    problems: Sequence[tuple[Trace, Mapping[CellPlace, int]]], formulas: CellFormulas
) -> Mapping[str, str]:
    """Return the script's data; `problems` has the number of each field, by its cell."""
    fields: dict[int, tuple[int, int]] = {}
    judged, count = [], 0
    for trace, shown in problems:
        steps = {name: trace[name] for name, _ in shown}
        which = {name: number for number, name in enumerate(steps, count)}
        for (name, place), number in sorted(shown.items(), key=lambda item: which[item[0][0]]):
            fields[number] = which[name], int(np.ravel_multi_index(place, steps[name].value.shape))
        count += len(steps)
        judged.append(judged_by(trace, steps))
    data = {"rules": CONSTANTS, "problems": judged, "fields": fields, **formulas.data}
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    sealed = base64.b64encode(bytes(byte ^ MASK_BYTE for byte in plain)).decode()
    return {"key": sha256(plain).hexdigest()[:16], "sealed": sealed}


def judged_by(trace: Trace, steps: Mapping[str, Step]) -> dict[str, Any]:
    right = Reference(trace, () if trace.unrounded is None else (trace.unrounded,))
    forms = (*masked_early(trace, trace.steps), *shifts(trace))
    others = [(change, right.changed(partial(with_change, change=change))) for _, change in forms]
    marking = trace.problem.marking
    with np.errstate(all="ignore"):  # a mistake may divide by 0
        finer = reach_of_finer_steps(trace, FINER)
        made = {name: _of_step(step, right, others, finer) for name, step in steps.items()}
        mistakes = wrong_numbers(trace.unrounded or trace, steps.keys(), MISTAKE_DECIMALS)
    order = list(trace.steps)
    for one in mistakes:
        # Where an open step is between, the numbers depend on whether it was written.
        first = min(order.index(name) for name in one.changed)
        if steps.keys().isdisjoint(order[first : order.index(one.step)]):
            says = f"{one.sentence} {one.advice}".strip()
            found = {"numbers": _numbers(one.numbers, 6), "says": says}
            made[one.step]["mistakes"].append(found)
    return {
        "title": visible(trace.problem.title),
        "variant": trace.problem.variant,
        "problem": trace.problem.problem,
        "decimals": marking.decimals or 0,
        "tolerance": marking.tolerance,
        "steps": made,
    }


def _of_step(
    step: Step, right: Reference, others: Sequence[Form], finer: Replay[Values]
) -> dict[str, Any]:
    """Return the numbers of a step on paper, and how they are judged.

    `readings` are right calculations: the numbers of each, and of others beside it. `below` and
    `above` say how far rounding on the way may lead from the right numbers, `finer` how far
    rounding to `FINER` may, `adjusted` which weights may be adjusted so that a line sums to 1.
    """
    ends, around = reach_of_schedules(right, step), interval(finer.result(step))
    along, unrounded = axis_of_shares(step), around.high - around.low
    is_largest = np.zeros(step.array.shape, bool)
    if along is not None:
        is_largest = ends.high >= ends.low.max(axis=along, keepdims=True)
    return {
        "shape": step.value.shape,
        "readings": list(_readings(step, right, others)),
        "isShare": along is not None,
        "below": _distances(step.on_paper(step.array - ends.low)),
        "above": _distances(step.on_paper(ends.high - step.array)),
        "finer": _distances(step.on_paper(unrounded)),
        "adjusted": np.flatnonzero(step.on_paper(is_largest)).tolist(),
        "mistakes": [],
    }


def _readings(step: Step, right: Reference, others: Sequence[Form]) -> Iterator[dict[str, Any]]:
    """Yield right calculations; one with `unless` counts only where that step was not written."""
    yield _reading(step, right)
    for change, other in others:
        if not np.array_equal(other.trace[step.name].array, step.array):
            before = [n for n in change if n.startswith(BEFORE_MASK)] if step.name in change else []
            yield _reading(step, other) | {
                "unless": next((n for n in before if n != step.name), "")
            }
    for kind in ("scaled", "masked") if step.name.startswith("scores") else ():
        name = step.name.replace("scores", kind)
        if name in right.trace:
            yield _reading(right.trace[name], right) | {"unless": name}


def _reading(step: Step, right: Reference) -> dict[str, Any]:
    """Return right numbers, the error of floats near 0, and the coarsest unit that may be off."""
    traces = (right.trace, *right.others)
    numbers = [_numbers(step.on_paper(trace[step.name].array)) for trace in traces]
    most = agreement.largest(right.trace[step.name].array)
    near = agreement.NEAR_ZERO * min(max(most, agreement.SMALLEST_TERM), agreement.LARGEST_TERM)
    coarsest = max(agreement.TOLERATED_UNIT, min(most, 0.1), agreement.MAX_TOLERATED_UNIT * most)
    return {"right": numbers[0], "others": numbers[1:], "near": near, "coarsest": coarsest}


def _numbers(value: Array, digits: int = 13) -> list[float | None]:
    """Return numbers with some significant digits; None for −∞, which JSON lacks."""
    found = value.ravel().tolist()
    return [_short(float(f"{x:.{digits}g}")) if np.isfinite(x) else None for x in found]


def _distances(value: Array) -> list[float]:
    """Return distances with two significant digits, a little larger; those of ∞ are a large one."""
    found = np.nan_to_num(value, nan=0.0, posinf=1e300)
    kept = np.where(found > agreement.FLOAT_ERROR, found * 1.06, 0.0)
    return [_short(float(f"{x:.1e}")) for x in kept.ravel().tolist()]


def _short(number: float) -> float:
    """Return a whole number as an integer, which JSON writes without a point."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number

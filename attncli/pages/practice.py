"""The data of the practice page: for each number what is right and what mistakes give, and hints.

The script (`web/judging.js`) compares typed numbers with these, and judges the numbers of a step as
`check` does for a submission of them alone. Whether rounding on the way explains a wrong number is
worked out by `check` only; the page knows how far it may lead, and says that it cannot tell.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from attncli.checking.answers import answers
from attncli.checking.judging import agreement
from attncli.checking.judging.early_rounding import RoundingReach, reaches
from attncli.checking.judging.forms import other_readings
from attncli.checking.judging.operands import Reference, axis_of_shares
from attncli.classroom.distractors import wrong_numbers
from attncli.core.arithmetic.elements import Array
from attncli.core.mechanisms.trace import Trace
from attncli.core.numbers.written import BLANK_CELLS
from attncli.core.tape.step import Step
from attncli.core.text.escapes import visible
from attncli.pages.cell_formulas import CellFormulas, CellPlace

MISTAKE_DECIMALS = 6
"""Number of decimals in which the numbers of two mistakes must differ for both to be kept."""

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
    "otherwise": agreement.MAX_OTHERWISE,
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
        open_names = {name for name, _ in shown}
        steps = {step.name: step for step in trace if step.name in open_names}
        which = {name: number for number, name in enumerate(steps, count)}
        for (name, place), number in shown.items():
            fields[number] = which[name], int(np.ravel_multi_index(place, steps[name].value.shape))
        count += len(steps)
        judged.append(judged_by(trace, steps))
    data = {"rules": CONSTANTS, "problems": judged, "fields": fields, **formulas.data}
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    # Encoded, so that right numbers are not read by accident.
    return {"key": sha256(plain).hexdigest()[:16], "sealed": base64.b64encode(plain).decode()}


def judged_by(trace: Trace, steps: Mapping[str, Step]) -> dict[str, Any]:
    right = Reference(trace, () if trace.unrounded is None else (trace.unrounded,))
    with np.errstate(all="ignore"):  # a mistake may divide by 0
        reach = reaches(right, [*steps.values()])
        made = {name: _of_step(step, right, reach[name]) for name, step in steps.items()}
        mistakes = wrong_numbers(trace.unrounded or trace, steps, MISTAKE_DECIMALS)
    order = list(trace.steps)
    for one in mistakes:
        # Where an open step is between, the numbers depend on whether it was written.
        first = min(order.index(name) for name in one.changed)
        if steps.keys().isdisjoint(order[first : order.index(one.step)]):
            says = f"{one.sentence} {one.advice}".strip()
            made[one.step]["mistakes"].append({"numbers": _numbers(one.numbers, 6), "says": says})
    problem = trace.problem
    return {
        "title": visible(problem.title),
        "variant": problem.variant,
        "problem": problem.problem,
        "decimals": problem.marking.decimals or 0,
        "tolerance": problem.marking.tolerance,
        "steps": made,
    }


def _of_step(step: Step, right: Reference, reach: RoundingReach) -> dict[str, Any]:
    """Return the numbers of a step on paper, and how they are judged: see `RoundingReach`.

    `readings` are right calculations: the numbers of each, and of others beside it; one with
    `unless` counts only where that step was not written.
    """
    others = other_readings(right, step)
    more = [_reading(one, other) | {"unless": name} for one, other, name in others]
    return {
        "shape": step.value.shape,
        "readings": [_reading(step, right), *more],
        "isShare": axis_of_shares(step) is not None,
        "below": _distances(step.on_paper(reach.below)),
        "above": _distances(step.on_paper(reach.above)),
        "finer": _distances(step.on_paper(reach.finer)),
        "adjusted": np.flatnonzero(step.on_paper(reach.adjusted)).tolist(),
        "mistakes": [],
    }


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
    return [json.loads(f"{x:.{digits}g}") if np.isfinite(x) else None for x in found]


def _distances(value: Array) -> list[float | None]:
    """Return distances with two significant digits, a little larger."""
    return _numbers(np.where(value > agreement.FLOAT_ERROR, np.minimum(value, 1e300) * 1.06, 0), 2)

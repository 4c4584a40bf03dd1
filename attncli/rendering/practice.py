"""The data of the practice page: the right numbers, and hints.

The script (`web/judging.js`) judges a number by the digits that were typed, as `checking/judging`
does for a submission of one step. It ignores earlier numbers and hidden roundings.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking import agreement, answers
from attncli.checking.reference import Reference, axis_of_shares, shares_of
from attncli.checking.ways import SHIFTED, shifted
from attncli.mechanisms.trace import Trace
from attncli.notation.written import BLANK_CELLS
from attncli.rendering.cell_formulas import CellFormulas, CellPlace
from attncli.tape.step import Step
from attncli.text.escapes import visible

MASK_BYTE = 0x5A
"""Each byte of the data is changed by this, so that right numbers are not read by accident."""

CONSTANTS = {
    "rounded": agreement.ROUNDED,
    "cutOff": agreement.CUT_OFF,
    "share": agreement.FLOAT_ERROR,
    "shareOfExact": agreement.FLOAT_ERROR_OF_EXACT,
    "nearZero": agreement.NEAR_ZERO,
    "smallestTerm": agreement.SMALLEST_TERM,
    "coarsestShare": agreement.MAX_TOLERATED_UNIT,
    "coarsestUnit": agreement.TOLERATED_UNIT,
    "fine": agreement.FINE_UNIT,
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
    return {"sealed": base64.b64encode(bytes(byte ^ MASK_BYTE for byte in plain)).decode()}


def judged_by(trace: Trace, steps: Mapping[str, Step]) -> dict[str, Any]:
    others = () if trace.unrounded is None else (trace.unrounded,)
    right = Reference(trace, others)
    shifts = list(shifted(right)) if any(name.startswith(SHIFTED) for name in steps) else []
    marking = trace.problem.marking
    return {
        "title": visible(trace.problem.title),
        "decimals": marking.decimals or 0,
        "tolerance": marking.tolerance,
        "steps": {name: _of_step(step, right, shifts) for name, step in steps.items()},
    }


def _of_step(step: Step, right: Reference, shifts: Sequence[Reference]) -> dict[str, Any]:
    """Return the right numbers of a step as written on paper, and how they are judged.

    `readings` are right calculations: the numbers of each, and of others beside it; one with
    `unless` counts only where that step was not written.
    """
    readings = [_reading(step, right)]
    if step.name.startswith(SHIFTED):
        readings += [_reading(step, other) for other in shifts]
    scaled = step.name.replace("scores", "scaled")
    if step.name.startswith("scores") and scaled in right.trace:
        readings.append(_reading(right.trace[scaled], right) | {"unless": scaled})
    found: dict[str, Any] = {"shape": step.value.shape, "readings": readings}
    along = axis_of_shares(step)
    if along is not None:
        found["lines"] = _lines(step, along)
        total = shares_of(step.operation)
        if total is not None:
            names = [s.name for s in right.trace if s.operation is total]
            found["parts"] = names[0] if names else ""
    return found


def _reading(step: Step, right: Reference) -> dict[str, Any]:
    traces = (right.trace, *right.others)
    numbers = [_numbers(step.on_paper(trace[step.name].array)) for trace in traces]
    return {"right": numbers[0], "others": numbers[1:]}


def _numbers(value: Array) -> list[float | None]:
    """Return numbers; None for −∞, which JSON lacks."""
    return [float(x) if np.isfinite(x) else None for x in value.ravel().tolist()]


def _lines(step: Step, along: int) -> Any:
    """Return lists of places on paper, each of the numbers that are shares of one whole."""
    places = np.arange(step.array.size).reshape(step.value.shape)
    own = np.moveaxis(step.from_paper(places), along, -1)
    return own.reshape(-1, own.shape[-1]).tolist()

"""The data of the practice page: the table of answers of each step, and hints.

The script (`web/judging.js`) looks typed numbers up in the table. Only `check` works out whether
rounding on the way explains a wrong number; the table says how far it may lead, and within that
distance the page says that it cannot tell.
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
from attncli.checking.judging.operands import axis_of_shares
from attncli.classroom.answer_table import ALMOST, AnswerTable, Reach, RightNumbers
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.explain import CellPlace
from attncli.core.numbers.written import BLANK_CELLS
from attncli.core.tape.step import Step
from attncli.core.text.strings import visible
from attncli.pages.cell_formulas import CellFormulas
from attncli.printing.selection import Room, Selection
from attncli.printing.worksheet import room_of

MISTAKE_DECIMALS = 6
"""Number of decimals in which the numbers of two mistakes must differ for both to be kept."""

ERROR_OF_SIX_DIGITS = 5e-6
"""Maximum relative error of the numbers of mistakes, which are rounded to six digits. Derived."""

MIN_UNITS = 2
"""Minimum reach around the numbers of another right calculation, in units in the last place."""

EMPTY_CELLS = {"likeBlocked": answers.LIKE_BLOCKED, "missing": sorted(BLANK_CELLS)}
"""How the page reads a cell that has no number."""


def page_data(
    problems: Sequence[tuple[Trace, Mapping[CellPlace, int]]],
    formulas: CellFormulas,
    selection: Selection,
) -> Mapping[str, str]:
    """Return the script's data; `problems` has the number of each field, by its cell."""
    fields: dict[int, tuple[int, int]] = {}
    tables, count = [], 0
    for trace, shown in problems:
        room = room_of(trace, selection)
        steps = {name: trace[name] for name in room.asked}
        which = {name: number for number, name in enumerate(steps, count)}
        for (name, place), number in shown.items():
            fields[number] = which[name], int(np.ravel_multi_index(place, steps[name].value.shape))
        count += len(steps)
        tables.append(table_of(trace, room))
    data = {"rules": EMPTY_CELLS, "problems": tables, "fields": fields, **formulas.data}
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    # Encoded, so that right numbers are not read by accident.
    return {"key": sha256(plain).hexdigest()[:16], "sealed": base64.b64encode(plain).decode()}


def table_of(trace: Trace, room: Room) -> dict[str, Any]:
    """Return the table of a problem: of each asked step its answers, and whose problem it is."""
    steps = [trace[name] for name in room.asked]
    seen = [*filter(room.shows, trace.steps)]
    table = AnswerTable(trace, seen, MISTAKE_DECIMALS, every_digit=True)
    reaches = table.reaches(steps)
    problem = trace.problem
    return {
        "title": visible(problem.title),
        "variant": problem.variant,
        "problem": problem.problem,
        "decimals": problem.marking.decimals or 0,
        "steps": {step.name: _of_step(step, table, reaches[step.name]) for step in steps},
    }


def _of_step(step: Step, table: AnswerTable, reach: Reach) -> dict[str, Any]:
    """Return the table of a step: its readings, which are right calculations, and its mistakes.

    The first reading is the calculation of the problem. Others, and mistakes, hold what differs.
    """
    main, *others = table.right(step)
    first = _reading(step, main) | {
        "isShare": axis_of_shares(step) is not None,
        "error": agreement.FLOAT_ERROR,
        "tolerance": table.tolerance,
        "lastDigit": agreement.CUT_OFF * ALMOST,
        "fewest": agreement.MIN_GIVEN,
        "fewestShare": agreement.MIN_SHARE_GIVEN,
        "below": _distances(step.on_paper(reach.below)),
        "above": _distances(step.on_paper(reach.above)),
        "units": _numbers(step.on_paper(reach.units), 2),
        "finer": _numbers(step.on_paper(reach.finer), 2),
    }
    return {
        "shape": step.value.shape,
        "readings": [first, *(_other(step, one) for one in others)],
        "mistaken": {"error": ERROR_OF_SIX_DIGITS, "tolerance": 0},  # in each mistake
        "mistakes": [
            {"right": [_numbers(one.numbers, 6)], "says": f"{one.sentence} {one.advice}".strip()}
            for one in table.wrong
            if one.step == step.name
        ],
    }


def _reading(step: Step, right: RightNumbers) -> dict[str, Any]:
    """Return right numbers, the least error of floats, and the coarsest unit that is forgiven."""
    most = agreement.largest(right.exact[0])
    near = agreement.NEAR_ZERO * min(max(most, agreement.SMALLEST_TERM), agreement.LARGEST_TERM)
    return {
        "right": [_numbers(step.on_paper(exact)) for exact in right.exact],
        "unless": right.unless,
        "largest": most,
        "near": near,
        "forgiven": right.forgiven_unit,
    }


def _other(step: Step, right: RightNumbers) -> dict[str, Any]:
    """Return a reading beside the first one; the page leaves what is near it to the program."""
    size = np.abs(step.on_paper(right.exact[0]))
    near = _distances(np.where(np.isfinite(size), agreement.MAX_OTHERWISE * size, 0))
    units = [MIN_UNITS] * size.size
    return _reading(step, right) | {"below": near, "above": near, "units": units, "finer": units}


def _numbers(value: Array, digits: int = 13) -> list[float | None]:
    numbers = value.ravel().tolist()
    return [json.loads(f"{x:.{digits}g}") if np.isfinite(x) else None for x in numbers]


def _distances(value: Array) -> list[float | None]:
    return _numbers(np.where(value > agreement.FLOAT_ERROR, np.minimum(value, 1e300) * 1.06, 0), 2)

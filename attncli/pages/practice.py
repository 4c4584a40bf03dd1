"""The data of the practice page: the calculation as programs of NumPy calls, mistakes, and hints.

As on a live page, the script (`web/judge.js`) makes the calls again, here with the numbers that a
student typed, and judges as `checking/judging` does. The rules of intervals are recorded, too: the
`bounds` of an operation are calls like those of `apply`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from attncli.checking.answers import written_cells
from attncli.checking.judging import agreement, equivalent_forms, schedules
from attncli.checking.judging.operands import Reference, axis_of_shares, together
from attncli.core.arithmetic.elements import REDUCTIONS, Array, Call
from attncli.core.arithmetic.intervals import Interval, interval
from attncli.core.attention.masks import Masked
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.explaining.explain import CellPlace
from attncli.core.numbers.written import BLANK_CELLS
from attncli.core.records import EMPTY, Record, replace
from attncli.core.tape.evaluation import Change, evaluate, sources, transform
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import Expression, Step
from attncli.core.text.strings import visible
from attncli.pages.answer_table import wrong_numbers
from attncli.pages.cell_formulas import CellFormulas, key_of
from attncli.pages.live import packed
from attncli.pages.live_tape import Programs, plain
from attncli.pages.markup import as_json
from attncli.printing.selection import Room, Selection
from attncli.printing.worksheet import room_of

MISTAKE_DECIMALS = 6
"""Number of decimals in which the numbers of two mistakes must differ for both to be kept."""

THRESHOLDS = (
    *("ROUNDED", "CUT_OFF", "FLOAT_ERROR", "FLOAT_ERROR_OF_EXACT", "NEAR_ZERO", "SMALLEST_TERM"),
    *("LARGEST_TERM", "FINE_UNIT", "LARGE_WHOLE", "MAX_TOLERATED_UNIT", "TOLERATED_UNIT"),
    *("MAX_WIDTH", "MAX_FINER", "MIN_SHARE_GIVEN"),
)
"""The names of the thresholds of `agreement` by which the page judges."""

RULES = {
    "likeBlocked": written_cells.LIKE_BLOCKED,
    "missing": sorted(BLANK_CELLS),
    **{name: getattr(agreement, name) for name in THRESHOLDS},
}
"""How the page reads a cell that has no number, and judges one."""


def page_data(
    problems: Sequence[tuple[Trace, Mapping[CellPlace, int]]],
    formulas: CellFormulas,
    selection: Selection,
) -> Mapping[str, object]:
    """Return the script's data; `problems` has the number of each field, by its cell."""
    fields: dict[int, tuple[int, int, int]] = {}
    tables: list[dict[str, Any]] = []
    programs = Programs()
    for trace, shown in problems:
        tapes = Tapes(trace, programs)
        for (name, place), number in shown.items():
            at = int(np.ravel_multi_index(place, trace[name].value.shape))
            fields[number] = len(tables), tapes.place(trace[name]), at
        tables.append(tapes.table(room_of(trace, selection)))
    data = {
        "rules": RULES,
        "problems": tables,
        "fields": fields,
        "programs": programs.all,
        **formulas.data,
    }
    # Compressed, so that right numbers are not read by accident, either.
    return {
        "key": sha256(as_json(data).encode()).hexdigest()[:16],
        "others": {},
        "packed": packed(data),
    }


class Tapes:
    """A problem as data: its calculation as programs, other right ones, and mistakes."""

    def __init__(self, trace: Trace, programs: Programs) -> None:
        self.trace, self.programs = trace, programs
        # An input may be a step, too, such as given scores: what a student writes is not the input.
        self.inputs = [self._input(step) for step in trace.inputs.values()]
        every = (*self.inputs, *trace)
        self.known = {key_of(step): place for place, step in enumerate(every)}
        self.reference = Reference(trace, () if trace.unrounded is None else (trace.unrounded,))

    def table(self, room: Room) -> dict[str, Any]:
        """Return whose problem it is, and all that is judged by."""
        trace, problem = self.trace, self.trace.problem
        inputs = (
            {"name": one.name, "shape": one.array.shape, "input": plain(one.array.ravel())}
            for one in self.inputs
        )
        made = self._made(trace)
        return {
            "title": visible(problem.title),
            "variant": problem.variant,
            "problem": problem.problem,
            "decimals": problem.marking.decimals or 0,
            "tolerance": problem.marking.tolerance,
            "steps": [*inputs, *(self._about(step) | made[step.name] for step in trace)],
            "asked": [[self._of_name(name), trace[name].value.shape] for name in room.asked],
            "forms": [*self._forms(made)],
            "mistakes": [*self._mistakes(room)],
        }

    def place(self, step: Step) -> int:
        return self.known[key_of(step)]

    def _about(self, step: Step) -> dict[str, Any]:
        """Return what judging needs to know of a step.

        `flips` is whether rows and columns change places on paper, `shares` whether its numbers are
        shares of 1, `isLong` whether an input has more digits than are written.
        """
        about = {
            "flips": step.columns and len(step.trailing) > 1,
            "shares": axis_of_shares(step) is not None,
            "backward": step.backward,
            "isLong": bool(schedules.long_inputs((step,))),
        }
        kept = {key: value for key, value in about.items() if value}
        return {"name": step.name, "shape": step.array.shape, **kept}

    def _made(self, trace: Trace, change: Change = EMPTY) -> dict[str, dict[str, Any]]:
        """Return the programs of each step, or of those that a change may change.

        `run` makes its numbers, `ends` intervals. `joint` makes narrower ones, which hold if the
        `total` of shares is not shown; `wide` ones hold the constants that people take instead.
        `right` has the numbers of a step that is rounded.
        """
        remade = [*trace]
        if change and trace.unrounded is None:
            names = {step: {one.name for one in (step, *sources(step))} for step in trace}
            remade = [step for step in trace if not names[step].isdisjoint(change)]
        constants = [None, *schedules.constants_of(remade)]
        wide = schedules.with_constants(constants, remade, _hull)
        joint = together(remade, ())
        made: dict[str, dict[str, Any]] = {}
        for step in remade:
            operation = equivalent_forms.operation_or_input(step)
            one: dict[str, Any] = {"run": self._program(operation)}
            one["ends"] = self._program(operation, is_of_ends=True)
            if step.name in wide:
                one["wide"] = self._program(wide[step.name], is_of_ends=True)
            if step.name in joint:
                one["joint"] = self._program(joint[step.name], is_of_ends=True)
            if isinstance(operation, Divide) and isinstance(operation.divisor, Step):
                one["total"] = self.place(operation.divisor)
            if trace.unrounded is not None:
                one["right"] = plain(step.array.ravel())
            made[step.name] = one
        return made

    @staticmethod
    def _input(step: Step) -> Step:
        return replace(step, name=f"{step.name}, as given") if step.operation is None else step

    def _program(self, expression: Expression, is_of_ends: bool = False) -> list[Any] | None:
        """Return a program with its operands, or None where the page cannot make the calls.

        Expressions that differ only in their steps share it. One of the ends of intervals gives low
        ends, high ends, and what must be 0 to use them; an operand is the place of a step for its
        low ends, and −1 minus that for its high ones.
        """
        expression, places = transform(expression, self._input), dict[object, int]()
        alike, known = (is_of_ends, outline(expression, places)), self.programs.of_outlines
        if alike not in known:
            known[alike] = None
            with suppress(InputError, NotImplementedError, TypeError, ValueError):
                record = partial(_ends, places=places) if is_of_ends else self.programs.recorded
                known[alike] = self.programs.add(record(expression), places)
        shared, at = known[alike], [self.known[key] for key in places]
        return shared and [shared[0], *[at[n] if n >= 0 else -1 - at[-1 - n] for n in shared[1:]]]

    def _forms(self, made: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield other right calculations, with the steps that are made otherwise in them.

        `search` is the place of the search of `judging.readings` that finds it, `needs` the steps
        that must be shown.
        """
        trace = self.trace
        searches = (
            equivalent_forms.masked_early(trace, trace.steps),
            equivalent_forms.shifts(trace),
            equivalent_forms.other_forms(trace),
        )
        for search, forms in enumerate(searches):
            for _, change, other in equivalent_forms.with_same_result(self.reference, forms):
                others = self._made(other.trace, change).items()
                steps = {self._of_name(name): one for name, one in others if one != made[name]}
                needs = [name for name in change if isinstance(trace[name].operation, Masked)]
                form = {
                    "search": search,
                    "steps": steps,
                    "changes": [*map(self._of_name, change)],
                    "needs": [*map(self._of_name, needs)],
                }
                if [*other.trace.steps] != [*trace.steps]:
                    form["order"] = [*map(self._of_name, other.trace.steps)]
                yield form

    def _of_name(self, name: str) -> int:
        return self.place(self.trace[name])

    def _mistakes(self, room: Room) -> Iterator[list[Any]]:
        """Yield mistakes: the step whose numbers they give, what is said, and the changed steps."""
        seen = [*filter(room.shows, self.trace.steps)]
        for one in wrong_numbers(self.trace.unrounded or self.trace, seen, MISTAKE_DECIMALS):
            programs = {name: self._program(change) for name, change in one.change.items()}
            if one.step in room.asked and all(programs.values()):
                steps = {self._of_name(name): program for name, program in programs.items()}
                yield [self._of_name(one.step), f"{one.sentence} {one.advice}".strip(), steps]


def _hull(factors: Array) -> Interval:
    return Interval(factors.min(keepdims=True), factors.max(keepdims=True))


def outline(part: Any, places: dict[object, int]) -> Any:
    """Return what is equal for expressions that differ only in their steps.

    `places` has the steps as they occur. What cannot be compared is like nothing else.
    """
    if isinstance(part, Step):
        place = places.setdefault(key_of(part), len(places))
        return place, part.array.shape, part.operation is None
    if isinstance(part, Record):
        part = type(part), *[getattr(part, name) for name in part.fields]
    if isinstance(part, np.ndarray):
        return part.shape, part.tobytes()
    if isinstance(part, tuple):
        return tuple([outline(one, places) for one in part])
    return part if isinstance(part, Hashable) else object()


def _ends(expression: Expression, places: Mapping[object, int]) -> Any:
    """Return the low ends of an expression's intervals, the high ones, and the conditions.

    `bounds` may look at the numbers, for what is no rule: an end that is not a number, shares below
    0. The calls are right where there is nothing of the kind: where the conditions are 0.
    """
    conditions = list[Any]()

    class Ends(Call):
        def called(self, function: Any, args: Any, options: dict[str, Any]) -> Any:
            if Interval in map(type, args):
                return NotImplemented
            if function is np.array_equal:
                return not super().called(np.not_equal, args, {}).any()
            if function in REDUCTIONS and len(args) == 1 and "axis" not in options:
                options = {"axis": tuple(range(args[0].ndim)), "keepdims": True}
            return super().called(function, args, options)

        def __bool__(self) -> bool:
            conditions.append(np.not_equal(self, 0.0))
            return False

    def ends(step: Step) -> Interval:
        low: Any = Ends(step.array, source=step)
        high: Any = Ends(step.array, source=-1 - places[key_of(step)])
        return Interval(low, high if step.operation else low)

    found = interval(evaluate(expression, ends))
    parts = [np.ravel(one) for one in (found.low, found.high, *conditions)]
    return np.concatenate(parts)

"""The page of a trace: what is shown, and in which order. Each format writes it in its own way."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from attncli.attention.heads import SplitHeads
from attncli.attention.normalizers import Sum
from attncli.mechanisms.trace import Trace, furthest
from attncli.records import Record
from attncli.rendering.selection import Selection
from attncli.rendering.views import Panel, Views, WeightedSum
from attncli.tape.cells import cell_name
from attncli.tape.find import find_places
from attncli.tape.operations import Transposed
from attncli.tape.step import Operation, Step
from attncli.tape.walk import sources
from attncli.text.elision import LIMIT
from attncli.text.escapes import visible

MOST_DECIMALS = 17
"""Digits that tell every float from its neighbours."""


class Figure(Record, eq=False):
    """Operands and results that stand together.

    Attributes:
        name: which head, batch or query it is, or nothing.
        operands: panels and signs, such as × and +; () for none.
        results: the step's matrix, and its sums where they stand beside it.
        sums: returns each output as a sum of the values that its weights stand for.
    """

    name: str
    operands: tuple[Panel | str, ...]
    results: tuple[Panel, ...]
    sums: Callable[[], Sequence[WeightedSum]] = tuple

    @property
    def panels(self) -> list[Panel]:
        """The operands without the signs."""
        return [part for part in self.operands if isinstance(part, Panel)]


Figures: TypeAlias = tuple[Figure, ...]
"""The figures of a step: one for each head or batch."""


class Entry(Record):
    """A step, or several that stand together: renamed values, or a step with its sums.

    Attributes:
        group: the title over this entry and those that follow, such as a time step; or nothing.
        shapes: of the operands and result of each, such as `(3, 2) × (2, 3) → (3, 3)`.
        inputs: matrices of the problem that it is made of and that were not shown before.
        figures: one for each head or batch; () for renamed values, whose numbers are known.
        reasons: why the steps are done, a sentence each, where that was asked for.
    """

    group: str
    steps: tuple[Step, ...]
    shapes: tuple[str, ...]
    inputs: tuple[Panel, ...]
    figures: Figures
    reasons: tuple[str, ...] = ()


class Page(Record):
    """What is shown of a trace.

    `closing` tells what rounding did, and what was left out; `asked` what is to be done with a
    worksheet.
    """

    title: str
    notes: str
    entries: tuple[Entry, ...]
    closing: tuple[str, ...]
    warnings: tuple[str, ...]
    decimals: int
    asked: str = ""


def page_of(
    trace: Trace,
    selection: Selection,
    suffices: Callable[[Figures], bool] = lambda figures: bool(figures[0].operands),
    limit: int = LIMIT,
) -> Page:
    """Return what of a trace is shown.

    `suffices` tells whether figures by themselves show what their step is made of: operands that
    have room beside the result, or none where the result is an input that was only cut. The inputs
    of a step whose figures do not are shown before it. Of a matrix, `limit` rows or columns are
    shown whole.
    """
    steps = selection.steps(trace)
    decimals = enough_decimals(trace, selection.digits)
    open_names, asked = _to_write(trace, selection) if selection.is_worksheet else ((), "")
    heads = find_places(selection.heads, "head", trace.steps, "--head") if selection.heads else []
    rows = find_places(selection.rows, "query", trace.steps, "--rows") if selection.rows else []
    views = Views(trace, decimals, selection.full, limit, heads, rows, open_names)
    entries = tuple(_Walk(views, suffices, selection.why).entries(steps))
    closing = []
    is_told = not selection.quiet and not open_names  # else it would tell of what is to be found
    if trace.unrounded is not None and is_told and trace.last in steps:
        closing.append(closing_line(trace))
    if views.elided:
        closing.append("Rows and columns marked … are left out; --full shows all.")
    title = title_of(trace, selection)
    notes = (
        "\n".join(map(visible, trace.problem.notes.splitlines())) if _is_whole(selection) else ""
    )
    warnings = () if not is_told else tuple(map(visible, trace.warnings))
    return Page(title, notes, entries, tuple(closing), warnings, decimals, asked)


def title_of(trace: Trace, selection: Selection) -> str:
    """Return the title of a page; nothing where it shows only some steps."""
    return visible(trace.problem.title) if _is_whole(selection) else ""


def _is_whole(selection: Selection) -> bool:
    return not selection.quiet and not selection.only


def _to_write(trace: Trace, selection: Selection) -> tuple[Container[str], str]:
    """Return the names of the steps that a worksheet leaves open, and what is asked of them."""
    from attncli.rendering.worksheet import instruction, open_steps

    return open_steps(trace, selection), instruction(trace)


class _Walk:
    """Goes through the steps, remembering which inputs the reader has seen."""

    def __init__(self, views: Views, suffices: Callable[[Figures], bool], why: bool) -> None:
        self.views = views
        self.suffices = suffices
        self.why = why
        self.seen = {"0"}  # zeros by default, as h_0 is, need no showing
        self.shown: Container[str] = ()  # the names of all steps that are

    def entries(self, steps: Sequence[Step]) -> Iterator[Entry]:
        group, self.shown = "", {step.name for step in steps}
        for together in self._together(steps):
            figures: Figures = ()
            made_of: Sequence[Step]
            if self._is_said(together[0]):
                known = [s.operation for s in together if isinstance(s.operation, Step)]
                made_of = [one for one in known if one.operation is None]
            else:
                figures = tuple(self._figures(*together))
                made_of = [] if together[1:] else self._sources(together[0], figures)
            inputs = tuple(self._inputs(made_of))
            title = "" if together[0].group == group else together[0].group
            group = together[0].group
            shapes = tuple(map(self.views.shapes, together))
            reasons = tuple(step.why for step in together if self.why and step.why)
            yield Entry(title, tuple(together), shapes, inputs, figures, reasons)

    def _together(self, steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
        """Yield the steps of each entry: those said in a row, a step with its sums, or one."""
        while steps:
            of_group = takewhile(partial(_is_of, steps[0].group), steps)
            count = len([*takewhile(self._is_said, of_group)])
            count = count or (2 if _is_summed(*steps[:2]) else 1)
            yield steps[:count]
            steps = steps[count:]

    def _is_said(self, step: Step) -> bool:
        """Return whether a step has the numbers of another one or of an input, or vanishes.

        What a worksheet asks for is not said, nor what equals a step that is not shown.
        """
        made = step.operation
        is_known = step.vanishes
        if isinstance(made, Step) and made.name != step.name:
            is_known |= made.operation is None or made.name in self.shown
        return is_known and not self.views.is_open(step)

    def _figures(self, step: Step, *totals: Step) -> Iterator[Figure]:
        """Yield the figures of a step, with its operands or with the sums of its rows."""
        parts = () if totals else self.views.layout(step)
        for place, name in self.views.slices(step):
            operands = [
                p if isinstance(p, str) else self.views.of_operand(p, place, step) for p in parts
            ]
            results = (self.views.of_step(one, place) for one in (step, *totals))
            sums = partial(self.views.weighted_sums, step, place)
            yield Figure(name, tuple(operands), tuple(results), sums)

    def _sources(self, step: Step, figures: Figures) -> list[Step]:
        """Return the inputs that a step is made of and that do not stand in its figures."""
        made = step.operation
        cut = made.operand if isinstance(made, SplitHeads) else None
        if isinstance(cut, Step) and cut.name == step.name:
            return []  # Q cut into heads shows all of Q
        if self.suffices(figures):
            parts = [panel.part for panel in figures[0].panels]
            bare = [part.operand if isinstance(part, Transposed) else part for part in parts]
            self.seen |= {part.name for part in bare if isinstance(part, Step)}
            if isinstance(made, SplitHeads) and isinstance(made.operand, Step):
                return []
        nodes = sources(step) if isinstance(made, Operation) else []
        if isinstance(made, Step) and self.views.is_open(step):
            nodes = [made]  # what is to be copied
        # The mask is not shown: its −∞ show where it is.
        return [node for node in nodes if node.operation is None and node.name != "mask"]

    def _inputs(self, made_of: Sequence[Step]) -> Iterator[Panel]:
        for step in made_of:
            if step.name not in self.seen:
                self.seen.add(step.name)
                for place, name in self.views.slices(step):
                    yield self.views.of_input(step, place, name)


def _is_of(group: str, step: Step) -> bool:
    return step.group == group


def _is_summed(step: Step, following: Step | None = None) -> bool:
    """Return whether the step that follows is the sums of a step."""
    made = following.operation if following else None
    return isinstance(made, Sum) and step in made.operands


def enough_decimals(trace: Trace, least: int) -> int:
    """Return a number of decimals with which every number that was rounded is shown whole.

    A reader works on with what is shown, so it must be what the next step used.
    """
    if trace.problem.round is None:
        return least
    from decimal import Decimal

    numbers = (x for step in trace for x in step.array[np.isfinite(step.array)].tolist())
    exponents = (Decimal(repr(x)).normalize().as_tuple().exponent for x in numbers)
    needed = max((-int(exponent) for exponent in exponents), default=0)
    return min(max(least, needed), MOST_DECIMALS)


def closing_line(trace: Trace) -> str:
    """Return how far rounded steps have led the output away."""
    distance, place = furthest(trace)
    name = trace.last.name
    if distance == 0:
        return f"rounded steps: the {name} is as without rounding"
    cell = cell_name(trace.last, place).removeprefix(name)
    return f"rounded steps: the {name} is off by at most {distance:.2g} (at {cell})"

"""The page of a trace: what is shown, and in which order; each format has a writer."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from attncli.core.attention.scores import SplitHeads
from attncli.core.attention.softmax import Sum
from attncli.core.calculation.trace import Trace, furthest
from attncli.core.records import Record
from attncli.core.tape.cell_names import cell_name
from attncli.core.tape.evaluation import sources
from attncli.core.tape.operations import MatMul, Transposed
from attncli.core.tape.step import Operation, Step
from attncli.core.text.strings import LIMIT, visible
from attncli.printing.formats import NO_ROOM, Selection
from attncli.printing.views import Panel, Views, WeightedSum, is_deep


class Figure(Record, eq=False):
    """Operands and results of a step that are shown together."""

    name: str  # which head, batch or query it is, or ""
    operands: tuple[Panel | str, ...]  # with the signs between; () for none
    results: tuple[Panel, ...]  # the step's matrix, and its sums if they are shown with it
    sums: Callable[[], Sequence[WeightedSum]]  # returns each output as a sum of values

    @property
    def panels(self) -> list[Panel]:
        return [part for part in self.operands if isinstance(part, Panel)]


Figures: TypeAlias = tuple[Figure, ...]
"""The figures of a step: one for each head or batch."""


class Entry(Record):
    """A step, or several that are shown together: renamed values, or a step with its sums."""

    group: str  # the title over this entry and those that follow, such as a time step; or ""
    steps: tuple[Step, ...]
    shapes: tuple[str, ...]  # of the operands and result of each: `(3, 2) × (2, 3) → (3, 3)`
    inputs: tuple[Panel, ...]  # the inputs of the steps that were not shown before
    figures: Figures  # () for renamed values, whose numbers are known
    reasons: tuple[str, ...]  # why the steps are done, a sentence each


class Page(Record):
    """The page of a trace; a text is "" where there is none."""

    title: str
    notes: str
    entries: tuple[Entry, ...]
    closing: Sequence[str]  # sentences on the effect of rounding, and on what was left out
    warnings: Sequence[str]
    decimals: int
    asked: str  # what to do with a worksheet
    student: str  # whose worksheet it is


def page_of(
    trace: Trace,
    selection: Selection,
    suffices: Callable[[Figures], bool] = lambda figures: bool(figures[0].operands),
    limit: int = LIMIT,
) -> Page:
    """Return the page of a trace.

    `suffices` returns True if figures show the inputs of their step; the inputs of other steps are
    shown before them. Axes longer than `limit` are shown in part.
    """
    steps = selection.steps(trace)
    closing, warnings, asked = list[str](), list[str](), ""
    room = NO_ROOM
    if selection.is_worksheet:  # rounding and warnings would give answers away
        from attncli.printing.worksheet import instruction, room_of

        room = room_of(trace, selection)
        asked = instruction(trace, room)
    elif not selection.quiet:
        warnings = [*map(visible, trace.warnings)]
        if trace.unrounded is not None and trace.last in steps:
            closing.append(_effect_of_rounding(trace))
    views = Views(trace, selection, limit, room)
    entries = tuple(_Walk(views, suffices, selection.why).entries(steps))
    closing += [f"{words} are left out; --full shows all." for words in views.left_out]
    lines = trace.problem.notes.splitlines() if _is_whole(selection) else []
    return Page(
        title=title_of(trace, selection),
        notes="\n".join(map(visible, lines)),
        entries=entries,
        closing=closing,
        warnings=warnings,
        decimals=views.decimals,
        asked=asked,
        student=visible(trace.problem.student),
    )


def title_of(trace: Trace, selection: Selection) -> str:
    """Return the title of a page, or its problem, and the variant; "" if only steps are shown."""
    problem = trace.problem
    name = problem.title or (f"Problem {problem.problem}" if problem.problem else "")
    variant = f"variant {problem.variant}" if problem.variant else ""
    words = f"{name}, {variant}" if name and variant else name or variant.capitalize()
    return visible(words) if _is_whole(selection) else ""


def _is_whole(selection: Selection) -> bool:
    return not selection.quiet and not selection.only


class _Walk:
    """Goes through the steps, remembering which inputs the reader has seen."""

    def __init__(self, views: Views, suffices: Callable[[Figures], bool], why: bool) -> None:
        self.views = views
        self.suffices = suffices
        self.why = why
        self.seen = {"0"}  # zeros by default, as h_0 is, need no showing
        self.shown: Container[str] = ()  # the names of all steps on the page

    def entries(self, steps: Sequence[Step]) -> Iterator[Entry]:
        group, self.shown = "", {step.name for step in steps}
        for together in self._together(steps):
            is_known = self._is_known(together[0])
            is_shown = any(self.views.room.shows(step.name) for step in together)
            figures = tuple(self._figures(*together)) if is_shown and not is_known else ()
            laid_out = bool(figures) and self.suffices(figures)
            with_inputs = () if together[1:] and not is_known else together
            made_of = [n for step in with_inputs for n in self._sources(step, figures, laid_out)]
            inputs = (*self._inputs(made_of), *self._parts(together[0], laid_out or not figures))
            beside = (p for f in figures for p in (*f.results, *f.panels * laid_out))
            terms = (term for one in figures[:1] for added in one.sums() for term in added.parts)
            if any(panel.matrix.is_cut for panel in (*inputs, *beside)):
                self.views.left_out |= {"Rows and columns marked …": None}
            elif not all(term.weight for term in terms):
                self.views.left_out |= {"Terms marked …": None}
            title = "" if together[0].group == group else together[0].group
            group = together[0].group
            shapes = tuple(map(self.views.shapes, together))
            reasons = tuple(step.why for step in together if self.why and step.why)
            yield Entry(title, tuple(together), shapes, inputs, figures, reasons)

    def _together(self, steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
        while steps:
            first, count = steps[0], 0
            for step in steps:
                if step.group != first.group or not self._is_known(step):
                    break
                count += 1
            second = steps[1].operation if steps[1:] else None
            is_summed = isinstance(second, Sum) and first in second.operands
            count = count or 1 + is_summed
            yield steps[:count]
            steps = steps[count:]

    def _is_known(self, step: Step) -> bool:
        """Return True if a step vanishes, or equals an input or another step on the page.

        A step that a worksheet asks for is not known.
        """
        operation = step.operation
        is_known = step.vanishes
        if isinstance(operation, Step) and operation.name != step.name:
            is_known |= operation.operation is None or operation.name in self.shown
        return is_known and not self.views.is_open(step)

    def _figures(self, step: Step, *totals: Step) -> Iterator[Figure]:
        views = self.views
        parts = () if totals else views.layout(step)
        for place, name in views.slices(step):
            beside = (p if isinstance(p, str) else views.of_operand(p, place, step) for p in parts)
            shown = (one for one in (step, *totals) if views.room.shows(one.name))
            results = (views.of_step(one, place) for one in shown)
            sums = partial(views.weighted_sums, step, place)
            yield Figure(name, tuple(beside), tuple(results), sums)

    def _sources(self, step: Step, figures: Figures, laid_out: bool) -> list[Step]:
        """Return the operands of a step that are inputs and that its figures do not show."""
        operation = step.operation
        if step.vanishes and not (figures or isinstance(operation, Step)):
            return []
        cut = operation.operand if isinstance(operation, SplitHeads) else None
        if isinstance(cut, Step) and cut.name == step.name:
            return []  # Q cut into heads shows all of Q
        if laid_out:
            parts = [panel.part for panel in figures[0].panels]
            bare = [part.operand if isinstance(part, Transposed) else part for part in parts]
            self.seen |= {part.name for part in bare if isinstance(part, Step)}
            if isinstance(cut, Step):
                return []
        # The mask is not shown, as the −∞ in the masked scores show it, unless it can be changed
        # or these scores are asked. What is to be copied is.
        is_open = self.views.is_open(step)
        hidden = ("" if self.views.live or is_open else "mask", "" if is_open else step.name)
        return [s for s in sources(step) if s.operation is None and s.name not in hidden]

    def _inputs(self, made_of: Iterable[Step]) -> Iterator[Panel]:
        for step in made_of:
            if step.name not in self.seen:
                self.seen.add(step.name)
                for place, name in self.views.slices(step):
                    yield self.views.of_input(step, place, name)

    def _parts(self, step: Step, is_shown: bool) -> Iterator[Panel]:
        """Yield what is worked out for vectors of pairs: W q, U k, and sums that figures lack."""
        for part in self.views.layout(step) if is_deep(step) else ():
            operands = part.operands if isinstance(part, Operation) else ()
            inner = [one for one in operands if isinstance(one, MatMul)]
            for one in (*inner, *([part] if operands and not is_shown else ())):
                for place, name in self.views.slices(one):
                    yield self.views.of_input(one, place, name)


def _effect_of_rounding(trace: Trace) -> str:
    distance, place = furthest(trace)
    name = trace.last.name
    if distance == 0:
        return f"rounded steps: the {name} is as without rounding"
    cell = cell_name(trace.last, place).removeprefix(name)
    return f"rounded steps: the {name} is off by at most {distance:.2g} (at {cell})"

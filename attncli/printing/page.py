"""The page of a trace: which steps and inputs are shown, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from attncli.core.attention.scores import SplitHeads
from attncli.core.attention.softmax import Sum
from attncli.core.calculation.trace import Trace, furthest
from attncli.core.tape.cell_names import cell_name
from attncli.core.tape.evaluation import sources
from attncli.core.tape.operations import MatMul, Transposed
from attncli.core.tape.step import Operation, Step
from attncli.core.text.strings import LIMIT, visible
from attncli.printing.blocks import Entry, Figure, Page, Panel
from attncli.printing.selection import NO_ROOM, Selection
from attncli.printing.views import Views, is_deep


def page_of(
    trace: Trace,
    selection: Selection,
    suffices: Callable[[Sequence[Figure]], bool] = lambda figures: bool(figures[0].operands),
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
    walk = _Walk(trace, selection, limit, room)
    entries = tuple(walk.entries(steps, suffices))
    closing += [f"{words} are left out; --full shows all." for words in walk.left_out]
    lines = trace.problem.notes.splitlines() if _is_whole(selection) else []
    return Page(
        title=title_of(trace, selection),
        notes="\n".join(map(visible, lines)),
        entries=entries,
        closing=closing,
        warnings=warnings,
        decimals=walk.decimals,
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


def _effect_of_rounding(trace: Trace) -> str:
    distance, place = furthest(trace)
    name = trace.last.name
    if distance == 0:
        return f"rounded steps: the {name} is as without rounding"
    cell = cell_name(trace.last, place).removeprefix(name)
    return f"rounded steps: the {name} is off by at most {distance:.2g} (at {cell})"


class _Walk(Views):
    """Goes through the steps, remembering which inputs the reader has `seen`."""

    def entries(
        self, steps: Sequence[Step], suffices: Callable[[Sequence[Figure]], bool]
    ) -> Iterator[Entry]:
        group, self.shown = "", {step.name for step in steps}
        self.seen = {"0"}  # zeros by default, as h_0 is, need no showing
        for together in self._together(steps):
            first = together[0]
            is_known = self._is_known(first)
            is_shown = any(self.room.shows(step.name) for step in together)
            figures = tuple(self._figures(*together)) if is_shown and not is_known else ()
            laid_out = bool(figures) and suffices(figures)
            with_inputs = () if together[1:] and not is_known else together
            made_of = [n for step in with_inputs for n in self._sources(step, figures, laid_out)]
            inputs = (*self._inputs(made_of), *self._parts(first, laid_out or not figures))
            beside = (p for f in figures for p in (*f.results, *f.panels * laid_out))
            terms = (term for one in figures[-1:] for added in one.sums() for term in added.parts)
            if any(panel.matrix.is_cut for panel in (*inputs, *beside)):
                self.left_out |= {"Rows and columns marked …": None}
            elif not all(term.weight for term in terms):
                self.left_out |= {"Terms marked …": None}
            title = "" if first.group == group else first.group
            group = first.group
            shapes = tuple(map(self.shapes, together))
            reasons = tuple(x.why for x in together if self.selection.why and x.why)
            yield Entry(title, tuple(together), shapes, inputs, figures, reasons)

    def _together(self, steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
        """Yield renamed values that follow each other, a step with its sums, or one step."""
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
        return is_known and not self.is_open(step)

    def _figures(self, step: Step, *totals: Step) -> Iterator[Figure]:
        parts = () if totals else self.layout(step)
        for place, name in self.slices(step):
            beside = (p if isinstance(p, str) else self.of_operand(p, place, step) for p in parts)
            shown = (one for one in (step, *totals) if self.room.shows(one.name))
            results = (self.of_step(one, place) for one in shown)
            sums = partial(self.weighted_sums, step, place)
            yield Figure(name, tuple(beside), tuple(results), sums)

    def _sources(self, step: Step, figures: Sequence[Figure], laid_out: bool) -> list[Step]:
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
        is_open = self.is_open(step)
        hidden = ("" if self.selection.live or is_open else "mask", "" if is_open else step.name)
        return [s for s in sources(step) if s.operation is None and s.name not in hidden]

    def _inputs(self, made_of: Iterable[Step]) -> Iterator[Panel]:
        for step in made_of:
            if step.name not in self.seen:
                self.seen.add(step.name)
                yield from self.of_input(step)

    def _parts(self, step: Step, is_shown: bool) -> Iterator[Panel]:
        """Yield what is worked out for vectors of pairs: W q, U k, and sums that figures lack."""
        for part in self.layout(step) if is_deep(step) else ():
            operands = part.operands if isinstance(part, Operation) else ()
            inner = [one for one in operands if isinstance(one, MatMul)]
            for one in (*inner, *([part] if operands and not is_shown else ())):
                yield from self.of_input(one)

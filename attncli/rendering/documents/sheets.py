"""What stands in a document and in which order, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.attention.normalizers import Sum
from attncli.mechanisms.trace import Trace
from attncli.notation.tree import Formula
from attncli.records import Record, replace
from attncli.rendering.blocks import Matrix, cell_text
from attncli.rendering.documents.origins import Provenance
from attncli.rendering.record import Selection
from attncli.rendering.rounded import closing_line, enough_decimals
from attncli.rendering.views import (
    Index,
    Views,
    WeightedSum,
    inputs_in,
    made_from,
    named,
    named_in,
    renames,
    weighted_terms,
)
from attncli.tape.step import Expression, Step, notation_of
from attncli.text.elision import kept
from attncli.text.escapes import visible
from attncli.text.numbers import DEFAULT_DECIMALS


class Panel(Record):
    """One matrix of a document.

    Attributes:
        matrix: what is shown.
        name: the formula of what it is, such as `Kᵀ`.
        origin: from row and column to the step or input that the number is a cell of.
        words: which head or batch it is, where that is not said otherwise.
    """

    matrix: Matrix
    name: Formula
    origin: Provenance
    words: str = ""


class Figure(Record):
    """Operands and results side by side.

    Attributes:
        name: which head, batch or query it is, or nothing.
        operands: panels and signs, such as × and +; () for none.
        results: the step's matrix, and its sums where they stand beside it.
        mixture: each output as a sum of the values that its weights stand for.
    """

    name: str
    operands: tuple[Panel | str, ...]
    results: tuple[Panel, ...]
    mixture: tuple[WeightedSum, ...] = ()


class Entry(Record):
    """A step, or several that stand together.

    Attributes:
        group: what it belongs to, such as a time step.
        steps: with their formulas; the last has the figures.
        inputs: matrices of the problem that it is made of and that were not shown before.
        figures: one for each head or batch; () where the numbers stand elsewhere.
        shapes: of operands and results.
    """

    group: str
    steps: tuple[Step, ...]
    inputs: tuple[Panel, ...]
    figures: tuple[Figure, ...]
    shapes: str = ""


class Sheet(Record):
    """A document.

    Attributes:
        title: of the problem, or nothing.
        notes: lines of text.
        entries: the steps.
        closing: what rounding did, and what was left out.
        warnings: what the reader should know.
        decimals: the most digits after the point.
    """

    title: str
    notes: str
    entries: tuple[Entry, ...]
    closing: tuple[str, ...]
    warnings: tuple[str, ...]
    decimals: int


def sheet(trace: Trace, selection: Selection) -> Sheet:
    """Return what of a trace stands in a document."""
    decimals = DEFAULT_DECIMALS if selection.decimals is None else selection.decimals
    if trace.problem.round is not None:
        decimals = enough_decimals(trace, decimals)
    writer = _SheetWriter(Views(trace, decimals, selection.full))
    steps = selection.steps(trace)
    entries = tuple(writer.entries(steps))
    whole = not selection.quiet and not selection.only
    closing = []
    if trace.unrounded is not None and not selection.quiet and trace.last in steps:
        closing.append(closing_line(trace))
    if writer.views.elided:
        closing.append("Rows and columns marked … are left out; --full shows all.")
    return Sheet(
        visible(trace.problem.title) if whole else "",
        "\n".join(map(visible, trace.problem.notes.splitlines())) if whole else "",
        entries,
        tuple(closing),
        () if selection.quiet else tuple(map(visible, trace.warnings)),
        decimals,
    )


def shown_width(panels: Sequence[Panel], full: bool) -> int:
    """Return about how many characters wide matrices are side by side."""
    width = 0
    for panel in panels:
        rows, columns = (kept(size, full) for size in panel.matrix.values.shape)
        for column in columns:
            width += 2 + max((len(cell_text(panel.matrix, r, column)) for r in rows), default=0)
    return width


def weighted_sum_text(mixture: WeightedSum) -> str:
    """Return z_I = 0.9·v_I + 0.1·v_am as text."""
    if not mixture.letter:
        return "⋮"
    first, *rest = weighted_terms(mixture) or ["+ 0"]
    terms = [first.removeprefix("+ ").replace("− ", "−"), *rest]
    return f"{named(mixture.letter, mixture.word)} = {' '.join(terms)}"


class _SheetWriter:
    """Goes through the steps, remembering which inputs the reader has seen."""

    def __init__(self, views: Views) -> None:
        self.views = views
        self.seen = {"0"}  # zeros by default, as h_0 is, need no showing

    def entries(self, steps: Sequence[Step]) -> Iterator[Entry]:
        index = 0
        while index < len(steps):
            following = steps[index : index + 2]
            if renames(steps[index]):
                entry = self._renamings(steps[index:])
            elif (
                len(following) == 2
                and isinstance(following[1].operation, Sum)
                and made_from(following[1], following[0])
            ):
                entry = self._with_total(*following)
            else:
                entry = self._step(steps[index])
            yield entry
            index += len(entry.steps)

    def _step(self, step: Step) -> Entry:
        parts = self.views.layout(step)
        self.seen |= named_in(parts)
        inputs = tuple(self._inputs(inputs_in(step.operation)))
        figures = tuple(
            Figure(
                name,
                tuple(p if isinstance(p, str) else self._panel(p, place) for p in parts),
                (self._panel(step, place, joined=True),),
                tuple(self.views.mixture(step, place)),
            )
            for place, name in self.views.slices(step)
        )
        return Entry(step.group, (step,), inputs, figures, self.views.shapes(step))

    def _renamings(self, steps: Sequence[Step]) -> Entry:
        """Return `Q = X, K = X, V = X` with X itself where it was not shown."""
        count = next((i for i, step in enumerate(steps) if not renames(step)), len(steps))
        group = tuple(steps[:count])
        sources = [s.operation for s in group if isinstance(s.operation, Step)]
        return Entry(group[0].group, group, tuple(self._inputs(sources)), ())

    def _with_total(self, step: Step, total: Step) -> Entry:
        figures = tuple(
            Figure(name, (), (self._panel(step, place), self._panel(total, place)))
            for place, name in self.views.slices(step)
        )
        return Entry(step.group, (step, total), (), figures, self.views.shapes(step))

    def _inputs(self, steps: Iterator[Step] | Sequence[Step]) -> Iterator[Panel]:
        for step in steps:
            if step.name not in self.seen:
                self.seen.add(step.name)
                for place, name in self.views.slices(step):
                    yield replace(self._panel(step, place), words=name)

    def _panel(self, part: Expression, place: Index, joined: bool = False) -> Panel:
        matrix = self.views.matrix(part, place, "", joined)
        if any(None in kept(size, self.views.full) for size in matrix.values.shape):
            self.views.elided = True
        return Panel(
            matrix,
            notation_of(part, self.views.columns),
            Provenance(self.views, part, place, joined),
        )

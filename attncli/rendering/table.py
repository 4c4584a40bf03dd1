"""A trace as tables: every step with its formula, its shapes, and operands beside the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attncli.attention.heads import SplitHeads
from attncli.attention.normalizers import Sum
from attncli.mechanisms.trace import Trace
from attncli.notation.text import text as as_text
from attncli.records import Record, replace
from attncli.rendering.blocks import Block, Line, Matrix, beside, matrix_blocks
from attncli.rendering.rounded import closing_line, enough_decimals
from attncli.rendering.views import (
    Index,
    Views,
    inputs_in,
    made_from,
    named,
    named_in,
    renames,
    weighted_terms,
)
from attncli.tape.step import Expression, Step
from attncli.text.elision import kept
from attncli.text.escapes import label_text, visible
from attncli.text.numbers import DEFAULT_DECIMALS
from attncli.text.widths import cell_width

PAPER_WIDTH = 100
"""Where a line of blocks ends when there is no terminal; a matrix wider than that stays whole."""


class Table(Record):
    """How tables are made.

    Attributes:
        decimals: the most digits after the point.
        full: whether large matrices are shown whole.
        width: columns of the terminal; None where there is none.
        only: which steps to show, all by default.
        quiet: whether to leave out the title and everything around the steps.
    """

    decimals: int = DEFAULT_DECIMALS
    full: bool = False
    width: int | None = None
    only: tuple[str, ...] = ()
    quiet: bool = False

    def lines(self, trace: Trace) -> Iterator[Line]:
        """Yield the lines of a trace; titles and notes folded to the terminal's width."""
        for line in self._lines(trace):
            yield from _folded(line, self.width)

    def _lines(self, trace: Trace) -> Iterator[Line]:
        table = self
        if trace.problem.round is not None:
            table = replace(self, decimals=enough_decimals(trace, self.decimals))
        page = _Page(table, trace)
        lines: list[Line] = []
        if not self.quiet and not self.only:
            lines = list(page.heading())
            yield from lines
        steps = [step for step in trace if not self.only or step.name in self.only]
        index = 0
        while index < len(steps):
            if lines:
                yield []
            yield from page.grouping(steps[index])
            count, lines = page.step(steps, index)
            yield from lines
            index += count
        if trace.unrounded is not None and not self.quiet and trace.last in steps:
            yield []
            yield [(closing_line(trace), "faint")]
        if page.views.elided:
            yield []
            yield [("Rows and columns marked … are left out; --full shows all.", "faint")]


class _Page:
    """One trace being laid out: remembers which inputs the reader has seen."""

    def __init__(self, table: Table, trace: Trace) -> None:
        self.table = table
        self.trace = trace
        self.views = Views(trace, table.decimals, table.full)
        self.seen = {"0"}  # zeros by default, as h_0 is, need no showing
        self.group = ""

    def heading(self) -> Iterator[Line]:
        problem = self.trace.problem
        if problem.title:
            yield [(visible(problem.title), "title")]
        for line in problem.notes.splitlines():
            yield [(visible(line), "faint")]

    def grouping(self, step: Step) -> Iterator[Line]:
        """Yield a line over the first step of a group, such as a time step."""
        if step.group != self.group:
            self.group = step.group
            if step.group:
                yield [(f"── {label_text(step.group)} ──", "title")]
                yield []

    def step(self, steps: Sequence[Step], index: int) -> tuple[int, list[Line]]:
        """Return how many steps were laid out together, and their lines."""
        step = steps[index]
        following = steps[index + 1] if index + 1 < len(steps) else None
        if renames(step):
            return self._renamings(steps, index)
        if following and isinstance(following.operation, Sum) and made_from(following, step):
            return 2, self._with_total(step, following)
        lines = [self._title(step)]
        parts = self.views.layout(step)
        if parts and self._fits(step, parts):
            self.seen |= named_in(parts)
        lines += self._inputs(step)
        for number, (place, name) in enumerate(self.views.slices(step)):
            if name:
                lines += [[], [(name, "name")]] if number else [[(name, "name")]]
            lines += self._row([self._part(part, place) for part in parts], step, place)
            lines += [[(line, "mixture")] for line in self._mixture(step, place)]
        return 1, lines

    def _renamings(self, steps: Sequence[Step], index: int) -> tuple[int, list[Line]]:
        """Return one line for `Q = X, K = X, V = X`, under X itself where it was not shown."""
        group = []
        for step in steps[index:]:
            if not renames(step):
                break
            group.append(step)
        lines: list[Line] = []
        for step in group:
            source = step.operation
            assert isinstance(source, Step)  # by renames
            if source.name not in self.seen:
                self.seen.add(source.name)
                lines += [self._title(source)]
                for place, name in self.views.slices(source):
                    lines += [[(name, "name")]] if name else []
                    lines += self._alone(self.views.matrix(source, place, ""))
                lines.append([])
        text = ",  ".join(step.formula for step in group)
        return len(group), [*lines, [(text, "title")]]

    def _title(self, step: Step) -> Line:
        """Return the formula, what its letters stand for, and the shapes."""
        line: Line = [(step.formula, "title")]
        if step.note is not None:
            line.append((f"   {as_text(step.note)}", "faint"))
        line.append((f"   {self.views.shapes(step)}", "faint"))
        return line

    def _part(self, part: Expression | str, place: tuple[int, ...]) -> Matrix | str:
        if isinstance(part, str):
            return part
        return self.views.matrix(part, place, self.views.name(part))

    def _row(self, parts: Sequence[Matrix | str], step: Step, place: tuple[int, ...]) -> list[Line]:
        """Return operands and result side by side where that fits, else the result alone."""
        result = self.views.matrix(step, place, step.name if parts else "", joined=True)
        limit = self.table.width or PAPER_WIDTH
        if parts:
            whole = [p if isinstance(p, str) else self._one_block(p) for p in (*parts, "=", result)]
            row = beside(whole)
            if row.width <= limit:
                return row.lines
        return self._alone(result)

    def _one_block(self, matrix: Matrix) -> Block:
        self._note_elision(matrix)
        return matrix_blocks(matrix, self.table.full, None)[0]

    def _alone(self, matrix: Matrix) -> list[Line]:
        self._note_elision(matrix)
        blocks = matrix_blocks(matrix, self.table.full, self.table.width)
        return [line for block in blocks for line in block.lines]

    def _note_elision(self, matrix: Matrix) -> None:
        if any(None in kept(size, self.table.full) for size in matrix.values.shape):
            self.views.elided = True

    def _with_total(self, step: Step, total: Step) -> list[Line]:
        """Return a step and its sums as one table."""
        lines = [[*self._title(step)], [*self._title(total)]]
        for number, (place, name) in enumerate(self.views.slices(step)):
            if name:
                lines += [[], [(name, "name")]] if number else [[(name, "name")]]
            matrix = self.views.matrix(step, place, step.name)
            sums = self.views.matrix(total, place, total.name)
            along_rows = total.value.shape[-1] == 1
            sums = _without_row_labels(sums) if along_rows else sums
            row = beside([self._one_block(matrix), " ", self._one_block(sums)])
            if along_rows and row.width <= (self.table.width or PAPER_WIDTH):
                lines += row.lines
            else:
                lines += self._alone(matrix) + self._alone(
                    self.views.matrix(total, place, total.name)
                )
        return lines

    def _fits(self, step: Step, parts: Sequence[Expression | str]) -> bool:
        """Whether operands and result have room side by side."""
        first = self.views.first_place(step)
        matrices = [
            p if isinstance(p, str) else self.views.matrix(p, first, "") for p in (*parts, step)
        ]
        blocks = [m if isinstance(m, str) else self._one_block(m) for m in matrices]
        return beside([*blocks, "="]).width <= (self.table.width or PAPER_WIDTH)

    def _inputs(self, step: Step) -> list[Line]:
        """Return the inputs that a step is made of and that were not shown before."""
        if isinstance(step.operation, SplitHeads) and isinstance(step.operation.operand, Step):
            return []  # the step has the input's own numbers
        matrices = []
        for source in inputs_in(step.operation):
            if source.name in self.seen:
                continue
            self.seen.add(source.name)
            for place, name in self.views.slices(source):
                title = f"{source.name}, {name}" if name else source.name
                matrices.append(self.views.matrix(source, place, title))
        if not matrices:
            return []
        row = beside([part for m in matrices for part in (self._one_block(m), " ")][:-1])
        if row.width <= (self.table.width or PAPER_WIDTH):
            return [*row.lines, []]
        return [*(line for m in matrices for line in self._alone(m)), []]

    def _mixture(self, step: Step, place: Index) -> Iterator[str]:
        """Yield each output as a mixture of the values, such as `z_I = 0.9·v_I + 0.1·v_am`."""
        for number, mixture in enumerate(self.views.mixture(step, place)):
            if not number:
                yield ""
            if not mixture.letter:
                yield "⋮"
                continue
            left = named(mixture.letter, mixture.word)
            yield from _wrapped(left, weighted_terms(mixture), self.table.width)


def _folded(line: Line, width: int | None) -> Iterator[Line]:
    """Yield a title, note or label line in pieces where the terminal is too narrow for it.

    The lines of matrices are laid out to fit already.
    """
    size = sum(cell_width(text) for text, _ in line)
    if width is None or size <= width or not line or line[0][1] not in FOLDED:
        yield line
        return
    piece: Line = []
    used = 0
    for word, style in [(word, style) for text, style in line for word in text.split()]:
        if used and used + 1 + cell_width(word) > width:
            yield piece
            piece, used = [("  ", "")], 1
        piece += [(" ", ""), (word, style)] if used > 1 else [(word, style)]
        used += 1 + cell_width(word)
    yield piece


FOLDED = ("title", "faint")
"""The styles of lines that are sentences or formulas."""


def _without_row_labels(matrix: Matrix) -> Matrix:
    labels = ("",) if matrix.column_labels else ()
    return Matrix(matrix.values, matrix.name, (), labels, matrix.write)


def _wrapped(left: str, terms: list[str], width: int | None) -> Iterator[str]:
    """Yield `left = terms`, on several lines where the terminal is too narrow for one."""
    if not terms:
        terms = ["+ 0"]
    first = terms[0].removeprefix("+ ").replace("− ", "−")
    line = f"{left} = {first}"
    indent = " " * (cell_width(left) + 1)
    for term in terms[1:]:
        if width is not None and cell_width(line) + cell_width(term) + 1 > width:
            yield line
            line = f"{indent}{term}"
        else:
            line += f" {term}"
    yield line

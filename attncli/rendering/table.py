"""A trace as tables: every step with its formula, its shapes, and operands beside the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from attncli.errors import cell_width, visible
from attncli.heads import Cut, Shared
from attncli.normalizers import Total
from attncli.operations import MatMul, Transposed
from attncli.records import Record, replace
from attncli.rendering.blocks import Block, Line, Matrix, beside, kept, label_text, matrix_blocks
from attncli.rendering.digits import DEFAULT_DECIMALS, style_of
from attncli.rendering.rounded import closing_line, enough_decimals
from attncli.trace import (
    LEADING,
    Array,
    Expression,
    Operation,
    Step,
    Trace,
    Writer,
    array_of,
    without_missing_axes,
)

PAPER_WIDTH = 100
"""Where a line of blocks ends when there is no terminal; a matrix wider than that stays whole."""


VALUES = {"key": "v_", "query": "x_", "state": ""}
"""How the values that weights mix are called, by the axis along which the weights stand."""


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
        if page.elided:
            yield []
            yield [("Rows and columns marked … are left out; --full shows all.", "faint")]


class _Page:
    """One trace being laid out: remembers which inputs the reader has seen."""

    def __init__(self, table: Table, trace: Trace) -> None:
        self.table = table
        self.trace = trace
        self.columns = trace.problem.columns
        self.seen = {"0"}  # zeros by default, as h_0 is, need no showing
        self.group = ""
        self.elided = False

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
        if self._renames(step):
            return self._renamings(steps, index)
        if following and isinstance(following.operation, Total) and _made_from(following, step):
            return 2, self._with_total(step, following)
        lines = [self._title(step)]
        parts = self._layout(step)
        if parts and self._fits(step, parts):
            self.seen |= _named_in(parts)
        lines += self._inputs(step)
        for number, (place, name) in enumerate(self._slices(step)):
            if name:
                lines += [[], [(name, "name")]] if number else [[(name, "name")]]
            lines += self._row([self._part(part, place) for part in parts], step, place)
            lines += [[(text, "mixture")] for text in self._mixture(step, place)]
        return 1, lines

    def _renames(self, step: Step) -> bool:
        """Whether the step has the numbers of an input, and nothing more to say."""
        return isinstance(step.operation, Step) and step.operation.name != step.name

    def _renamings(self, steps: Sequence[Step], index: int) -> tuple[int, list[Line]]:
        """Return one line for `Q = X, K = X, V = X`, under X itself where it was not shown."""
        group = []
        for step in steps[index:]:
            if not self._renames(step):
                break
            group.append(step)
        lines: list[Line] = []
        for step in group:
            source = step.operation
            assert isinstance(source, Step)  # by _renames
            if source.name not in self.seen:
                self.seen.add(source.name)
                lines += [self._title(source)]
                for place, name in self._slices(source):
                    lines += [[(name, "name")]] if name else []
                    lines += self._alone(self._matrix(source, place, ""))
                lines.append([])
        text = ",  ".join(step.formula for step in group)
        return len(group), [*lines, [(text, "title")]]

    def _title(self, step: Step) -> Line:
        """Return the formula, what its letters stand for, and the shapes."""
        line: Line = [(step.formula, "title")]
        if isinstance(step.operation, Operation):
            note = step.operation.note
            if note:
                line.append((f"   {note}", "faint"))
        line.append((f"   {self._shapes(step)}", "faint"))
        return line

    def _shapes(self, step: Step) -> str:
        result = _shape_text(self._page_shape(step))
        parts = self._layout(step)
        if len(parts) < 3:
            return result
        shown = [
            part if isinstance(part, str) else _shape_text(self._page_shape(part))
            for part in parts
            if part not in ("tanh(", ")")
        ]
        return f"{' '.join(shown)} → {result}"

    def _layout(self, step: Step) -> tuple[Expression | str, ...]:
        if isinstance(step.operation, Operation) and len(step.trailing) < 3:
            return step.operation.layout(self.columns)
        return ()  # a vector for every pair has no place beside a matrix

    def _slices(self, step: Step) -> Iterator[tuple[tuple[int, ...], str]]:
        """Yield the place of each matrix of a step along batch, head and query, and its name."""
        if isinstance(step.operation, Cut):
            sizes = step.array.shape[:1]
            names: tuple[str, ...] = step.operation.operand.leading
        else:
            sizes = step.array.shape[:2]
            names = step.leading
        counts = [size if axis in names else 1 for axis, size in zip(LEADING, sizes, strict=False)]
        deep = len(step.trailing) == 3
        if deep:
            counts.append(step.array.shape[2])
        for place in np.ndindex(*(len(kept(c, self.table.full)) for c in counts)):
            where = [kept(c, self.table.full)[i] for c, i in zip(counts, place, strict=True)]
            if None in where:
                self.elided = True
                continue
            at = tuple(int(i) for i in where if i is not None)
            words = [f"{axis} {at[i] + 1}" for i, axis in enumerate(LEADING) if axis in names]
            for shared in _shared(step.operation):
                words.append(f"key/value head {at[1] // shared.times + 1}")
            if deep and counts[-1] > 1:
                words.append(f"{step.trailing[0]} {self._word(step.trailing[0], at[-1])}")
            yield at, ", ".join(words)

    def _word(self, axis: str, place: int) -> str:
        labels = self.trace.labels.get(axis, ())
        return label_text(labels[place]) if place < len(labels) else str(place + 1)

    def _part(self, part: Expression | str, place: tuple[int, ...]) -> Matrix | str:
        if isinstance(part, str):
            return part
        return self._matrix(part, place, Writer(self.columns)(part))

    def _row(self, parts: Sequence[Matrix | str], step: Step, place: tuple[int, ...]) -> list[Line]:
        """Return operands and result side by side where that fits, else the result alone."""
        result = self._matrix(step, place, step.name if parts else "", joined=True)
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
            self.elided = True

    def _with_total(self, step: Step, total: Step) -> list[Line]:
        """Return a step and its sums as one table."""
        lines = [[*self._title(step)], [*self._title(total)]]
        for number, (place, name) in enumerate(self._slices(step)):
            if name:
                lines += [[], [(name, "name")]] if number else [[(name, "name")]]
            matrix = self._matrix(step, place, step.name)
            sums = self._matrix(total, place, total.name)
            along_rows = total.value.shape[-1] == 1
            sums = _without_row_labels(sums) if along_rows else sums
            row = beside([self._one_block(matrix), " ", self._one_block(sums)])
            if along_rows and row.width <= (self.table.width or PAPER_WIDTH):
                lines += row.lines
            else:
                lines += self._alone(matrix) + self._alone(self._matrix(total, place, total.name))
        return lines

    def _fits(self, step: Step, parts: Sequence[Expression | str]) -> bool:
        """Whether operands and result have room side by side."""
        first = self._first_place(step)
        matrices = [p if isinstance(p, str) else self._matrix(p, first, "") for p in (*parts, step)]
        blocks = [m if isinstance(m, str) else self._one_block(m) for m in matrices]
        return beside([*blocks, "="]).width <= (self.table.width or PAPER_WIDTH)

    def _first_place(self, step: Step) -> tuple[int, ...]:
        return (0,) * (3 if len(step.trailing) == 3 else 2)

    def _inputs(self, step: Step) -> list[Line]:
        """Return the inputs that a step is made of and that were not shown before."""
        if isinstance(step.operation, Cut) and isinstance(step.operation.operand, Step):
            return []  # the step has the input's own numbers
        matrices = []
        for source in _given(step.operation):
            if source.name in self.seen:
                continue
            self.seen.add(source.name)
            for place, name in self._slices(source):
                title = f"{source.name}, {name}" if name else source.name
                matrices.append(self._matrix(source, place, title))
        if not matrices:
            return []
        row = beside([part for m in matrices for part in (self._one_block(m), " ")][:-1])
        if row.width <= (self.table.width or PAPER_WIDTH):
            return [*row.lines, []]
        return [*(line for m in matrices for line in self._alone(m)), []]

    def _matrix(
        self, part: Expression, place: tuple[int, ...], name: str, joined: bool = False
    ) -> Matrix:
        """Return what to show of an expression at a place along batch, head and query.

        With `joined` the heads of a step that was cut stand side by side, with bars between.
        """
        cut = joined and isinstance(part, Step) and isinstance(part.operation, Cut)
        array = array_of(part)
        bars: tuple[int, ...] = ()
        if cut:
            batch, heads, n, size = array.shape
            array = np.moveaxis(array, 1, 2).reshape(batch, 1, n, heads * size)
            bars = tuple(range(size, heads * size, size))
        at = tuple(min(i, size - 1) for i, size in zip(place, array.shape, strict=False))
        values = array[at]
        values = values[0] if values.ndim == 3 else values
        row_axis, column_axis = (part.trailing if len(part.trailing) > 1 else ("", *part.trailing))[
            -2:
        ]
        if self._turned(part):
            values = values.T
            row_axis, column_axis = column_axis, row_axis
        labels = self.trace.labels
        return Matrix(
            values,
            name,
            labels.get(row_axis, ()),
            labels.get(column_axis, ()),
            style_of(array, self.table.decimals),
            () if self.columns else bars,
            shaded=isinstance(part, Step) and part.name.startswith("weights"),
            is_blank=_blanks(part),
        )

    def _turned(self, part: Expression) -> bool:
        if isinstance(part, Step):
            return part.columns
        return self.columns

    def _page_shape(self, part: Expression) -> tuple[int, ...]:
        if isinstance(part, Step) and not isinstance(part.operation, Cut):
            return part.value.shape
        array = array_of(part)
        shape = without_missing_axes(array, part.leading, len(part.trailing)).shape
        if self._turned(part):
            shape = (*shape[:-2], shape[-1], shape[-2])
        return shape

    def _mixture(self, step: Step, place: tuple[int, ...]) -> Iterator[str]:
        """Yield each output as a mixture of the values, such as `z_I = 0.9·v_I + 0.1·v_am`."""
        made = step.operation
        if not isinstance(made, MatMul) or made.left.trailing[-1] not in VALUES:
            return
        weights = array_of(made.left)
        write = style_of(weights, self.table.decimals)
        matrix = weights[min(place[0], len(weights) - 1), min(place[1], weights.shape[1] - 1)]
        rows = made.left.trailing[-2] if len(made.left.trailing) > 1 else ""
        yield ""
        for row in kept(len(matrix), self.table.full):
            if row is None:
                yield "⋮"
                continue
            left = step.symbol[0].lower() + step.symbol[1:]
            if rows and (len(matrix) > 1 or rows in self.trace.labels):
                left += f"_{self._word(rows, row)}"
            terms = list(self._terms(matrix[row], made.left.trailing[-1], write))
            yield from _wrapped(left, terms, self.table.width)

    def _terms(self, row: Array, axis: str, write: Callable[[float], str]) -> Iterator[str]:
        places = [int(i) for i in np.flatnonzero(row)]
        for index in kept(len(places), self.table.full):
            if index is None:
                yield "+ …"
                continue
            key = places[index]
            weight = float(row[key])
            sign = "− " if weight < 0 else "+ "
            yield f"{sign}{write(abs(weight))}·{VALUES[axis]}{self._word(axis, key)}"


def _named_in(parts: Sequence[Expression | str]) -> set[str]:
    """Return the names of the steps that stand by themselves, or transposed, in a layout."""
    bare = [part.operand if isinstance(part, Transposed) else part for part in parts]
    return {part.name for part in bare if isinstance(part, Step)}


def _given(expression: Expression | None) -> Iterator[Step]:
    """Yield the inputs in an expression, but for the mask: its −∞ show where it is."""
    if isinstance(expression, Operation):
        for operand in expression.operands:
            if isinstance(operand, Operation):
                yield from _given(operand)
            elif operand.operation is None and operand.name != "mask":
                yield operand


def _blanks(part: Expression) -> Callable[[int, int], bool]:
    """Return which cells of a step are nothing."""
    made = part.operation if isinstance(part, Step) else None
    return made.is_blank if isinstance(made, Operation) else lambda row, column: False


def _shared(expression: Expression | None) -> list[Shared]:
    """Return the operation that shares key/value heads, if there is one right in an expression."""
    if isinstance(expression, Shared):
        return [expression]
    if isinstance(expression, Operation):
        inner = [o for o in expression.operands if isinstance(o, Operation)]
        return [found for operand in inner for found in _shared(operand)][:1]
    return []


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


def _made_from(step: Step, other: Step) -> bool:
    return isinstance(step.operation, Operation) and other in step.operation.operands


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


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

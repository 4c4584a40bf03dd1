"""The matrices of a step on a page with their labels, its operands, and its weighted sums."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import RepeatHeads, SplitHeads
from attncli.core.calculation.trace import Trace
from attncli.core.numbers.written import MAX_DIGITS_OF_FLOATS, shape_words
from attncli.core.records import replace
from attncli.core.tape.cell_names import Index, find_places, matrix_name, place_word, told_apart
from attncli.core.tape.evaluation import array_of, walk
from attncli.core.tape.operations import VALUES, MatMul, mixes_values
from attncli.core.tape.step import LEADING, Expression, Operation, Step, notation_of
from attncli.core.text.numbers import style_of
from attncli.core.text.strings import kept, label_text
from attncli.printing import blocks
from attncli.printing.blocks import LineIndex, Panel, WeightedSum, WeightedTerm
from attncli.printing.selection import NO_ROOM, Room, Selection


class Views:
    """The matrices of one trace as a page shows them.

    `room` has the steps whose numbers are not printed. Of matrices that are not shown whole, axes
    of at most `limit` places are. `left_out` has the words for what was left out so far, in order
    and each once.
    """

    def __init__(
        self, trace: Trace, selection: Selection, limit: int, room: Room = NO_ROOM
    ) -> None:
        heads, rows = selection.heads, selection.rows
        self.trace, self.selection, self.limit, self.room = trace, selection, limit, room
        self.decimals = _enough_decimals(trace, selection.digits)
        self.heads = find_places(heads, "head", trace.steps, "--head") if heads else []
        queries = find_places(rows, "query", trace.steps, "--rows") if rows else []
        self.rows: list[LineIndex] = [*queries]
        self.columns = trace.problem.columns
        self.left_out: dict[str, None] = {}

    def layout(self, step: Step) -> tuple[Expression | str, ...]:
        """Return the operands and signs beside a step; () for none.

        There are none if the operands are open on a worksheet. Those of a vector for every pair
        are as many as its results, and only shown if every number is, or for a learner.
        """
        operation, chosen = step.operation, self.selection
        if not isinstance(operation, Operation) or self.is_open(operation):
            return ()
        if is_deep(step) and (chosen.is_worksheet or not (chosen.why or chosen.full)):
            return ()
        return operation.layout(self.columns)

    def is_open(self, part: Expression) -> bool:
        """Return whether the numbers of a step, or of one in an operand, are not printed."""
        if isinstance(part, Step):
            return part.name in self.room.blank
        return any(map(self.is_open, part.operands))

    def shapes(self, step: Step) -> str:
        """Return the shapes of operands and result: `(3, 2) × (2, 3) → (3, 3)`."""
        result = shape_words(step.value.shape)
        parts = self.layout(step)
        if len(parts) < 3 or is_deep(step):
            return result
        without_function = (part for part in parts if part not in ("tanh(", "σ(", ")"))
        shown = (p if isinstance(p, str) else self._page_shape(p) for p in without_function)
        return f"{' '.join(shown)} → {result}"

    def _page_shape(self, part: Expression) -> str:
        shape = array_of(part).shape
        lead = [size for axis, size in zip(LEADING, shape, strict=False) if axis in part.leading]
        last = shape[len(shape) - len(part.trailing) :]
        if self.columns and len(last) > 1:
            last = (*last[:-2], last[-1], last[-2])
        return shape_words((*lead, *last))

    def slices(self, step: Expression) -> Iterator[tuple[Index, str]]:
        """Yield the place of each matrix of a step along batch, head and query, and its name."""
        operation, array = step.operation if isinstance(step, Step) else step, array_of(step)
        sizes, names = array.shape[:2], step.leading
        if isinstance(operation, SplitHeads):
            sizes, names = sizes[:1], operation.operand.leading
        counts = [size if axis in names else 1 for axis, size in zip(LEADING, sizes, strict=False)]
        nodes = walk(operation) if operation else ()
        shared = [node for node in nodes if isinstance(node, RepeatHeads)]
        deep = is_deep(step)
        if deep:
            counts.append(array.shape[2])
        axes = (*LEADING[: len(counts) - deep], *step.trailing[:deep])
        for place in product(*map(self._places, axes, counts)):
            at = tuple(i for i in place if i is not None)
            if len(at) < len(place):
                self.left_out |= {"Matrices in the middle": None}
                continue
            words = [f"{axis} {at[i] + 1}" for i, axis in enumerate(LEADING) if axis in names]
            for node in shared[:1]:
                words.append(f"key/value head {at[1] // node.times + 1}")
            if deep and counts[-1] > 1:
                words.append(f"{step.trailing[0]} {self._word(step.trailing[0], at[-1])}")
            yield at, ", ".join(words)

    def _word(self, axis: str, place: int) -> str:
        return label_text(place_word(self.trace.labels, axis, place, alone=True))

    def of_step(self, step: Step, place: Index) -> Panel:
        """Return a matrix of a step as it is on paper, at a place along batch, head and query.

        The heads of a step that was cut are side by side, with bars between.
        """
        joined = isinstance(step.operation, SplitHeads)
        panel = self._panel(step, place, step.columns, joined=joined)
        at = tuple(i for i, axis in zip(place, LEADING, strict=False) if axis in step.leading)
        panel = replace(panel, key=matrix_name(step, (*at, *place[len(LEADING) :])))
        if not self.is_open(step):
            return panel
        asked = panel.on_page(step.from_paper(self.room.asked[step.name]))
        texts = {True: blocks.TO_WRITE, False: blocks.EMPTY_CELL}
        cells = {at: texts[bool(asked[at])] for at in np.ndindex(asked.shape)}
        return replace(panel, matrix=replace(panel.matrix, is_open=True, cells=cells))

    def of_input(self, part: Expression) -> Iterator[Panel]:
        """Yield the matrices of an input with all their rows, each with words that say which."""
        columns = part.columns if isinstance(part, Step) else self.columns
        for place, words in self.slices(part):
            yield self._panel(part, place, columns, words, is_cut=False)

    def of_operand(self, part: Expression, place: Index, result: Step) -> Panel:
        """Return an operand beside a result: all in the convention, rows or columns, of the page.

        A parameter that is in row convention on paper is transposed like its name, Wᵀ.
        """
        operation = result.operation
        has_rows = not isinstance(operation, MatMul) or part is _leftmost(operation)
        is_cut = has_rows and result.trailing[-2:-1] == ("query",)
        return self._panel(part, place, self.columns, is_cut=is_cut)

    def _places(self, axis: str, count: int) -> list[LineIndex]:
        """Return the places along an axis that are shown, None for those left out."""
        if axis == "head" and self.heads and count > 1:
            # Keys and values may have fewer heads than queries, and several read the same.
            size = max(s.array.shape[1] for s in self.trace if "head" in s.leading)
            return list(dict.fromkeys(head * count // size for head in self.heads))
        if axis == "query" and self.rows:
            return self.rows
        return kept(count, self.selection.full, self.limit)

    def _panel(
        self,
        part: Expression,
        place: Index,
        transposed: bool,
        words: str = "",
        joined: bool = False,
        is_cut: bool = True,
    ) -> Panel:
        array = array_of(part)
        if self.trace.problem.round is not None and not isinstance(part, Step):
            from attncli.core.tape.by_hand import by_hand

            array = by_hand(part)  # as it is calculated on paper
        on_page = partial(_on_page, place=place, joined=joined, transposed=transposed)
        values = on_page(array)
        rows, columns = (kept(n, self.selection.full, self.limit) for n in values.shape)
        axes = ("", *part.trailing)[-2:]
        if is_cut and axes[0] == "query" and self.rows:
            rows, columns = (rows, self.rows) if transposed else (self.rows, columns)
        row_axis, column_axis = reversed(axes) if transposed else axes
        size, labels = array.shape[-1], {**self.trace.labels, **part.labels}
        operation = part.operation if isinstance(part, Step) else None
        cells = {}
        if isinstance(operation, Operation) and type(operation).is_blank is not Operation.is_blank:
            blank = (at for at in np.ndindex(values.shape) if operation.is_blank(*at))
            cells = dict.fromkeys(blank, blocks.EMPTY_CELL)
        matrix = blocks.Matrix(
            values,
            rows,
            columns,
            row_labels=told_apart(labels.get(row_axis, ())),
            column_labels=told_apart(labels.get(column_axis, ())),
            write=style_of(array, self.decimals),
            bars=range(size, array.shape[1] * size, size) if joined and not transposed else (),
            shaded=isinstance(part, Step) and part.is_weights,
            cells=cells,
        )
        return Panel(part, matrix, notation_of(part, transposed), on_page, words)

    def weighted_sums(self, step: Step, place: Index) -> list[WeightedSum]:
        """Return each output as a sum of the values that its weights multiply.

        If all heads have the same weights, only the last has the sums.
        """
        operation, sums = step.operation, list[WeightedSum]()
        if not isinstance(operation, MatMul) or not mixes_values(step):
            return sums
        if self.is_open(step) or self.is_open(operation):
            return sums
        weights = array_of(operation.left)
        write = style_of(weights, self.decimals)
        lead = min(place[0], len(weights) - 1), min(place[1], weights.shape[1] - 1)
        matrix, live = weights[lead], self.selection.live
        # On a live page, terms of weight 0 are there too; elsewhere none that would be written so.
        least = -1.0 if live else 0.5 * 10.0**-write.decimals * (write.form == "f")
        is_last = lead == (len(weights) - 1, weights.shape[1] - 1)
        if least > 0 and not is_last:
            parts = (np.round(part, write.decimals) for part in (weights[:, :, :1], weights))
            if all((part == part[-1, -1]).all() for part in parts):  # mostly a row tells
                return sums
        rows, key_axis = ("", *operation.left.trailing)[-2:]
        for row in self._places(rows, len(matrix)):
            if row is None:
                sums.append(WeightedSum())
                continue
            letter = step.symbol[0].lower() + step.symbol[1:]
            has_word = rows and (len(matrix) > 1 or rows in self.trace.labels)
            word = self._word(rows, row) if has_word else ""
            terms, keys = list[WeightedTerm](), np.flatnonzero(abs(matrix[row]) > least).tolist()
            for index in kept(len(keys), self.selection.full):
                if index is None:
                    terms.append(WeightedTerm())
                    continue
                key = keys[index]
                weight, at = float(matrix[row, key]), (*lead, row, key)
                label = self._word(key_axis, key)
                shown = write(abs(weight))
                terms.append(WeightedTerm(weight < 0, shown, VALUES[key_axis], label, at))
            sums.append(WeightedSum(letter, word, tuple(terms)))
        return sums


def is_deep(part: Expression) -> bool:
    """Return True for a vector for every pair of a query and a key."""
    return len(part.trailing) == 3


def _enough_decimals(trace: Trace, least: int) -> int:
    """Return a number of decimals with which every number that was rounded is shown whole.

    A reader works on with what is shown, so it must be what the next step used.
    """
    if trace.problem.round is None:
        return least
    from decimal import Decimal

    numbers = (x for step in trace for x in step.array[np.isfinite(step.array)].tolist())
    exponents = (Decimal(repr(x)).normalize().as_tuple().exponent for x in numbers)
    needed = max((-int(exponent) for exponent in exponents), default=0)
    return min(max(least, needed), MAX_DIGITS_OF_FLOATS)


def _leftmost(product: MatMul) -> Expression:
    return _leftmost(product.left) if isinstance(product.left, MatMul) else product.left


def _on_page(array: Array, place: Index, joined: bool, transposed: bool) -> Array:
    """Return one matrix of an array (batch, head, row, column) as a page shows it."""
    if joined:
        batch, heads, n, size = array.shape
        array = np.moveaxis(array, 1, 2).reshape(batch, 1, n, heads * size)
    at = tuple(min(i, size - 1) for i, size in zip(place, array.shape[:-2], strict=False))
    values: Array = array[at]
    values = values[0] if values.ndim == 3 else values
    return values.T if transposed else values

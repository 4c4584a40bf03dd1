"""The matrices of a step on a page with their labels, its operands, and its weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import RepeatHeads, SplitHeads
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.tree import Formula
from attncli.core.numbers.written import MAX_DIGITS_OF_FLOATS
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import Index, matrix_name, place_word, told_apart
from attncli.core.tape.evaluation import array_of, walk
from attncli.core.tape.find_cells import find_places
from attncli.core.tape.operations import VALUES, MatMul, mixes_values
from attncli.core.tape.step import LEADING, Expression, Operation, Step, notation_of
from attncli.core.text.numbers import NumberStyle, style_of
from attncli.core.text.strings import kept, label_text
from attncli.printing.formats import NO_ROOM, Room, Selection
from attncli.printing.layout import EMPTY_CELL, TO_WRITE, LineIndex, Matrix, shape_text


class Panel(Record, eq=False):
    """One matrix of a page."""

    part: Expression  # the step, or the operand of one, whose numbers it shows
    matrix: Matrix
    name: Formula  # such as Kᵀ
    on_page: Callable[[Array], Array]  # cuts the matrix out of an array in the layout of `part`
    words: str = ""  # which head or batch it is, where that is not said otherwise
    key: str = ""  # of a matrix of a step, its name as a key of answers

    @property
    def answer(self) -> str:
        """The key of a matrix that is open on a worksheet; else nothing."""
        return self.key if self.matrix.is_open else ""


class WeightedTerm(Record):
    """Part of a weighted sum, such as 0.9·v_am; one with no weight is for those left out."""

    is_negative: bool = False
    weight: str = ""  # without its sign
    letter: str = ""
    word: str = ""
    at: tuple[int, ...] = ()  # the place of the weight in the array of the weights


def subscripted(letter: str, word: str) -> str:
    """Return z_I for a letter and a label; only one of them where the other is missing."""
    return f"{letter}{'_' if letter and word else ''}{word}"


class WeightedSum(Record):
    """An output such as z_I = 0.9·v_I + 0.1·v_am; one with no letter is for those left out."""

    letter: str = ""
    word: str = ""
    parts: tuple[WeightedTerm, ...] = ()

    def texts(
        self,
        cell: Callable[[str, str], str] = subscripted,
        times: Callable[[str, str], str] = "{}·{}".format,
        minus: str = "−",
        dots: tuple[str, str] = ("⋮", "…"),
    ) -> list[str]:
        """Return `z_I`, `= 0.9·v_I`, `+ 0.1·v_am`: a line may break before each but the second.

        `cell` writes a letter with a label, `times` a weight times a value; `minus` is the sign of
        a negative weight; `dots` are the texts for a sum, and for a term, that is left out.
        """
        if not self.letter:
            return [dots[0]]
        texts = [cell(self.letter, self.word)]
        for part in self.parts:
            term = times(part.weight, cell(part.letter, part.word)) if part.weight else dots[1]
            sign = minus if part.is_negative else "+"
            texts.append(f"{sign} {term}" if texts[1:] else f"= {sign.strip('+')}{term}")
        return texts if self.parts else [*texts, "= 0"]


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
        self.trace = trace
        self.decimals = enough_decimals(trace, selection.digits)
        self.full = selection.full
        self.live = selection.live
        self.limit = limit
        self.heads = find_places(heads, "head", trace.steps, "--head") if heads else []
        queries = find_places(rows, "query", trace.steps, "--rows") if rows else []
        self.rows: list[LineIndex] = [*queries]
        self.room = room
        self.shows_pairs = (selection.why or selection.full) and not selection.is_worksheet
        self.columns = trace.problem.columns
        self.left_out: dict[str, None] = {}

    def layout(self, step: Step) -> tuple[Expression | str, ...]:
        """Return the operands and signs beside a step; () for none.

        There are none if the operands are open on a worksheet. Those of a vector for every pair
        are as many as its results, and only shown if every number is, or for a learner.
        """
        if step.operation is not None and self.is_open(step.operation):
            return ()
        if isinstance(step.operation, Operation) and (self.shows_pairs or not is_deep(step)):
            return step.operation.layout(self.columns)
        return ()

    def is_open(self, part: Expression) -> bool:
        """Return whether the numbers of a step, or of one in an operand, are not printed."""
        if isinstance(part, Step):
            return part.name in self.room.blank
        return any(map(self.is_open, part.operands))

    def shapes(self, step: Step) -> str:
        """Return the shapes of operands and result: `(3, 2) × (2, 3) → (3, 3)`."""
        result = shape_text(step.value.shape)
        parts = self.layout(step)
        if len(parts) < 3 or is_deep(step):
            return result
        without_function = (part for part in parts if part not in ("tanh(", "σ(", ")"))
        shown = (p if isinstance(p, str) else self._page_shape(p) for p in without_function)
        return f"{' '.join(shown)} → {result}"

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
                words.append(f"{step.trailing[0]} {self.word(step.trailing[0], at[-1])}")
            yield at, ", ".join(words)

    def word(self, axis: str, place: int) -> str:
        """Return the label of a place along an axis, or its number from 1."""
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
        cells = {at: TO_WRITE if asked[at] else EMPTY_CELL for at in np.ndindex(asked.shape)}
        matrix = replace(panel.matrix, is_open=True, cells=cells)
        return replace(panel, matrix=matrix)

    def of_input(self, part: Expression, place: Index, words: str) -> Panel:
        """Return a matrix of an input with all its rows; `words` say which it is."""
        columns = part.columns if isinstance(part, Step) else self.columns
        return self._panel(part, place, columns, words, is_cut=False)

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
        return kept(count, self.full, self.limit)

    def _panel(
        self,
        part: Expression,
        place: Index,
        transposed: bool,
        words: str = "",
        joined: bool = False,
        is_cut: bool = True,
    ) -> Panel:
        array = self._numbers(part)
        on_page = partial(_on_page, place=place, joined=joined, transposed=transposed)
        values = on_page(array)
        rows, columns = (kept(count, self.full, self.limit) for count in values.shape)
        axes = ("", *part.trailing)[-2:]
        if is_cut and axes[0] == "query" and self.rows:
            rows, columns = (rows, self.rows) if transposed else (self.rows, columns)
        row_axis, column_axis = reversed(axes) if transposed else axes
        size, labels = array.shape[-1], {**self.trace.labels, **part.labels}
        operation = part.operation if isinstance(part, Step) else None
        cells = {}
        if isinstance(operation, Operation) and type(operation).is_blank is not Operation.is_blank:
            blank = (at for at in np.ndindex(values.shape) if operation.is_blank(*at))
            cells = dict.fromkeys(blank, EMPTY_CELL)
        matrix = Matrix(
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
        """Return each output as a sum of the values that its weights multiply."""
        return [*self._sums(step, place)]

    def _sums(self, step: Step, place: Index) -> Iterator[WeightedSum]:
        operation = step.operation
        if not isinstance(operation, MatMul) or not mixes_values(step):
            return
        if self.is_open(step) or self.is_open(operation):
            return
        weights = array_of(operation.left)
        write = style_of(weights, self.decimals)
        lead = min(place[0], len(weights) - 1), min(place[1], weights.shape[1] - 1)
        matrix = weights[lead]
        rows = operation.left.trailing[-2] if len(operation.left.trailing) > 1 else ""
        for row in self._places(rows, len(matrix)):
            if row is None:
                yield WeightedSum()
                continue
            letter = step.symbol[0].lower() + step.symbol[1:]
            has_word = rows and (len(matrix) > 1 or rows in self.trace.labels)
            word = self.word(rows, row) if has_word else ""
            parts = self._terms(weights, (*lead, row), operation.left.trailing[-1], write)
            yield WeightedSum(letter, word, tuple(parts))

    def _terms(
        self, weights: Array, at: Index, axis: str, write: NumberStyle
    ) -> Iterator[WeightedTerm]:
        """Yield the terms of a row of the weights; on a live page also those of weight 0."""
        row = weights[at]
        places = list(range(len(row))) if self.live else np.flatnonzero(row).tolist()
        for index in kept(len(places), self.full):
            if index is None:
                yield WeightedTerm()
                continue
            key = places[index]
            weight, word = float(row[key]), self.word(axis, key)
            yield WeightedTerm(weight < 0, write(abs(weight)), VALUES[axis], word, (*at, key))

    def _numbers(self, part: Expression) -> Array:
        """Return the array of an operand; for rounded steps, calculated as on paper."""
        if isinstance(part, Step) or self.trace.problem.round is None:
            return array_of(part)
        from attncli.core.tape.by_hand import by_hand

        return by_hand(part)

    def _page_shape(self, part: Expression) -> str:
        shape = array_of(part).shape
        lead = [size for axis, size in zip(LEADING, shape, strict=False) if axis in part.leading]
        last = shape[len(shape) - len(part.trailing) :]
        if self.columns and len(last) > 1:
            last = (*last[:-2], last[-1], last[-2])
        return shape_text((*lead, *last))


def is_deep(part: Expression) -> bool:
    """Return True for a vector for every pair of a query and a key."""
    return len(part.trailing) == 3


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

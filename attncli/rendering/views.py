"""What of a step is shown, in any format: its matrices with their labels, and its operands.

Tables and documents lay this out; neither knows how arrays stand inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.heads import RepeatHeads, SplitHeads
from attncli.mechanisms.trace import Trace
from attncli.notation.text import text
from attncli.records import Record
from attncli.rendering.blocks import Matrix
from attncli.tape.operations import MatMul, Transposed
from attncli.tape.step import (
    LEADING,
    Expression,
    Operation,
    Step,
    notation_of,
    without_missing_axes,
)
from attncli.tape.walk import array_of
from attncli.text.elision import kept
from attncli.text.escapes import label_text
from attncli.text.numbers import style_of

Index = tuple[int, ...]
"""A place along batch and head, and along the query where there is a vector for every pair."""

VALUES = {"key": "v", "query": "x", "state": ""}
"""How the values that weights mix are called, by the axis along which the weights stand."""


class WeightedTerm(Record):
    """Part of a mixture: a sign, a weight, and the letter and label of a value; v_am.

    A part with no weight stands for those that are left out.
    """

    sign: str
    weight: str
    letter: str
    word: str


class WeightedSum(Record):
    """An output as a sum of values, such as z_I = 0.9·v_I + 0.1·v_am.

    One with no letter stands for those that are left out.
    """

    letter: str = ""
    word: str = ""
    parts: tuple[WeightedTerm, ...] = ()


def named(letter: str, word: str) -> str:
    """Return z_I for a letter and a label; only one of them where the other is missing."""
    return f"{letter}_{word}" if letter and word else letter + word


def weighted_terms(mixture: WeightedSum) -> list[str]:
    """Return the parts of a sum as text, each with its sign: `+ 0.9·v_I`."""
    return [
        f"{p.sign} {f'{p.weight}·{named(p.letter, p.word)}' if p.weight else '…'}"
        for p in mixture.parts
    ]


class Views:
    """The views of one trace.

    Args:
        trace: what is shown.
        decimals: the most digits after the point.
        full: whether large matrices are shown whole.

    Attributes:
        elided: whether anything was left out so far.
    """

    def __init__(self, trace: Trace, decimals: int, full: bool) -> None:
        self.trace = trace
        self.decimals = decimals
        self.full = full
        self.columns = trace.problem.columns
        self.elided = False

    def layout(self, step: Step) -> tuple[Expression | str, ...]:
        """Return the operands and signs that stand beside a step; () for none."""
        if isinstance(step.operation, Operation) and len(step.trailing) < 3:
            return step.operation.layout(self.columns)
        return ()  # a vector for every pair has no place beside a matrix

    def name(self, part: Expression) -> str:
        """Return how an operand is called: `Kᵀ`."""
        return text(notation_of(part, self.columns))

    def shapes(self, step: Step) -> str:
        """Return the shapes of operands and result: `(3, 2) × (2, 3) → (3, 3)`."""
        result = _shape_text(self._page_shape(step))
        parts = self.layout(step)
        if len(parts) < 3:
            return result
        shown = [
            part if isinstance(part, str) else _shape_text(self._page_shape(part))
            for part in parts
            if part not in ("tanh(", ")")
        ]
        return f"{' '.join(shown)} → {result}"

    def slices(self, step: Step) -> Iterator[tuple[Index, str]]:
        """Yield the place of each matrix of a step along batch, head and query, and its name."""
        if isinstance(step.operation, SplitHeads):
            sizes = step.array.shape[:1]
            names: tuple[str, ...] = step.operation.operand.leading
        else:
            sizes = step.array.shape[:2]
            names = step.leading
        counts = [size if axis in names else 1 for axis, size in zip(LEADING, sizes, strict=False)]
        deep = len(step.trailing) == 3
        if deep:
            counts.append(step.array.shape[2])
        for place in np.ndindex(*(len(kept(c, self.full)) for c in counts)):
            where = [kept(c, self.full)[i] for c, i in zip(counts, place, strict=True)]
            if None in where:
                self.elided = True
                continue
            at = tuple(int(i) for i in where if i is not None)
            words = [f"{axis} {at[i] + 1}" for i, axis in enumerate(LEADING) if axis in names]
            for shared in _shared(step.operation):
                words.append(f"key/value head {at[1] // shared.times + 1}")
            if deep and counts[-1] > 1:
                words.append(f"{step.trailing[0]} {self.word(step.trailing[0], at[-1])}")
            yield at, ", ".join(words)

    def first_place(self, step: Step) -> Index:
        """Return the place of a step's first matrix."""
        return (0,) * (3 if len(step.trailing) == 3 else 2)

    def word(self, axis: str, place: int) -> str:
        """Return the label of a place along an axis, or its number from 1."""
        labels = self.trace.labels.get(axis, ())
        return label_text(labels[place]) if place < len(labels) else str(place + 1)

    def matrix(self, part: Expression, place: Index, name: str, joined: bool = False) -> Matrix:
        """Return what to show of an expression at a place along batch, head and query.

        With `joined` the heads of a step that was cut stand side by side, with bars between.
        """
        array = array_of(part)
        bars: tuple[int, ...] = ()
        if joined and _is_cut(part) and not self.columns:
            size = array.shape[-1]
            bars = tuple(range(size, array.shape[1] * size, size))
        row_axis, column_axis = (part.trailing if len(part.trailing) > 1 else ("", *part.trailing))[
            -2:
        ]
        if self._turned(part):
            row_axis, column_axis = column_axis, row_axis
        labels = self.trace.labels
        return Matrix(
            self.on_sheet(part, array, place, joined),
            name,
            labels.get(row_axis, ()),
            labels.get(column_axis, ()),
            style_of(array, self.decimals),
            bars,
            shaded=isinstance(part, Step) and part.name.startswith("weights"),
            is_blank=_blanks(part),
        )

    def on_sheet(self, part: Expression, array: Array, place: Index, joined: bool) -> Array:
        """Return one matrix of an expression's array as it stands on paper."""
        if joined and _is_cut(part):
            batch, heads, n, size = array.shape
            array = np.moveaxis(array, 1, 2).reshape(batch, 1, n, heads * size)
        at = tuple(min(i, size - 1) for i, size in zip(place, array.shape, strict=False))
        values: Array = array[at]
        values = values[0] if values.ndim == 3 else values
        return values.T if self._turned(part) else values

    def mixture(self, step: Step, place: Index) -> Iterator[WeightedSum]:
        """Yield each output as a sum of the values that its weights mix."""
        made = step.operation
        if not isinstance(made, MatMul) or made.left.trailing[-1] not in VALUES:
            return
        weights = array_of(made.left)
        write = style_of(weights, self.decimals)
        matrix = weights[min(place[0], len(weights) - 1), min(place[1], weights.shape[1] - 1)]
        rows = made.left.trailing[-2] if len(made.left.trailing) > 1 else ""
        for row in kept(len(matrix), self.full):
            if row is None:
                yield WeightedSum()
                continue
            letter = step.symbol[0].lower() + step.symbol[1:]
            has_word = rows and (len(matrix) > 1 or rows in self.trace.labels)
            word = self.word(rows, row) if has_word else ""
            parts = self._mixed(matrix[row], made.left.trailing[-1], write)
            yield WeightedSum(letter, word, tuple(parts))

    def _mixed(
        self, row: Array, axis: str, write: Callable[[float], str]
    ) -> Iterator[WeightedTerm]:
        places = [int(i) for i in np.flatnonzero(row)]
        for index in kept(len(places), self.full):
            if index is None:
                yield WeightedTerm("+", "", "", "")
                continue
            weight = float(row[places[index]])
            sign = "−" if weight < 0 else "+"
            yield WeightedTerm(
                sign, write(abs(weight)), VALUES[axis], self.word(axis, places[index])
            )

    def _turned(self, part: Expression) -> bool:
        if isinstance(part, Step):
            return part.columns
        return self.columns

    def _page_shape(self, part: Expression) -> tuple[int, ...]:
        if isinstance(part, Step) and not isinstance(part.operation, SplitHeads):
            return part.value.shape
        array = array_of(part)
        shape = without_missing_axes(array, part.leading, len(part.trailing)).shape
        if self._turned(part):
            shape = (*shape[:-2], shape[-1], shape[-2])
        return shape


def named_in(parts: Sequence[Expression | str]) -> set[str]:
    """Return the names of the steps that stand by themselves, or transposed, in a layout."""
    bare = [part.operand if isinstance(part, Transposed) else part for part in parts]
    return {part.name for part in bare if isinstance(part, Step)}


def inputs_in(expression: Expression | None) -> Iterator[Step]:
    """Yield the inputs in an expression, but for the mask: its −∞ show where it is."""
    if isinstance(expression, Operation):
        for operand in expression.operands:
            if isinstance(operand, Operation):
                yield from inputs_in(operand)
            elif operand.operation is None and operand.name != "mask":
                yield operand


def renames(step: Step) -> bool:
    """Return whether a step has the numbers of an input, and nothing more to say."""
    return isinstance(step.operation, Step) and step.operation.name != step.name


def made_from(step: Step, other: Step) -> bool:
    """Return whether a step is made of another right away."""
    return isinstance(step.operation, Operation) and other in step.operation.operands


def _is_cut(part: Expression) -> bool:
    return isinstance(part, Step) and isinstance(part.operation, SplitHeads)


def _blanks(part: Expression) -> Callable[[int, int], bool]:
    """Return which cells of a step are nothing."""
    made = part.operation if isinstance(part, Step) else None
    return made.is_blank if isinstance(made, Operation) else lambda row, column: False


def _shared(expression: Expression | None) -> list[RepeatHeads]:
    """Return the operation that shares key/value heads, if there is one right in an expression."""
    if isinstance(expression, RepeatHeads):
        return [expression]
    if isinstance(expression, Operation):
        inner = [o for o in expression.operands if isinstance(o, Operation)]
        return [found for operand in inner for found in _shared(operand)][:1]
    return []


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"

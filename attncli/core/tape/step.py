"""Operations, and the steps of a calculation: named values, each the result of one operation.

Inside, every array has the axes (batch, head, row, column[, hidden]) with size 1 where an axis
does not exist, so that operations are plain broadcasting. `Step.value` is the array on paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from itertools import chain
from types import EllipsisType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.records import Record
from attncli.core.text.strings import label_text

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Item = TypeVar("Item")

LEADING = ("batch", "head")

Places: TypeAlias = int | str | slice | EllipsisType | Array
"""An index of a step along one axis: a label, or an index of NumPy."""

OPERANDS = {"Expression", "Step", "tuple[Expression, ...]", "tuple[Step, ...]", "Step | None"}
"""Annotations of fields that hold an operand, or several, or perhaps one."""


class ShapeError(ValueError):
    """Raised where operands have no result: as after a mistake, their shapes do not fit."""


class Operation(Record, eq=False):
    """One small matrix operation: a frozen record of its operands, and a pure function of arrays.

    The fields annotated as in `OPERANDS` are the operands, those annotated as `float` the numbers
    of its own. `apply` assumes no dtype where the formula assumes none: of elements that carry
    text or exact numbers, it makes the worked formula.
    """

    blocks: ClassVar[bool] = False  # whether it makes −∞ on purpose
    unfolds: ClassVar[bool] = False  # whether it is written out again where it is used
    marks_label: ClassVar[bool] = False  # whether it is 1 for one label, which may be written
    pointwise: ClassVar[bool] = False  # whether a number needs only the numbers at its own place
    # The name of the line of its own in which it is written on paper, or what that begins with.
    line: ClassVar[str] = ""

    array: ClassVar[Array]  # the result, where it is known without the operands: `Below.with_row`
    operand_fields: ClassVar[tuple[str, ...]] = ()
    float_fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not all(isinstance(kind, str) for kind in vars(cls).get("__annotations__", {}).values()):
            raise TypeError(f"{cls.__name__} is to follow `from __future__ import annotations`")
        kinds = cls.annotated.items()
        held = cls.operand_fields  # of its base: a field may be annotated again, more narrowly
        cls.operand_fields = tuple(n for n, kind in kinds if kind in OPERANDS or n in held)
        cls.float_fields = tuple(n for n, kind in kinds if kind == "float")

    @cached_property
    def operands(self) -> tuple[Expression, ...]:
        """The operands, in the order in which `apply` takes their arrays."""
        held = [getattr(self, name) for name in self.operand_fields]
        several = [value if isinstance(value, tuple) else (value,) for value in held]
        return several[0] if len(several) == 1 else tuple(chain.from_iterable(several))

    @cached_property
    def leading(self) -> tuple[str, ...]:
        """The axes batch and head that the result has: those of any operand."""
        names = set().union(*[operand.leading for operand in self.operands])
        return tuple([name for name in LEADING if name in names])

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The words for the places along some axes: those of the operands."""
        return {axis: words for one in self.operands for axis, words in one.labels.items()}

    @property
    def shape(self) -> str:
        """The last axes of the operands and of the result, as einops has them: `n d, d m -> n m`.

        A letter stands for the name of an axis, as the first operand with that letter has it. What
        is no letter of an operand is the name of a new axis: `n d -> n mean`. A prime, as in
        `n m' -> n m`, says that each number depends on all places along that axis. A letter for
        which an operand has no axis, as a vector has no row, is left out of the result, and axes of
        the first operand before its letters stay. By default the axes are those of the first.
        """
        return ""

    @property
    def trailing(self) -> tuple[str, ...]:
        """The result's row and column axes in row convention."""
        if not self.shape:
            return self.operands[0].trailing
        sides, words = axes_of(self.shape.replace("'", ""))
        axes = [operand.trailing for operand in self.operands[: len(sides)]]
        names = {word: word for word in words if not any(word in side for side in sides)}
        for side, trailing in zip(sides, axes, strict=False):
            pairs = zip(reversed(side), reversed(trailing), strict=False)
            names = dict(pairs) | names
        before = axes[0][: len(axes[0]) - len(sides[0])] if sides else ()
        return (*before, *[names[word] for word in words if word in names])

    @property
    def note(self) -> tree.Formula | None:
        """The values of the formula's letters, such as `√d_k = √3 = 1.7321`; or None."""
        return None

    @property
    def why(self) -> str:
        """Why it is done, in one sentence for a learner; or nothing."""
        return ""

    def apply(self, *arrays: Any) -> Any:
        """Return the result for the operands' arrays, shaped (batch, head, row, column)."""
        raise NotImplementedError

    def bounds(self, *operands: Any) -> Any:
        """Return the result for operands that are intervals."""
        return self.apply(*operands)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Yield each operand with the derivative of a loss with regard to it.

        What broadcasts in `apply` is not summed here, but by `core/tape/backward`.

        Args:
            result: the step that it made, or the operation itself within another one.
            upstream: the derivative with regard to the result, of the shape of the result, and 0
                where that is −∞, as what is made of a blocked cell does not depend on it.

        Raises:
            InputError: where there is no meaningful derivative.
        """
        hint = "leave out gradient, or give the operation a derivative"
        raise fail(f"{type(self).__name__} has no derivative", "gradient", hint=hint)

    def notation(self, columns: bool) -> tree.Formula:
        """Return the right-hand side of the formula, in the convention of rows or of columns."""
        raise NotImplementedError

    def notations(self, columns: bool) -> tuple[tree.Formula, ...]:
        return tuple([notation_of(operand, columns) for operand in self.operands])

    def transposed_notation(self, columns: bool) -> tree.Formula:
        """Return the right-hand side of the formula of the transposed result."""
        return tree.Transpose(self.notation(columns))

    def is_blank(self, row: int, column: int) -> bool:
        """Return whether a cell of the result is nothing, rather than 0."""
        return False

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """Return the operands and signs that are laid out beside the result; () for none."""
        return ()


class Step(Record, np.lib.mixins.NDArrayOperatorsMixin, eq=False):
    """A named value of the calculation.

    Attributes:
        name: the public name, such as "weights".
        symbol: the letter that papers use, such as "A".
        leading: which of the axes "batch" and "head" the value has.
        trailing: the names of its row and column axes (and of a hidden axis) in row convention.
        labels: for some axes, the words that name their places.
        operation: what made it: another step where nothing changed but the name; None for an
            input.
        array: the value as operations take it, (batch, head, row, column).
        columns: whether rows and columns change places on paper (a token is a column).
        group: the heading under which it is shown, such as a time step; or nothing.
        key: of an input, the key of the problem that gives it, such as "score.W"; or nothing.
        purpose: why the method does it, where its operation cannot know; or nothing.
        backward: whether it is of the backward pass, or of what follows from that.
        called: what the course of the problem calls it; or nothing.
        layer: the number of its layer, or the name of its network; 0 if it is of none, or all
            share it.
        suffix: what its name ends with, as those of other steps of its time do, such as `_2`.
    """

    name: str
    symbol: str
    leading: tuple[str, ...]
    trailing: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]]
    operation: Expression | None
    array: Array
    columns: bool = False
    group: str = ""
    key: str = ""
    purpose: str = ""
    backward: bool = False
    called: str = ""
    layer: int | str = 0
    suffix: str = ""

    @property
    def word(self) -> str:
        """Its name on pages: what the course calls it, or else its public name."""
        return self.called or self.name

    @property
    def plain(self) -> str:
        """Its name without that of the layer: `scores` of `layers.2.scores`."""
        return self.name.replace(prefix_of(self.layer), "", 1)

    @property
    def stem(self) -> str:
        """Its name without the layer and the suffix: `scores` of `layers.2.scores_1`."""
        return self.plain.removesuffix(self.suffix)

    @property
    def marks_label(self) -> bool:
        """Whether it is 1 for one label alone, such as the next word."""
        return isinstance(self.operation, Operation) and self.operation.marks_label

    @property
    def is_weights(self) -> bool:
        """Whether these are weights, or a part of them, such as those of a single row."""
        return self.plain.startswith("weights")

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes of `value`, outermost first."""
        return self.leading + self.swapped(self.trailing)

    def swapped(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """Return one item per trailing axis, the first two exchanged where tokens are columns."""
        if not self.columns or len(items) < 2:
            return items
        row, column, *rest = items
        return (column, row, *rest)

    @property
    def value(self) -> Array:
        """The numbers as they are written on paper, with one axis for each of `axes`."""
        return self.on_paper(self.array)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        """`value`, for `np.asarray(step)` and whatever else reads arrays."""
        return np.array(self.value, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of NumPy to `value`: `2 * step` and `np.exp(step)` are arrays."""
        if any(isinstance(array, Step) for array in options.get("out", ())):
            return NotImplemented  # a step does not change
        arrays = [part.value if isinstance(part, Step) else part for part in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __dlpack__(self, **options: Any) -> Any:
        """A copy of `value`, for `torch.as_tensor(step)`: what is made of it may be changed."""
        return self.value.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, Any]:
        return self.value.__dlpack_device__()

    def __getitem__(self, places: Places | tuple[Places, ...]) -> Any:
        """Return numbers of `value`, as NumPy indexes it, with a label wherever an index may be.

        Integers count from 0, as in all of Python: `weights["am", "I"]` is `weights[1, 0]`. Heads
        come first, as in `axes`: `weights[0, "am", "I"]`, `weights[..., "am", "I"]`. Labels as the
        ends of a range are both in it: `weights["I":"am"]` is `weights[0:2]`.

        Raises:
            KeyError: for a label that an axis does not have, or has twice.
            IndexError: as NumPy does.
        """
        every = places if isinstance(places, tuple) else (places,)
        dots = next((i for i, place in enumerate(every) if place is ...), len(every))
        axes = (i if i < dots else i - len(every) for i in range(len(every)))
        return self.value[tuple(map(self._index, axes, every))]

    def labelled(self, axis: str, label: str) -> list[int]:
        """Return the places along an axis that have a label, as it is or as it is shown."""
        known = self.labels.get(axis, ())
        return [place for place, one in enumerate(known) if label in (one, label_text(one))]

    def _index(self, axis: int, place: Places) -> Any:
        """Return NumPy's index for a label, or for a slice with a label at an end."""
        if isinstance(place, slice):
            start, stop = (self._index(axis, end) for end in (place.start, place.stop))
            return slice(start, stop + 1 if isinstance(place.stop, str) else stop, place.step)
        if not isinstance(place, str):
            return place
        name = self.axes[axis]
        places, labels = self.labelled(name, place), self.labels.get(name, ())
        if len(places) == 1:
            return places[0]
        which = f"more than one {place}" if places else f"no {place}"
        known = f"there are {', '.join(labels)}" if labels else "it has no labels"
        raise KeyError(f"{which} along the axis {name} of {self.name}; {known}")

    def on_paper(self, array: Array) -> Array:
        """Return an array of the step's layout, (batch, head, row, column), as it is written."""
        sizes = zip(LEADING, array.shape, strict=False)
        lead = tuple([size for name, size in sizes if name in self.leading])
        last = array.shape[array.ndim - len(self.trailing) :]
        return self._transposed(array.reshape(lead + last))

    def from_paper(self, value: Array) -> Array:
        """Return an array as it is written, with the axes `axes`, in the step's layout."""
        return self._transposed(value).reshape(self.array.shape)

    def _transposed(self, value: Array) -> Array:
        if self.columns and len(self.trailing) >= 2:
            return np.swapaxes(value, len(self.leading), len(self.leading) + 1)
        return value

    @property
    def vanishes(self) -> bool:
        """Whether it is of the backward pass, and 0 everywhere."""
        # Of an outline, which has no numbers, all are taken for 1 here.
        return self.backward and bool(self.array.max() == 0 == self.array.min())

    @property
    def is_given(self) -> bool:
        """Whether the problem gave it under this name."""
        return isinstance(self.operation, Step) and self.operation.name == self.name

    @property
    def notation(self) -> tree.Formula:
        """The formula of the step."""
        name = tree.named(self.word)
        if self.operation is None:
            return name
        right = self.without_layer(notation_of(self.operation, self.columns))
        if self.is_given or right == name:  # as of a row of Q, which is called q_1
            return tree.Phrase((name, tree.Fence(tree.Words("given"))))
        if self.vanishes:
            is_loose = isinstance(right, (tree.Listed, tree.Phrase))
            return tree.Relation((name, tree.Fence(right) if is_loose else right, tree.Number("0")))
        return tree.Relation((name, right))

    def without_layer(self, formula: tree.Formula) -> tree.Formula:
        """Return a formula with the names of its layer without that of the layer."""
        layer = prefix_of(self.layer)

        def rule(node: tree.Formula) -> tree.Formula | None:
            whole = f"{node.base}_{node.below}" if isinstance(node, tree.Name) else ""
            return tree.named(whole.replace(layer, "").rstrip("_")) if layer in whole else None

        return tree.substituted(formula, rule) if layer else formula

    @property
    def note(self) -> tree.Formula | None:
        """The values of the letters of its formula; or None."""
        return self.operation.note if isinstance(self.operation, Operation) else None

    @property
    def why(self) -> str:
        """Why it is done, in one sentence; nothing where only the name changed."""
        return (self.purpose or self.operation.why) if isinstance(self.operation, Operation) else ""

    @property
    def formula(self) -> str:
        """Its formula as text, such as `scores = Q Kᵀ`."""
        return text(self.notation)

    def __repr__(self) -> str:
        return f"<Step {self.formula}, shape {self.value.shape}>"


Expression: TypeAlias = Step | Operation


def row_letter(step: Step) -> str:
    """Return the letter or name of the rows of a step: q for those of Q, else its word."""
    return step.word.lower() if len(step.word) == 1 else step.word


@cache
def axes_of(shape: str) -> tuple[list[list[str]], list[str]]:
    """Return the axes of each operand, and of the result, that an `Operation.shape` names.

    >>> axes_of("n d, d m -> n m")
    ([['n', 'd'], ['d', 'm']], ['n', 'm'])
    """
    before, _, after = shape.partition("->")
    return [side.split() for side in before.split(",") if side.strip()], after.split()


def prefix_of(layer: int | str) -> str:
    """Return what the names of a layer or network begin with: `layers.2.`; "" for 0."""
    return f"{layer}." if isinstance(layer, str) else f"layers.{layer}." if layer else ""


Derivatives: TypeAlias = Iterator[tuple[Expression, Expression]]
"""Operands, or parts of operands that are not steps, with their derivatives."""


def notation_of(
    expression: Expression, columns: bool = False, transposed: bool = False
) -> tree.Formula:
    """Return the formula of an operand, or of its transpose: a name, or an operation's notation."""
    if isinstance(expression, Operation):
        write = expression.transposed_notation if transposed else expression.notation
        return write(columns)
    # A parameter of a score function is written the same way in either convention, so it is
    # transposed among steps whose tokens are columns.
    flips = len(expression.trailing) >= 2 and expression.columns != columns
    name = tree.named(expression.word)
    return tree.Transpose(name) if flips != transposed else name

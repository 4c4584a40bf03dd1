"""The tape: a calculation written down as named steps, each made by one operation.

A method calls `Tape.record` for every line of its textbook; what comes back is a `Step`, which
is a named value and an operand of the next line at once. The finished `Trace` is all that tables,
files, checks and explanations read.

Inside, every array has the axes (batch, head, row, column[, hidden]) with size 1 where an axis
does not exist, so that operations are plain broadcasting. `Step.value` is what stands on paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attncli.errors import fail
from attncli.records import Record, replace

if TYPE_CHECKING:
    from attncli.problem import Problem

Array = NDArray[Any]
LEADING = ("batch", "head")

SUM, PRODUCT, ATOM = 1, 2, 3
"""How tightly the notation of an operation binds; a looser operand is put in parentheses."""


class Operation(Record):
    """One small matrix operation: a frozen record of its operands, and a pure function of arrays.

    The fields that hold expressions are the operands. `apply` assumes
    no dtype where a hand assumes none: given elements that carry text or exact numbers it yields
    the worked formula.
    """

    binds: ClassVar[int] = ATOM
    blocks: ClassVar[bool] = False  # whether it makes −∞ on purpose
    unfolds: ClassVar[bool] = False  # whether a hand writes it out again where it is used

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The operands, in the order in which `apply` takes their arrays."""
        values = (getattr(self, name) for name in self.fields)
        return tuple(v for v in values if isinstance(v, Step | Operation))

    @property
    def leading(self) -> tuple[str, ...]:
        """Which of the axes batch and head the result has: those of any operand."""
        found = {name for operand in self.operands for name in operand.leading}
        return tuple(name for name in LEADING if name in found)

    @property
    def trailing(self) -> tuple[str, ...]:
        """The result's row and column axes in row convention: the first operand's."""
        return self.operands[0].trailing

    @property
    def note(self) -> str:
        """What the formula's letters stand for here, such as `√d_k = √3 = 1.7321`; or nothing."""
        return ""

    def apply(self, *arrays: Array) -> Array:
        """Return the result for the operands' arrays, shaped (batch, head, row, column)."""
        raise NotImplementedError

    def notation(self, write: Writer) -> str:
        """Return the right-hand side of the formula; `write` gives the text of an operand."""
        raise NotImplementedError

    def transposed_notation(self, write: Writer) -> str:
        """Return the right-hand side of the formula of the transposed result."""
        return f"({self.notation(write)})ᵀ"

    def is_blank(self, row: int, column: int) -> bool:
        """Return whether a cell of the result is nothing, rather than 0."""
        del row, column
        return False

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """Return the operands and signs that a hand lays out beside the result; () for none.

        With `columns` a token is a column, so the factors of a product change places.
        """
        del columns
        return ()


class Step(Record):
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
        group: what it is shown under, such as a time step; or nothing.
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

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes of `value`, outermost first."""
        if self.columns and len(self.trailing) >= 2:
            row, column, *rest = self.trailing
            return (*self.leading, column, row, *rest)
        return self.leading + self.trailing

    @property
    def value(self) -> Array:
        """The numbers as they stand on paper, one axis for each of `axes`."""
        value = without_missing_axes(self.array, self.leading, len(self.trailing))
        if self.columns and len(self.trailing) >= 2:
            value = np.swapaxes(value, len(self.leading), len(self.leading) + 1)
        return value

    @property
    def formula(self) -> str:
        """How the step is made, such as `scores = Q Kᵀ`."""
        if self.operation is None:
            return self.name
        if isinstance(self.operation, Step) and self.operation.name == self.name:
            return f"{self.name} (given)"
        return f"{self.name} = {Writer(self.columns)(self.operation)}"

    def __repr__(self) -> str:
        """Short, as arrays are large."""
        return f"<Step {self.formula}, shape {self.value.shape}>"


Expression: TypeAlias = Step | Operation


class Writer(Record):
    """Writes an expression as a formula, in the convention of rows or of columns."""

    columns: bool = False
    name_of: Callable[[Step], str] = lambda step: step.name

    def __call__(self, expression: Expression, binds: int = SUM) -> str:
        """Return the text, in parentheses where it binds less tightly than `binds`."""
        if isinstance(expression, Step):
            return self._step(expression, turned=False)
        text = expression.notation(self)
        return text if expression.binds >= binds else f"({text})"

    def transposed(self, expression: Expression) -> str:
        """Return the text of the transposed expression."""
        if isinstance(expression, Step):
            return self._step(expression, turned=True)
        return expression.transposed_notation(self)

    def _step(self, step: Step, turned: bool) -> str:
        # A matrix that stands as written in either convention (a parameter of a score function)
        # meets the others turned round in the column convention.
        is_matrix = len(step.trailing) >= 2
        turned ^= is_matrix and step.columns != self.columns
        return self.name_of(step) + ("ᵀ" if turned else "")


def without_missing_axes(array: Array, leading: tuple[str, ...], trailing: int) -> Array:
    """Return an array (batch, head, row, column) with only the axes that exist.

    Args:
        array: as operations take it.
        leading: which of "batch" and "head" to keep; the others have size 1.
        trailing: how many axes to keep at the end.
    """
    kept = array[tuple(slice(None) if name in leading else 0 for name in LEADING)]
    return kept.reshape(kept.shape[: len(leading)] + kept.shape[kept.ndim - trailing :])


def evaluate(
    expression: Expression,
    value_of: Callable[[Step], Array],
    constant: Callable[[float], Any] | None = None,
) -> Array:
    """Return the array of an expression.

    Args:
        expression: what to evaluate.
        value_of: gives the array of each named value.
        constant: gives the element that stands for a number of an operation's own, such as a
            temperature, where arrays do not hold floats.
    """
    if isinstance(expression, Step):
        return value_of(expression)
    arrays = [evaluate(operand, value_of, constant) for operand in expression.operands]
    if constant is not None:
        numbers = {name: getattr(expression, name) for name in expression.fields}
        elements = {n: constant(x) for n, x in numbers.items() if isinstance(x, float)}
        expression = replace(expression, **elements) if elements else expression
    with np.errstate(all="ignore"):  # what overflows is found, and named, by the tape
        return expression.apply(*arrays)


def array_of(expression: Expression) -> Array:
    """Return the array of an expression of recorded values."""
    return evaluate(expression, lambda step: step.array)


def _is_held(operation: Expression, array: Array) -> bool:
    """Whether a result has no number that a float cannot hold; −∞ may block a cell."""
    if not (array < np.inf).all():
        return False
    if not (array == -np.inf).any() or isinstance(operation, Step) or operation.blocks:
        return True
    operands = (array_of(operand) for operand in operation.operands)
    return any((operand == -np.inf).any() for operand in operands)


class Tape:
    """Records a calculation.

    Args:
        labels: words for the places along an axis, by the axis' name.
        columns: whether a token is a column on paper.
        settle: called with a step's name and array before it is handed on; what it returns takes
            the array's place (hand rounding, a student's own numbers).
        wanted: names of the steps that anybody will read; None for all.
        work: how the array of an operation is worked out.

    Attributes:
        group: what the steps that follow are shown under, such as a time step.
    """

    def __init__(
        self,
        labels: Mapping[str, tuple[str, ...]] | None = None,
        columns: bool = False,
        settle: Callable[[str, Array], Array] | None = None,
        wanted: frozenset[str] | None = None,
        work: Callable[[Expression], Array] = array_of,
    ) -> None:
        self.labels = dict(labels or {})
        self.columns = columns
        self.settle = settle
        self.wanted = wanted
        self.work = work
        self.inputs: dict[str, Step] = {}
        self.steps: dict[str, Step] = {}
        self.warnings: list[str] = []
        self.group = ""

    def given(
        self,
        name: str,
        array: Array,
        trailing: tuple[str, ...],
        leading: tuple[str, ...] = (),
        as_written: bool = False,
    ) -> Step:
        """Put a value of the problem on the tape, to be an operand; it is not a step.

        Args:
            name: the key of the problem.
            array: (batch, head, row, column), in row convention.
            trailing: the names of its row and column axes, or of the one axis of a vector.
            leading: which of "batch" and "head" it has.
            as_written: the matrix stands on paper as in row convention, whatever the convention.
        """
        columns = self.columns and not as_written
        step = self._step(name, None, array, leading, trailing, columns)
        self.inputs[name] = step
        return step

    def record(
        self, name: str, operation: Expression, trailing: tuple[str, ...] = (), symbol: str = ""
    ) -> Step:
        """Evaluate an operation and keep it as a step.

        Args:
            name: the step's public name.
            operation: what makes it.
            trailing: the names of its row and column axes in row convention, where they are
                not the operation's own.
            symbol: the letter that papers use, the name by default.

        Raises:
            InputError: if a number is beyond what a float holds.
        """
        array = self.work(operation)
        if array.dtype.kind == "f" and not _is_held(operation, array):
            raise fail(
                f"{name} holds a number that is beyond what a float can hold",
                hint="make the numbers of the problem smaller",
            )
        if self.settle is not None:
            array = self.settle(name, array)
        trailing = trailing or operation.trailing
        step = self._step(name, operation, array, operation.leading, trailing, self.columns)
        if symbol:
            step = replace(step, symbol=symbol)
        self.steps[name] = step
        return step

    def unused(self, name: str) -> str:
        """Return the name, with a number where a step has it already."""
        number = 2
        found = name
        while found in self.steps:
            found = f"{name}_{number}"
            number += 1
        return found

    def warn(self, message: str) -> None:
        """Keep something that the reader should know, once."""
        if message not in self.warnings:
            self.warnings.append(message)

    def _step(
        self,
        name: str,
        operation: Expression | None,
        array: Array,
        leading: tuple[str, ...],
        trailing: tuple[str, ...],
        columns: bool,
    ) -> Step:
        sizes = dict(zip(trailing, array.shape[array.ndim - len(trailing) :], strict=True))
        labels = {a: self.labels[a][: sizes[a]] for a in trailing if a in self.labels}
        return Step(name, name, leading, trailing, labels, operation, array, columns, self.group)


class Trace(Record):
    """A finished calculation.

    `trace["weights"]` is a step, `trace.output` the numbers of the last one; iterating gives the
    steps in the order of computation. Where steps were rounded by hand, `unrounded` is what they
    would be without.
    """

    problem: Problem
    inputs: Mapping[str, Step]
    steps: Mapping[str, Step]
    labels: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...] = ()
    unrounded: Trace | None = None

    def __getitem__(self, name: str) -> Step:
        """Return the step of that name; a KeyError tells which there are."""
        try:
            return self.steps[name]
        except KeyError:
            raise KeyError(f"no step {name}; there are {', '.join(self.steps)}") from None

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps.values())

    def __contains__(self, name: object) -> bool:
        return name in self.steps

    @property
    def last(self) -> Step:
        """The step `output`; where there is no such step, the last one."""
        return self.steps["output" if "output" in self.steps else list(self.steps)[-1]]

    @property
    def output(self) -> Array:
        """The numbers of the step `output`."""
        return self["output"].value

"""The recorder of a calculation, which names each line of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import all_finite
from attncli.core.errors import InputError, fail
from attncli.core.formulas.text import text
from attncli.core.records import EMPTY, Record
from attncli.core.tape.step import Expression, Step, notation_of
from attncli.core.tape.walk import array_of
from attncli.core.text.layer_names import called_by

TakeRows: TypeAlias = Callable[[int, int, slice, Array], object]
"""Takes the weights (rows, m) of those queries of a head of a part of the batch."""


class PartOfTape(Record):
    """How the steps and inputs of a part of a calculation are called, such as those of a layer."""

    prefix: str = ""  # what its names begin with, such as `layers.2.`
    own: frozenset[str] = frozenset()  # the keys of inputs that are of this part alone
    names: Mapping[str, str] = EMPTY  # other names for some steps
    sources: Mapping[str, Step] = EMPTY  # steps in place of inputs, by their keys

    def of_step(self, name: str) -> str:
        return self.prefix + self.names.get(name, name)

    def of_input(self, name: str, key: str) -> tuple[str, str]:
        """Return the name and the key of an input; one that parts share has no prefix."""
        prefix = self.prefix if key.partition(".")[0] in self.own else ""
        return prefix + name, prefix + key


class Tape:
    """Records a calculation.

    Args:
        labels: words for the places along an axis, by the axis' name.
        columns: whether a token is a column on paper.
        settle: takes a step's name and array, and returns the array that later steps use (rounded,
            or a student's own numbers).
        wanted: names of the steps that will be read; None for all.
        work: calculates the array of an operation.

    Attributes:
        group: the heading of the steps that follow, such as a time step.
        first: the number of queries before those of this tape, if it has only some rows.
        backward: whether the steps that follow are of the backward pass.
        take_rows: takes the weights of many tokens as they are calculated, which are then no step.
        uniform: draws random errors, as NumPy's function of this name, the default, does.
        has_weights_taken: whether it has taken them.
        part: how the steps and inputs of a part of the calculation, such as a layer, are called.
        called: what a course calls the steps, by their names.
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
        self.first = 0
        self.backward = False
        self.has_weights_taken = False
        self.part = PartOfTape()
        self.called: Mapping[str, str] = EMPTY
        self.take_rows: TakeRows | None = None
        self.uniform: Callable[..., Array] | None = None

    def given(
        self,
        name: str,
        array: Array,
        trailing: tuple[str, ...],
        leading: tuple[str, ...] = (),
        as_written: bool = False,
        key: str = "",
    ) -> Step:
        """Put an input on the tape, to be an operand; see `Step` for the arguments.

        With `as_written`, a matrix is written the same way in the convention of columns.
        """
        name, key = self.part.of_input(name, key)
        labels, columns = self._labels(trailing, array), self.columns and not as_written
        about = (labels, None, array, columns, self.group, key, "", False, "")
        step = self.inputs[name] = Step(name, name, leading, trailing, *about)
        return step

    def input_of(self, key: str) -> Step | None:
        """Return the input that a key of the problem has on the tape; None if it has none."""
        _, whole = self.part.of_input("", key)
        found = (step for step in self.inputs.values() if step.key == whole)
        return self.part.sources.get(key) or next(found, None)

    def known(self, name: str) -> Step | None:
        """Return the step that this part has recorded under a name; None if it has none."""
        return self.steps.get(self.part.of_step(name))

    @contextmanager
    def within(self, part: PartOfTape) -> Iterator[None]:
        """Record the steps that follow as those of a part."""
        before, self.part = self.part, part
        try:
            yield
        finally:
            self.part = before

    def record(
        self,
        name: str,
        operation: Expression,
        trailing: tuple[str, ...] = (),
        symbol: str = "",
        why: str = "",
        like: Step | None = None,
        array: Array | None = None,
    ) -> Step:
        """Evaluate an operation and keep it as a step.

        Args:
            name: the step's public name.
            operation: what makes it.
            trailing: the names of its row and column axes, if not those of the operation.
            symbol: the letter that papers use, the name by default.
            why: its purpose, in one sentence, if the operation does not say it.
            like: a value that has the same axes and is written in the same convention.
            array: the numbers, if they have been calculated in another way.

        Raises:
            InputError: if a number, also one inside the operation, is beyond what a float holds.
        """
        name = self.part.of_step(name)
        try:
            if array is None:
                array = self.work(operation)
            elif not all_finite(array):
                raise FloatingPointError(operation)
            if self.settle is not None:
                array = self.settle(name, array).view()
        except FloatingPointError as beyond:
            inner = (part for part in beyond.args if part is not operation)
            raise self.too_large(name, *inner) from None
        leading, trailing = operation.leading, trailing or operation.trailing
        columns = self.columns
        if like is not None:
            leading, trailing, columns = like.leading, like.trailing, like.columns
        labels = self._labels(trailing, array)
        called = called_by(name, self.called)
        about = (labels, operation, array, columns, self.group, "", why, self.backward, called)
        symbol = symbol if symbol and not self.part.prefix else name
        step = self.steps[name] = Step(name, symbol, leading, trailing, *about)
        return step

    def too_large(self, name: str, *inner: Expression) -> InputError:
        """Return the error for a number beyond floats, of a step or inside its operation."""
        where = f"{name} holds"
        for part in inner:
            formula = text(notation_of(part, self.columns))
            where = f"{name} is made of {formula}, which holds"
        message = f"{where} a number that is beyond what a float can hold"
        return fail(message, hint="make the numbers of the problem smaller")

    def warn(self, message: str) -> None:
        """Keep a warning for the reader, once."""
        if message not in self.warnings:
            self.warnings.append(message)

    def _labels(self, trailing: tuple[str, ...], array: Array) -> dict[str, tuple[str, ...]]:
        """Return the words for the places along the axes of an array, by the axis."""
        if not self.labels:
            return {}
        places = zip(trailing, array.shape[array.ndim - len(trailing) :], strict=True)
        return {axis: self.labels[axis][:size] for axis, size in places if axis in self.labels}

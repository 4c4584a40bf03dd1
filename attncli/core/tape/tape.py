"""The recorder of a calculation, which names each line of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import all_finite, outline
from attncli.core.errors import InputError, fail
from attncli.core.formulas.text import text
from attncli.core.records import EMPTY, Record, replace
from attncli.core.tape.evaluation import array_of, with_steps
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import Expression, Step, notation_of, prefix_of
from attncli.core.text.strings import called_by, regex

TakeRows: TypeAlias = Callable[[int, int, slice, Array], object]
"""Takes the weights (rows, m) of those queries of a head of a part of the batch."""


NAME_AT_TIME = regex(r".*_\d+").fullmatch
"""Matches the name of a step of a time."""


class Scope(Record):
    """How steps and inputs are called for a while, such as those of a layer or of a time."""

    layer: int | str = 0  # the number of the layer, or the name of a network; 0 if there is one
    layer_keys: frozenset[str] = frozenset()  # the keys of inputs that only this layer has
    names: Mapping[str, str] = EMPTY  # other names for some steps
    sources: Mapping[str, Step] = EMPTY  # steps in place of inputs, by their keys
    before: str = ""  # what names of steps begin with, such as `d_`
    suffix: str = ""  # what names of steps end with, such as `_2` at the second time

    def of_step(self, name: str) -> str:
        name = self.names.get(name, name)
        return f"{self.before}{prefix_of(self.layer)}{name}{self.suffix}"

    def layer_of(self, key: str) -> int | str:
        """Return the layer of an input; 0 for one that layers share."""
        return self.layer if key.partition(".")[0] in self.layer_keys else 0


class Tape:
    """Records a calculation.

    Args:
        labels: words for the places along an axis, by the axis' name.
        columns: whether a token is a column on paper.
        settle: takes a step's name and array, and returns the array that later steps use (rounded,
            or those of a student).
        wanted: names of the steps that will be read; None for all.
        work: calculates the array of an operation.

    Attributes:
        group: the heading of the steps that follow, such as a time step.
        first: the number of queries before those of this tape, if it has only some rows.
        backward: whether the steps that follow are of the backward pass.
        take_rows: takes the weights of many tokens as they are calculated, which are then no step.
        uniform: draws random errors, as NumPy's function of this name, the default, does.
        has_weights_taken: whether it got them.
        has_skipped_times: whether steps of later times were left out, as no name says one.
        scope: how steps and inputs are called.
        kept: names of the steps whose numbers stay; those of another are free as soon as no line of
            the method holds it. None for all.
        alone: names of the steps that will be read without those that they are made from. None
            if others may be read, too.
        is_estimate: whether it only tells how much memory the steps take.
        reserved: arrays in the place of what an estimate leaves out: labels, steps of later times.
        called: what a course calls the steps, by their names.
    """

    uniform: Callable[..., Array] | None = None

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
        self.has_skipped_times = False
        self.scope = Scope()
        self.kept: Set[str] | None = None
        self.alone: Set[str] | None = None
        self.is_estimate = False
        self.reserved: list[Array] = []
        self.called: Mapping[str, str] = EMPTY
        self.take_rows: TakeRows | None = None

    def put(
        self,
        name: str,
        array: Array,
        trailing: tuple[str, ...],
        leading: tuple[str, ...] = (),
        as_written: bool = False,
        key: str = "",
    ) -> Step:
        """Put an input on the tape, to be an operand; see `Step` for the arguments.

        One with a key that is there already is returned. With `as_written`, a matrix is written
        the same way in the convention of columns.
        """
        if key and (known := self.input_of(key)) is not None:
            return known
        layer = self.scope.layer_of(key)
        name, key = (prefix_of(layer) + word for word in (name, key))
        labels, columns = self._labels(trailing, array), self.columns and not as_written
        about = (labels, None, array, columns, self.group, key, "", False, "", layer, "")
        step = self.inputs[name] = Step(name, name, leading, trailing, *about)
        return step

    def input_of(self, key: str) -> Step | None:
        """Return the input that a key of the problem has on the tape; None if it has none."""
        whole = prefix_of(self.scope.layer_of(key)) + key
        inputs = (step for step in self.inputs.values() if step.key == whole)
        return self.scope.sources.get(key) or next(inputs, None)

    @property
    def skips_times(self) -> bool:
        """Whether no step of a time, such as `S_2`, will be read, and none is changed."""
        is_changed = self.settle is not None or self.work is not array_of
        return self.alone is not None and not is_changed and not any(map(NAME_AT_TIME, self.alone))

    def known(self, name: str) -> Step | None:
        """Return the step that is kept under a name of this scope; None if there is none."""
        name = self.scope.of_step(name)
        return self.steps.get(name) if self.kept is None or name in self.kept else None

    @contextmanager
    def within(self, **changes: Any) -> Iterator[None]:
        """Change the scope of the steps that follow; the arguments are fields of `Scope`."""
        outer, self.scope = self.scope, replace(self.scope, **changes)
        try:
            yield
        finally:
            self.scope = outer

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
            name: the step's name within the scope.
            operation: what makes it.
            trailing: the names of its row and column axes, if not those of the operation.
            symbol: the letter that papers use, the name by default.
            why: its purpose, in one sentence, if the operation does not say it.
            like: a value that has the same axes and is written in the same convention.
            array: the numbers, if they have been calculated in another way.

        Raises:
            InputError: if a number, also one inside the operation, is beyond what a float holds.
        """
        scope, name = self.scope, self.scope.of_step(name)
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
        if not self.backward:
            self._warn_of_zero_divisors(name, operation)
        if like is not None:
            leading, trailing, columns = like.leading, like.trailing, like.columns
            labels = like.labels
        else:
            leading, trailing = operation.leading, trailing or operation.trailing
            columns, labels = self.columns, self._labels(trailing, array)
        called = called_by(name, self.called)
        about = (labels, operation, array, columns, self.group, "", why, self.backward, called)
        ends = (scope.layer, scope.suffix)
        symbol = symbol if symbol and not scope.layer else name
        step = self.steps[name] = Step(name, symbol, leading, trailing, *about, *ends)
        if self.kept is None:
            return step
        # Its operands are the steps as the tape has them, perhaps without their numbers.
        step = self.steps[name] = replace(step, operation=with_steps(operation, self.steps))
        if name not in self.kept:  # for formulas alone: of the same shape, in the memory of one nan
            nan = step.array.dtype.type(np.nan)
            self.steps[name] = replace(step, array=np.broadcast_to(nan, step.array.shape))
        return step

    def too_large(self, name: str, *inner: Expression) -> InputError:
        """Return the error for a number beyond floats, of a step or inside its operation."""
        where = f"{name} holds"
        for part in inner:
            formula = text(notation_of(part, self.columns))
            where = f"{name} is made of {formula}, which holds"
        message = f"{where} a number that is beyond what a float can hold"
        return fail(message, *[*self.inputs][:1], hint="make the numbers of the problem smaller")

    def _warn_of_zero_divisors(self, name: str, part: Expression) -> None:
        if isinstance(part, Step) or "array" in vars(part):
            return
        if type(part) is Divide and not array_of(part.divisor).all():  # others have own words
            divisor = text(notation_of(part.divisor, self.columns))
            self.warn(f"{name} divides by {divisor}, which is 0 somewhere: it is 0 there")
        for operand in part.operands:
            self._warn_of_zero_divisors(name, operand)

    def warn(self, message: str) -> None:
        """Keep a warning for the reader, once."""
        if message not in self.warnings:
            self.warnings.append(message)

    def _labels(self, trailing: tuple[str, ...], array: Array) -> dict[str, tuple[str, ...]]:
        if not self.labels:
            return {}
        places = zip(trailing, array.shape[array.ndim - len(trailing) :], strict=True)
        found = {axis: self.labels[axis][:size] for axis, size in places if axis in self.labels}
        if found and self.is_estimate:  # of a row of scores, labels take as much as the numbers
            self.reserved.append(outline([sum(map(len, found.values()))], np.intp))
        return found

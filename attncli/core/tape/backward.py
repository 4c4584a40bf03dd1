"""The derivatives of a loss as steps, by reverse accumulation.

The steps are read from the last to the first (Linnainmaa 1970; Rumelhart, Hinton and Williams
1986). `Operation.derivative` gives the vector–Jacobian product for each operand; a value that is
used in several places gets the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attncli.core.arithmetic.elements import Array, are_floats
from attncli.core.arithmetic.intervals import Interval
from attncli.core.tape.backward_operations import count_apart, summed_to_shape
from attncli.core.tape.evaluation import array_of, evaluate, everywhere, sources, walk
from attncli.core.tape.operations import added
from attncli.core.tape.step import Derivatives, Expression, Operation, Step, prefix_of
from attncli.core.tape.tape import Tape

FORWARD, BACKWARD = "forward pass", "backward pass"
"""Headings under which the steps of each pass are shown."""

WHY_SUMMED = "It was used in several places, so what comes back from each is added up."


def backward(tape: Tape, start: Derivatives) -> dict[str, Step]:
    """Record the derivative of a loss with regard to each step and input that it depends on.

    The derivative with regard to x is called `d_x`, and has the axes of x. An input follows the
    first step that is made of it. A part of a formula that is written in a line of its own on paper
    (`Operation.line`) becomes a step.

    Args:
        tape: has the steps of the forward pass.
        start: the steps whose values the loss is made of, with the derivatives of the loss.

    Returns:
        The derivatives with regard to inputs, by the names of these.
    """
    held: dict[Expression, Array] = {}
    if tape.work is array_of:
        tape.work = partial(array_of, held=held)
        if tape.settle is None:
            tape.work = WithoutNoise(tape.uniform, tape.work)
    return _ChainRule(tape, held).read(start)


COPIES = 4
"""Number of copies that are calculated with other rounding errors. Chosen."""

CERTAIN = 1000.0
"""A number so many times larger than what other rounding errors change in it is none. Chosen."""

NOISE = 4.0
"""Error bound of a step of the forward pass, in units of the distance between floats (chosen)."""

MAX_CLEANED = 2**16
"""Maximum number of numbers in an array that is cleaned: nobody reads more of them, and cleaning
takes up to five times the memory of a calculation. Chosen."""


class WithoutNoise:
    """Gives the arrays of backward steps, with 0 in place of numbers that are rounding errors.

    Derivatives often cancel: those of a row of scores add up to 0, on paper but not in floats. The
    error bound of each number is carried from step to step. It grows too large through several
    layers, so that a number within it is still kept if other rounding errors hardly change it.
    """

    def __init__(
        self,
        uniform: Callable[..., Array] | None = None,
        work: Callable[[Expression], Array] = array_of,
    ) -> None:
        self.known: dict[Operation, tuple[Array, Interval]] = {}
        self.copies: dict[Expression, Array] = {}
        self.uncopied: list[Operation] = []
        self.uniform = uniform
        self.work = work

    def __call__(self, expression: Expression) -> Array:
        array = self.work(expression)
        if isinstance(expression, Step) or not are_floats(array):
            return array
        count = count_apart(expression, array)
        if array.size > MAX_CLEANED * count or _uses_more(expression, MAX_CLEANED * count):
            return array
        ranges = evaluate(expression, self.about)
        is_noise = (ranges.low <= 0) & (ranges.high >= 0)
        is_doubtful = is_noise & (array != 0)
        if is_doubtful.any():
            axes = tuple(range(count > 1, array.ndim))
            is_changed = is_doubtful.any(axis=axes, keepdims=True)
            is_noise &= ~is_changed | (np.abs(array) <= CERTAIN * self.spread(expression, array))
            self.copies_of(expression)[:, is_noise & is_changed] = 0.0
        array = np.where(is_noise, 0.0, array).astype(array.dtype, copy=False)
        off = _distance(array)
        ends = np.minimum(ranges.low, array - off), np.maximum(ranges.high, array + off)
        for end in ends:
            end[is_noise] = 0.0
        self.known[expression] = array, Interval(*ends)
        self.uncopied.append(expression)
        return array

    def about(self, step: Step) -> Interval:
        """Return the intervals in which the numbers of a step lie."""
        operation = step.operation
        if step.backward and isinstance(operation, Step):
            return self.about(operation)
        if isinstance(operation, Operation) and operation in self.known:
            array, ranges = self.known[operation]
            if array is step.array:  # unless the numbers were settled since
                return ranges
        off = 0.0 if step.operation is None else NOISE * _distance(step.array)
        return Interval(step.array - off, step.array + off)

    def spread(self, expression: Expression, array: Array) -> Array:
        """Return how far the copies of an array, each calculated with other errors, are from it."""
        for earlier in self.uncopied:  # in order, as a recursion could not reach through many times
            self.copies_of(earlier)
        self.uncopied.clear()
        distances: Array = np.abs(self.copies_of(expression) - array).max(axis=0)
        return distances

    def copies_of(self, expression: Expression) -> Array:
        """Return copies of an array, off by random errors in every step before it."""
        operation = expression.operation if isinstance(expression, Step) else None
        is_renamed = isinstance(operation, Step) and operation.backward
        if operation is not None and (operation in self.known or is_renamed):
            return self.copies_of(operation)
        if expression not in self.copies:
            off = 1.0
            if isinstance(expression, Step):
                off = 0.0 if expression.operation is None else NOISE
            exact = np.stack([self._copy(expression, at) for at in range(COPIES)])
            count = 1 if count_apart(expression, exact[0]) > 1 else exact.shape[1]
            sizes = COPIES, count, *exact.shape[2:]  # the same for calculations that stay apart
            if self.uniform is None:  # few problems need it
                self.uniform = np.random.default_rng(0).uniform
            errors = self.uniform(-off, off, sizes) * np.finfo(exact.dtype).eps
            self.copies[expression] = exact * (1 + errors).astype(exact.dtype)
        return self.copies[expression]

    def _copy(self, expression: Expression, at: int) -> Array:
        if isinstance(expression, Step):
            return expression.array
        array: Array = evaluate(expression, lambda step: self.copies_of(step)[at])
        return array


def _uses_more(expression: Expression, count: int) -> bool:
    if isinstance(expression, Step):
        return expression.array.size > count
    return any(_uses_more(operand, count) for operand in expression.operands)


def _distance(array: Array) -> Array:
    finite = np.where(np.isfinite(array), np.abs(array), 0.0)
    return finite * float(np.finfo(array.dtype).eps)


class _ChainRule:
    """Collects, for each value of one tape, the parts whose sum is its derivative.

    Their shapes are those of their arrays, which are held until they are recorded.
    """

    def __init__(self, tape: Tape, held: dict[Expression, Array]) -> None:
        self.tape = tape
        self.held = held
        self.parts: dict[Step, list[Expression]] = {}

    def read(self, start: Derivatives) -> dict[str, Step]:
        steps = list(self.tape.steps.values())
        known = {step.name for step in steps}
        made_of = {step: sources(step) for step in steps}
        users = {source: step for step in reversed(steps) for source in made_of[step]}
        groups: dict[Step, set[str]] = {}
        for step in steps:
            for source in made_of[step]:
                groups.setdefault(source, set()).add(step.group)
        gradients: dict[str, Step] = {}
        for value, derivative in start:
            assert isinstance(value, Step)
            self.through(value, value, derivative, value)
        for step in reversed(steps):
            inner = step.group.removeprefix(FORWARD).removeprefix(", ")
            heading = self.tape.group = ", ".join(filter(None, (BACKWARD, inner)))
            if step in self.parts and step.operation is not None:
                self.through(step.operation, step, self.record(step), step)
            for source in reversed(made_of[step]):  # weights before what they are applied to
                # A given step is that step, and has its derivative already.
                is_new = source.key and source.name not in {*known, *gradients}
                if is_new and source in self.parts and users[source] is step:
                    # An input may have been used at several times.
                    self.tape.group = heading if len(groups[source]) == 1 else BACKWARD
                    gradients[source.name] = self.record(source)
        return gradients

    def record(self, value: Step) -> Step:
        parts, prefix = self.parts[value], prefix_of(value.layer)
        stem = value.key.removeprefix(prefix) if value.key else value.stem
        grows = f"How much the loss grows with each number of {value.plain}."
        why = WHY_SUMMED if parts[1:] else grows
        with self.tape.within(before="d_", layer=value.layer, suffix=value.suffix):
            return self.tape.record(stem, added(parts), why=why, like=value)

    def through(
        self, node: Expression, result: Expression, upstream: Expression, step: Step
    ) -> None:
        """Carry the derivative back through a node of a step's formula to the steps in it."""
        try:
            upstream = summed_to_shape(upstream, result, self.held)
        except FloatingPointError as beyond:
            name = node.name if isinstance(node, Step) else step.name
            raise self.tape.too_large(f"d_{name}", *beyond.args) from None
        if isinstance(node, Step):
            self.parts.setdefault(node, []).insert(0, upstream)
            return
        for operand, derivative in node.derivative(result, upstream):
            gradient = self.lines(derivative, step, isinstance(operand, Operation))
            self.through(operand, operand, gradient, step)

    def lines(self, expression: Expression, step: Step, is_inner: bool) -> Expression:
        """Return an expression, after recording its parts that are written in lines of their own.

        The whole is recorded only if it is part of a longer formula.
        """
        nodes = [node for node in walk(expression) if isinstance(node, Operation) and node.line]
        for node in nodes:
            if node is not expression or is_inner:
                before, name = (node.line, step.stem) if node.line[-1] == "_" else ("", node.line)
                with self.tape.within(before=before, layer=step.layer, suffix=step.suffix):
                    expression = everywhere(expression, {node: self.tape.record(name, node)})
        return expression

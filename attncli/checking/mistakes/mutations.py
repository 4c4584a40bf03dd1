"""General mutations: what a step is with any one thing in its operation wrong.

They are looked for where no mistake of the catalogue explains a step, and their sentences are made
from its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product, takewhile
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.mistakes.mistake import (
    CALCULATE,
    Changes,
    Mistake,
    Nodes,
    made_of,
    mistake,
    put,
)
from attncli.core.attention.softmax import Sum
from attncli.core.formulas.text import text
from attncli.core.mechanisms.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.backward_operations import (
    Hadamard,
    Negative,
    Outer,
    Rearranged,
    Subtract,
    plural,
)
from attncli.core.tape.evaluation import array_of, everywhere, transform, walk, with_operands
from attncli.core.tape.operations import (
    Add,
    Concatenate,
    Divide,
    MatMul,
    MatVec,
    Row,
    Scale,
    Transposed,
    constant,
)
from attncli.core.tape.step import Expression, Operation, Step, notation_of

MAX_OTHERS = 6
"""Maximum number of matrices that are tried in the place of one, the nearest first. Chosen."""

ORDERED = (Subtract, Divide, MatMul, Outer, Concatenate)
"""Operations whose result is another one if their two operands are exchanged."""

ELEMENTWISE = (Add, Subtract, Hadamard, Divide)
"""Operations on two matrices that are mistaken for each other."""


def operations(step: Step) -> Iterator[Operation]:
    return (node for node in walk(made_of(step)) if isinstance(node, Operation))


def pair_of(node: Operation) -> tuple[Expression, Expression] | None:
    """Return the operands of an operation on two matrices, None for any other."""
    fields = [getattr(node, name) for name in node.operand_fields]
    is_pair = len(fields) == 2 and all(isinstance(one, Step | Operation) for one in fields)
    return (fields[0], fields[1]) if is_pair else None


def with_pair(node: Operation, one: Expression, other: Expression) -> Operation:
    return replace(node, **dict(zip(node.operand_fields, (one, other), strict=True)))


def formula(expression: Expression, step: Step) -> str:
    return text(notation_of(expression, step.columns))


@mistake("{operand} was left out.", backward=None)
def operand_left_out(step: Step, trace: Trace) -> Changes:
    for node in operations(step):
        if pair := pair_of(node):
            one, other = pair
            yield {step.name: put(made_of(step), node, one)}, {"operand": formula(other, step)}
            if isinstance(node, Subtract):
                other = Negative(other)
            if not isinstance(node, Divide):
                words = {"operand": formula(one, step)}
                yield {step.name: put(made_of(step), node, other)}, words


@mistake("{right} was not calculated: {used} was taken as it is.", backward=None)
def operation_left_out(step: Step, trace: Trace) -> Changes:
    for node in operations(step):
        is_constant = isinstance(node, Scale | Transposed | Rearranged)  # see other rows
        if len(node.operands) == 1 and not is_constant:
            (operand,) = node.operands
            words = {"used": formula(operand, step), "right": formula(node, step)}
            yield {step.name: put(made_of(step), node, operand)}, words


@mistake("{one} and {other} have changed places.", backward=None)
def operands_exchanged(step: Step, trace: Trace) -> Changes:
    """The two sides of an operation, or any two matrices of one shape in the formula."""
    whole = made_of(step)
    direct = [pair for node in operations(step) if (pair := pair_of(node))]
    for node in operations(step):
        if isinstance(node, ORDERED) and (pair := pair_of(node)):
            words = {"one": formula(pair[0], step), "other": formula(pair[1], step)}
            yield {step.name: put(whole, node, with_pair(node, *pair[::-1]))}, words
    leaves = [node for node in walk(whole) if isinstance(node, Step)]
    for one, other in combinations(leaves, 2):
        if one.array.shape == other.array.shape and (one, other) not in direct:
            exchange = {one: other, other: one}
            changed = transform(whole, lambda part, by=exchange: by.get(part, part))  # type: ignore[misc]
            yield {step.name: changed}, {"one": one.name, "other": other.name}


@mistake("{used} was used in place of {right}.", backward=None)
def other_operand(step: Step, trace: Trace) -> Changes:
    """Another matrix of the same shape, such as X or K for V, or the state of the time before."""
    whole = made_of(step)
    before = [*trace.inputs.values(), *takewhile(lambda one: one is not step, trace)]
    for right in (node for node in walk(whole) if isinstance(node, Step)):
        for used in _like(right, before):
            other = everywhere(whole, right, used)
            yield {step.name: other}, {"used": used.name, "right": right.name}


def _like(right: Step, before: list[Step]) -> list[Step]:
    """Return matrices of the shape of one, the nearest of each stem, at most `MAX_OTHERS`."""
    place = before.index(right) if right in before else len(before)
    others: dict[str, Step] = {}
    for _, used in sorted(enumerate(before), key=lambda one: abs(one[0] - place)):
        is_like = used.array.shape == right.array.shape and used.backward == right.backward
        if is_like and used is not right and not np.array_equal(used.array, right.array):
            others.setdefault(used.stem, used)
    return [*others.values()][:MAX_OTHERS]


@mistake("{used} was calculated, not {right}.", backward=None)
def other_operation(step: Step, trace: Trace) -> Changes:
    """A sum for a product, a difference for a sum, and so on."""
    for node in operations(step):
        pair = pair_of(node)
        for kind in ELEMENTWISE if isinstance(node, ELEMENTWISE) else ():
            if pair and not isinstance(node, kind):
                other = kind(*pair)
                words = {"used": formula(other, step), "right": formula(node, step)}
                yield {step.name: put(made_of(step), node, other)}, words


@mistake("{number} was {how}.", backward=None)
def other_constant(step: Step, trace: Trace) -> Changes:
    for node in operations(step):
        for number, how, other in _with_other_constants(node):
            yield {step.name: put(made_of(step), node, other)}, {"number": number, "how": how}


def _with_other_constants(node: Operation) -> Iterator[tuple[str, str, Expression]]:
    if isinstance(node, Scale):
        number = text(
            node.symbol or constant(node.times / node.over if node.times != 1 else node.over)
        )
        yield number, "left out", node.operand
        yield number, "turned upside down", replace(node, times=node.over, over=node.times)
        yield number, "squared", replace(node, times=node.times**2, over=node.over**2)
        return
    for name in node.float_fields:
        value = float(getattr(node, name))
        if value not in (0.0, 1.0, np.e):
            number = text(constant(getattr(node, name)))
            yield number, "left out", replace(node, **{name: 1.0})
            yield number, "turned upside down", replace(node, **{name: 1 / value})
            yield number, "squared", replace(node, **{name: value * value})


@mistake("{matrix} was {how}.", backward=None)
def factor_transposed(step: Step, trace: Trace) -> Changes:
    for node in operations(step):
        for factor in node.operands if isinstance(node, MatMul | MatVec) else ():
            matrix = factor.operand if isinstance(factor, Transposed) else factor
            if len(matrix.trailing) > 1 and isinstance(matrix, Step):
                is_transposed = matrix is not factor
                other = matrix if is_transposed else Transposed(matrix)
                how = "not transposed" if is_transposed else "transposed, and should not be"
                words = {"matrix": formula(matrix, step), "how": how}
                changed = put(node, factor, other)
                yield {step.name: put(made_of(step), node, changed)}, words


@mistake("The sum was taken over {used}, not over {right}.", backward=None)
def other_axis(step: Step, trace: Trace) -> Changes:
    for node in operations(step):
        if isinstance(node, Sum) and len(node.operand.trailing) == 2:
            right, used = node.along, -3 - node.along  # the axes are −1 and −2
            other: Expression = replace(node, along=used)
            if node is step.operation:
                other = Transposed(other)
            words = {
                "used": plural(node.operand.trailing[used]),
                "right": plural(node.operand.trailing[right]),
            }
            yield {step.name: put(made_of(step), node, other)}, words


MUTATIONS = {row.id: row for row in [*globals().values()] if isinstance(row, Mistake)}
"""Every general mutation by its id, the simple ones first."""


# ---- declarations: mistakes of the catalogue that are one mutation, with a sentence of their own


Part: TypeAlias = str | type[Operation] | Callable[[Any], bool]
"""A part of a formula: what a stem names, `W` also W_q; or of a type; or what has a property."""

Way: TypeAlias = Callable[[Step, Trace], Nodes]
"""Yields what a mutation makes of the operation of a step."""


def row(
    sentence: str,
    way: Way,
    advice: str = CALCULATE,
    steps: tuple[str, ...] = (),
    backward: bool = False,
) -> Mistake:
    """Return the mistake that is one mutation; its id is the name by which its module knows it."""

    def rule(step: Step, trace: Trace) -> Changes:
        for other in way(step, trace):
            yield {step.name: other}, {}

    return mistake(sentence, advice, backward, steps)(rule)


def is_part(expression: Expression, part: Part) -> bool:
    if isinstance(part, type):
        return isinstance(expression, part)
    if not isinstance(part, str):
        return part(expression)
    return isinstance(expression, Step) and f"{expression.stem}_".startswith(f"{part}_")


def parts(step: Step, part: Part) -> Iterator[Expression]:
    """Yield what a formula has of a part: operations, and the steps and inputs that they take."""
    return (node for node in walk(made_of(step)) if is_part(node, part))


def without(part: Part) -> Way:
    """Leave out one side of an operation on two matrices, or a function of one."""

    def way(step: Step, trace: Trace) -> Nodes:
        for node in operations(step):
            if isinstance(part, type):
                if isinstance(node, part):
                    yield put(made_of(step), node, node.operands[0])
            elif pair := pair_of(node):
                for kept, gone in (pair, pair[::-1]):
                    if is_part(_rearranged(gone), part):
                        yield put(made_of(step), node, kept)

    return way


def _rearranged(expression: Expression) -> Expression:
    """Return what formulas call an operand: beta, of a row of beta."""
    while isinstance(expression, Rearranged | Row):
        expression = expression.operand
    return expression


def becomes(part: Part, other: Callable[..., Expression]) -> Way:
    """Put another operation on its operands in the place of a part, or what a function makes."""

    def way(step: Step, trace: Trace) -> Nodes:
        for node in parts(step, part):
            operands = (node,) if not isinstance(other, type) else getattr(node, "operands", ())
            yield put(made_of(step), node, other(*operands))

    return way


def exchanged(one: Part, other: Part) -> Way:
    """Exchange two parts of one shape, wherever they are in a formula."""

    def way(step: Step, trace: Trace) -> Nodes:
        whole = made_of(step)
        for first, second in product(parts(step, one), parts(step, other)):
            if array_of(first).shape == array_of(second).shape:
                yield _replaced(whole, {first: second, second: first})

    return way


def instead(used: str, part: Part) -> Way:
    """Take another step or input in the place of a part."""

    def way(step: Step, trace: Trace) -> Nodes:
        if other := trace.steps.get(used) or trace.inputs.get(used):
            for node in parts(step, part):
                yield everywhere(made_of(step), node, other)

    return way


def product_with(part: Part) -> Part:
    return lambda node: any(is_part(one, part) for one in getattr(node, "operands", ()))


def _replaced(node: Expression, others: Mapping[Expression, Expression]) -> Expression:
    if node in others or isinstance(node, Step):
        return others.get(node, node)
    return with_operands(node, lambda part: _replaced(part, others))

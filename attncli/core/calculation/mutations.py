"""Mutations: what a step is with one thing in its operation wrong.

A mistake of the catalogue that is one mutation is declared by it. Where no mistake of the catalogue
explains a step, every mutation of it is tried, and the sentences are made from its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, islice, product, takewhile
from types import UnionType
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np

from attncli.core.calculation.mistake import Blanks, Changes, Mistake, Nodes, made_of, mistake, put
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Formula
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Hadamard, Negative, Rearranged, Subtract
from attncli.core.tape.evaluation import array_of, everywhere, sources, walk
from attncli.core.tape.operations import (
    TOKEN_AXES,
    Add,
    Divide,
    MatMul,
    MatVec,
    Row,
    Scale,
    Transposed,
    constant,
    transposed,
)
from attncli.core.tape.step import Expression, Operation, Step

MAX_FORMULA_PARTS = 24
"""Maximum number of parts of a formula in which something is taken to be wrong: the first."""

MAX_BEFORE = 150
"""Maximum number of steps before one of which the matrices are known: the last. Chosen."""

MAX_OTHERS = 6
"""Maximum number of matrices that are tried in the place of one, the nearest first. Chosen."""


# ---- one thing wrong, in a part of a formula


Part: TypeAlias = str | type | UnionType | Callable[[Any], bool]
"""A part of a formula: what a stem names, `W` also W_q; or of a type; or what has a property."""

LEFT_OUT = "{operand} was left out."
CALCULATED_INSTEAD = "{used} was calculated, not {right}."
PASSED_OVER = "{right} was not calculated: {used} was taken as it is."
EXCHANGED = "{one} and {other} have changed places."
MADE_WITH = "{step} was made with {used}, not with {right}."


class Options(TypedDict, total=False):
    """Other fields of a declared mistake, as those of `mistake`."""

    advice: str
    steps: tuple[str, ...]
    backward: bool | None
    kind: str
    of: type | UnionType


def is_part(expression: Expression, part: Part) -> bool:
    if isinstance(part, type | UnionType):
        return isinstance(expression, part)
    if not isinstance(part, str):
        return part(expression)
    while isinstance(expression, Rearranged | Row):
        expression = expression.operand
    return isinstance(expression, Step) and f"{expression.stem}_".startswith(f"{part}_")


def with_part(part: Part) -> Part:
    """Return the condition that an operation has a part as an operand."""
    return lambda node: isinstance(node, Operation) and any(is_part(x, part) for x in node.operands)


def parts(step: Step) -> list[Expression]:
    return [*islice(walk(made_of(step)), MAX_FORMULA_PARTS)]


def pair_of(node: Expression) -> tuple[Expression, Expression] | None:
    """Return the operands of an operation on two matrices, None for anything else."""
    names = node.operand_fields if isinstance(node, Operation) else ()
    operands = [getattr(node, name) for name in names]
    is_pair = len(operands) == 2 and all(isinstance(one, Step | Operation) for one in operands)
    return (operands[0], operands[1]) if is_pair else None


def inverted(node: Scale) -> Scale:
    """Return the division for a multiplication, and the multiplication for a division."""
    return replace(node, times=node.over, over=node.times)


def turned(node: Operation) -> Operation:
    """Return an operation on two matrices with its sides exchanged."""
    return type(node)(*node.operands[::-1])


def left_out(
    part: Part, sentence: str = LEFT_OUT, within: Part = Operation, **options: Unpack[Options]
) -> Mistake:
    """Return the mistake that one side of an operation on two matrices was left out."""

    def way(step: Step, trace: Trace) -> Changes:
        whole = made_of(step)
        for node in (node for node in parts(step) if is_part(node, within)):
            one, other = pair_of(node) or (None, None)
            if one is None or other is None:
                continue
            if is_part(other, part):
                yield put(whole, node, one), {"operand": other}
            if is_part(one, part) and not isinstance(node, Divide):
                kept = Negative(other) if isinstance(node, Subtract) else other
                yield put(whole, node, kept), {"operand": one}

    return mistake(sentence, **options)(way)


def instead(
    part: Part,
    other: Callable[..., Expression],
    sentence: str = CALCULATED_INSTEAD,
    **options: Unpack[Options],
) -> Mistake:
    """Return the mistake that something else was calculated in the place of a part.

    That is another operation on its operands, or what a function makes of it.
    """

    def way(step: Step, trace: Trace) -> Changes:
        for node in (node for node in parts(step) if is_part(node, part)):
            is_kind = isinstance(other, type)
            used = other(*getattr(node, "operands", ())) if is_kind else other(node)
            sides = dict(zip(("one", "other"), pair_of(node) or (), strict=False))
            yield put(made_of(step), node, used), {"used": used, "right": node, **sides}

    if isinstance(part, type | UnionType):
        options = {"of": part, **options}
    return mistake(sentence, **options)(way)


def passed_over(part: Part, sentence: str = PASSED_OVER, **options: Unpack[Options]) -> Mistake:
    """Return the mistake that an operation was left out, and its first operand taken."""
    return instead(part, lambda node: node.operands[0], sentence, **options)


def other_factor(*groups: Part, sentence: str = MADE_WITH, **options: Unpack[Options]) -> Mistake:
    """Return the mistake that a factor of a product was another matrix of its group."""

    def way(step: Step, trace: Trace) -> Changes:
        whole, known = made_of(step), known_before(step, trace)
        products = [node for node in parts(step) if isinstance(node, MatMul)]
        factors = [x for node in products for x in node.operands if isinstance(x, Step)]
        for group, right, used in product(groups, factors, known):
            if used is not right and is_part(right, group) and is_part(used, group):
                yield everywhere(whole, {right: used}), {"used": used, "right": right}

    return mistake(sentence, **options)(way)


def known_before(step: Step, trace: Trace) -> list[Step]:
    """Return the inputs and steps before a step, also what its layer is made from."""
    before = [*takewhile(lambda one: one.name != step.name, trace)][-MAX_BEFORE:]
    read = [source for one in before for source in sources(one)]
    return [*dict.fromkeys((*trace.inputs.values(), *read, *before))]


def exchanged(
    one: Part, other: Part, sentence: str = EXCHANGED, **options: Unpack[Options]
) -> Mistake:
    """Return the mistake that two parts of one shape were exchanged."""

    def way(step: Step, trace: Trace) -> Changes:
        whole = made_of(step)
        of_shape = {part: array_of(part).shape for part in parts(step)}
        for first, second in combinations(of_shape, 2):
            is_pair = is_part(first, one) and is_part(second, other)
            is_pair |= is_part(first, other) and is_part(second, one)
            if is_pair and of_shape[first] == of_shape[second] and _has(whole, first, second):
                swapped = everywhere(whole, {first: second, second: first})
                yield swapped, {"one": first, "other": second}

    return mistake(sentence, **options)(way)


def _has(whole: Expression, outer: Expression, part: Expression) -> bool:
    """Return True if an expression has a part not only within another part, `outer`."""
    rest = [whole]
    while rest and rest[-1] is not part:
        node = rest.pop()
        rest += node.operands if isinstance(node, Operation) and node is not outer else ()
    return bool(rest)


def in_steps(kind: str, stems: tuple[str, ...], one: Mistake) -> Mistake:
    """Return a mistake in one step of some stems, in those of its time or stem, or in all."""

    def changes(step: Step, trace: Trace) -> Changes:
        made: dict[str, Expression] = {}
        words: Blanks = {}
        for like in (like for like in trace if like.stem in stems):
            for change, said in one.changes(like, trace):
                made |= change
                words = said if like.name == step.name else words
        at_once = tuple(name for name in made if trace[name].suffix == step.suffix)
        alike = tuple(name for name in made if trace[name].stem == step.stem)
        for scope in dict.fromkeys(((step.name,), at_once, alike, (*made,))):
            if step.name in made and scope[0] == step.name:
                yield {name: made[name] for name in scope}, words

    return mistake(one.sentence, one.advice, steps=stems, kind=kind)(changes)


# ---- every mutation


ANY = Step | Operation

ELEMENTWISE = (Add, Subtract, Hadamard, Divide)
"""Operations on two matrices that are mistaken for each other."""


def _is_function(node: Expression) -> bool:
    """Return True for a function of one matrix that no other mutation leaves out."""
    is_one = isinstance(node, Operation) and len(node.operands) == 1
    return is_one and not isinstance(node, Scale | Transposed | Rearranged)


operand_left_out = left_out(ANY, backward=None)
operation_left_out = passed_over(_is_function, backward=None)
operands_exchanged = exchanged(ANY, ANY, backward=None)


@mistake(CALCULATED_INSTEAD, backward=None)
def other_operation(step: Step, trace: Trace) -> Changes:
    for node in parts(step):
        pair = pair_of(node)
        for kind in ELEMENTWISE if isinstance(node, ELEMENTWISE) else ():
            if pair and not isinstance(node, kind):
                used = kind(*pair)
                yield put(made_of(step), node, used), {"used": used, "right": node}


@mistake("{used} was used in place of {right}.", backward=None)
def other_operand(step: Step, trace: Trace) -> Changes:
    before = known_before(step, trace)
    for right in (node for node in parts(step) if isinstance(node, Step)):
        for used in _like(right, before):
            yield everywhere(made_of(step), {right: used}), {"used": used, "right": right}


def _like(right: Step, before: list[Step]) -> list[Step]:
    """Return matrices that are like one, the nearest of each stem, at most `MAX_OTHERS`."""
    place = before.index(right) if right in before else len(before)
    others: dict[str, Step] = {}
    for _, used in sorted(enumerate(before), key=lambda one: abs(one[0] - place)):
        if _sort_of(used) == _sort_of(right) and not np.array_equal(used.array, right.array):
            others.setdefault(used.stem, used)
    return [*others.values()][:MAX_OTHERS]


def _sort_of(one: Step) -> tuple[Any, ...]:
    return one.array.shape, one.backward, [axis in TOKEN_AXES for axis in one.trailing]


HOW = ("left out", "squared", "turned upside down")


@mistake("{number} was {how}.", backward=None)
def other_constant(step: Step, trace: Trace) -> Changes:
    for node in parts(step):
        ways: Iterable[tuple[Formula, tuple[Expression, ...]]] = _other_fields(node)
        if isinstance(node, Scale):
            number = node.times / node.over if node.times != 1 else node.over
            squared = replace(node, times=node.times * node.times, over=node.over * node.over)
            ways = [(node.symbol or constant(number), (node.operand, squared, inverted(node)))]
        for shown, others in ways:
            for how, other in zip(HOW, others, strict=True):
                yield put(made_of(step), node, other), {"number": text(shown), "how": how}


def _other_fields(node: Expression) -> Iterator[tuple[Formula, tuple[Expression, ...]]]:
    for name in node.float_fields if isinstance(node, Operation) else ():
        number = getattr(node, name)
        if number not in (0.0, 1.0, np.e):
            others = (1.0, number * number, 1 / number)
            yield constant(number), tuple(replace(node, **{name: one}) for one in others)


@mistake("{matrix} was {how}.", backward=None)
def factor_transposed(node: MatMul | MatVec) -> Nodes:
    for factor in node.operands:
        matrix = factor.operand if isinstance(factor, Transposed) else factor
        if isinstance(matrix, Step) and len(matrix.trailing) > 1:
            yield put(node, factor, transposed(factor))


MUTATIONS = {
    id_: replace(row, id=id_) for id_, row in [*globals().items()] if isinstance(row, Mistake)
}
"""Every general mutation by its id, the simple ones first."""

"""Mistakes between the scores and the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.attention.normalizers import Exp, Sum, Unblocked
from attncli.checking.mistakes.changes import Change, Words, made_of
from attncli.checking.mistakes.wrong_operations import Negative
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Divide, MatMul, Scale, Transposed
from attncli.tape.step import Expression, Step


def _other_way(along: int) -> int:
    return -3 - along  # the axes are −1 and −2


def softmax_over_queries(node: Expression) -> Iterator[Expression]:
    """Columns that sum to 1 for rows."""
    if isinstance(node, Sum):
        yield Transposed(replace(node, along=_other_way(node.along)))
    elif (total := _total_of(node)) is not None and isinstance(node, Divide):
        yield replace(node, divisor=replace(total, along=_other_way(total.along)))


def softmax_over_all(node: Expression) -> Iterator[Expression]:
    """One sum for the whole matrix."""
    if isinstance(node, Sum):
        yield Sum(node, _other_way(node.along))
    elif (total := _total_of(node)) is not None and isinstance(node, Divide):
        yield replace(node, divisor=Sum(total, _other_way(total.along)))


def _total_of(node: Expression) -> Sum | None:
    """Return the sum that a quotient divides by."""
    if isinstance(node, Divide) and isinstance(node.divisor, Step):
        made = node.divisor.operation
        return made if isinstance(made, Sum) else None
    return None


def not_normalized(node: Expression) -> Iterator[Expression]:
    """What is to be divided by its sum, undivided."""
    if isinstance(node, Divide) and _total_of(node) is not None:
        yield node.dividend
    elif isinstance(node, MatMul) and isinstance(node.left, Step):
        made = node.left.operation
        if isinstance(made, Divide) and _total_of(made) is not None:
            yield replace(node, left=made.dividend)


def not_exponentiated(node: Expression) -> Iterator[Expression]:
    """The scores themselves divided by their sum."""
    if isinstance(node, Exp):
        yield _tempered(node)
    elif isinstance(node, Divide) and (power := _power_of(node)) is not None:
        total = _total_of(node)
        if total is not None:
            yield Divide(_tempered(power), Sum(_tempered(power), total.along))


def _tempered(power: Exp) -> Expression:
    scores = Unblocked(power.operand)
    return Scale(scores, over=power.temperature) if power.temperature != 1 else scores


def _power_of(node: Divide) -> Exp | None:
    made = node.dividend.operation if isinstance(node.dividend, Step) else None
    return made if isinstance(made, Exp) else None


def scores_as_weights(node: Expression) -> Iterator[Expression]:
    """The values mixed by scores that no softmax has seen."""
    if isinstance(node, MatMul) and isinstance(node.left, Step):
        made = node.left.operation
        if isinstance(made, Divide) and (power := _power_of(made)) is not None:
            yield replace(node, left=_tempered(power))


def softmax_twice(node: Expression) -> Iterator[Expression]:
    """The softmax of the weights."""
    if isinstance(node, Divide) and (total := _total_of(node)) is not None:
        again = Exp(node)
        yield Divide(again, Sum(again, total.along))


def temperature_missing(node: Expression) -> Iterator[Expression]:
    """Temperature 1."""
    if isinstance(node, Exp) and node.temperature != 1:
        yield replace(node, temperature=1.0)


def temperature_inverted(node: Expression) -> Iterator[Expression]:
    """Multiplied by the temperature."""
    if isinstance(node, Exp) and node.temperature != 1:
        yield replace(node, temperature=1 / node.temperature)


def wrong_base(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """2, 10 or e in the place of the base."""
    del trace
    power = made_of(step)
    if isinstance(power, Exp):
        for base in (2.0, 10.0, np.e):
            if base != power.base:
                used, right = ("e" if b == np.e else f"{b:g}" for b in (base, power.base))
                yield {step.name: replace(power, base=base)}, {"used": used, "right": right}


def exponent_sign(node: Expression) -> Iterator[Expression]:
    """e^−s for e^s."""
    if isinstance(node, Exp):
        yield replace(node, operand=Negative(node.operand))

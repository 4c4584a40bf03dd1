"""Mistakes in the mask."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.attention.masks import Mask, Masked, kept
from attncli.attention.normalizers import Exp, Sum
from attncli.checking.mistakes.changes import NO_WORDS, Change, Words, made_of
from attncli.checking.mistakes.wrong_operations import Instead, Opposite, Product
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Transposed
from attncli.tape.step import Expression, Step


def mask_missing(node: Expression) -> Iterator[Expression]:
    """The scores without a mask."""
    if isinstance(node, Masked):
        yield node.operand


def mask_inverted(node: Expression) -> Iterator[Expression]:
    """Blocked where it may attend."""
    if isinstance(node, Masked):
        yield replace(node, mask=Opposite(node.mask))


def mask_as_zero(node: Expression) -> Iterator[Expression]:
    """0 for −∞ in a blocked cell."""
    if isinstance(node, Masked):
        yield Product(node.operand, node.mask)


def mask_transposed(node: Expression) -> Iterator[Expression]:
    """The other triangle."""
    if isinstance(node, Masked):
        yield replace(node, mask=Transposed(node.mask))


def mask_off_by_one(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """One key more or less on one side of a causal mask or a window, or of the real keys."""
    made = made_of(step)
    if not isinstance(made, Masked) or not isinstance(made.mask, Step):
        return
    n, m = step.array.shape[-2:]
    right = made.mask.array
    given = [trace.problem.rules.mask]
    if right.shape[:2] == (1, 1) and np.array_equal(right, np.tril(np.ones_like(right))):
        given.append({"causal": True})  # however it was written
    others = [kept(other, n, m) for mask in given for other in _moved(mask)]
    if "window" in given[0]:  # each query without its own place
        others.append(right * (1 - np.eye(n, m)))
    for numbers in others:
        keep = np.ones_like(right) if numbers is None else numbers
        rule = "A causal mask keeps the diagonal: a token sees itself and what is before it."
        words = {
            "rule": rule if given[-1].get("causal") else "Count again which keys a query may see."
        }
        yield {step.name: replace(made, mask=Instead(made.mask, keep))}, words


def _moved(mask: Mask) -> Iterator[Mask]:
    """Yield masks with one bound moved by one key."""
    for by in (1, -1):
        if mask.get("causal"):
            yield {**mask, "offset": mask.get("offset", 0) + by}
        if "lengths" in mask:
            yield {**mask, "lengths": mask["lengths"] + by}
        if "window" in mask:
            left, right = mask["window"]
            if left > 0 or (left == 0 and by > 0):
                yield {**mask, "window": (left + by, right)}
            if right > 0 or (right == 0 and by > 0):
                yield {**mask, "window": (left, right + by)}


def mask_after_softmax(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Weights of all cells, the blocked ones then set to 0."""
    if not step.name.startswith("weights"):
        return
    masked = next((s for s in trace if isinstance(s.operation, Masked)), None)
    if masked is None or not isinstance(masked.operation, Masked):
        return
    kept = Product(made_of(step), masked.operation.mask)
    yield {masked.name: masked.operation.operand, step.name: kept}, NO_WORDS


def blocked_counted(node: Expression) -> Iterator[Expression]:
    """The sum of all exponentials, those of blocked keys too."""
    if isinstance(node, Sum) and isinstance(node.operand, Step):
        power = node.operand.operation
        if isinstance(power, Exp) and isinstance(power.operand, Step):
            masked = power.operand.operation
            if isinstance(masked, Masked):
                yield replace(node, operand=replace(power, operand=masked.operand))

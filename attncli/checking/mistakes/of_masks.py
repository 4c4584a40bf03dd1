"""Mistakes in the mask."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.checking.mistakes.changes import NO_WORDS, Change, Words, made_of
from attncli.checking.mistakes.wrong_operations import Opposite, Product, Shifted
from attncli.masks import Masked
from attncli.operations import Transposed
from attncli.records import replace
from attncli.trace import Expression, Step, Trace


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


def mask_off_by_one(node: Expression) -> Iterator[Expression]:
    """One key too few, or too many, for each query."""
    if isinstance(node, Masked):
        yield replace(node, mask=Shifted(node.mask, 1))
        yield replace(node, mask=Shifted(node.mask, -1))


def mask_after_softmax(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Weights of all cells, the blocked ones then set to 0."""
    if not step.name.startswith("weights"):
        return
    masked = next((s for s in trace if isinstance(s.operation, Masked)), None)
    if masked is None or not isinstance(masked.operation, Masked):
        return
    kept = Product(made_of(step), masked.operation.mask)
    yield {masked.name: masked.operation.operand, step.name: kept}, NO_WORDS

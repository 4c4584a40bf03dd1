"""Mistakes in the mask."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.checking.mistakes.mistake import Changes, Nodes, made_by, made_of, mistake, wrong
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import MASKS, Mask, Masked, first_place, kept
from attncli.core.attention.softmax import Exp, Sum
from attncli.core.mechanisms.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.operations import Transposed
from attncli.core.tape.step import Step

PAST_BLOCKED = "the past was blocked, the future kept"
"""Words on a causal mask that was transposed."""


@mistake("The mask was not applied.", "Put −∞ where the mask is 0, before the softmax.")
def mask_missing(node: Masked) -> Nodes:
    yield node.operand


@mistake(
    "The mask was inverted: {how}.",
    "A mask of 1 lets a key through, 0 blocks it: put −∞ where it is 0.",
)
def mask_inverted(step: Step, trace: Trace) -> Changes:
    if masked := made_by(Masked, step):
        how = "it blocks what a query may see, and keeps the rest"
        other = replace(masked, mask=wrong(lambda mask: 1 - mask, masked.mask))
        yield {step.name: other}, {"how": PAST_BLOCKED if _is_causal(masked) else how}


@mistake(
    "Blocked scores were set to 0, but e^0 = 1 still counts.", "Put −∞ in blocked cells: e^−∞ = 0."
)
def mask_as_zero(node: Masked) -> Nodes:
    yield wrong(np.multiply, node.operand, node.mask)


@mistake("The mask, 0 and 1, was added to the scores.", "Put −∞ where the mask is 0.")
def mask_added(node: Masked) -> Nodes:
    yield wrong(np.add, node.operand, node.mask)


@mistake("Blocked scores were set to −1.", "Put −∞ in blocked cells: e^−∞ = 0, and e^−1 is not.")
def mask_as_minus_one(node: Masked) -> Nodes:
    yield wrong(lambda s, keep: np.where(keep != 0, s, -1.0), node.operand, node.mask)


@mistake("The mask is transposed: {how}.", "Look up for each query which keys it may see.")
def mask_transposed(step: Step, trace: Trace) -> Changes:
    """Exchange queries and keys; for a causal mask, which need not be square, block the past."""
    if (masked := made_by(Masked, step)) and isinstance(masked.mask, Step):
        (n, m), mask = step.array.shape[-2:], trace.problem.rules.mask
        if "causal" in mask and masked.mask.array.shape == (1, 1, n, m):
            later = np.arange(m) >= np.arange(n)[:, None] + first_place(mask, n, m)
            yield {step.name: with_mask(masked, later.astype(float))}, {"how": PAST_BLOCKED}
        how = "queries and keys have changed places in it"
        other = replace(masked, mask=Transposed(masked.mask))
        yield {step.name: other}, {"how": PAST_BLOCKED if _is_causal(masked) else how}


def with_mask(masked: Masked, keep: Array) -> Masked:
    return replace(masked, mask=wrong(lambda _: keep, masked.mask))


def _is_causal(masked: Masked) -> bool:
    """Return True if a mask keeps the past and blocks the future, however it was written."""
    keep = masked.mask.array if isinstance(masked.mask, Step) else np.zeros((1, 1))
    return np.array_equal(keep, np.tril(np.ones(keep.shape)))


@mistake("Part of the mask was left out: {part}.", "Block what any part of the mask blocks.")
def mask_part_forgotten(step: Step, trace: Trace) -> Changes:
    mask, masked = trace.problem.rules.mask, made_by(Masked, step)
    for part in (name for name in MASKS if name in mask):
        keep = kept({k: v for k, v in mask.items() if k != part}, *step.array.shape[-2:])
        if masked and keep is not None:
            yield {step.name: with_mask(masked, keep)}, {"part": part}


@mistake("The mask is off by one key: it blocks one too many or too few.", "{rule}")
def mask_off_by_one(step: Step, trace: Trace) -> Changes:
    """Move a bound by one key: of a causal mask, a window, or the keys that are no padding."""
    masked = made_by(Masked, step)
    if masked is None or not isinstance(masked.mask, Step):
        return
    n, m = step.array.shape[-2:]
    right = masked.mask.array
    masks = [trace.problem.rules.mask]
    if right.shape[:2] == (1, 1) and _is_causal(masked):
        masks.append({"causal": True})  # however it was written
    others = [kept(other, n, m) for mask in masks for other in _moved(mask)]
    if "window" in masks[0]:  # each query without its own place
        others.append(right * (1 - np.eye(n, m)))
    rule = "Count again which keys a query may see."
    if masks[-1].get("causal"):
        rule = "A causal mask keeps the diagonal: a token sees itself and what is before it."
    for numbers in others:
        keep = np.ones_like(right) if numbers is None else numbers
        yield {step.name: with_mask(masked, keep)}, {"rule": rule}


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


@mistake(
    "The mask was applied after the softmax, so the weights no longer sum to 1.",
    "Put −∞ into the scores before the softmax.",
)
def mask_after_softmax(step: Step, trace: Trace) -> Changes:
    masked = next((other for other in trace if made_by(Masked, other)), None)
    if step.is_weights and masked and (node := made_by(Masked, masked)):
        kept = wrong(np.multiply, made_of(step), node.mask)
        yield {masked.name: node.operand, step.name: kept}, {}


@mistake("The sum counts blocked keys, too.", "Add up only what the mask lets through: e^−∞ = 0.")
def blocked_counted(node: Sum) -> Nodes:
    power = made_by(Exp, node.operand)
    if power and (masked := made_by(Masked, power.operand)):
        yield replace(node, operand=replace(power, operand=masked.operand))

"""Mistakes in the mask: which keys a query may see."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from attncli.checking.judging.equivalent_forms import BEFORE_MASK, before_mask
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import MASKS, Mask, Masked, first_place, is_kept
from attncli.core.attention.softmax import Exp, Sum
from attncli.core.calculation.mistake import Changes, Nodes, made_by, made_of, mistake, wrong
from attncli.core.calculation.mutations import passed_over
from attncli.core.calculation.trace import Trace
from attncli.core.errors import collected
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Formula, Infix, Name, Number, minus, nodes, substituted
from attncli.core.records import replace
from attncli.core.tape.operations import Transposed
from attncli.core.tape.step import Step

PAST_BLOCKED = "the past was blocked, the future kept"
"""Words on a causal mask that was transposed."""

_masked = partial(mistake, of=Masked)

mask_missing = passed_over(
    Masked, "The mask was not applied.", advice="Put −∞ where the mask is 0, before the softmax."
)


@mistake(
    "A causal mask was applied, but this problem has no mask.",
    "Let every query see every key; if it should not, the problem lacks mask: causal.",
)
def mask_invented(step: Step, trace: Trace) -> Changes:
    power, (n, m) = made_by(Exp, step), step.array.shape[-2:]
    if power and n == m > 1 and not made_by(Masked, power.operand):
        masked = wrong(lambda scores: np.where(np.tri(n), scores, -np.inf), power.operand)
        yield replace(power, operand=masked)


@_masked(
    "The mask was inverted: {how}.",
    "A mask of 1 lets a key through, 0 blocks it: put −∞ where it is 0.",
)
def mask_inverted(step: Step, trace: Trace) -> Changes:
    if masked := made_by(Masked, step):
        how = "it blocks what a query may see, and keeps the rest"
        other = replace(masked, mask=wrong(lambda mask: 1 - mask, masked.mask))
        yield other, {"how": PAST_BLOCKED if _is_causal(masked) else how}


@mistake(
    "Blocked scores were set to 0, but e^0 = 1 still counts.", "Put −∞ in blocked cells: e^−∞ = 0."
)
def mask_as_zero(step: Step, trace: Trace) -> Changes:
    return _filled(step, trace, 0.0)


@mistake("The mask, 0 and 1, was added to the scores.", "Put −∞ where the mask is 0.")
def mask_added(node: Masked) -> Nodes:
    yield wrong(np.add, node.operand, node.mask)


@mistake("Blocked scores were set to −1.", "Put −∞ in blocked cells: e^−∞ = 0, and e^−1 is not.")
def mask_as_minus_one(step: Step, trace: Trace) -> Changes:
    return _filled(step, trace, -1.0)


def _filled(step: Step, trace: Trace, fill: float) -> Changes:
    """Yield a number put where a mask blocks: in its own step, or in scores before it."""

    def kept(scores: Array, keep: Array) -> Array:
        return np.where(keep != 0, scores, fill)

    for other in trace if step.plain.startswith((*BEFORE_MASK, "masked")) else ():
        if masked := made_by(Masked, other):
            if other is step:
                yield wrong(kept, masked.operand, masked.mask)
            elif step in before_mask(masked):
                early = wrong(kept, made_of(step), masked.mask)
                yield {step.name: early, other.name: masked.operand}


@_masked("The mask is transposed: {how}.", "Look up for each query which keys it may see.")
def mask_transposed(step: Step, trace: Trace) -> Changes:
    """Exchange queries and keys; for a causal mask, which need not be square, block the past."""
    if (masked := made_by(Masked, step)) and isinstance(masked.mask, Step):
        (n, m), mask = step.array.shape[-2:], trace.problem.rules.mask
        if "causal" in mask and masked.mask.array.shape == (1, 1, n, m):
            later = np.arange(m) >= np.arange(n)[:, None] + first_place(mask, n, m)
            yield with_mask(masked, later), {"how": PAST_BLOCKED}
        how = "queries and keys have changed places in it"
        other = replace(masked, mask=Transposed(masked.mask))
        yield other, {"how": PAST_BLOCKED if _is_causal(masked) else how}


def with_mask(masked: Masked, keep: Array) -> Masked:
    return replace(masked, mask=wrong(lambda _: keep.astype(float), masked.mask))


def _is_causal(masked: Masked) -> bool:
    keep = masked.mask.array if isinstance(masked.mask, Step) else np.zeros((1, 1))
    return np.array_equal(keep, np.tril(np.ones(keep.shape)))


@_masked("Part of the mask was left out: {part}.", "Block what any part of the mask blocks.")
def mask_part_forgotten(step: Step, trace: Trace) -> Changes:
    mask = trace.problem.rules.mask
    masks: dict[str, Mask] = {
        name: {k: v for k, v in mask.items() if k != name} for name in MASKS if name in mask
    }
    if joined := _joined(mask):
        for part in joined.parts:
            rest = tuple(other for other in joined.parts if other is not part)
            formula = replace(joined, parts=rest) if len(rest) > 1 else rest[0]
            masks[text(part)] = _with_condition(mask, formula)
    for name, other in masks.items():
        if any(keep is not None for keep in _kept(other, step)):
            yield from ((masked, {"part": name}) for masked in masked_by(other, step))


@_masked(
    "The conditions of the mask were joined by {other}, not by {word}.",
    "With and, all of them must be true, with or at least one of them.",
)
def mask_and_or(step: Step, trace: Trace) -> Changes:
    if joined := _joined(mask := trace.problem.rules.mask):
        other = "or" if joined.word == "and" else "and"
        for masked in masked_by(_with_condition(mask, replace(joined, word=other)), step):
            yield masked, {"other": other, "word": joined.word}


@_masked(
    "The places of queries and keys in the mask were counted from 0.",
    "The first query is i = 1, and the first key is j = 1.",
)
def mask_counted_from_0(step: Step, trace: Trace) -> Changes:
    def less_1(node: Formula) -> Formula | None:
        return minus(node, Number("1")) if node in (Name("i"), Name("j"), Name("p")) else None

    if "when" in (mask := trace.problem.rules.mask):
        other = _with_condition(mask, substituted(mask["when"].formula, less_1))
        yield from masked_by(other, step)


def _joined(mask: Mask) -> Infix | None:
    formula = mask["when"].formula if "when" in mask else None
    return formula if isinstance(formula, Infix) and formula.word in ("and", "or") else None


def _with_condition(mask: Mask, formula: Formula) -> Mask:
    from attncli.core.attention.expressions import Condition  # few problems have one

    return {**mask, "when": Condition.of(formula, mask["when"].lists)}


def _kept(mask: Mask, step: Step) -> list[Array | None]:
    """Return what a mask keeps, None for everything; [] if there is no such mask."""
    with collected([]):
        return [is_kept(mask, *step.array.shape[-2:])]
    return []


def masked_by(mask: Mask, step: Step) -> Iterator[Masked]:
    masked = made_by(Masked, step)
    for keep in _kept(mask, step):
        if masked:
            yield with_mask(masked, np.ones(step.array.shape[-2:]) if keep is None else keep)


@_masked("The mask is off by one key: it blocks one too many or too few.", "{rule}")
def mask_off_by_one(step: Step, trace: Trace) -> Changes:
    """Move a bound by one key: of a causal mask, a window, or the keys that are no padding."""
    masked = made_by(Masked, step)
    if masked is None or not isinstance(masked.mask, Step):
        return
    right, mask = masked.mask.array, trace.problem.rules.mask
    masks = [mask]
    if right.shape[:2] == (1, 1) and _is_causal(masked):
        masks.append({"causal": True})  # however it was written
    rule = "Count again which keys a query may see."
    if masks[-1].get("causal"):
        rule = "A causal mask keeps the diagonal: a token sees itself and what is before it."
    for other in (other for one in masks for other in _moved(one)):
        yield from ((one, {"rule": rule}) for one in masked_by(other, step))
    if "window" in mask:  # each query without its own place
        yield with_mask(masked, right * (1 - np.eye(*step.array.shape[-2:]))), {"rule": rule}


def _moved(mask: Mask) -> Iterator[Mask]:
    if "when" in mask:
        for formula in _moved_conditions(mask["when"].formula):
            yield _with_condition(mask, formula)
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


OR_EQUAL = {"<": "≤", "≤": "<", ">": "≥", "≥": ">"}


def _moved_conditions(formula: Formula) -> Iterator[Formula]:
    """Yield conditions with a comparison with or without equality, or with a number 1 off."""
    for node in dict.fromkeys(nodes(formula)):
        others: list[Formula] = []
        if isinstance(node, Infix) and node.word in OR_EQUAL:
            others = [replace(node, word=OR_EQUAL[node.word])]
        elif isinstance(node, Number) and node.text.isdecimal():
            others = [Number(str(int(node.text) + by)) for by in (1, -1)]
        for other in others:
            yield substituted(formula, {node: other}.get)


@mistake(
    "The mask was applied after the softmax, so the weights no longer sum to 1.",
    "Put −∞ into the scores before the softmax.",
)
def mask_after_softmax(step: Step, trace: Trace) -> Changes:
    every = trace if step.is_weights else ()
    masked = next((other for other in every if made_by(Masked, other)), None)
    if masked and (node := made_by(Masked, masked)):
        weights = wrong(np.multiply, made_of(step), node.mask)
        yield {masked.name: node.operand, step.name: weights}


@mistake("The sum counts blocked keys, too.", "Add up only what the mask lets through: e^−∞ = 0.")
def blocked_counted(node: Sum) -> Nodes:
    power = made_by(Exp, node.operand)
    if power and (masked := made_by(Masked, power.operand)):
        yield replace(node, operand=replace(power, operand=masked.operand))

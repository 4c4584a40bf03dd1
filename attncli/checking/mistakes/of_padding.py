"""Mistakes in the padding: which keys and queries are real."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.masks import Masked, kept
from attncli.checking.mistakes.mistake import Changes, step_mistake, wrong
from attncli.checking.mistakes.nodes import made_by, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.cells import place_word
from attncli.tape.step import Step

FIRST_ARE_REAL = "The first keys are real, as many as the length says; the others are padding."


@step_mistake("The first keys were taken as padding, not the last.", FIRST_ARE_REAL)
def padding_at_wrong_end(step: Step, trace: Trace) -> Changes:
    for keys, real in _lengths(step, trace):
        yield _with_keys(step, trace, keys >= step.array.shape[-1] - real), {}


@step_mistake("The key {blocked} was blocked, not {right}.", FIRST_ARE_REAL)
def wrong_key_blocked(step: Step, trace: Trace) -> Changes:
    """A real key blocked, and a padded one kept."""
    for keys, real in _lengths(step, trace):
        if real.size == 1:
            length, m = int(real.item()), step.array.shape[-1]
            for padded in range(length, m):
                for other in range(length):
                    keep = ((keys < length) | (keys == padded)) & (keys != other)
                    names = [place_word(step.labels, "key", key) for key in (other, padded)]
                    words = {"blocked": names[0], "right": names[1]}
                    yield _with_keys(step, trace, keep), words


def _lengths(step: Step, trace: Trace) -> Iterator[tuple[Array, Array]]:
    """Yield the numbers of the keys and the number of real ones, for a step with such a mask."""
    real = trace.problem.rules.mask.get("lengths")
    if real is not None and made_by(Masked, step):
        yield np.arange(step.array.shape[-1]), real.reshape(-1, 1, 1, 1)


def _with_keys(step: Step, trace: Trace, keep: Array) -> dict[str, Masked]:
    made = made_by(Masked, step)
    assert made is not None  # by `_lengths`
    mask = {key: value for key, value in trace.problem.rules.mask.items() if key != "lengths"}
    others = kept(mask, *step.array.shape[-2:])
    both = (keep if others is None else keep * others).astype(float)
    return {step.name: replace(made, mask=wrong(lambda _: both, made.mask))}


@step_mistake(
    "The rows of padded queries were blocked, too.", "A mask of lengths blocks keys, not queries."
)
def padded_queries_blocked(step: Step, trace: Trace) -> Changes:
    """−∞ in the rows of padded queries, or no weights; where queries and keys are the same."""
    real, (n, m) = trace.problem.rules.mask.get("lengths"), step.array.shape[-2:]
    if real is None or n != m or trace.problem.kind != "self":
        return
    rows = (np.arange(n)[:, None] < real.reshape(-1, 1, 1, 1)).astype(float)
    if made := made_by(Masked, step):
        keep = wrong(lambda mask: mask * rows, made.mask)
        yield {step.name: replace(made, mask=keep)}, {}
    elif step.name == "weights":
        yield {step.name: wrong(lambda weights: weights * rows, made_of(step))}, {}

"""Mistakes in the score functions, and in the cap."""

from __future__ import annotations

from typing import Any

import numpy as np

from attncli.attention.scores import ConcatenatePairs, Cosine, EachPair, GaussianExponent, PairDot
from attncli.checking.mistakes.mistake import Nodes, mistake, rising, wrong
from attncli.records import replace
from attncli.tape.operations import Concatenate, MatMul, Scale, SoftCap, Tanh, Transposed
from attncli.tape.step import Expression, Operation


@mistake("The tanh was left out.", "Take the tanh of every number: {formula}.")
def tanh_missing(node: Tanh | SoftCap) -> Nodes:
    yield node.operand


@mistake("The sigmoid 1 / (1 + e^−x) was taken, not the tanh.", "Take the tanh of every number.")
def sigmoid_for_tanh(node: Tanh | SoftCap) -> Nodes:
    if isinstance(node, Tanh):
        yield wrong(sigmoid, node.operand)
    else:
        yield Scale(wrong(sigmoid, Scale(node.operand, over=node.cap)), times=node.cap)


def sigmoid(numbers: Any) -> Any:
    """1 / (1 + e^−x) of every number."""
    return 1 / (1 + np.exp(-numbers))


@mistake("The numbers of the hidden layer were added up without v.", "Calculate {formula}.")
def v_forgotten(node: PairDot) -> Nodes:
    yield wrong(lambda pairs: pairs.sum(axis=-1), node.pairs)


@mistake("W and U have changed places.", "Multiply the query by W and the key by U.")
def w_and_u_exchanged(node: EachPair) -> Nodes:
    q, k = node.q, node.k
    if isinstance(q, MatMul) and isinstance(k, MatMul):
        yield replace(node, q=replace(q, right=k.right), k=replace(k, right=q.right))


@mistake(
    "The two parts were put together in the wrong order.",
    "Keep the order of the formula: [a; b] is not [b; a].",
)
def joined_in_wrong_order(node: Operation) -> Nodes:
    if isinstance(node, Concatenate):
        yield replace(node, left=node.right, right=node.left)
    elif isinstance(node, ConcatenatePairs):
        yield wrong(lambda q, k: _other_half_first(node.apply(q, k), q.shape[-1]), *node.operands)
    elif "parts" in node.fields and "joined" in node.trailing:
        yield replace(node, parts=tuple(reversed(node.operands)))


def _other_half_first(joined: Any, size: int) -> Any:
    """[k; q] for [q; k] along the last axis, in which q has a size."""
    return np.concatenate([joined[..., size:], joined[..., :size]], axis=-1)


@mistake(
    "The dot products were not divided by the lengths of the vectors.", "Divide q·k by ‖q‖ ‖k‖."
)
def lengths_forgotten(node: Cosine) -> Nodes:
    yield MatMul(node.q, Transposed(node.k))


@mistake(
    "The dot products were divided by one of the two lengths.", "Divide q·k by ‖q‖ and by ‖k‖."
)
def one_length_forgotten(node: Cosine) -> Nodes:
    yield _divided_by_lengths(node, 1, 0)
    yield _divided_by_lengths(node, 0, 1)


@mistake(
    "The dot products were divided by the squared lengths.",
    "A length is the root of the sum of squares.",
)
def root_forgotten(node: Cosine) -> Nodes:
    yield _divided_by_lengths(node, 2, 2)


def _divided_by_lengths(node: Cosine, times_q: int, times_k: int) -> Expression:
    """q·k / (‖q‖^a ‖k‖^b), for a and b of 0 to 2: (…, n, d), (…, m, d) → (…, n, m)."""

    def divided(q: Any, k: Any) -> Any:
        found = q @ np.swapaxes(k, -1, -2)
        lengths_q = np.sqrt((q * q).sum(axis=-1, keepdims=True))
        lengths_k = np.swapaxes(np.sqrt((k * k).sum(axis=-1, keepdims=True)), -1, -2)
        for lengths in (*[lengths_q] * times_q, *[lengths_k] * times_k):
            found = found / lengths
        return found

    return wrong(divided, node.q, node.k)


@mistake(
    "The minus before the squared distance is missing.",
    "The farther a key, the lower its score: −‖q − k‖².",
)
def sign_of_distance(node: GaussianExponent) -> Nodes:
    yield Scale(node, times=-1.0)


@mistake("The squared distance was not divided by 2·width².", "Divide by 2·width².")
def half_forgotten(node: GaussianExponent) -> Nodes:
    yield Scale(node, times=2.0)
    if node.width != 1:
        yield Scale(node, times=2.0 * node.width * node.width)


@mistake("The squared distance was divided by 2·width.", "Square the width: divide by 2·width².")
def width_not_squared(node: GaussianExponent) -> Nodes:
    if node.width != 1:
        yield Scale(node, times=node.width)


@mistake("The distance was not squared.", "Leave the root out: ‖q − k‖² is the sum of squares.")
def distance_not_squared(node: GaussianExponent) -> Nodes:
    over = 2 * node.width * node.width
    yield wrong(lambda exponent: np.sqrt(-exponent * over) / -over, node)


@mistake(
    "The tanh was not multiplied by the cap.", "Multiply by the cap after the tanh: c·tanh(s / c)."
)
def cap_not_restored(node: SoftCap) -> Nodes:
    yield Scale(node, over=node.cap)


@mistake("The scores were cut off at the cap.", "Calculate {formula}: the tanh bends every score.")
def cap_clipped(node: SoftCap) -> Nodes:
    """min(max(s, −c), c) for c·tanh(s / c)."""
    yield rising(lambda scores: np.clip(scores, -node.cap, node.cap), node.operand)

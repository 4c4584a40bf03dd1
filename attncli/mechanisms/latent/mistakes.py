"""Mistakes in latent attention: in what is made from c_q and c_kv, and in the parts of a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt

import numpy as np

from attncli.core.attention.position_operations import Angles, OfAngles, Rotated
from attncli.core.calculation.mistake import Changes, is_weight, made_by, made_of, mistake, wrong
from attncli.core.calculation.mutations import other_factor
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, Concatenate, Scale
from attncli.core.tape.step import Expression, Step

SOURCES = ("X", "embedded", "c_q", "normed_q", "c_kv", "normed_kv")
"""Names of matrices from which queries, keys and values are made, a row for each token."""


@mistake("The scores were divided by √d_h, not by √(d_h + d_r).", of=Scale)
def scaled_by_content_part(step: Step, trace: Trace) -> Changes:
    scale, sizes = made_by(Scale, step), trace.problem.sizes
    if scale and "d_r" in sizes and scale.over == sqrt(sizes["d_k"]):
        yield replace(scale, over=sqrt(sizes["d_h"]))


@mistake("The rotary part was left out.", of=Concatenate)
def rotary_part_left_out(step: Step, trace: Trace) -> Changes:
    return _in_both(step, trace, lambda node: node.left)


@mistake("The two parts were added up.", "Put them side by side: {formula}.", of=Concatenate)
def parts_added(step: Step, trace: Trace) -> Changes:
    return _in_both(step, trace, lambda node: Add(node.left, node.right))


def _in_both(step: Step, trace: Trace, rule: Callable[[Concatenate], Expression]) -> Changes:
    every = {name: rule(node) for name, node, _ in _joined(step, trace)}
    if step.name in every:
        yield every


@mistake(
    "The content part was turned by the positions, too.", "Turn the rotary part alone: {formula}."
)
def content_turned(step: Step, trace: Trace) -> Changes:
    """By itself, or as one vector with the rotary part; of queries and keys, or in one step."""
    for is_whole in (False, True):
        every: dict[str, Expression] = {}
        for name, node, rotated in _joined(step, trace):
            part = replace(node, right=rotated.operand) if is_whole else node.left
            if array_of(part).shape[-1] % 2 == 0:
                turned = _turned(part, rotated)
                every[name] = turned if is_whole else replace(node, left=turned)
        if step.name in every:
            yield every[step.name]
            yield every


def _turned(part: Expression, like: Rotated) -> Rotated:
    waves = replace(like.waves, size=array_of(part).shape[-1], sections=())
    cos, sin = (OfAngles(Angles(part, waves), name, waves) for name in ("cos", "sin"))
    return replace(like, operand=part, cos=cos, sin=sin, waves=waves)


def _joined(step: Step, trace: Trace) -> Iterator[tuple[str, Concatenate, Rotated]]:
    for one in trace if isinstance(step.operation, Concatenate) else ():
        node = made_by(Concatenate, one)
        if node and (rotated := made_by(Rotated, node.right)):
            yield one.name, node, rotated


@mistake("The rotary part of head 1 was taken in every head.", "Calculate {formula} in each head.")
def rotary_queries_shared(step: Step, trace: Trace) -> Changes:
    """Of queries, which are turned as keys are, but not shared."""
    if step.plain in ("Q_rotary", "Q_rotated") and "head" in step.leading:
        yield wrong(lambda q: np.broadcast_to(q[:, :1], q.shape), made_of(step))


latent_operand_exchanged = other_factor(is_weight, lambda x: x.name in SOURCES, kind="latent")
"""Another matrix of weights, or other rows of before, such as X for c_kv."""

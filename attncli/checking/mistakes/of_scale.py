"""Mistakes in scaling the scores."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from attncli.attention.normalizers import Exp
from attncli.checking.mistakes.mistake import Changes, Nodes, Valued, mistake, step_mistake, wrong
from attncli.checking.mistakes.nodes import made_by, made_of
from attncli.mechanisms.trace import Trace
from attncli.notation.text import text
from attncli.notation.tree import Root, named
from attncli.records import replace
from attncli.tape.operations import Scale
from attncli.tape.step import Step

ROOT = Root(named("d_k"))


def divides_by_root(scale: Scale) -> bool:
    """Return True if the scale divides by √d_k."""
    return scale.times == 1 and scale.symbol is not None and text(scale.symbol) == text(ROOT)


@mistake("The scores were not scaled.", "Calculate {formula}.")
def not_scaled(node: Scale) -> Nodes:
    yield node.operand


@step_mistake(
    "The scores were divided by {by}, not by {right}.",
    "Divide by the root of d_k, not by d_k itself.",
)
def scaled_by_d_k(step: Step, trace: Trace) -> Changes:
    return _scaled_by(step, trace, "d_k")


@step_mistake(
    "The scores were divided by {by}, not by {right}.",
    "d_k is how many numbers one head's key has, not the width of the input.",
)
def scaled_by_sqrt_d_model(step: Step, trace: Trace) -> Changes:
    return _scaled_by(step, trace, "√d_model")


@step_mistake(
    "The scores were divided by {by}, not by {right}.",
    "d_k is how many numbers a key has, not how many tokens there are.",
)
def scaled_by_sqrt_n(step: Step, trace: Trace) -> Changes:
    return _scaled_by(step, trace, "√m", "√n")


def _scaled_by(step: Step, trace: Trace, *letters: str) -> Changes:
    """Yield the changes that divide by something else than √d_k.

    Each letter is a size of the problem; "√" before it takes the root. d_model is the width of
    the input, and of all heads together.
    """
    scale = made_by(Scale, step)
    if scale is None or not divides_by_root(scale):
        return
    for letter in letters:
        for size in _sizes(letter.removeprefix("√"), trace):
            by = sqrt(size) if letter.startswith("√") else float(size)
            other = replace(scale, times=1.0, over=by)
            shown = f"{letter} = √{size} = {by:.4g}" if letter[0] == "√" else f"{letter} = {by:g}"
            right = Valued(text(scale.symbol or ROOT), text(scale.value or scale.symbol or ROOT))
            yield {step.name: other}, {"by": Valued(letter, shown), "right": right}


def _sizes(letter: str, trace: Trace) -> list[int]:
    sizes = trace.problem.sizes
    found = [sizes[letter]] if letter in sizes else []
    if letter == "d_model" and "d_k" in sizes:
        found.append(sizes["d_k"] * trace.problem.heads)
    return list(dict.fromkeys(found))


@mistake("The scores were scaled twice.", "Scale them once: {formula}.")
def scaled_twice(node: Scale) -> Nodes:
    """The factor applied twice; √d_k twice is d_k, which is another mistake."""
    if not divides_by_root(node):
        yield replace(node, operand=node)


@mistake(
    "The scale was inverted: multiplied instead of divided, or the reverse.", "Calculate {formula}."
)
def scale_inverted(node: Scale) -> Nodes:
    yield replace(node, times=node.over, over=node.times)


@step_mistake(
    "The scores were divided by √d_k, {when}.", "Leave the scores as they are in this step."
)
def scaled_needlessly(step: Step, trace: Trace) -> Changes:
    """Divided by √d_k where the problem does not ask for it, or one step too early."""
    if "d_k" not in trace.problem.sizes:
        return
    made, root = made_of(step), sqrt(trace.problem.sizes["d_k"])
    when = "which comes one step later" if "scaled" in trace else "which is not asked for"
    if step.name.startswith("scores"):
        yield {step.name: Scale(made, over=root, symbol=ROOT)}, {"when": when}
    elif isinstance(made, Exp) and "scaled" not in trace:
        scaled = Scale(made.operand, over=root, symbol=ROOT)
        yield {step.name: replace(made, operand=scaled)}, {"when": when}


@mistake("The root of every score was taken.", "Calculate {formula}: the root is of d_k alone.")
def root_of_each_score(node: Scale) -> Nodes:
    """√s or √(s / d_k) for s / √d_k, of scores that are not negative."""
    if divides_by_root(node):
        for inside in (node.operand, replace(node, over=node.over**2)):
            yield wrong(_root, inside, ranges=_roots)


def _root(numbers: Any) -> Any:
    """√ of every number; a ValueError for a number below 0, of which nobody takes the root."""
    if (numbers < 0).any():
        raise ValueError
    return np.sqrt(numbers)


def _roots(scores: Any) -> Any:
    return type(scores)(np.sqrt(np.maximum(scores.low, 0.0)), _root(scores.high))

"""Mistakes in scaling the scores."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from attncli.checking.mistakes.changes import Change, Changes, Words, is_named, made_of
from attncli.mechanisms.trace import Trace
from attncli.notation.text import text
from attncli.notation.tree import Root, named
from attncli.records import replace
from attncli.tape.operations import Scale, SoftCap
from attncli.tape.step import Expression, Operation, Step

ROOT = Root(named("d_k"))


def divides_by_root(scale: Scale) -> bool:
    """Whether the scale divides by √d_k."""
    return scale.times == 1 and scale.symbol is not None and text(scale.symbol) == text(ROOT)


def not_scaled(node: Expression) -> Iterator[Expression]:
    """The scores as they are."""
    if isinstance(node, Scale):
        yield node.operand


def scaled_by(*letters: str) -> Changes:
    """Return the changes that divide by something else than √d_k: `d_k`, `sqrt d_model`, ….

    Each letter is a size of the problem; "√" before it takes the root. d_model is the width of
    the input, and of all heads together.
    """

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
        scale = made_of(step)
        if not isinstance(scale, Scale) or not divides_by_root(scale):
            return
        for letter in letters:
            for size in _sizes(letter.removeprefix("√"), trace):
                by = sqrt(size) if letter.startswith("√") else float(size)
                other = replace(scale, times=1.0, over=by)
                shown = (
                    f"{letter} = √{size} = {by:.4g}" if letter[0] == "√" else f"{letter} = {by:g}"
                )
                words = {"by": shown, "right": text(scale.value or scale.symbol or ROOT)}
                yield {step.name: other}, words

    return changes


def _sizes(letter: str, trace: Trace) -> list[int]:
    sizes = trace.problem.sizes
    found = [sizes[letter]] if letter in sizes else []
    if letter == "d_model" and "d_k" in sizes:
        found.append(sizes["d_k"] * trace.problem.heads)
    return list(dict.fromkeys(found))


def scaled_twice(node: Expression) -> Iterator[Expression]:
    """The factor applied twice; √d_k twice is d_k, which is a mistake of its own."""
    if isinstance(node, Scale) and not divides_by_root(node):
        yield replace(node, operand=node)


def scale_inverted(node: Expression) -> Iterator[Expression]:
    """Multiplied where it is to be divided, or the other way round."""
    if isinstance(node, Scale):
        yield replace(node, times=node.over, over=node.times)


def scaled_needlessly(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Divided by √d_k where the problem does not ask for it, or one step too early."""
    if step.name.startswith("scores") and "d_k" in trace.problem.sizes:
        root = sqrt(trace.problem.sizes["d_k"])
        words = {
            "when": "which comes one step later" if "scaled" in trace else "which is not asked for"
        }
        yield {step.name: Scale(made_of(step), over=root, symbol=ROOT)}, words


def scaled_after_softmax(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """The weights of unscaled scores, scaled."""
    if not step.name.startswith("weights"):
        return
    for scaled in trace:
        scale = scaled.operation
        if isinstance(scale, Scale) and scaled.name.startswith("scaled"):
            yield {scaled.name: scale.operand, step.name: replace(scale, operand=made_of(step))}, {}


def cap_not_restored(node: Expression) -> Iterator[Expression]:
    """tanh(s / c) for c · tanh(s / c)."""
    if isinstance(node, SoftCap):
        yield Scale(node, over=node.cap)


CHAIN = ("scaled", "capped", "biased", "masked")


def earlier_step_used(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """A step made from the scores before they were scaled, or masked."""
    del trace
    if not step.name.startswith((*CHAIN, "exp")):
        return
    made = made_of(step)
    for name in made.fields if isinstance(made, Operation) else ():
        right = getattr(made, name)
        used = right
        while is_named(used, CHAIN) and isinstance(used.operation, Operation):
            used = used.operation.operands[0]
            if isinstance(used, Step):
                words = {"step": step.name, "used": used.name, "right": right.name}
                yield {step.name: replace(made, **{name: used})}, words

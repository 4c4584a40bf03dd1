"""Faults of keys that a kind of problem has no use for, and of keys that it lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from attncli.attention.masks import MASKS
from attncli.errors import Fault
from attncli.problem.keys import KEYS
from attncli.problem.kinds import KINDS
from attncli.problem.scale import reciprocal

REPLACES = {
    "Q": ("W_q", "b_q"),
    "K": ("W_k", "b_k"),
    "V": ("W_v", "b_v"),
    "scores": ("Q", "K", "W_q", "b_q", "W_k", "b_k", "score"),
}
"""Keys that may be given directly, with the keys that have no use then."""

PRODUCTS = ("dot", "scaled_dot", "general")
"""Score functions whose scores grow with d_k: a scale that multiplies by √d_k is a slip."""


def misused(given: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key that has no use in this kind, excludes another, or is missing.

    Args:
        given: the keys that were given.
        values: the values of all keys.
    """
    name = values["kind"]
    kind = KINDS[name]
    for key in given:
        if key not in kind.keys:
            fitting = [name for name, other in KINDS.items() if key in other.keys]
            hint = f"it is for kind: {' or '.join(fitting)}" if fitting else ""
            yield Fault(f"{key} has no use in kind {name}", (key,), hint)
    for direct, replaced in REPLACES.items():
        for key in replaced if direct in given else ():
            if key in given:
                message = f"{direct} is given, so {key} has no use"
                yield Fault(message, (key,), f"leave out {key} or {direct}", (direct,))
    yield from _misfits(name, values)
    scale = values["scale"]
    if values["score"]["name"] in PRODUCTS and (right := reciprocal(scale)):
        message = f"scale is what scores are multiplied by, and {scale} makes products larger"
        hint = f"write scale: {right}; to multiply all the same, write 1*{scale}"
        yield Fault(message, ("scale",), hint, needs="values")
    for key in kind.needs:
        if key not in given:
            yield Fault(f"kind {name} needs {key}", ("kind",), KEYS[key].meaning)
    if "learning_rate" in given and "gradient" not in given:
        message = "learning_rate has no use without gradient"
        yield Fault(message, ("learning_rate",), "write gradient: sum", needs="values")
    yield from _without_source(given, kind.source)


def _misfits(name: str, values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each part of `mask` and `normalize` that has no use in a kind."""
    kind = KINDS[name]
    fitting = [form for form, row in MASKS.items() if kind.by_position or not row.by_position]
    for form in values["mask"]:
        if form in MASKS and form not in fitting:
            message = f"the mask {form} has no use in kind {name}"
            yield Fault(message, ("mask", form), f"{', '.join(fitting)} have")
    if values["normalize"].get("axis", kind.axes[0]) not in kind.axes:
        message = f"normalize.axis has no use in kind {name}"
        yield Fault(message, ("normalize", "axis"), "leave it out")


def sources(source: str) -> tuple[tuple[str, ...], ...]:
    """Return groups of keys of which one must be given: a matrix, its source, or its product."""
    if not source:
        return ()
    return ("Q", "X", "scores"), ("K", source, "scores"), ("V", source)


def _without_source(given: Collection[str], source: str) -> Iterator[Fault]:
    """Yield a fault for the first of Q, K and V that is not given and cannot be calculated."""
    for group in sources(source):
        if not any(key in given for key in group):
            key, origin = group[:2]
            hint = f"{key} is made from {origin}; write {origin}: [[1, 0], [0, 1]]"
            yield Fault(f"there is neither {origin} nor {key}", (), hint)
            return

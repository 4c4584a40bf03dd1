"""The loss, the backward pass with all gradients, and a step of gradient descent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.declare import KeyTests, Mechanism, Option, Shapes, declared, key, letters
from attncli.core.numbers.forms import number
from attncli.core.problem.values import GRADIENT, OF_TARGET


class Gradient(Option):
    """The derivatives of a loss, by the chain rule."""

    gradient = key(
        GRADIENT,
        "the backward pass, with all gradients: sum, {loss: …, target: …} or ∂L/∂output",
        {},
        is_late=True,
        fixed=("gradient",),
        at_top=True,
        instead={"gradient: {loss: mean_squared_error, target: [[…]]}": "loss"},
    )
    learning_rate = key(
        number(),
        "the rate of one step of gradient descent, for every weight",
        needs=("gradient",),
        at_top=True,
    )
    is_around = True
    step_words = dict.fromkeys(("loss", "upstream"), "")

    def tests(self, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        kind = declared()[values["kind"]]
        is_lost = values["gradient"].get("loss") == OF_TARGET and "target" not in kind.own
        message = "gradient: loss is the cross-entropy of target, in kind transformer"
        hint = "write gradient: sum, or {loss: squared_error, target: [[…]]}"
        yield is_lost, "gradient", message, hint

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """It begins at the last step."""
        return bool(kind.result)

    def shapes_with(self, kind: Mechanism, values: Mapping[str, Any], shapes: Shapes) -> Shapes:
        is_joined = values["W_c"] is not None  # which makes the last step
        return {"gradient": letters("n, d_c" if is_joined else kind.result_of(values))}

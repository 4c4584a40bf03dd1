"""The loss, the backward pass with all gradients, and a step of gradient descent."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.declare import KeyTests, Mechanism, Option, Shapes, declared, key, letters
from attncli.core.errors import KeyPath, fail
from attncli.core.numbers.forms import (
    SOME_KEYS,
    STACKS,
    Form,
    choice,
    known_parts,
    matrix,
    number,
    read_parts,
)
from attncli.core.problem.values import MATRIX_OR_FILE
from attncli.core.records import replace

SUM = "sum"
OF_LABELS = "loss"
LOSSES = (SUM, "squared_error", "half_squared_error", "mean_squared_error", OF_LABELS)
"""Losses of the output z: Σ z; Σ (z − target)² over 1, 2 or the count of z; cross-entropy."""


def _loss(raw: object, path: KeyPath) -> object:
    """Return the name of a loss; `gradient: loss` is no name to choose in `{loss: …}`."""
    return raw if raw == OF_LABELS else choice(LOSSES[:-1]).read(raw, path)


GRADIENT_PARTS: dict[str, Form] = {
    "loss": replace(choice(LOSSES), read=_loss),
    **dict.fromkeys(("target", "upstream"), matrix("batch")),
}


def _gradient(raw: object, path: KeyPath) -> dict[str, object]:
    """Return a loss by its name, or an upstream gradient; a matrix alone is the latter."""
    if isinstance(raw, str) and not re.search(MATRIX_OR_FILE["pattern"], raw):
        raw = {"loss": raw}
    if not isinstance(raw, Mapping):
        return {"upstream": GRADIENT_PARTS["upstream"].read(raw, path)}
    parts = known_parts(raw, path, GRADIENT_PARTS)
    if ("loss" in parts) == ("upstream" in parts):
        hint = f"write {path[0]}: sum, or {path[0]}: {{loss: squared_error, target: …}}"
        raise fail(f"{path[0]} needs either loss or upstream", *path, hint=hint)
    values = read_parts(parts, path, GRADIENT_PARTS)
    has_target, is_error = "target" in parts, values.get("loss", SUM) not in (SUM, OF_LABELS)
    if is_error and not has_target:
        message = f"the loss {values['loss']} needs target, of the shape of the output"
        hint = f"write {path[0]}: {{loss: {values['loss']}, target: [[1, 0], [0, 1]]}}"
        raise fail(message, *path, hint=hint, needs="values")
    if has_target and not is_error:
        message = f"target has no use in {path[0]} without a loss that compares with it"
        raise fail(message, *path, "target", hint="use squared_error", needs="values")
    return values


GRADIENT = Form(
    _gradient,
    ({"enum": [SUM, OF_LABELS]}, MATRIX_OR_FILE, *STACKS["batch"]),
    lambda: GRADIENT_PARTS,
    names_file=True,
    either=("loss", "upstream"),
    types=("Mapping[str, Any]", f"MatrixLike | {SOME_KEYS}"),
)


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
        suggests=("sum",),
    )
    learning_rate = key(
        number(),
        "the rate of one step of gradient descent, for every weight",
        needs=("gradient",),
        at_top=True,
    )
    is_around = True
    step_names = "loss upstream"

    def tests(self, kind: Mechanism, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        labels, is_own = kind.loss_of, values["gradient"].get("loss") == OF_LABELS
        every = (one for one in declared().values() if isinstance(one, Mechanism) and one.loss_of)
        known = " or ".join(f"{one.loss_of}, in kind {one.name}" for one in every)
        message = f"gradient: loss is the cross-entropy of {known}"
        hint = "write gradient: sum, or {loss: squared_error, target: [[…]]}"
        yield is_own and not labels, "gradient", message, hint
        is_lost = bool(labels) and is_own and not values[labels]
        hint = "write the words that should follow"
        yield is_lost, "gradient", f"gradient: loss needs {labels}", hint
        is_other = bool(values["gradient"]) and kind.has_loss(given) and not is_own
        message = f"this problem has the loss of {labels}, of which derivatives are"
        yield is_other, "gradient", message, f"write {labels}, and gradient: loss"

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """It begins at the last step."""
        return bool(kind.result)

    def shapes_with(self, kind: Mechanism, values: Mapping[str, Any], shapes: Shapes) -> Shapes:
        is_joined = values["W_c"] is not None  # it makes the last step
        result = "n, d_c" if is_joined else kind.result_of(values)
        return {"gradient": letters(result)} if result else {}

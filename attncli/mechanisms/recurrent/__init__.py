"""A recurrent network whose state attends to the states before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attncli.core.declare import Implied, Mechanism, Shapes, key
from attncli.core.numbers.forms import choice, matrix, vector
from attncli.mechanisms.attention import SCORING

SHAPES_OF_A = {
    "input_context": ("d_h", "d_x + d_h"),
    "state_input_context": ("d_h", "d_h + d_x + d_h"),
    "plain": ("d_h", "d_h + d_x"),
}
"""The shape of A for each way to make the next state."""


class Recurrent(Mechanism):
    """Intra-attention of a network (Cheng et al. 2016, section 3.1, for a plain network)."""

    meaning = "a recurrent network's state attends to the states before it"

    A = key(
        matrix(),
        "h_t = tanh(A [x_t; c] + b)",
        shape="d_h, d_x + d_h",
        required=True,
        as_written=True,
    )
    b = key(vector(), "the bias beside A", shape="d_h")
    h_0 = key(
        vector(),
        "the first state, zeros by default",
        shape="d_h",
        start=True,
        numbers=(1.0, 2.0),
        fixed=("h_0",),
    )
    c_0 = key(vector(), "the first context, zeros by default", shape="d_h", fixed=("c_0",))
    update = key(choice(SHAPES_OF_A), "what makes the next state", follows=True)

    takes = ("X",)
    also_takes = ("W_q", "W_k", *SCORING)
    shapes_here = {"X": "n, d_x", "W_q": "d_q, d_h", "W_k": "d_k, d_h"}
    requires = ("X",)
    variant = "update"
    variants = tuple(SHAPES_OF_A)
    implied = (
        Implied("d_q", "d_h", unless=("W_q",)),
        Implied("d_k", "d_h", unless=("W_k",)),
        Implied("d_v", "d_h"),
    )
    result = "n, d_h"
    step_names = "h c"

    def shapes_with(self, kind: Mechanism, values: Mapping[str, Any], shapes: Shapes) -> Shapes:
        """A word that another kind has is refused later."""
        return {"A": SHAPES_OF_A.get(values["update"], shapes["A"])}

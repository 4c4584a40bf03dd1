"""Attention of one context vector to the states of a text."""

from __future__ import annotations

from attncli.core.declare import Implied, Mechanism, key
from attncli.core.numbers.forms import choice, matrix, vector
from attncli.mechanisms.attention import SCORING

BENT = ("tanh", "none")


class Pooling(Mechanism):
    """Pooling of states (Yang et al. 2016, section 2.2; Zhou et al. 2016, section 3.3)."""

    meaning = "one context vector u attends to the states in X"

    W = key(
        matrix(),
        "the hidden layer tanh(W h + b)",
        shape="d_k, d_model",
        start=True,
        as_written=True,
    )
    b = key(vector(), "the bias beside W", shape="d_k")
    u = key(
        vector(), "the context vector, the query", shape="d_q", required=True, numbers=(1.0, 2.0)
    )
    activation = key(choice(BENT), "the activation of the hidden layer", example="tanh or none")
    output_activation = key(choice(BENT), "the activation of the output", example="tanh or none")

    takes = ("X",)
    also_takes = ("bias", *SCORING, "tokens_as", "mask")
    shapes_here = {"X": "m, d_model"}
    requires = ("X",)
    implied = (Implied("d_k", "d_model", unless=("W",)), Implied("d_v", "d_model"))
    tokens = "m"
    score = "dot"
    single = ("n", "u")
    by_position = False
    result = "n, d_v"
    last = "output"

"""Linear attention with a state, and the delta rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.declare import Implied, KeyTests, Mechanism, key
from attncli.core.numbers.forms import choice, matrix, vector, weight
from attncli.mechanisms.attention import (
    EACH_TOKEN,
    LAID_OUT,
    OUTPUT,
    PROJECTIONS,
    without_projections,
)

FADES = ("gated_delta", "gated")
CORRECTS = ("delta", "gated_delta")
UPDATES = ("delta", "gated_delta", "linear", "gated")


class Delta(Mechanism):
    """Linear attention (Katharopoulos et al. 2020), the delta rule (Schlag et al. 2021)."""

    meaning = "a state learns which value belongs to which key: linear attention, the delta rule"

    update = key(
        choice(UPDATES),
        "what makes the next state",
        follows=True,
        instead={"update: gated_delta, delta, gated or linear": "update_rule rule"},
    )
    alpha = key(
        matrix("either"),
        "how much of the state each token keeps, a column per head, or per feature of keys",
        shape="n, kv_heads*d_alpha",
        only=FADES,
        start=True,
        numbers=(0.5, 1.0),
        zeros=None,
        replaces=("W_alpha", "b_alpha"),
        fixed=("alpha",),
        instead={
            "alpha: how much is kept, e^g for a logarithm g": "decay g gk gamma forget forget_gate"
        },
    )
    W_alpha = key(
        weight(),
        "alpha is σ(X W_alpha + b_alpha)",
        shape="d_model, kv_heads*d_alpha",
        only=FADES,
        needs=("X",),
    )
    b_alpha = key(
        vector(), "added to X W_alpha", shape="kv_heads*d_alpha", only=FADES, needs=("W_alpha",)
    )
    beta = key(
        matrix("either"),
        "how much of its error each token writes, a column per head; 1 by default",
        shape="n, kv_heads*1",
        only=CORRECTS,
        start=True,
        numbers=(0.5, 1.0),
        zeros=None,
        replaces=("W_beta", "b_beta"),
        fixed=("beta",),
        instead={"beta: [1, 0.5], a number for each token": "write_strength betas"},
    )
    W_beta = key(
        weight(),
        "beta is σ(X W_beta + b_beta)",
        shape="d_model, kv_heads*1",
        only=CORRECTS,
        needs=("X",),
    )
    b_beta = key(
        vector(), "added to X W_beta", shape="kv_heads*1", only=CORRECTS, needs=("W_beta",)
    )
    S_0 = key(
        matrix("either"),
        "the first state, a row per feature of keys, zeros by default",
        shape="d_k, kv_heads*d_v",
        fixed=("S_0",),
        instead={"S_0: the first state, (d_k, d_v)": "past_state initial_state recurrent_state"},
    )

    takes = (*PROJECTIONS, *OUTPUT)
    also_takes = ("heads", "kv_heads", "scale", "qk_norm", *LAID_OUT)
    shapes_here = EACH_TOKEN
    starts_with = ("Q", "K", "V")
    variant = "update"
    variants = UPDATES
    score = "dot"
    state = ("d_k", "d_v")
    source = "X"
    result = "n, d_out"
    implied = (*without_projections("d_model"), Implied("d_k", "d_alpha", or_one=True))
    step_names = "decayed read error"

    def tests(self, kind: Mechanism, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        update = values["update"]
        is_unmet = update in FADES and not {"alpha", "W_alpha"} & {*given}
        message = f"update: {update} has no use without alpha"
        yield is_unmet, "update", message, "write alpha, or W_alpha"

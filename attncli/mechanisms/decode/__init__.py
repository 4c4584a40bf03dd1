"""Causal attention a token at a time, as a decoder works with a cache."""

from __future__ import annotations

from attncli.core.declare import Implied, Mechanism
from attncli.mechanisms.attention import (
    EACH_TOKEN,
    LAID_OUT,
    OUTPUT,
    PLACED,
    PROJECTIONS,
    SCORING,
    without_projections,
)


class Decode(Mechanism):
    """Decoding with a cache (Shazeer 2019, section 2.4)."""

    meaning = "each token attends to itself and, in a cache, to those before it"
    takes = (*PROJECTIONS, *OUTPUT, "W_c", *SCORING, "qk_norm", *PLACED)
    also_takes = (*LAID_OUT, "heads", "kv_heads", "past")
    shapes_here = EACH_TOKEN
    starts_with = ("X", "W_q", "W_k", "W_v")
    source = "X"
    result = "n, d_out"
    implied = (Implied("m", "n"), *without_projections("d_model"))

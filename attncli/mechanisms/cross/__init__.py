"""Attention of the tokens of one text to those of another."""

from __future__ import annotations

from attncli.core.attention.parameters import AXES
from attncli.core.declare import Mechanism
from attncli.mechanisms.attention import (
    LAID_OUT,
    OUTPUT,
    PLACED,
    PROJECTIONS,
    SCORING,
    without_projections,
)


class Cross(Mechanism):
    """Cross-attention (Vaswani et al. 2017, section 3.2.3)."""

    meaning = "the tokens of X attend to those of memory"
    takes = ("X", "memory", *PROJECTIONS, "scores", "bias", *OUTPUT, "W_c", *SCORING, "qk_norm")
    also_takes = (*PLACED, "document", *LAID_OUT, "memory_tokens", "heads", "kv_heads", "mask")
    shapes_here = {"W_k": "d_memory, kv_heads*halves*d_k", "W_v": "d_memory, kv_heads*d_v"}
    starts_with = ("X", "memory", "W_q", "W_k", "W_v")
    source = "memory"
    axes = AXES
    result = "n, d_out"
    last = "output"
    implied = without_projections("d_memory")

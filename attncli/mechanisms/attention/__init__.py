"""Attention of every token to all tokens, and the keys that the other mechanisms share with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attncli.core.attention.parameters import AXES
from attncli.core.declare import Declared, Implied, Mechanism, Shapes, key
from attncli.core.numbers.forms import (
    LABELS,
    choice,
    count,
    mapping,
    matrix,
    number,
    vector,
    weight,
)
from attncli.core.problem import values

PROJECTIONS = ("X", "W_q", "b_q", "Q", "W_k", "b_k", "K", "W_v", "b_v", "V")
"""Queries, keys and values: given, or made from X."""

SCORING = ("score", "scale", "softcap", "normalize")
PLACED = ("positions", "ids")
OUTPUT = ("W_o", "b_o")
LAID_OUT = ("tokens_as", "weights_as")
"""How matrices are written."""

EACH_TOKEN = {"K": "n, kv_heads*d_k", "V": "n, kv_heads*d_v"}
"""The shapes of keys and values where each token has one of its own."""


def without_projections(source: str) -> tuple[Implied, ...]:
    """Return the letters that are equal where a projection is left out."""
    return (
        Implied("heads*halves*d_q", "d_model", unless=("Q", "W_q", "scores")),
        Implied("kv_heads*halves*d_k", source, unless=("K", "W_k", "scores")),
        Implied("kv_heads*d_v", source, unless=("V", "W_v")),
        Implied("d_out", "heads*d_v", unless=("W_o",)),
    )


class Shared(Declared):
    """The keys of attention, which several mechanisms have."""

    memory_tokens = key(LABELS, "the words of the rows of memory", (), labels={"": "m"})
    X = key(
        matrix("batch"),
        "the input, one token per row",
        shape="n, d_model",
        numbers=(1.0, 2.0),
        is_of_tokens=True,
        fixed=("X",),
        at_top=True,
        aliases=("x", "inputs"),
        instead={"X: the input, one token per row": "embeddings input input_ids x_input"},
    )
    memory = key(
        matrix("batch"),
        "what is attended to, one token per row",
        shape="m, d_memory",
        numbers=(1.0, 2.0),
        is_of_tokens=True,
        fixed=("memory",),
    )
    W_q = key(
        weight("head"),
        "projection to queries, used as X W_q; identity when left out",
        shape="d_model, heads*halves*d_q",
        instead={"W_q, W_k and W_v, each by itself": "w_qkv wqkv qkv"},
    )
    W_k = key(weight("head"), "projection to keys", shape="d_model, kv_heads*halves*d_k")
    W_v = key(weight("head"), "projection to values", shape="d_model, kv_heads*d_v")
    W_o = key(
        weight(),
        "projection of the heads' outputs side by side",
        shape="heads*d_v, d_out",
        is_late=True,
    )
    b_q = key(
        vector("head"),
        "added to the queries",
        shape="heads*halves*d_q",
        instead={"b_q, b_k and b_v, each by itself": "b_qkv bqkv"},
    )
    b_k = key(vector("head"), "added to the keys", shape="kv_heads*halves*d_k")
    b_v = key(vector("head"), "added to the values", shape="kv_heads*d_v")
    b_o = key(vector(), "added to the output", shape="d_out", is_late=True)
    Q = key(
        matrix("either"),
        "the queries, in place of a projection",
        shape="n, heads*halves*d_q",
        zeros=0.0,
        replaces=("W_q", "b_q"),
        is_of_tokens=True,
        fixed=("Q",),
        aliases=("q", "query", "queries"),
    )
    K = key(
        matrix("either"),
        "the keys",
        shape="m, kv_heads*halves*d_k",
        zeros=0.0,
        replaces=("W_k", "b_k"),
        is_of_tokens=True,
        fixed=("K",),
        aliases=("k", "key", "keys"),
    )
    V = key(
        matrix("either"),
        "the values",
        shape="m, kv_heads*d_v",
        numbers=(1.0, 2.0),
        zeros=0.0,
        replaces=("W_v", "b_v"),
        is_of_tokens=True,
        fixed=("V",),
        aliases=("v", "value", "values"),
    )
    scores = key(
        matrix("either", infinite=True),
        "known scores, in place of a score function",
        shape="n, m",
        replaces=("Q", "K", "W_q", "b_q", "W_k", "b_k", "score", "qk_norm", "past"),
        is_of_tokens=True,
        fixed=("scores",),
    )
    heads = key(count(), "how many heads", 1, aliases=("num_heads", "n_heads"), suggests=(2,))
    kv_heads = key(
        count(),
        "how many heads keys and values have; divides heads",
        follows=True,
        aliases=("num_kv_heads", "n_kv_heads"),
    )
    score = key(
        values.SCORE,
        "the score function, by name or as {name: …} with its parameters",
        {},
        is_late=True,
        example="see attn scores",
        as_written=True,
        instead={"score: {name: additive, W: …, U: …, v: …}, of W_a, U_a and v_a": "w_a u_a v_a"},
    )
    past = key(
        mapping(
            {"K": matrix("either"), "V": matrix("either")},
            "past: {K: [[…]], V: [[…]]}, a row for each earlier token",
            needs=("K", "V"),
        ),
        "keys and values of earlier tokens, a cache: {K: …, V: …}",
        {},
        fixed=("past",),
        not_beside=("halves",),  # of which each would need its own
        instead={
            "past: {K: [[…]], V: [[…]]}, keys and values of earlier tokens": (
                "past_key_values past_key_value past_kv kv_cache cache past_k past_v"
            )
        },
    )
    qk_norm = key(
        values.QK_NORM,
        "the norm of each query and key: l2, rms, or {name: rms, eps: …, g_q: …, g_k: …}",
        {},
        is_late=True,
        example="l2 or rms",
        as_written=True,
        instead={
            "qk_norm: rms, or {name: rms, eps: 1e-6, g_q: …, g_k: …}": (
                "q_norm k_norm use_qk_norm qk_layernorm norm_eps rms_norm_eps"
            )
        },
    )
    scale = key(
        values.SCALE,
        "what scores are multiplied by: a number, or such as 1/sqrt(d_k)",
        follows=True,
        instead={"scale: 1/sqrt(d_k), which is the default": "scaling scale_factor scaled"},
        suggests=("1/d_k",),
    )
    softcap = key(number(), "the c of c·tanh(s/c), which scores become")
    bias = key(
        values.BIAS_FORM,
        "added to the scores; −inf blocks a cell; or an expression such as -0.5*abs(i - j)",
        shape="n, m",
        is_late=True,
        fixed=("bias",),
        instead={"bias: -0.5*abs(i - j), of the query i and the key j, from 1": "score_mod"},
    )
    positions = key(
        values.POSITION_FORM,
        "how tokens know their places: a name, {name: …}, or a list of them",
        {},
        is_late=True,
        example="rope, sinusoidal, …",
        suggests=("sinusoidal",),
        instead={
            "positions: sinusoidal, or {name: rope, base: 10000, pairs: halves}": (
                "rope rotary rotary_emb rope_theta rotary_base rotary_dim theta"
                " pe positional_encoding pos_encoding position_embedding_type sinusoidal"
            ),
            "positions: {name: rope, ids: [0, 1, 5]}": "mrope_section",
            "positions: {name: rope, scaling: {kind: yarn, factor: 4, …}}": (
                "rope_scaling rope_parameters rope_type yarn"
            ),
        },
    )
    ids = key(
        values.IDS,
        "the positions of the tokens, for rope and sinusoidal, in place of 0, 1, 2, …",
        example="0,1,5",
        instead={"ids: [0, 1, 5], the positions of the tokens": "position_ids"},
    )
    document = key(
        LABELS,
        "the document of each token, which is document[i] in mask: {when: …} and bias",
        (),
        example="1,1,2",
        instead={"document: [1, 1, 2], the document of each token": "document_ids doc_ids seq_ids"},
    )
    mask = key(
        values.MASK,
        "which keys queries may see: causal, a 0/1 matrix, or {window: [2, 0]}",
        {},
        shape="n, m",
        is_late=True,
        fixed=("mask",),
        instead={
            "mask: causal where the future is blocked, else leave it out": (
                "causal is_causal causal_mask use_causal_mask"
            ),
            "mask: a 0/1 matrix (1 = may attend), for the padding of a batch one with the axes"
            " (B, 1, m), as [[[1, 1, 0]], …]; or bias: what is added to the scores": (
                "attention_mask attn_mask attn_bias masks"
            ),
            "mask: {lengths: …}, how many keys are real, or mask: a 0/1 matrix": (
                "lengths valid_lens valid_length key_padding_mask padding_mask"
            ),
            "mask: {window: [left, right]}": "window window_size sliding_window local",
            "mask: {when: j <= i}, a condition on the query i and the key j, from 1": (
                "mask_mod block_mask when document_mask"
            ),
            "mask: {keep: …}": "keep",
            "mask: {block: …}": "block",
        },
        suggests=("causal", {"lengths": 1}),
    )
    normalize = key(
        values.NORMALIZE,
        "how scores become weights",
        {"name": "softmax"},
        example="softmax, hardmax, sparsemax, …",
        instead={
            "normalize: {name: softmax, temperature: 2}": "temperature temp tau",
            "normalize: {name: softmax, base: 2}": "base",
            "normalize: {name: softmax, axis: queries}": "axis dim",
            "normalize: {name: softmax, sink: 0}, or the sinks of all heads": (
                "sink sinks attention_sink attention_sinks s_aux add_zero_attn softmax1"
            ),
            "normalize: softmax, which is the default": "softmax normalise normalization",
        },
        suggests=({"temperature": 2},),
    )
    tokens_as = key(
        choice(("rows", "columns")), "whether tokens are rows or columns", "rows", at_top=True
    )
    weights_as = key(
        choice(("in_out", "out_in")),
        "whether weight matrices are (in, out), or (out, in) as nn.Linear stores them",
        "in_out",
    )
    W_c = key(
        matrix(),
        "tanh(W_c [output; x]); of a decoder, [context; state]",
        shape="d_c, d_out + d_model",
        is_late=True,
        needs=("X",),
        as_written=True,
    )

    def shapes_with(self, kind: Mechanism, values: Mapping[str, Any], shapes: Shapes) -> Shapes:
        """Return the shapes of earlier tokens' keys and values, beside which there are others."""
        if not values["past"]:
            return {}
        earlier = {f"past.{name}": ("p", *shapes[name][1:]) for name in ("K", "V")}
        return earlier | dict.fromkeys(("bias", "mask"), ("n", "p + m"))


class SelfAttention(Mechanism):
    """Self-attention (Vaswani et al. 2017, section 3.2)."""

    name = "self"
    meaning = "the tokens of X attend to each other"
    takes = (*PROJECTIONS, "scores", "bias", *OUTPUT, "W_c", *SCORING, "qk_norm", *PLACED)
    also_takes = ("document", *LAID_OUT, "memory_tokens", "heads", "kv_heads", "mask", "past")
    starts_with = ("X", "W_q", "W_k", "W_v")
    source = "X"
    axes = AXES
    result = "n, d_out"
    last = "output"
    implied = (
        Implied("m", "n", unless=("K", "scores")),
        Implied("m", "n", unless=("V",)),
        *without_projections("d_model"),
    )

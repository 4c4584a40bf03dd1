"""Every key that a problem may have: how it is written, what it means, its default and its names.

Flags, the JSON Schema, completion, the manual and the hints for keys of other tools are made of
these rows. Importing them imports no NumPy, as flags need none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attncli.core.numbers import form as forms
from attncli.core.numbers.form import OTHER_WORDS, ArrayForm, Form
from attncli.core.problem.kinds import KINDS, LAYER, LAYER_OPTIONS, UPDATES
from attncli.core.problem.marking import COURSE_NAMES, MARKING, Marking
from attncli.core.problem.values import (
    ANSWERS,
    BIAS_FORM,
    EMBEDDING,
    FINAL_NORM,
    GRADIENT,
    LAYERS,
    MASK,
    NORM_NAMES,
    NORMALIZE,
    PAST,
    POSITION_FORM,
    QK_NORM,
    ROUND,
    SCALE,
    SCORE,
)
from attncli.core.records import EMPTY, Record, replace


class Key(Record, eq=False):
    """One row of the table."""

    form: Form  # how it is written: reads a value, and has its part of the schema
    meaning: str  # one line
    default: object = None  # its value where it is left out
    as_written: bool = False  # whether a matrix is never transposed by `tokens_as: columns`
    aliases: tuple[str, ...] = ()  # other names of this key; weights and biases have more
    instead: Mapping[str, str] = EMPTY  # what to write here instead of which keys of other tools
    flags: tuple[str, ...] | None = None  # its flags, by default --key, and none for arrays
    example: str = ""  # values, for the help of its flag

    def flags_of(self, key: str) -> tuple[str, ...]:
        if self.flags is not None:
            return self.flags
        return () if isinstance(self.form, ArrayForm) else (f"--{key.replace('_', '-')}",)

    @property
    def help(self) -> str:
        """The help of its flags."""
        text = f"{self.meaning}: {self.example}" if self.example else self.meaning
        return f"{text[0].upper()}{text[1:]}{'' if text.endswith('…') else '.'}"


ACTIVATION = forms.choice(("tanh", "none"))
FEED_FORWARD_ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu")

NORM_VECTORS: Mapping[str, Callable[[int], tuple[str, ...]]] = {
    "gain": lambda n: (f"gamma_{n}", f"γ_{n}", f"gamma{n}", f"g_{n}"),
    "shift": lambda n: (f"beta_{n}", f"β_{n}", f"beta{n}"),
}
"""The vectors of a norm, with other names of the n-th."""

KEYS: dict[str, Key] = {
    "title": Key(forms.TEXT, "shown at the top", ""),
    "notes": Key(forms.TEXT, "shown under the title", ""),
    "student": Key(forms.TEXT, "whose problem it is, or whose answers", "", flags=()),
    "variant": Key(forms.TEXT, "which of the variants that `attn vary` writes it is", "", flags=()),
    "problem": Key(forms.TEXT, "its number among the problems of a student", "", flags=()),
    "kind": Key(
        forms.choice(KINDS),
        "which mechanism",
        "self",
        example="self, cross, pooling, …",
        instead={"write kind: cross": "encoder context source", OTHER_WORDS["seq2seq"]: "s h"},
    ),
    "tokens": Key(
        forms.LABELS,
        "the words of the rows of X",
        (),
        example="I,am,good",
        aliases=("words", "sentence"),
        instead={"write tokens: [I, am, good]": "labels token text"},
    ),
    "memory_tokens": Key(forms.LABELS, "the words of the rows of memory", ()),
    "X": Key(
        forms.matrix("batch"),
        "the input, one token per row",
        aliases=("x",),
        instead={
            "write X: the input, one token per row": ("embeddings input inputs input_ids x_input")
        },
    ),
    "memory": Key(forms.matrix("batch"), "what `cross` attends to"),
    "W_q": Key(
        forms.matrix("head"),
        "projection to queries, used as X W_q; identity when left out",
        instead={
            "write W_q, W_k and W_v, each by itself": "w_qkv wqkv qkv",
            "write W_q": "w_query wquery",
        },
    ),
    "W_k": Key(forms.matrix("head"), "projection to keys", instead={"write W_k": "w_key wkey"}),
    "W_v": Key(
        forms.matrix("head"), "projection to values", instead={"write W_v": "w_value wvalue"}
    ),
    "W_o": Key(forms.matrix(), "projection of the heads' outputs side by side"),
    "b_q": Key(
        forms.vector("head"),
        "added to the queries",
        instead={"write b_q, b_k and b_v, each by itself": "b_qkv bqkv"},
    ),
    "b_k": Key(forms.vector("head"), "added to the keys"),
    "b_v": Key(forms.vector("head"), "added to the values"),
    "b_o": Key(forms.vector(), "added to the output"),
    "Q": Key(
        forms.matrix("either"),
        "the queries, in place of a projection",
        aliases=("q",),
        instead={"write Q: the queries, or W_q: their projection of X": "query queries"},
    ),
    "K": Key(
        forms.matrix("either"),
        "the keys",
        aliases=("k",),
        instead={"write K: the keys, or W_k: their projection of X": "key keys"},
    ),
    "V": Key(
        forms.matrix("either"),
        "the values",
        aliases=("v",),
        instead={"write V: the values, or W_v: their projection of X": "value values"},
    ),
    "scores": Key(
        forms.matrix("either", infinite=True), "known scores, in place of a score function"
    ),
    "heads": Key(forms.count(), "how many heads", 1, aliases=("num_heads", "n_heads")),
    "kv_heads": Key(
        forms.count(),
        "how many heads keys and values have; divides heads",
        aliases=("num_kv_heads", "n_kv_heads"),
    ),
    "score": Key(
        SCORE,
        "the score function, by name or as {name: …} with its parameters",
        example="see attn scores",
        as_written=True,
        instead={
            "write score: {name: additive, W: …, U: …, v: …}, of W_a, U_a and v_a": "w_a u_a v_a"
        },
    ),
    "past": Key(
        PAST,
        "keys and values of earlier tokens, a cache: {K: …, V: …}",
        {},
        instead={
            "write past: {K: [[…]], V: [[…]]}, keys and values of earlier tokens": (
                "past_key_values past_key_value past_kv kv_cache cache past_k past_v"
            )
        },
    ),
    "qk_norm": Key(
        QK_NORM,
        "the norm of each query and key: l2, rms, or {name: rms, eps: …, g_q: …, g_k: …}",
        {},
        example="l2 or rms",
        as_written=True,
        instead={
            "write qk_norm: rms, or {name: rms, eps: 1e-6, g_q: …, g_k: …}": (
                "q_norm k_norm use_qk_norm qk_layernorm norm_eps rms_norm_eps"
            )
        },
    ),
    "scale": Key(
        SCALE,
        "what scores are multiplied by: a number, or such as 1/sqrt(d_k)",
        instead={"write scale: 1/sqrt(d_k), which is the default": "scaling scale_factor scaled"},
    ),
    "softcap": Key(forms.number(), "the c of c·tanh(s/c), which scores become"),
    "bias": Key(
        BIAS_FORM,
        "added to the scores; −inf blocks a cell; or an expression such as -0.5*abs(i - j)",
    ),
    "positions": Key(
        POSITION_FORM,
        "how tokens know their places: rope, sinusoidal, or {name: …} with parameters, or a list",
        {},
        example="rope, sinusoidal, …",
        instead={
            "write positions: sinusoidal, or {name: rope, base: 10000, pairs: halves}": (
                "rope rotary rotary_emb rope_theta rotary_base rotary_dim rope_scaling theta"
                " pe positional_encoding pos_encoding position_embedding_type sinusoidal"
            )
        },
    ),
    "mask": Key(
        MASK,
        "which keys queries may see: causal, a 0/1 matrix, or {window: [2, 0]}",
        {},
        instead={
            "write mask: causal where the future is blocked, else leave it out": (
                "causal is_causal causal_mask use_causal_mask"
            ),
            "write mask: a 0/1 matrix (1 = may attend), or bias: what is added to the scores": (
                "attention_mask attn_mask attn_bias masks"
            ),
            "write mask: {lengths: …}, how many keys are real, or mask: a 0/1 matrix": (
                "lengths valid_lens valid_length key_padding_mask padding_mask"
            ),
            "write mask: {window: [left, right]}": "window window_size sliding_window local",
            "write mask: {keep: …}": "keep",
            "write mask: {block: …}": "block",
        },
    ),
    "normalize": Key(
        NORMALIZE,
        "how scores become weights",
        {"name": "softmax"},
        example="softmax, hardmax, sparsemax, …",
        instead={
            "write normalize: {name: softmax, temperature: 2}": "temperature temp tau",
            "write normalize: {name: softmax, base: 2}": "base",
            "write normalize: {name: softmax, axis: queries}": "axis dim",
            "write normalize: {name: softmax, sink: 0}, or the sinks of all heads": (
                "sink sinks attention_sink attention_sinks s_aux add_zero_attn softmax1"
            ),
            "write normalize: softmax, which is the default": "softmax normalise normalization",
        },
    ),
    "tokens_as": Key(
        forms.choice(("rows", "columns")), "whether tokens are rows or columns", "rows"
    ),
    "weights_as": Key(
        forms.choice(("in_out", "out_in")),
        "whether weight matrices are (in, out), or (out, in) as nn.Linear stores them",
        "in_out",
    ),
    "round": Key(
        ROUND,
        "round every step, as people do by hand",
        example="2 for two decimals, 3sf for three significant digits",
        flags=("--round-steps", "--round"),
        instead={"write round: 2": "decimals precision"},
    ),
    "W_c": Key(forms.matrix(), "tanh(W_c [output; x]) after the output", as_written=True),
    "W": Key(forms.matrix(), "pooling: the hidden layer tanh(W h + b)", as_written=True),
    "A": Key(forms.matrix(), "recurrent: h_t = tanh(A [x_t; c] + b)", as_written=True),
    "b": Key(forms.vector(), "pooling and recurrent: the bias beside W or A"),
    "u": Key(forms.vector(), "pooling: the context vector, the query"),
    "h_0": Key(forms.vector(), "recurrent: the first state, zeros by default"),
    "c_0": Key(forms.vector(), "recurrent: the first context, zeros by default"),
    "update": Key(
        forms.choice(UPDATES), "what makes the next state, in kind recurrent", "input_context"
    ),
    "activation": Key(
        forms.choice((*ACTIVATION.words(), *FEED_FORWARD_ACTIVATIONS)),
        "the activation of the hidden layer, in kinds pooling and transformer",
        example="tanh, none, relu, gelu, …",
    ),
    "output_activation": Key(
        ACTIVATION, "the activation of the output, in kind pooling", example="tanh or none"
    ),
    "enhance": Key(forms.TRUTH, "whether co_attention also gives [a; ã; a − ã; a ⊙ ã]"),
    "layers": Key(
        replace(LAYERS, parts=lambda: layer_forms()),  # noqa: PLW0108 – it is defined below
        "transformer: the keys of each layer; those of an only one may stand at the top",
        (),
        as_written=True,
        instead={"write layers: [{W_q: …}, {W_q: …}], one for each": "n_layers num_layers depth"},
    ),
    "norm": Key(forms.choice(NORM_NAMES), "transformer: the norm of each half of a layer", "layer"),
    "place": Key(
        forms.choice(("pre", "post")), "transformer: whether norms come before or after", "pre"
    ),
    "eps": Key(
        forms.number(or_equal=True),
        "transformer: what norms add to the variance; 1e-5, or 1e-6 for rms",
        instead={"write eps: 1e-5": "epsilon layer_norm_eps layer_norm_epsilon"},
    ),
    **{
        f"{name}_{number}": Key(
            forms.vector(), f"transformer: the norm's {name}, {half}", aliases=others(number)
        )
        for number, half in ((1, "of attention"), (2, "of the feed-forward network"))
        for name, others in NORM_VECTORS.items()
    },
    "W_1": Key(forms.matrix(), "transformer: the feed-forward network's first matrix"),
    "b_1": Key(forms.vector(), "transformer: added to x W_1"),
    "W_3": Key(forms.matrix(), "transformer: x W_3 multiplies the activated numbers, as a gate"),
    "b_3": Key(forms.vector(), "transformer: added to x W_3"),
    "W_2": Key(forms.matrix(), "transformer: the feed-forward network's last matrix"),
    "b_2": Key(forms.vector(), "transformer: added after W_2"),
    "embedding": Key(
        EMBEDDING,
        "transformer: {vocabulary: [I, …], table: [[…], …]}, a row for each word",
        {},
        as_written=True,
        instead={"write embedding: {vocabulary: […], table: [[…]]}": "vocab vocabulary wte"},
    ),
    "final_norm": Key(
        FINAL_NORM, "transformer: the norm after the last layer: {gain: …, shift: …}", {}
    ),
    "unembedding": Key(
        forms.choice(("tied",)), "transformer: tied, if logits are products with the embedding"
    ),
    "W_u": Key(
        forms.matrix(),
        "transformer: the unembedding, which makes logits",
        instead={"write W_u: [[…]], a column for each word": "lm_head unembed"},
    ),
    "target": Key(
        forms.LABELS, "transformer: the words that should follow, by label or number from 1", ()
    ),
    "gradient": Key(
        GRADIENT,
        "the backward pass: sum, {loss: squared_error, target: …} or ∂L/∂output",
        {},
        instead={"write gradient: {loss: mean_squared_error, target: [[…]]}": "loss"},
    ),
    "learning_rate": Key(
        forms.number(), "the rate of one step of gradient descent, for every weight"
    ),
    "names": Key(
        COURSE_NAMES, "what a course calls the steps", {}, example="a: scores, b: weights"
    ),
    "answers": Key(ANSWERS, "hand-worked matrices by step name, for `attn check`", flags=()),
    "marking": Key(MARKING, "what `attn check` asks: digits, steps, points", Marking(), flags=()),
}


def layer_forms() -> dict[str, Form]:
    """Return the forms of the keys of a layer."""
    return {key: KEYS[key].form for key in (*LAYER, *LAYER_OPTIONS)}


PROJECTIONS = ("W_q", "W_k", "W_v", "W_o", "W_1", "W_2", "W_3", "W_u")

WITH_PARTS = (
    *("past", "score", "qk_norm", "positions", "mask", "normalize", "embedding", "final_norm"),
    "gradient",
)
"""Keys that are mappings in which there may be matrices."""

"""What other tools call what has another form here, and the form that works."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attncli.forms.form import OTHER_WORDS
from attncli.text.suggestions import did_you_mean

MASK = "write mask: a 0/1 matrix (1 = may attend), or bias: what is added to the scores"
SIZES = "leave it out, sizes follow from the matrices; 1/sqrt(d_k) in scale knows d_k"
CAUSAL = "write mask: causal where the future is blocked, else leave it out"
FORMS = {
    CAUSAL: "causal is_causal causal_mask use_causal_mask",
    MASK: "attention_mask attn_mask attn_bias masks",
    "write mask: {lengths: …}, how many keys are real, or mask: a 0/1 matrix": (
        "lengths valid_lens valid_length key_padding_mask padding_mask"
    ),
    "write mask: {window: [left, right]}": "window window_size sliding_window local",
    "write mask: {keep: …}": "keep",
    "write mask: {block: …}": "block",
    "write normalize: {name: softmax, temperature: 2}": "temperature temp tau",
    "write normalize: {name: softmax, base: 2}": "base",
    "write normalize: {name: softmax, axis: queries}": "axis dim",
    "write normalize: softmax, which is the default": "softmax normalise normalization",
    "write scale: 1/sqrt(d_k), which is the default": "scaling scale_factor scaled",
    SIZES: (
        "dk d_k dq d_q dv d_v d_model dmodel embed_dim emb_dim hidden_size head_dim d_head d "
        "seq_len n m"
    ),
    "write X: the input, one token a row": "embeddings embedding input inputs input_ids x_input",
    "write tokens: [I, am, good]": "labels token text",
    "write Q: the queries, or W_q: their projection of X": "query queries",
    "write K: the keys, or W_k: their projection of X": "key keys",
    "write V: the values, or W_v: their projection of X": "value values",
    "write W_q, W_k and W_v, each by itself": "w_qkv wqkv qkv in_proj_weight",
    "write b_q, b_k and b_v, each by itself": "b_qkv bqkv in_proj_bias",
    "write round: 2": "decimals precision",
    "write kind: cross": "encoder context source",
    "write gradient: {loss: mean_squared_error, target: [[…]]}": "loss target",
    OTHER_WORDS["seq2seq"]: "s h",
    "write score: {name: additive, W: …, U: …, v: …}, of W_a, U_a and v_a": "w_a u_a v_a",
    "leave it out; nothing is dropped here": "dropout dropout_p",
}
"""Each form with the words, in lower case, for which it is shown."""


def way_out(word: str, known: Collection[str]) -> str:
    """Return a hint for an unknown key: the form that it has here, or the key that is like it.

    >>> way_out("is_causal", ["mask"]), way_out("maks", ["mask"])
    ('write mask: causal where the future is blocked, else leave it out', 'did you mean mask?')
    """
    plain = word.lower().replace("-", "_")
    forms = (form for form, words in FORMS.items() if plain in words.split())
    return next(forms, "") or did_you_mean(word, known)


def reciprocal(text: str) -> str:
    """Return what was meant where a scale divides instead of multiplying; "" for any other.

    >>> reciprocal("sqrt(d_k)"), reciprocal("1/sqrt(d_k)")
    ('1/sqrt(d_k)', '')
    """
    return DIVIDED.get(text.replace(" ", ""), "")


DIVIDED: Mapping[str, str] = {
    "sqrt(d_k)": "1/sqrt(d_k)",
    "√d_k": "1/sqrt(d_k)",
    "√(d_k)": "1/sqrt(d_k)",
    "d_k^0.5": "1/sqrt(d_k)",
    "d_k^(1/2)": "1/sqrt(d_k)",
    "sqrt(d_model)": "1/sqrt(d_model)",
    "d_k": "1/d_k",
}
"""What textbooks divide the scores by, with the scale that does."""

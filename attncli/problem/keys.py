"""Every key that a problem may have: what it means, how it is written, and its shape.

The shapes are letters bound to sizes, in row convention. `heads*d_k` is one head's size times
the heads, which fall away for a stack of one matrix a head.
"""

from __future__ import annotations

from attncli.records import Record


class Key(Record):
    """One row of the table.

    Attributes:
        form: how it is written: "matrix", "vector", "text", "labels", "count", "number",
            "choice", "truth", or the name of a mapping of its own ("score", "mask", …).
        meaning: one line.
        stack: what a third axis of a matrix is: "batch", "head" or "either"; "" for none.
        choices: the words of a choice.
        as_written: a matrix that stands the same in row and column convention.
        infinite: whether −∞ is a value.
    """

    form: str
    meaning: str
    stack: str = ""
    choices: tuple[str, ...] = ()
    as_written: bool = False
    infinite: bool = False


def _matrix(meaning: str, stack: str = "", **more: bool) -> Key:
    return Key("matrix", meaning, stack, **more)  # type: ignore[arg-type]


KIND_NAMES = ("self", "cross", "pooling", "co_attention", "recurrent")
ACTIVATIONS = ("tanh", "none")
UPDATES = ("input_context", "state_input_context", "plain")

KEYS: dict[str, Key] = {
    "title": Key("text", "shown at the top"),
    "notes": Key("text", "shown under the title"),
    "kind": Key("choice", "which mechanism", choices=KIND_NAMES),
    "tokens": Key("labels", "the words of the rows of X"),
    "memory_tokens": Key("labels", "the words of the rows of memory"),
    "X": _matrix("the input, one token a row", "batch"),
    "memory": _matrix("what `cross` attends to", "batch"),
    "W_q": _matrix("projection to queries, used as X W_q; identity when left out", "head"),
    "W_k": _matrix("projection to keys", "head"),
    "W_v": _matrix("projection to values", "head"),
    "W_o": _matrix("projection of the heads' outputs side by side"),
    "b_q": Key("vector", "added to the queries", "head"),
    "b_k": Key("vector", "added to the keys", "head"),
    "b_v": Key("vector", "added to the values", "head"),
    "b_o": Key("vector", "added to the output"),
    "Q": _matrix("the queries, in place of a projection", "either"),
    "K": _matrix("the keys", "either"),
    "V": _matrix("the values", "either"),
    "scores": _matrix("known scores, in place of a score function", "either", infinite=True),
    "heads": Key("count", "how many heads"),
    "kv_heads": Key("count", "how many heads keys and values have; divides heads"),
    "score": Key("score", "the score function: a name, or {name: …} with its parameters"),
    "scale": Key("scale", "what scores are multiplied by: a number, or such as 1/sqrt(d_k)"),
    "softcap": Key("number", "c: scores become c·tanh(s/c)"),
    "bias": _matrix("added to the scores; −inf blocks a cell", "either", infinite=True),
    "mask": Key("mask", "causal, a 0/1 matrix, or a mapping of the forms"),
    "normalize": Key("normalize", "how scores become weights"),
    "tokens_as": Key("choice", "whether a token is a row or a column", choices=("rows", "columns")),
    "round": Key("round", "round every step as a hand does"),
    "W_c": _matrix("tanh(W_c [output; x]) after the output", as_written=True),
    "W": _matrix("pooling: the hidden layer tanh(W h + b)", as_written=True),
    "A": _matrix("recurrent: h_t = tanh(A [x_t; c] + b)", as_written=True),
    "b": Key("vector", "pooling and recurrent: the bias beside W or A"),
    "u": Key("vector", "pooling: the context vector, the query"),
    "h_0": Key("vector", "recurrent: the first state, zeros by default"),
    "c_0": Key("vector", "recurrent: the first context, zeros by default"),
    "update": Key("choice", "recurrent: what makes the next state", choices=UPDATES),
    "activation": Key("choice", "pooling: of the hidden layer", choices=ACTIVATIONS),
    "output_activation": Key("choice", "pooling: of the output", choices=ACTIVATIONS),
    "enhance": Key("truth", "co_attention: also [a; ã; a − ã; a ⊙ ã]"),
    "answers": Key("answers", "hand-worked matrices by step name, for `attn check`"),
}

MASK_KEYS = ("causal", "align", "offset", "keep", "block", "lengths", "window")
ALIGNMENTS = ("top-left", "bottom-right")
NORMALIZE_KEYS = ("name", "temperature", "base", "axis")
AXES = ("keys", "queries")
ROUND_KEYS = ("decimals", "significant", "half")
HALVES = ("up", "even")

SCALE_NAMES = ("d_k", "d_v", "d_model", "n", "m")
"""The sizes that a scale expression may use."""

BROADCASTS = ("bias", "mask.keep", "mask.block")


def turns(key: str) -> bool:
    """Return whether a matrix stands the other way round where a token is a column.

    Vectors, the parameters of score functions and what is applied from the left do not.
    """
    if key.startswith("score."):
        return False
    row = KEYS.get(key)
    return row is None or not (row.as_written or row.form == "vector")

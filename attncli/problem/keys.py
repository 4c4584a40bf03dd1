"""Every key that a problem may have: what it means, how it is written, and its shape.

The shapes are letters bound to sizes, in row convention. `heads*d_k` is one head's size times
the heads, which fall away for a stack of one matrix a head.
"""

from __future__ import annotations

from attncli.attention.normalizers import NORMALIZERS
from attncli.attention.parameters import SETTINGS
from attncli.attention.scores import SCORES
from attncli.errors import Fault, InputError
from attncli.forms.form import (
    LABELS,
    TEXT,
    TRUTH,
    ArrayForm,
    Form,
    choice,
    count,
    matrix,
    number,
    vector,
)
from attncli.problem.kinds import KINDS, UPDATES
from attncli.problem.mappings import ANSWERS, MASK, ROUND, SCALE, named
from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean


class Key(Record):
    """One row of the table.

    Attributes:
        form: how it is written, which reads it and has its part of the schema.
        meaning: one line.
        as_written: a matrix that stands the same in row and column convention.
    """

    form: Form
    meaning: str
    as_written: bool = False


ACTIVATION = choice(("tanh", "none"))

KEYS: dict[str, Key] = {
    "title": Key(TEXT, "shown at the top"),
    "notes": Key(TEXT, "shown under the title"),
    "kind": Key(choice(KINDS), "which mechanism"),
    "tokens": Key(LABELS, "the words of the rows of X"),
    "memory_tokens": Key(LABELS, "the words of the rows of memory"),
    "X": Key(matrix("batch"), "the input, one token a row"),
    "memory": Key(matrix("batch"), "what `cross` attends to"),
    "W_q": Key(matrix("head"), "projection to queries, used as X W_q; identity when left out"),
    "W_k": Key(matrix("head"), "projection to keys"),
    "W_v": Key(matrix("head"), "projection to values"),
    "W_o": Key(matrix(), "projection of the heads' outputs side by side"),
    "b_q": Key(vector("head"), "added to the queries"),
    "b_k": Key(vector("head"), "added to the keys"),
    "b_v": Key(vector("head"), "added to the values"),
    "b_o": Key(vector(), "added to the output"),
    "Q": Key(matrix("either"), "the queries, in place of a projection"),
    "K": Key(matrix("either"), "the keys"),
    "V": Key(matrix("either"), "the values"),
    "scores": Key(matrix("either", infinite=True), "known scores, in place of a score function"),
    "heads": Key(count(), "how many heads"),
    "kv_heads": Key(count(), "how many heads keys and values have; divides heads"),
    "score": Key(
        named(SCORES, "score function", "scaled_dot", {}),
        "the score function: a name, or {name: …} with its parameters",
        as_written=True,
    ),
    "scale": Key(SCALE, "what scores are multiplied by: a number, or such as 1/sqrt(d_k)"),
    "softcap": Key(number(), "c: scores become c·tanh(s/c)"),
    "bias": Key(
        matrix("either", broadcasts=True, infinite=True), "added to the scores; −inf blocks a cell"
    ),
    "mask": Key(MASK, "causal, a 0/1 matrix, or a mapping of the forms"),
    "normalize": Key(
        named(NORMALIZERS, "normaliser", "softmax", SETTINGS), "how scores become weights"
    ),
    "tokens_as": Key(choice(("rows", "columns")), "whether a token is a row or a column"),
    "round": Key(ROUND, "round every step as a hand does"),
    "W_c": Key(matrix(), "tanh(W_c [output; x]) after the output", as_written=True),
    "W": Key(matrix(), "pooling: the hidden layer tanh(W h + b)", as_written=True),
    "A": Key(matrix(), "recurrent: h_t = tanh(A [x_t; c] + b)", as_written=True),
    "b": Key(vector(), "pooling and recurrent: the bias beside W or A"),
    "u": Key(vector(), "pooling: the context vector, the query"),
    "h_0": Key(vector(), "recurrent: the first state, zeros by default"),
    "c_0": Key(vector(), "recurrent: the first context, zeros by default"),
    "update": Key(choice(UPDATES), "recurrent: what makes the next state"),
    "activation": Key(ACTIVATION, "pooling: of the hidden layer"),
    "output_activation": Key(ACTIVATION, "pooling: of the output"),
    "enhance": Key(TRUTH, "co_attention: also [a; ã; a − ã; a ⊙ ã]"),
    "answers": Key(ANSWERS, "hand-worked matrices by step name, for `attn check`"),
}


def read_value(key: str, raw: object) -> object:
    """Return what a key of a problem holds, read by its form.

    Raises:
        InputError: for an unknown key, or a value that is not of its form.
    """
    if key not in KEYS:
        raise InputError(Fault(f"unknown key {visible(key)}", (key,), did_you_mean(key, KEYS)))
    return KEYS[key].form.read(raw, (key,))


def array_form(key: str) -> ArrayForm | None:
    """Return the form of a key, or of a part such as `score.W`; None for what is no array."""
    head, _, part = key.partition(".")
    form = KEYS[head].form
    form = form.parts()[part] if part else form
    return form if isinstance(form, ArrayForm) else None


def turns(key: str) -> bool:
    """Return whether a matrix stands the other way round where a token is a column.

    Vectors, the parameters of score functions and what is applied from the left do not.
    """
    form = array_form(key)
    return form is not None and form.axes == 2 and not KEYS[key.partition(".")[0]].as_written

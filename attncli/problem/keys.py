"""Every key that a problem may have: what it means, how it is written, and its default."""

from __future__ import annotations

from collections.abc import Iterable

from attncli.attention.normalizers import NORMALIZERS
from attncli.attention.parameters import SETTINGS
from attncli.attention.scores import SCORES
from attncli.errors import MOST_TOLD, Fault, InputError
from attncli.forms import form as forms
from attncli.forms.form import ArrayForm, Form
from attncli.problem.elsewhere import way_out
from attncli.problem.kinds import KINDS, UPDATES
from attncli.problem.mappings import ANSWERS, GRADIENT, MASK, ROUND, named
from attncli.problem.marking import MARKING, Marking
from attncli.problem.scale import SCALE
from attncli.records import Record
from attncli.tape.step import LEADING
from attncli.text.escapes import visible


class Key(Record):
    """One row of the table."""

    form: Form  # how it is written, which reads it and has its part of the schema
    meaning: str  # one line
    default: object = None  # what it holds when it is left out
    as_written: bool = False  # a matrix that stands the same in row and column convention


ACTIVATION = forms.choice(("tanh", "none"))

KEYS: dict[str, Key] = {
    "title": Key(forms.TEXT, "shown at the top", ""),
    "notes": Key(forms.TEXT, "shown under the title", ""),
    "kind": Key(forms.choice(KINDS), "which mechanism", "self"),
    "tokens": Key(forms.LABELS, "the words of the rows of X", ()),
    "memory_tokens": Key(forms.LABELS, "the words of the rows of memory", ()),
    "X": Key(forms.matrix("batch"), "the input, one token a row"),
    "memory": Key(forms.matrix("batch"), "what `cross` attends to"),
    "W_q": Key(
        forms.matrix("head"), "projection to queries, used as X W_q; identity when left out"
    ),
    "W_k": Key(forms.matrix("head"), "projection to keys"),
    "W_v": Key(forms.matrix("head"), "projection to values"),
    "W_o": Key(forms.matrix(), "projection of the heads' outputs side by side"),
    "b_q": Key(forms.vector("head"), "added to the queries"),
    "b_k": Key(forms.vector("head"), "added to the keys"),
    "b_v": Key(forms.vector("head"), "added to the values"),
    "b_o": Key(forms.vector(), "added to the output"),
    "Q": Key(forms.matrix("either"), "the queries, in place of a projection"),
    "K": Key(forms.matrix("either"), "the keys"),
    "V": Key(forms.matrix("either"), "the values"),
    "scores": Key(
        forms.matrix("either", infinite=True), "known scores, in place of a score function"
    ),
    "heads": Key(forms.count(), "how many heads", 1),
    "kv_heads": Key(forms.count(), "how many heads keys and values have; divides heads"),
    "score": Key(
        named(SCORES, "score function", "scaled_dot", {}),
        "the score function: a name, or {name: …} with its parameters",
        as_written=True,
    ),
    "scale": Key(SCALE, "what scores are multiplied by: a number, or such as 1/sqrt(d_k)"),
    "softcap": Key(forms.number(), "c: scores become c·tanh(s/c)"),
    "bias": Key(
        forms.matrix("either", broadcasts=True, infinite=True),
        "added to the scores; −inf blocks a cell",
    ),
    "mask": Key(MASK, "causal, a 0/1 matrix, or a mapping of the forms", {}),
    "normalize": Key(
        named(NORMALIZERS, "normaliser", "softmax", SETTINGS),
        "how scores become weights",
        {"name": "softmax"},
    ),
    "tokens_as": Key(
        forms.choice(("rows", "columns")), "whether a token is a row or a column", "rows"
    ),
    "round": Key(ROUND, "round every step as a hand does"),
    "W_c": Key(forms.matrix(), "tanh(W_c [output; x]) after the output", as_written=True),
    "W": Key(forms.matrix(), "pooling: the hidden layer tanh(W h + b)", as_written=True),
    "A": Key(forms.matrix(), "recurrent: h_t = tanh(A [x_t; c] + b)", as_written=True),
    "b": Key(forms.vector(), "pooling and recurrent: the bias beside W or A"),
    "u": Key(forms.vector(), "pooling: the context vector, the query"),
    "h_0": Key(forms.vector(), "recurrent: the first state, zeros by default"),
    "c_0": Key(forms.vector(), "recurrent: the first context, zeros by default"),
    "update": Key(forms.choice(UPDATES), "recurrent: what makes the next state", "input_context"),
    "activation": Key(ACTIVATION, "pooling: of the hidden layer"),
    "output_activation": Key(ACTIVATION, "pooling: of the output"),
    "enhance": Key(forms.TRUTH, "co_attention: also [a; ã; a − ã; a ⊙ ã]"),
    "gradient": Key(
        GRADIENT, "the backward pass: sum, {loss: squared_error, target: …} or ∂L/∂output", {}
    ),
    "learning_rate": Key(forms.number(), "of one step of gradient descent, for every weight"),
    "answers": Key(ANSWERS, "hand-worked matrices by step name, for `attn check`"),
    "marking": Key(MARKING, "what `attn check` asks: digits, steps, points", Marking()),
}


def read_value(key: str, raw: object) -> object:
    """Return what a key holds; raise an InputError for an unknown key, or what is not its form."""
    if key not in KEYS:
        raise InputError(*unknown_keys([key]))
    return KEYS[key].form.read(raw, (key,))


def unknown_keys(words: Iterable[str]) -> list[Fault]:
    """Return a fault for each word that is no key; only those that are shown have a hint."""
    unknown = enumerate(word for word in words if word not in KEYS)
    return [
        Fault(f"unknown key {visible(word)}", (word,), way_out(word, KEYS) if i < MOST_TOLD else "")
        for i, word in unknown
    ]


def array_form(key: str) -> ArrayForm:
    """Return the form of a matrix or vector, or of a part such as `score.W`."""
    form = _form(key)
    assert isinstance(form, ArrayForm)  # by the caller, who has an array
    return form


def turns(key: str) -> bool:
    """Return whether a matrix stands the other way round where a token is a column.

    Vectors, the parameters of score functions and what is applied from the left do not.
    """
    form, row = _form(key), KEYS[key.partition(".")[0]]
    return isinstance(form, ArrayForm) and form.axes == 2 and not row.as_written


def stacked(key: str, axes: int, heads: int) -> tuple[str, ...]:
    """Return what the axes before a matrix's own are: its heads, or a batch, or both."""
    form = array_form(key)
    if axes - form.axes != 1:
        return LEADING[: axes - form.axes]
    by_head = form.stack == "head" or (form.stack == "either" and heads > 1)
    return ("head",) if by_head else ("batch",)


def _form(key: str) -> Form:
    head, _, part = key.partition(".")
    form = KEYS[head].form
    return form.parts()[part] if part else form

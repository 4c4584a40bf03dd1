"""How the array of a key is written: its form, its axes, and whether it is transposed."""

from __future__ import annotations

from attncli.forms.form import ArrayForm, Form
from attncli.problem.keys import KEYS, PROJECTIONS
from attncli.text.layer_names import OF_LAYER


def form_of(key: str) -> Form:
    """Return the form of a key, or of a part such as `score.W`."""
    head, _, part = OF_LAYER.sub("", key, 1).partition(".")
    form = KEYS[head].form
    return form.parts()[part] if part else form


def array_form(key: str) -> ArrayForm:
    """Return the form of a matrix or vector, or of a part such as `score.W`."""
    form = form_of(key)
    assert isinstance(form, ArrayForm)  # the caller has an array
    return form


def is_transposed(key: str, tokens_as: str, weights_as: str) -> bool:
    """Return True if an array is written transposed, by the values of two keys of its problem.

    Where a token is a column, all matrices are but the parameters of score functions and what is
    applied from the left.
    """
    key = OF_LAYER.sub("", key, 1)
    form, row = form_of(key), KEYS[key.partition(".")[0]]
    is_matrix = isinstance(form, ArrayForm) and form.axes == 2 and not row.as_written
    return is_matrix if tokens_as == "columns" else weights_as == "out_in" and key in PROJECTIONS


def leading_axes(key: str, axes: int, heads: int) -> tuple[str, ...]:
    """Return the names of the axes before the own axes of an array: "batch", "head", or both."""
    form = array_form(key)
    if axes - form.axes != 1:
        return ("batch", "head")[: axes - form.axes]
    by_head = form.stack == "head" or (form.stack == "either" and heads > 1)
    return ("head",) if by_head else ("batch",)

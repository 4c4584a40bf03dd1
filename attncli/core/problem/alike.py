"""Problems that differ in numbers alone: all but their numbers is worked out once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from attncli.core.problem.key_values import is_flat
from attncli.core.problem.keys import TEXT_KEYS

AnyProblem = TypeVar("AnyProblem")
"""The class `Problem`, whose module imports this one."""

MAX_FORMS = 128
"""Maximum number of forms of problems that are remembered; then all are forgotten. Chosen."""


class Forms(Generic[AnyProblem]):
    """The first problem of each form, among those of a run."""

    def __init__(self) -> None:
        self._first: dict[Hashable, AnyProblem] = {}

    def like(self, raw: Mapping[str, Any], values: Mapping[str, Any]) -> AnyProblem | None:
        """Return the first problem of the form of keys as written, and of their values, or None."""
        return self._first.get(_form_of(raw, values))

    def add(self, problem: AnyProblem, raw: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        form = _form_of(raw, values)
        if form is not None:
            if len(self._first) >= MAX_FORMS:
                self._first.clear()
            self._first[form] = problem


def numbers_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in which problems of one form may differ: arrays, and texts about them."""
    others = (*TEXT_KEYS, "gradient")
    return {k: x for k, x in values.items() if isinstance(x, np.ndarray) or k in others}


def may_differ(key: str) -> bool:
    """Return whether problems of one form may differ in a matrix; no rule depends on those."""
    return key != "bias" and ("." not in key or key.startswith("gradient."))


def _form_of(raw: Mapping[str, Any], values: Mapping[str, Any]) -> Hashable:
    """Return what all problems of a form have in common.

    None is returned where that cannot be told: a flat list may become a column, and of an array
    that a rule depends on, not every number is compared. Nor is it of layers, which hold arrays.
    """
    if values.get("layers"):
        return None
    form: list[Hashable] = []
    for key, value in values.items():
        if isinstance(value, np.ndarray) and may_differ(key):
            form.append((key, value.shape, value.dtype))
            is_unclear = value.ndim > 1 and value.shape[0] == 1 and is_flat(raw[key])
        elif key == "gradient":
            about = [(x.shape, x.dtype) if isinstance(x, np.ndarray) else x for x in value.values()]
            form.append((key, *value, *about))
            is_unclear = False
        else:
            form.append((key, text := "" if key in TEXT_KEYS and value else repr(raw[key])))
            is_unclear = "array(" in text
        if is_unclear:
            return None
    return tuple(form)

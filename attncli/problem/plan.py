"""What problems of the same shapes and options share: everything but their numbers.

A stream of a thousand such problems has its keys checked, and its letters bound, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attncli.attention.weights import Rules
from attncli.forms.form import ArrayForm
from attncli.problem.keys import KEYS
from attncli.problem.shapes import Sizes
from attncli.records import Record

OWN = ("title", "notes", "answers", "marking")
"""The keys that a problem may have for itself: no step depends on them."""

MOST = 256
"""So many plans are kept."""

LONGEST = 200
"""Options of more values than this are not compared."""


class Plan(Record, eq=False):
    """What is known of every problem with these options, and matrices of these shapes.

    Attributes:
        values: what each key holds that is no matrix, nor the problem's own.
        sizes: the letters of all shapes, and their sizes.
        rules: how scores become weights; a bias in it is that of the first such problem.
        options: everything that is no matrix, with defaults filled in.
    """

    values: Mapping[str, Any]
    sizes: Sizes
    rules: Rules
    options: Mapping[str, object]


PLANS: dict[object, Plan] = {}
"""The plans of the latest problems."""


def keep_plan(key: object, plan: Plan) -> None:
    """Keep a plan, unless a matrix is among its options."""
    mappings = (part for part in plan.values.values() if isinstance(part, Mapping))
    if key is None or any(isinstance(x, np.ndarray) for m in mappings for x in m.values()):
        return
    if len(PLANS) >= MOST:
        PLANS.clear()
    PLANS[key] = plan


def key_of_plan(raw: Mapping[str, Any], values: Mapping[str, Any]) -> object:
    """Return what problems with the same plan have in common; None where that is too much to tell.

    Args:
        raw: every key as it was given.
        values: what the matrices, and the problem's own keys, hold.
    """
    parts: list[object] = []
    for key, value in raw.items():
        array = values.get(key)
        if isinstance(array, np.ndarray):
            parts.append((key, array.shape))
        elif key in OWN:
            parts.append(key)
        else:
            try:
                parts.append((key, _comparable(value)))
            except TypeError:
                return None
    return tuple(parts)


def is_own(key: str) -> bool:
    """Return whether a key is read for each problem: a matrix, or of its own."""
    return key in OWN or (key in KEYS and isinstance(KEYS[key].form, ArrayForm))


def _comparable(value: object) -> object:
    """Return an option so that equal ones are written alike.

    Raises:
        TypeError: for a list of lists, or many values.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return dict, *((key, _word(part)) for key, part in value.items())
    if isinstance(value, list | tuple) and len(value) <= LONGEST:
        return list, *map(_word, value)
    return _word(value)


def _word(value: object) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):  # 1, 1.0 and True are equal to Python
        return type(value), value
    raise TypeError

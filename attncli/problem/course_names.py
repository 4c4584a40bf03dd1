"""The names that a course gives to the steps: `names: {a: scores, b: weights}`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attncli.errors import KeyPath, fail
from attncli.forms import form as forms
from attncli.forms.form import Form
from attncli.forms.scalars import dotted
from attncli.text.escapes import visible

PATTERN = r"[^\W\d]['′’]*(\w['′’]*){0,39}"
"""A name: a letter, perhaps with primes, then letters, digits and underscores."""


def _names(raw: object, path: KeyPath) -> dict[str, str]:
    """Return the step that each name of a course means; a text is `a: scores, b: weights`."""
    pairs: list[tuple[object, ...]] = [*raw.items()] if isinstance(raw, Mapping) else [()]
    if isinstance(raw, str):
        pairs = [tuple(re.split("[:=]", part)) for part in raw.split(",") if part.strip()]
    if any(len(pair) != 2 for pair in pairs):
        hint = "write such as {a: scores, b: weights}"
        raise fail(f"{dotted(path)} must be a step for each name", *path, hint=hint)
    found = dict[str, str]()
    for key, step in pairs:
        name = str(key).strip()
        if re.fullmatch(PATTERN, name) is None:
            message = f"{visible(name)[:40] or 'nothing'} cannot be the name of a step"
            raise fail(message, *path, name, hint="write a letter or a word, such as a or alpha")
        meant = forms.as_text(step, (*path, name)).strip()
        if name in found or meant in found.values():
            message = f"{dotted(path)} has {visible(name if name in found else meant)} twice"
            raise fail(message, *path, name, hint="leave one of them out", needs="values")
        found[name] = meant
    return found


NAMES = Form(
    _names,
    (
        forms.STRING,
        {"type": "object", "propertyNames": {"pattern": f"^{PATTERN}$"}}
        | {"additionalProperties": forms.ANY_WORD},
    ),
)

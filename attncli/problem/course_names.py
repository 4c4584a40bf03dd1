"""The names that a course gives to the steps: `names: {a: scores, b: weights}`."""

from __future__ import annotations

import re

from attncli.errors import KeyPath, fail
from attncli.forms import form as forms
from attncli.forms.form import Form
from attncli.forms.scalars import dotted
from attncli.problem.marking import by_name
from attncli.text.escapes import visible

PATTERN = r"[^\W\d]['′’]*(\w['′’]*){0,39}"
"""A name: a letter, perhaps with primes, then letters, digits and underscores."""


def _names(raw: object, path: KeyPath) -> dict[str, str]:
    """Return the step that each name of a course means; a text is `a: scores, b: weights`.

    Where only the first of a pair is a step, as in `scores: a`, the second is the name.
    """
    from attncli.tape.words import ALIASES  # few problems have the key

    said = "must be a step for each name", "write such as {a: scores, b: weights}"
    found = dict[str, str]()
    for key, value in by_name(raw, path, *said).items():
        name, meant = key, forms.as_text(value, (*path, key)).strip()
        if name in ALIASES and meant not in ALIASES:
            name, meant = meant, name
        if re.fullmatch(PATTERN, name) is None:
            message = f"{visible(name)[:40] or 'nothing'} cannot be the name of a step"
            raise fail(message, *path, key, hint="write a letter or a word, such as a or alpha")
        if name in found or meant in found.values():
            message = f"{dotted(path)} has {visible(name if name in found else meant)} twice"
            raise fail(message, *path, key, hint="leave one of them out", needs="values")
        found[name] = meant
    return found


COURSE_NAMES = Form(
    _names,
    (
        forms.STRING,
        {"type": "object", "propertyNames": {"pattern": f"^{PATTERN}$"}}
        | {"additionalProperties": forms.ANY_WORD},
    ),
)

"""A JSON Schema of the problem file, made from the same forms that read it."""

from __future__ import annotations

from attncli.forms.form import DEFINITIONS
from attncli.problem.keys import KEYS


def schema() -> dict[str, object]:
    """Return the JSON Schema (draft 2020-12) of one problem.

    >>> schema()["title"]
    'An attention problem'
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An attention problem",
        "type": "object",
        "additionalProperties": False,
        "$defs": DEFINITIONS,
        "properties": {
            key: {"description": row.meaning} | row.form.schema() for key, row in KEYS.items()
        },
    }

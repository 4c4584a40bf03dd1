"""JSON for reading: what is short is on one line."""

from __future__ import annotations

import json

WIDTH = 100


def indented(value: object, indent: str = "", name: str = "") -> str:
    """Return JSON in which lists and mappings that fit into a line are on one.

    `indent` are the blanks before its line, `name` is its key with the colon.
    """
    line = f"{indent}{name}{json.dumps(value, ensure_ascii=False)}"
    if len(line) < WIDTH or not isinstance(value, list | dict):  # one is for a comma
        return line
    deeper = f"{indent}  "
    if isinstance(value, list):
        opening, closing = "[]"
        parts = [indented(part, deeper) for part in value]
    else:
        opening, closing = "{}"
        names = (f"{json.dumps(key, ensure_ascii=False)}: " for key in value)
        parts = [indented(part, deeper, n) for n, part in zip(names, value.values(), strict=True)]
    return "\n".join([f"{indent}{name}{opening}", ",\n".join(parts), f"{indent}{closing}"])

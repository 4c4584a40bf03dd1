"""JSON for reading: what is short stands on one line."""

from __future__ import annotations

import json

WIDTH = 100


def indented(value: object, indent: str = "", name: str = "") -> str:
    """Return JSON in which lists and mappings that fit into a line stand on one.

    Args:
        value: what is written.
        indent: the blanks before its line.
        name: its key, with the colon.

    >>> print(indented({"type": "array", "items": {"type": ["number"], "title": 50 * "x"}}))
    {
      "type": "array",
      "items": {"type": ["number"], "title": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
    }
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
        parts = [
            indented(part, deeper, f"{json.dumps(key, ensure_ascii=False)}: ")
            for key, part in value.items()
        ]
    return "\n".join([f"{indent}{name}{opening}", ",\n".join(parts), f"{indent}{closing}"])

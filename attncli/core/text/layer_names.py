"""The layers in names: `layers.2.scores`, `d_layers.2.W_1`; and the names of courses in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

OF_LAYER = re.compile(r"(?<![^_])layers\.(\d+)\.")
"""What begins the name of a step, an input or a key that is of one of several layers."""

OF_COURSE = re.compile(rf"(?P<before>(?:d_)?(?:{OF_LAYER.pattern})?)(?P<name>.+?)(?P<time>_\d+)?")
"""The name of a step, with what a course's name of it keeps before and behind."""


def called_by(name: str, called: Mapping[str, str]) -> str:
    """Return what a course calls a step, by what it calls some steps; "" for its own name.

    >>> called_by("d_layers.2.scores", {"scores": "a"}), called_by("scores_3", {"scores": "a"})
    ('d_layers.2.a', 'a_3')
    """
    match = OF_COURSE.fullmatch(name) if called else None
    if match is None:
        return ""
    whole = match["name"] + (match["time"] or "")
    time = "" if whole in called else match["time"] or ""
    word = called.get(whole) or called.get(match["name"], "")
    return word and f"{match['before']}{word}{time}"

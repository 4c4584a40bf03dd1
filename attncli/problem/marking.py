"""What a teacher asks of answers: digits, a tolerance, which steps count, and their points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from attncli.errors import KeyPath, fail, needing
from attncli.forms.form import (
    STRING,
    WORDS,
    WRITTEN,
    Form,
    Schema,
    any_of,
    as_text,
    known_parts,
    number,
    number_above,
    or_nothing,
    read_parts,
    whole_number,
)
from attncli.forms.matrices import dotted, to_count, to_number
from attncli.records import EMPTY, Record
from attncli.text.escapes import visible

MOST_DECIMALS = 17
MOST_POINTS = 1_000_000

BETWEEN_COMMAS = re.compile(r'(?:\[(?:"[^"]*"|[^\[\]"])*\]|[^,])+')
"""What stands between two commas; those in brackets, as of `weights[1, 1]`, part nothing."""

FLAGS = {
    "decimals": "--decimals-asked",
    "tolerance": "--tolerance",
    "ask": "--ask",
    "points": "--points",
    "follow": "--follow",
    "few_digits": "--few-digits",
}
"""The flag that sets each part."""


class Marking(Record):
    """What is asked of hand-worked answers.

    Attributes:
        decimals: how many digits after the point a number has at least that is not exact.
        tolerance: how far a right number may be off.
        ask: the names of the steps, or of cells, that count; all steps where there is none.
        points: what a right step, or right cells, earn, by the name.
        follow: which share of its points a number earns that only follows from a slip before it.
        few_digits: which share of its points a number earns that is right only to the digits that
            were written, where more are asked.
    """

    decimals: int | None = None
    tolerance: float = 0.0
    ask: tuple[str, ...] = ()
    points: Mapping[str, float] = EMPTY
    follow: float = 1.0
    few_digits: float = 0.0

    @property
    def possible(self) -> float:
        """The points of all steps together."""
        return round(sum(self.points.values()), 2)

    @property
    def expected(self) -> tuple[str, ...]:
        """The names of what should be given: the steps and cells that are asked, or have points."""
        return self.ask or tuple(self.points)


def _ask(raw: object, path: KeyPath) -> tuple[str, ...]:
    """Return names of steps or cells, which may have blanks; in a text, commas part them."""
    words = BETWEEN_COMMAS.findall(raw) if isinstance(raw, str) else raw
    if not isinstance(words, list | tuple):
        raise fail(f"{dotted(path)} must be a list of steps", *path, hint="[weights, output]")
    names = (as_text(word, (*path, index)).strip() for index, word in enumerate(words))
    found = tuple(dict.fromkeys(filter(None, names)))
    if not found and (words or isinstance(raw, str)):
        raise fail(f"{dotted(path)} names no step", *path, hint="[weights, output]")
    return found


def _points(raw: object, path: KeyPath) -> dict[str, float]:
    """Return the points of steps by name; in a text, commas part the steps: `weights: 4, Q: 1`."""
    hint = "write such as {weights: 4, output: 3}"
    if isinstance(raw, str):
        with needing("text"):
            parts = filter(str.strip, BETWEEN_COMMAS.findall(raw))
            return _by_name([_pair(part, path, hint) for part in parts], path)
    if not isinstance(raw, Mapping):
        raise fail(f"{dotted(path)} must be a number for each step", *path, hint=hint)
    return _by_name(raw.items(), path)


def _by_name(pairs: Iterable[tuple[object, object]], path: KeyPath) -> dict[str, float]:
    """Return the points of steps by name; an InputError tells of a name that stands twice."""
    found: dict[str, object] = {}
    for name, value in pairs:
        word = str(name).strip()
        if word in found:
            message = f"{dotted(path)} has {visible(word)} twice"
            raise fail(message, *path, hint="leave one of them out", needs="text")
        found[word] = value
    return {name: _amount(value, (*path, name)) for name, value in found.items()}


def _amount(raw: object, path: KeyPath) -> float:
    points: float = NUMBER.read(raw, path)
    if points > MOST_POINTS:
        raise fail(f"{dotted(path)} must be at most {MOST_POINTS:,}", *path, needs="values")
    return points


def _decimals(raw: object, path: KeyPath) -> int:
    decimals = to_count(raw, path, 0)
    if decimals > MOST_DECIMALS:
        hint = "no float has more digits"
        message = f"{dotted(path)} must be at most {MOST_DECIMALS}"
        raise fail(message, *path, hint=hint, needs="values")
    return decimals


def _share(raw: object, path: KeyPath) -> float:
    share = to_number(raw, path)
    if not 0 <= share <= 1:
        raise fail(f"{dotted(path)} must be from 0 to 1", *path, hint="0.5", needs="values")
    return share


def _pair(part: str, path: KeyPath, hint: str) -> tuple[str, str]:
    name, sign, value = part.rpartition(":")
    if not sign:
        raise fail(f"{dotted(path)} must be a number for each step", *path, hint=hint)
    return name, value


def _parts() -> dict[str, Form]:
    return {
        "decimals": Form(_decimals, (whole_number(0, MOST_DECIMALS),)),
        "tolerance": NUMBER,
        "ask": Form(_ask, STEPS),
        "points": Form(_points, POINTS),
        "follow": Form(_share, SHARE),
        "few_digits": Form(_share, SHARE),
    }


def read_marking(raw: object, path: KeyPath) -> Marking:
    """Return a marking from a mapping; raise an InputError for what is none."""
    if isinstance(raw, Marking):
        return raw
    if not isinstance(raw, Mapping):
        hint = "write such as {decimals: 2, ask: [weights, output]}"
        raise fail(f"{dotted(path)} must be a mapping", *path, hint=hint)
    parts: dict[str, Any] = read_parts(known_parts(raw, path, _parts()), path, _parts())
    return Marking(**parts)


BLANK: Schema = STRING | {"pattern": r"^\s*$"}
STEPS: tuple[Schema, ...] = (
    WORDS | {"maxItems": 0},
    WORDS | {"contains": {"not": BLANK}},
    {"type": ["string", "number", "boolean"], "pattern": r"[^\s,]"},
)
POINTS: tuple[Schema, ...] = (
    {"type": "object", "additionalProperties": or_nothing(number_above(0, MOST_POINTS))},
    STRING,
)
SHARE: tuple[Schema, ...] = (any_of([{"type": "number", "minimum": 0, "maximum": 1}, WRITTEN]),)
NUMBER = number()
MARKING = Form(read_marking, parts=_parts)

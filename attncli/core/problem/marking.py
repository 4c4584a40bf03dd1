"""What a teacher asks of answers, such as digits and points, and what a course calls the steps."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attncli.core.errors import KeyPath, fail, needing
from attncli.core.numbers import forms
from attncli.core.numbers.forms import Form, Schema
from attncli.core.numbers.written import MAX_DIGITS_OF_FLOATS, dotted, to_number
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import visible

FLOAT_TYPES = ("float64", "float32", "float16", "bfloat16")
"""The types of floats that programs calculate with."""

BETWEEN_COMMAS = r'(?:\[(?:"[^"]*"|[^\[\]"])*\]|[^,])+'
"""Text between two commas; commas in brackets, as of `weights[1, 1]`, separate nothing."""


COURSE_NAME = r"[^\W\d]['′’]*(\w['′’]*){0,39}"
"""A name: a letter, perhaps with primes, then letters, digits and underscores."""


def as_points(number: float) -> float:
    """Return a number of points as teachers write it: two decimals, ties away from zero.

    >>> as_points(2.675), as_points(0.1 + 0.2), as_points(10)
    (2.68, 0.3, 10.0)
    """
    from decimal import ROUND_HALF_UP, Decimal  # which few commands need

    exact = Decimal(f"{number:.9f}")  # without the errors of binary fractions
    return float(exact.quantize(Decimal("0.01"), ROUND_HALF_UP))


class Marking(Record):
    """How answers are marked.

    Attributes:
        decimals: the minimum number of digits after the point of a number that is not exact.
        tolerance: the maximum error of a number that counts as right.
        ask: the names of the steps, or of cells, that count; all steps if it is empty.
        points: the points for a right step, or right cells, by name, with at most two decimals.
        follow: the share of its points that a number earns if it follows from an earlier slip.
        few_digits: the share of its points that a number earns if it has fewer than `decimals`
            digits and is right to those.
        dtype: the type of the floats of arrays that a program calculated; by default as they are.
        rtol: the maximum error of such an array, relative to the largest number of its step.
    """

    decimals: int | None = None
    tolerance: float = 0.0
    ask: tuple[str, ...] = ()
    points: Mapping[str, float] = EMPTY
    follow: float = 1.0
    few_digits: float = 0.0
    dtype: str = ""
    rtol: float | None = None

    @property
    def possible(self) -> float:
        """The points of all steps together."""
        return as_points(sum(self.points.values()))

    @property
    def expected(self) -> tuple[str, ...]:
        """The names of the wanted steps and cells: those in `ask`, else those with points."""
        return self.ask or tuple(self.points)


FLAGS = {part: f"--{part.replace('_', '-')}" for part in Marking.fields}
FLAGS["decimals"] = "--decimals-asked"  # --decimals is about the output
"""The flag that sets each part."""


def _ask(raw: object, path: KeyPath) -> tuple[str, ...]:
    """Return names of steps or cells, which may have blanks; a text has commas between them."""
    words = re.findall(BETWEEN_COMMAS, raw) if isinstance(raw, str) else raw
    if not isinstance(words, list | tuple):
        raise fail(f"{dotted(path)} must be a list of steps", *path, hint="[weights, output]")
    names = (forms.as_text(word, (*path, index)).strip() for index, word in enumerate(words))
    steps = tuple(dict.fromkeys(filter(None, names)))
    if not steps and (words or isinstance(raw, str)):
        raise fail(f"{dotted(path)} names no step", *path, hint="[weights, output]")
    return steps


def _points(raw: object, path: KeyPath) -> dict[str, float]:
    """Return the points of steps by name; a text has commas between them: `weights: 4, Q: 1`."""
    said = "must be a number for each step", "write such as {weights: 4, output: 3}"
    with needing("text" if isinstance(raw, str) else ""):
        values = by_name(raw, path, *said).items()
        return {name: as_points(POINTS.read(value, (*path, name))) for name, value in values}


def by_name(raw: object, path: KeyPath, said: str, hint: str) -> dict[str, object]:
    """Return a mapping, also of a text such as `weights: 4, Q: 1`; refuse a repeated name."""
    pairs = [*raw.items()] if isinstance(raw, Mapping) else None
    if isinstance(raw, str):
        words = [word.rpartition(":") for word in re.findall(BETWEEN_COMMAS, raw) if word.strip()]
        pairs = [(name, value) for name, _, value in words] if all(x[1] for x in words) else None
    if pairs is None:
        raise fail(f"{dotted(path)} {said}", *path, hint=hint)
    values: dict[str, object] = {}
    for name, value in pairs:
        word = str(name).strip()
        if word in values:
            message = f"{dotted(path)} has {visible(word)} twice"
            raise fail(message, *path, hint="leave one of them out", needs="text")
        values[word] = value
    return values


def _names(raw: object, path: KeyPath) -> dict[str, str]:
    """Return the step that each name of a course means; a text is `a: scores, b: weights`.

    Where only the first of a pair is a step, as in `scores: a`, the second is the name.
    """
    from attncli.core.tape.step_words import ALIASES

    said = "must be a step for each name", "write such as {a: scores, b: weights}"
    steps = dict[str, str]()
    for key, value in by_name(raw, path, *said).items():
        name, meant = key, forms.as_text(value, (*path, key)).strip()
        if name in ALIASES and meant not in ALIASES:
            name, meant = meant, name
        if re.fullmatch(COURSE_NAME, name) is None:
            message = f"{visible(name)[:40] or 'nothing'} cannot be the name of a step"
            raise fail(message, *path, key, hint="write a letter or a word, such as a or alpha")
        if name in steps or meant in steps.values():
            message = f"{dotted(path)} has {visible(name if name in steps else meant)} twice"
            raise fail(message, *path, key, hint="leave one of them out", needs="values")
        steps[name] = meant
    return steps


def _share(raw: object, path: KeyPath) -> float:
    share = to_number(raw, path)
    if not 0 <= share <= 1:
        raise fail(f"{dotted(path)} must be from 0 to 1", *path, hint="such as 0.5", needs="values")
    return share


def read_marking(raw: object, path: KeyPath) -> Marking:
    return raw if isinstance(raw, Marking) else Marking(**PARTS_OF_MARKING.read(raw, path))


POINTS = forms.number(most=1_000_000)
ASKED_STEPS: tuple[Schema, ...] = (
    forms.LIST_OF_WORDS | {"maxItems": 0},
    forms.LIST_OF_WORDS | {"contains": {"not": forms.STRING | {"pattern": r"^\s*$"}}},
    forms.ANY_WORD | {"pattern": r"[^\s,]"},
)
POINTS_OF_STEPS: tuple[Schema, ...] = (
    {"type": "object", "additionalProperties": forms.or_nothing(POINTS.schema())},
    forms.STRING,
)
FROM_0_TO_1: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARE_OF_POINTS = Form(_share, (forms.any_of([FROM_0_TO_1, forms.WRITTEN]),))

MARKING_PARTS: dict[str, Form] = {
    "decimals": forms.count(0, MAX_DIGITS_OF_FLOATS),
    "tolerance": forms.number(),
    "ask": Form(_ask, ASKED_STEPS),
    "points": Form(_points, POINTS_OF_STEPS),
    "follow": SHARE_OF_POINTS,
    "few_digits": SHARE_OF_POINTS,
    "dtype": forms.choice(FLOAT_TYPES),
    "rtol": forms.number(),
}
PARTS_OF_MARKING = forms.mapping(MARKING_PARTS, "such as {decimals: 2, ask: [weights, output]}")
MARKING = replace(
    PARTS_OF_MARKING, read=read_marking, types=("Marking", f"Marking | {forms.SOME_KEYS} | None")
)

COURSE_NAMES = Form(
    _names,
    (
        forms.STRING,
        {"type": "object", "propertyNames": {"pattern": f"^{COURSE_NAME}$"}}
        | {"additionalProperties": forms.ANY_WORD},
    ),
    types=("Mapping[str, str]", "Mapping[str, str] | str | None"),
)

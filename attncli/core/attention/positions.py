"""The positions: how a calculation knows which token comes first.

To add one: write a function that records its steps, below the row that it has in `POSITIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attncli.core.attention.angles import BASE, PAIRS, SCALING, Scaling, Waves
from attncli.core.attention.masks import POSITION, Mask, first_place
from attncli.core.attention.parameters import Parameter, Table
from attncli.core.attention.position_operations import (
    Angles,
    AtPositions,
    Embedded,
    Frequencies,
    OfAngles,
    PositionBias,
    Rotated,
    Sinusoids,
    slopes_of,
)
from attncli.core.errors import KeyPath, fail
from attncli.core.formulas import tree
from attncli.core.numbers.forms import (
    ROWS_OF_NUMBERS,
    Form,
    choice,
    count,
    known_parts,
    listed,
    read_parts,
    vector,
    whole_number,
)
from attncli.core.numbers.matrices import to_vector
from attncli.core.numbers.parser import parse
from attncli.core.numbers.written import dotted, to_count, to_number
from attncli.core.records import Record
from attncli.core.tape.operations import Add, Row
from attncli.core.tape.step import Operation, Step
from attncli.core.tape.tape import Tape
from attncli.core.text.strings import count_of

Settings = Mapping[str, Any]
"""The parameters of a row, by name."""

ByPlaceFields = dict[str, Any]
"""The fields of a `PositionBias` that a row determines."""


def _start(raw: object, path: KeyPath) -> int | tuple[int, ...]:
    """Return the first position, or those of queries and of keys."""
    if not isinstance(raw, list | tuple):
        return to_count(raw, path, None)
    if len(raw) != 2:
        hint = "write start: 0, or start: [5, 0] for queries and keys"
        raise fail(f"{dotted(path)} must be one number, or two", *path, hint=hint)
    return tuple(to_count(one, path, None) for one in raw)


ONE_START = count(least=None)
STARTS = Form(
    _start, (whole_number(None), listed(whole_number(None)) | {"minItems": 2, "maxItems": 2})
)


def _places(raw: object, path: KeyPath) -> list[Any]:
    """Return the positions of tokens, in one row or in several."""
    raw = raw if isinstance(raw, list | tuple) else to_vector(raw, path).tolist()
    if not raw:
        raise fail(f"{dotted(path)} is empty", *path, hint="write such as ids: [0, 1, 5]")
    parts = [(one, (*path, place)) for place, one in enumerate(raw)]
    if any(isinstance(one, list | tuple) for one in raw):
        rows = [_places(one, at) for one, at in parts]
        if len({len(row) for row in rows}) > 1 or isinstance(rows[0][0], list):
            raise fail(f"the rows of {dotted(path)} must be lists of equal lengths", *path)
        return rows
    numbers = [to_number(one, at) for one, at in parts]
    return [int(number) if number.is_integer() else number for number in numbers]


def _ids(raw: object, path: KeyPath) -> list[Any] | dict[str, Any]:
    """Return the positions of all tokens, or those of queries and of keys."""
    if not isinstance(raw, Mapping):
        return _places(raw, path)
    sides = read_parts(known_parts(raw, path, SIDES), path, SIDES)
    if len(sides) != len(SIDES):
        hint = "write ids: {queries: [5, 6], keys: [0, 1, 2]}"
        raise fail(f"{dotted(path)} needs queries and keys", *path, hint=hint)
    return sides


def _sections(raw: object, path: KeyPath) -> list[int]:
    every = raw if isinstance(raw, list | tuple) else [raw]
    return [to_count(one, (*path, place)) for place, one in enumerate(every)]


SIDES = dict.fromkeys(("queries", "keys"), Form(_places, ROWS_OF_NUMBERS))
IDS = Parameter(
    "ids",
    meaning="the positions t of the tokens, in place of those from `start`",
    number=Form(_ids, ROWS_OF_NUMBERS, lambda: SIDES),
)
SECTIONS = Parameter(
    "sections",
    meaning="how many pairs take each row of `ids`",
    number=Form(_sections, (listed(whole_number(1)), whole_number(1))),
)
SCALED = Parameter("scaling", meaning="{kind: linear, llama3 or yarn, factor: …}", number=SCALING)
ALL_OR_COUNT = Form(
    lambda raw, path: raw if raw == "all" else to_count(raw, path),
    ({"enum": ["all"]}, whole_number(1)),
)
FEATURES = Parameter("features", default="all", number=ALL_OR_COUNT)


def _of_waves(*more: Parameter, start: Form = ONE_START) -> tuple[Parameter, ...]:
    base = Parameter("base", meaning="of the angles", default=BASE)
    pairs = Parameter("pairs", default=PAIRS[0], number=choice(PAIRS))
    first = Parameter("start", meaning="0, or the number of rows of `past`", number=start)
    return base, first, pairs, IDS, *more


class Position(Record):
    """One row of the table."""

    build: Callable[..., Any]  # records the steps, or returns the rule for tiles
    place: str  # what it changes: "input", "queries and keys" or "scores"
    formula: str  # of a token x at place t, or of a score s of a query i and a key j
    source: str  # where the formula is from
    parameters: tuple[Parameter, ...]
    # Takes the parameters and the problem, and raises an InputError where they do not fit.
    check: Callable[[Settings, Any], None] = lambda p, problem: None


def _rows_of(p: Settings, side: str) -> tuple[tuple[float, ...], ...]:
    """Return the positions of queries or keys, in rows; nothing without `ids`."""
    ids = p.get("ids", ())
    ids = ids[side] if isinstance(ids, Mapping) else ids
    return tuple(map(tuple, ids)) if ids and isinstance(ids[0], list) else (tuple(ids),) * bool(ids)


def _check_ids(p: Settings, problem: Any) -> None:
    if "ids" in p and p["start"] != (problem.sizes.size("p") or 0):
        raise fail("ids are all positions, so start has no use", "positions", hint="leave it out")
    for side, letter in zip(SIDES, "nm", strict=True):
        rows, tokens = _rows_of(p, side), problem.sizes.size(letter) or problem.sizes.size("n")
        if rows and tokens and len(rows[0]) != tokens:
            message = f"ids has {count_of(len(rows[0]), 'position')}, but there are {tokens} {side}"
            hint = "write a position for each, or ids: {queries: […], keys: […]}"
            raise fail(message, "positions", hint=hint, needs="sizes")
        sections = p.get("sections", [1] if len(rows) < 2 else [])
        if len(sections) != max(len(rows), 1):
            message = f"ids has {len(rows)} rows, but sections has {len(sections)} numbers"
            hint = "write how many pairs take each row: sections: [1, 1] for rows of 2 pairs"
            raise fail(message, "positions", hint=hint)


def _check_sinusoidal(p: Settings, problem: Any) -> None:
    _check_input(p, problem)
    if len(_rows_of(p, "queries")) > 1:
        raise fail("sinusoidal takes one row of ids", "positions", hint="rope takes several")
    _check_ids(p, problem)


def _check_rope(p: Settings, problem: Any) -> None:
    """Raise an InputError where queries or keys cannot be cut into pairs."""
    _check_ids(p, problem)
    if p.get("scaling", {}).get("kind") == "yarn" and p["base"] <= 1:
        raise fail("yarn needs a base greater than 1", "positions", hint="write base: 10000")
    turned = ("d_r",) if "d_r" in problem.sizes else ("d_q", "d_k")
    for size in (problem.sizes[letter] for letter in turned if letter in problem.sizes):
        features = size if p["features"] == "all" else p["features"]
        if features > size or features % 2:
            message = f"rope turns pairs of features, but cannot turn {features} of {size}"
            hint = f"write positions: {{name: rope, features: {size - size % 2}}}"
            hint = hint if size > 1 else "write matrices that make two features, or more"
            is_written = "positions" in problem.given
            where = "positions" if is_written else problem.sizes.bound[turned[0]].key
            raise fail(message, where, hint=hint, needs="sizes")
        if "sections" in p and 2 * sum(p["sections"]) != features:
            message = f"sections has {sum(p['sections'])} pairs, but rope turns {features // 2}"
            raise fail(message, "positions", hint="write a number of pairs for each row of ids")
    if "scores" in problem.given:
        hint = "leave rope out; alibi and relative are added to given scores"
        raise fail("scores is given, so rope has no use", "positions", hint=hint, needs="values")


def _check_input(p: Settings, problem: Any) -> None:
    """Raise an InputError where nothing is made of the input that the positions are added to."""
    names = {"V"} if "scores" in problem.given else {"Q", "K", "V"}
    if names <= {*problem.given}:
        message = "positions are added to X, but no queries, keys or values are made of it"
        use = "alibi and relative are added to given scores"
        hint = use if "scores" in problem.given else f"rope turns given queries and keys; {use}"
        raise fail(message, "positions", hint=hint, needs="values")
    if {"sinusoidal", "learned"} <= problem.positions.keys():
        raise fail("two kinds of positions are added to X", "positions", needs="values")


def _check_learned(p: Settings, problem: Any) -> None:
    _check_input(p, problem)
    rows, tokens = problem.sizes["places"], problem.sizes["n"]
    if rows < tokens:
        message = f"positions.P has {count_of(rows, 'row')}, but there are {tokens} tokens"
        raise fail(message, "positions", "P", hint="write a row for each", needs="sizes")


POSITIONS = Table(Position)


@POSITIONS.row(
    "sinusoidal",
    "input",
    "x + sin, cos of t / base^(2j/d)",
    "Vaswani et al. 2017, section 3.5",
    _of_waves(),
    _check_sinusoidal,
)
def sinusoidal(tape: Tape, x: Step, positions: Settings) -> Step:
    """X + positions, a sine and a cosine for each pair (Vaswani et al. 2017, section 3.5)."""
    p = positions["sinusoidal"]
    start = 0 if x.key == "memory" else p["start"]  # which has positions of its own
    ids = _rows_of(p, "keys" if x.key == "memory" else "queries")
    waves = Waves(x.array.shape[-1], p["base"], start, p["pairs"], ids)
    rows = tape.record("positions", Sinusoids(x, waves))
    return tape.record("embedded", Embedded(x, rows))


@POSITIONS.row(
    "learned",
    "input",
    "x + row t of P",
    "Gehring et al. 2017, section 3.1",
    (Parameter("P", ("places", "d_model"), required=True),),
    _check_learned,
)
def learned(tape: Tape, x: Step, positions: Settings) -> Step:
    """X + P (Gehring et al. 2017, section 3.1); a memory has its positions already."""
    if x.key == "memory":
        return x
    n, rows = x.array.shape[-2], positions["P"].shape[-2]
    axes = ("query" if rows == n else "place", "model")
    p = tape.put("P", positions["P"], axes, key="positions.P")
    added = p if rows == n else Row(p, 0, n)  # a model's table has rows for longer texts, too
    return tape.record("embedded", Add(x, added), why=Embedded.why)


@POSITIONS.row(
    "rope",
    "queries and keys",
    "turned by t / base^(2j/features)",
    "Su et al. 2021, eq. 15",
    _of_waves(FEATURES, SECTIONS, SCALED, start=STARTS),
    _check_rope,
)
def rope(tape: Tape, q: Step, k: Step, p: Settings, before: int) -> tuple[Step, Step]:
    """Queries and keys turned by their positions; both by the same angles where these are equal."""
    starts = p["start"] if isinstance(p["start"], tuple) else (p["start"],) * 2
    sizes = [step.array.shape[-1] if p["features"] == "all" else p["features"] for step in (q, k)]
    rows = [(len(step.array[0, 0]), *map(step.labels.get, step.trailing[:-1])) for step in (q, k)]
    is_one = p["start"] == starts[0] and sizes[0] == sizes[1] and rows[0] == rows[1]
    is_one = is_one and not isinstance(p.get("ids"), Mapping)
    scaling = Scaling(**p["scaling"]) if "scaling" in p else None

    def turned(step: Step, size: int, start: int, side: str) -> Step:
        letter, stop = step.stem[0], before + step.array.shape[-2]
        ids = tuple(row[before:stop] for row in _rows_of(p, side))
        sections = tuple(p.get("sections", ()))
        waves = Waves(size, p["base"], start + before, p["pairs"], ids, sections, scaling)
        end = "" if is_one else f"_{letter.lower()}"
        if scaling:
            frequencies = tape.known(f"frequencies{end}") or tape.record(
                f"frequencies{end}", Frequencies(step, waves)
            )
            operation: Operation = AtPositions(step, waves, frequencies)
        else:
            operation = Angles(step, waves)
        angles = tape.known(f"angles{end}") or tape.record(f"angles{end}", operation)
        cos, sin = (
            tape.known(f"{name}{end}") or tape.record(f"{name}{end}", OfAngles(angles, name, waves))
            for name in ("cos", "sin")
        )
        return tape.record(f"{letter}_rotated", Rotated(step, cos, sin, waves))

    return turned(q, sizes[0], starts[0], "queries"), turned(k, sizes[1], starts[1], "keys")


@POSITIONS.row(
    "alibi",
    "scores",
    "s − slope·|i − j|",
    "Press et al. 2022, section 3",
    (Parameter("slopes", ("number",)),),
)
def alibi(positions: Settings, heads: int, reach: int) -> ByPlaceFields:
    """−slope · |i − j| beside each score, a slope for each head (Press et al. 2022, section 3)."""
    slopes = np.ravel(positions.get("slopes", slopes_of(heads)))
    if len(slopes) != heads:
        message = f"positions.slopes has {count_of(len(slopes), 'number')}, but heads is {heads}"
        raise fail(message, "positions", "slopes", hint="write one for each head", needs="sizes")
    line = -slopes[:, None] * np.abs(np.arange(-reach, reach + 1))
    formula = parse("-slope*abs(i - j)", ("slope", "i", "j"))
    return {"formula": formula, "names": {"slope": slopes}, "line": line}


@POSITIONS.row(
    "relative",
    "scores",
    "s + table at j − i",
    "Raffel et al. 2020, section 2.1",
    (Parameter("table", ("distances",), required=True, vector=vector("head")),),
)
def relative(positions: Settings, heads: int, reach: int) -> ByPlaceFields:
    """A number beside each score, by the distance j − i (Raffel et al. 2020, section 2.1)."""
    table = positions["table"][0, :, 0]
    if table.shape[1] % 2 == 0:
        message = f"positions.table has {table.shape[1]} numbers for the distances from −k to k"
        hint = "write 2k + 1 numbers, the first for −k"
        raise fail(message, "positions", "table", hint=hint, needs="sizes")
    k = table.shape[1] // 2
    places = np.clip(np.arange(-reach, reach + 1), -k, k) + k
    line = np.broadcast_to(table[:, places], (heads, len(places)))
    return {"formula": tree.Name("table"), "line": line, "key": "positions.table"}


def checked(positions: Settings, problem: Any) -> dict[str, Any]:
    """Return positions with `ids` of the problem, or by default a start after the rows of a cache.

    Raises:
        InputError: where they do not fit the problem.
    """
    start = problem.sizes.size("p") or 0
    rows = {key: {"start": start, **x} if key in POSITIONS else x for key, x in positions.items()}
    takers = [name for name in positions if name in POSITIONS and IDS in POSITIONS[name].parameters]
    if problem.ids and (not takers or any("ids" in rows[name] for name in takers)):
        message = "ids are given twice" if takers else "ids has no use without positions"
        hint = "leave one out" if takers else "write positions: rope, or sinusoidal"
        raise fail(message, "ids", hint=hint, needs="values")
    rows |= {name: {**rows[name], "ids": problem.ids} for name in takers if problem.ids}
    for name in (name for name in POSITIONS if name in rows):
        POSITIONS[name].check(rows[name], problem)
    return rows


def by_place(positions: Settings, heads: int, mask: Mask, n: int, m: int) -> list[PositionBias]:
    """Return the rules for what is added to the scores."""
    shift = first_place(mask, n, m)
    is_own_seen = mask.keys() <= {"causal", *POSITION} and 0 <= shift <= m - n
    rules = []
    for name in (name for name, row in POSITIONS.items() if row.place == "scores"):
        if name in positions:
            fields = POSITIONS[name].build(positions, heads, n + m + abs(shift))
            # Far keys may vanish if the nearest, from which nothing is subtracted, is seen.
            is_negligible = name == "alibi" and is_own_seen and fields["line"].max() <= 0
            rules.append(PositionBias(**fields, shift=shift, is_negligible=is_negligible))
    return rules


def embedded(tape: Tape, x: Step, positions: Settings) -> Step:
    """Record the input with its positions, where there are any for it, once."""
    for name in (name for name in POSITIONS if name in positions):
        if POSITIONS[name].place == "input":
            with tape.within(suffix="_memory" if x.key == "memory" else ""):
                return tape.known("embedded") or POSITIONS[name].build(tape, x, positions)
    return x


def rotated(
    tape: Tape, q: Step, k: Step, positions: Settings, before: int = 0
) -> tuple[Step, Step]:
    """Record queries and keys turned by their positions, where there are any for them.

    `before` is how many tokens came before the first one, beside those of a cache.
    """
    settings = positions.get("rope")
    return (q, k) if settings is None else rope(tape, q, k, settings, before)

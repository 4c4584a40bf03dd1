"""What students hand in who cut off, choose their decimals, adjust, copy wrongly, or are wrong.

`KINDS` holds the honest kinds, `WRONG_KINDS` the ones that must not pass. Each takes where chance
comes from and a problem, and returns what is handed in, with the cells that are wrong by design.
Nothing here comes from the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from tests.oracles.handwriting import Numbers
from tests.oracles.right_work import GoesOn, Pen, with_all_digits
from tests.oracles.workings import Known, Random, Working, base

MOST_OFF_1 = 0.02
"""By so much weights may miss the sum 1, as what is not shown was rounded; else a student sees it.
"""

CLEAR = 0.55
"""By so much a wrong whole number is off at least: it is no rounding of what may be right."""


@dataclass(frozen=True)
class Style:
    """How a student writes, and with what she goes on.

    Attributes:
        pen: takes a step and returns the pen with which it is written.
        carry: with what is gone on after a step.
        adjust: what is made of the numbers of a step before they are written and used.
        said: what is said of it, as names and values.
    """

    pen: Callable[[str], Pen]
    carry: GoesOn = with_all_digits
    adjust: GoesOn = with_all_digits
    said: Mapping[str, Any] = field(default_factory=dict)

    def goes_on(self, name: str, numbers: Numbers) -> Numbers:
        """Return what is used of a step."""
        return self.carry(name, self.adjust(name, numbers))

    def written(self, name: str, numbers: Numbers) -> Numbers:
        """Return the numbers of a step as they read when written."""
        return self.pen(name).rounded(self.adjust(name, numbers))


@dataclass(frozen=True)
class Submitted:
    """What is handed in.

    Attributes:
        kind: its kind.
        working: the problem.
        cells: the written numbers of each step.
        amiss: which of them are wrong by design, by step; True for each such cell.
        units: by how many units a wrong number is off, of a kind that must not pass.
        said: how it was made, as names and values.
    """

    kind: str
    working: Working
    cells: Mapping[str, Numbers]
    amiss: Mapping[str, Numbers] = field(default_factory=dict)
    units: float = 0
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sheet(self) -> dict[str, Any]:
        """The written numbers as nested lists of texts."""
        return {name: cells.tolist() for name, cells in self.cells.items()}


Make: TypeAlias = Callable[[Random, Working], "Submitted | None"]


# ---- what is shown


def last_of(working: Working) -> str:
    """Return the step that is asked for most."""
    names = working.names
    found = [name for name in names if name in ("d_X", "loss")] or [
        name for name in names if name == "output"
    ]
    return (found or names)[-1]


def shown(
    rng: Random, working: Working, must: Sequence[str] = (), fewer: bool = True
) -> tuple[list[str], str]:
    """Choose which steps are handed in, and say which."""
    names = working.names
    way = str(rng.choice(["all", "all", "some", "weights and last", "last"] if fewer else ["all"]))
    if must and way in ("last", "weights and last"):
        way = "some"
    weights = [name for name in names if base(name) == "weights"]
    if way == "all":
        return names, way
    if way == "some":
        return [n for n in names if n in must or rng.random() < 0.6] or [names[-1]], way
    last = last_of(working)
    if way == "weights and last" and weights:
        return [name for name in names if name in (*weights, last)], way
    return [last], "last"


def is_seen(working: Working, style: Style, known: Known, steps: Sequence[str]) -> bool:
    """Whether weights that are handed in are more than 1, or miss the sum 1, as a student sees."""
    for name in steps:
        if base(name) not in ("weights", "probabilities") or not working.along:
            continue
        numbers = known[name]
        sums = numbers.sum(axis=working.along)
        if (np.abs(sums - 1)[sums > 0] > MOST_OFF_1).any():
            return True
        if (style.written(name, numbers) > 1 + 1e-9).any():
            return True
    return False


def is_nothing(working: Working, cells: Mapping[str, Numbers]) -> bool:
    """Whether only zeros are left of numbers that are not."""
    has_digit = any(set(t) & set("123456789") for x in cells.values() for t in x.ravel().tolist())
    return not has_digit and any(working.exact[name].any() for name in cells)


def handed_in(
    kind: str, working: Working, style: Style, steps: Sequence[str], how: str
) -> Submitted | None:
    """Work a problem in a style and write some steps; nothing where nobody hands that in."""
    known = working.work(style.goes_on)
    if is_seen(working, style, known, steps):
        return None
    return as_written(kind, working, style, known, steps, {"shown": how})


def as_written(
    kind: str,
    working: Working,
    style: Style,
    known: Mapping[str, Numbers],
    steps: Sequence[str],
    said: Mapping[str, Any],
) -> Submitted | None:
    """Write some steps; nothing where only zeros are left."""
    cells = {
        name: working.cells(name, style.adjust(name, known[name]), style.pen(name))
        for name in steps
    }
    if is_nothing(working, cells):
        return None
    return Submitted(kind, working, cells, said=dict(style.said) | dict(said))


# ---- styles


def plainly(rng: Random, share: float = 0.3) -> bool:
    """Whether a student leaves out zeros at the end of what is exact."""
    return bool(rng.random() < share)


def rounding(rng: Random, counts: Sequence[int] = (2, 3, 4)) -> Style:
    """Every step is rounded to the same decimals; written numbers are used, or all digits."""
    pen = Pen(int(rng.choice(counts)), plain=plainly(rng))
    carries = str(rng.choice(["written", "all"]))
    carry: GoesOn = (lambda _, x: pen.rounded(x)) if carries == "written" else with_all_digits
    said = {"decimals": pen.count, "carries": carries, "plain": pen.plain}
    return Style(lambda _: pen, carry, said=said)


def cutting(rng: Random) -> Style:
    """Every step is cut off; written numbers are used, or one or two digits more, or all."""
    pen = Pen(int(rng.choice([2, 3, 4])), cut=True, plain=plainly(rng))
    carries = str(rng.choice(["0 guard digits", "1 guard digit", "2 guard digits", "all"]))
    scratch = pen.finer(0 if carries == "all" else int(carries[0]))
    carry: GoesOn = with_all_digits if carries == "all" else (lambda _, x: scratch.rounded(x))
    said = {"decimals": pen.count, "carries": carries, "plain": pen.plain}
    return Style(lambda _: pen, carry, said=said)


DECIMALS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("q", "k", "v", "scores", "sum", "logits", "loss"), (1, 2, 3)),
    **dict.fromkeys(("exp", "weights", "probabilities", "angles", "cos", "sin"), (2, 3, 4)),
}
"""How many decimals somebody gives a step; nobody rounds weights to one."""

COPIES = {
    **{"concat": "context", "k_all": "k", "v_all": "v", "c": "context", "z": "context"},
    **{"output": "context", "h": "context", "aligned": "context"},
}
"""Steps that are written as another is, as they hold the same numbers, or the result."""

CHAIN = ("scores", "scaled", "capped", "biased")


def own_decimals(rng: Random, working: Working, steps: Sequence[str]) -> Style:
    """Each step has its own number of decimals."""
    counts: dict[str, int] = {}
    pens: dict[str, Pen] = {}
    plain = plainly(rng)
    before = ""
    for name in working.exact:
        key = base(name).lower()
        key = COPIES.get(key, key)
        if key == "masked" and before:  # it is copied, with −∞ in places
            key = before
        if key == "d_scaled" and "d_masked" in counts:
            key = "d_masked"
        if key not in counts:
            counts[key] = int(rng.choice(DECIMALS.get(key, (1, 2, 3, 4))))
        before = key if key in CHAIN else before
        pens[name] = Pen(counts[key], plain=plain)
    carries = str(rng.choice(["written", "all", "now this, now that"]))
    early = {
        name for name in steps if carries == "written" or (carries != "all" and rng.random() < 0.5)
    }

    def carry(name: str, numbers: Numbers) -> Numbers:
        return pens[name].rounded(numbers) if name in early else numbers

    said = {"carries": carries, "plain": plain}
    return Style(lambda name: pens[name], carry, said=said)


def adjusting(rng: Random, working: Working) -> Style | None:
    """Rows of weights are adjusted until they sum to 1, and used so."""
    style = rounding(rng)
    pen = style.pen("weights")
    which, seed = str(rng.choice(["the largest", "any one"])), int(rng.integers(1 << 30))
    unit = 10.0**-pen.count

    def adjust(name: str, numbers: Numbers) -> Numbers:
        if base(name) != "weights" or not working.along:
            return numbers
        chance = np.random.default_rng(seed)  # the same row is adjusted in the same way each time
        rows = np.moveaxis(pen.rounded(numbers), working.along, -1).copy()
        for place in np.ndindex(rows.shape[:-1]):
            row = rows[place]
            rest = round((1 - row.sum()) / unit)
            if not rest or not row.any():
                continue
            able = np.flatnonzero(row > abs(rest) * unit + unit / 2)
            if which == "the largest" or not len(able) or abs(rest) > 2:
                row[row.argmax()] += rest * unit
            else:
                row[able[chance.integers(len(able))]] += rest * unit
        return pen.rounded(np.moveaxis(rows, -1, working.along))

    return replace(style, adjust=adjust, said=dict(style.said) | {"adjusted": which})


# ---- honest kinds


def cut_everywhere(rng: Random, working: Working) -> Submitted | None:
    """H1: cut off everywhere, with 0, 1 or 2 guard digits in what is carried, or all."""
    return handed_in("H1", working, cutting(rng), *shown(rng, working))


def decimals_of_each_step(rng: Random, working: Working) -> Submitted | None:
    """H2: each step has its own number of decimals."""
    steps, how = shown(rng, working)
    return handed_in("H2", working, own_decimals(rng, working, steps), steps, how)


def rows_adjusted(rng: Random, working: Working) -> Submitted | None:
    """H3: rows of weights are adjusted so that they sum to 1."""
    style = adjusting(rng, working)
    weights = [name for name in working.names if base(name) == "weights"]
    if working.sort == "plain" and working.problem.get("kind") == "recurrent":
        weights = [name for name in weights if name != "weights"]  # they were adjusted before
    if style is None or not weights or not working.along:
        return None
    steps, how = shown(rng, working, weights)
    made = handed_in("H3", working, style, steps, how)
    if made is None:
        return None
    known = working.work(style.goes_on)
    pen = style.pen("weights")
    same = [
        np.array_equal(style.adjust(name, known[name]), pen.rounded(known[name]))
        for name in weights
    ]
    return None if all(same) else made


HONEST: dict[str, Make] = {"H1": cut_everywhere, "H2": decimals_of_each_step, "H3": rows_adjusted}
"""Kinds that are right, or of which only what was done wrong may be called wrong."""

DISHONEST: dict[str, Make] = {}
"""Kinds that must not pass."""

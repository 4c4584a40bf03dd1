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

from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.right_work import GoesOn, Pen, with_all_digits
from benchmarks.oracles.workings import Known, Random, Working, base

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


ALL_ALIKE = ("written", "all", "written, hidden steps finer")
HIDDEN_TOO = ("written, hidden steps so, too",)
NOW_AND_THEN = ("now this, now that",)
"""With what somebody goes on who gives each step its own decimals."""


def own_decimals(
    rng: Random, working: Working, steps: Sequence[str], ways: Sequence[str] = ALL_ALIKE
) -> Style:
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
    carries = str(rng.choice([*ways]))
    if carries == "written, hidden steps finer":  # all alike
        finer = Pen(max(pens[name].count for name in steps) + int(rng.integers(2)))
        pens = {name: pen if name in steps else finer for name, pen in pens.items()}
    early = {
        "all": set[str](),
        "written": set(steps),
        "written, hidden steps finer": set(pens),
        "written, hidden steps so, too": set(pens),
        "now this, now that": {name for name in steps if rng.random() < 0.5},
    }[carries]

    def carry(name: str, numbers: Numbers) -> Numbers:
        return pens[name].rounded(numbers) if name in early else numbers

    said = {"carries": carries, "plain": plain}
    return Style(lambda name: pens[name], carry, said=said)


def adjusting(rng: Random, working: Working) -> Style:
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
    style = cutting(rng)
    steps, how = shown(rng, working)
    made = handed_in("H1", working, style, steps, how)
    if made is None:
        return None
    known, pen = working.work(style.goes_on), style.pen("")
    rounded = replace(pen, cut=False)
    many = sum(
        int((pen.rounded(known[s]) != rounded.rounded(known[s])).sum()) for s in steps
    )  # three show that somebody cuts off
    return replace(made, said=dict(made.said) | {"cut": "3 or more" if many >= 3 else "fewer"})


def decimals_of_each_step(rng: Random, working: Working) -> Submitted | None:
    """H2: each step has its own number of decimals; all are used as written, or with all digits."""
    steps, how = shown(rng, working)
    return handed_in("H2", working, own_decimals(rng, working, steps), steps, how)


def now_this_now_that(rng: Random, working: Working) -> Submitted | None:
    """H2m: each step has its own decimals; some are used as written, others with all digits."""
    steps, how = shown(rng, working)
    style = own_decimals(rng, working, steps, NOW_AND_THEN)
    return handed_in("H2m", working, style, steps, how)


def hidden_decimals_of_each_step(rng: Random, working: Working) -> Submitted | None:
    """H2h: each step has its own decimals, also those that are not shown."""
    steps, how = shown(rng, working)
    if how == "all":
        return None
    style = own_decimals(rng, working, steps, HIDDEN_TOO)
    return handed_in("H2h", working, style, steps, how)


def rows_adjusted(rng: Random, working: Working) -> Submitted | None:
    """H3: rows of weights are adjusted so that they sum to 1."""
    style = adjusting(rng, working)
    weights = [name for name in working.names if base(name) == "weights"]
    if working.sort == "plain" and working.problem.get("kind") == "recurrent":
        weights = [name for name in weights if name != "weights"]  # they were adjusted before
    if not weights or not working.along:
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


# ---- one number that is wrong


@dataclass(frozen=True)
class Spot:
    """A cell of a step, and what may be right there.

    Attributes:
        step: the step.
        at: the cell, as an index of the student's array.
        right: numbers that are right there: the exact one, the student's, what follows from the
            numbers that are written before, and what the student would have written.
        pen: with what the step is written.
    """

    step: str
    at: tuple[int, ...]
    right: tuple[float, ...]
    pen: Pen

    @property
    def written(self) -> float:
        """What the student would have written."""
        return self.right[-1]

    def off(self, value: float) -> float:
        """Return how far a number is from all that may be right."""
        return min(abs(value - one) for one in self.right)


Alter: TypeAlias = Callable[[Random, Spot], str | None]
"""Takes a cell, and returns how the wrong number in its place is written."""

Shown: TypeAlias = tuple[list[str], str]
"""Steps that are handed in, and what is said of that."""


def one_altered(
    kind: str,
    rng: Random,
    working: Working,
    style: Style,
    steps: Shown,
    alter: Alter,
    able: Sequence[str] = (),
) -> Submitted | None:
    """Write one number of some steps wrong, and go on from it, or from the right one."""
    known = working.work(style.goes_on)
    if is_seen(working, style, known, steps[0]):
        return None
    written = {name: style.written(name, known[name]) for name in steps[0]}
    several = (working.exact, known, working.after(written), written)
    for _ in range(12):
        step = str(rng.choice([*(able or steps[0])]))
        places = np.argwhere(np.isfinite(written[step]))
        if not len(places):
            continue
        at = tuple(int(i) for i in places[rng.integers(len(places))])
        spot = Spot(step, at, tuple(float(one[step][at]) for one in several), style.pen(step))
        if not all(np.isfinite(spot.right)) or (text := alter(rng, spot)) is None:
            continue
        used = float(text) if rng.random() < 0.5 else None
        return with_one_altered(kind, working, style, steps, spot, text, used)
    return None


def with_one_altered(
    kind: str,
    working: Working,
    style: Style,
    steps: Shown,
    spot: Spot,
    text: str,
    used: float | None,
) -> Submitted | None:
    """Write a wrong number in the place of a cell, and go on from a number, or the right one."""

    def goes_on(name: str, numbers: Numbers) -> Numbers:
        carried = style.goes_on(name, numbers)
        if used is not None and name == spot.step:
            carried = carried.copy()
            carried[spot.at] = used
        return carried

    known = working.work(goes_on)
    said = {"shown": steps[1], "used": "the right one is used" if used is None else "used so"}
    made = as_written(kind, working, style, known, steps[0], said)
    if made is None:
        return None
    mask = np.zeros(known[spot.step].shape, bool)
    mask[spot.at] = True
    mask = working.paper(spot.step, mask)
    cells = dict(made.cells) | {spot.step: np.where(mask, text, made.cells[spot.step])}
    units = float(spot.off(float(text)) * 10**spot.pen.count)
    return replace(made, cells=cells, amiss={spot.step: mask}, units=units)


def has_decimals(made: Submitted | None) -> Submitted | None:
    """Return a submission of which at least three right numbers have decimals."""
    if made is None:
        return None
    right = 0
    for name, cells in made.cells.items():
        amiss = made.amiss.get(name, np.zeros(cells.shape, bool))
        right += sum("." in text for text in cells[~amiss].ravel().tolist())
    return made if right >= 3 else None


def any_style(rng: Random) -> Style:
    """Return one who rounds, or who cuts off."""
    return rounding(rng, (1, 2, 3, 4)) if rng.random() < 0.6 else cutting(rng)


def wrong_whole(rng: Random, spot: Spot) -> str | None:
    """Return a whole number near a number that is none, and not its rounding."""
    near = np.floor(spot.written) + np.arange(-1, 3)
    wrong = [n for n in near.tolist() if CLEAR <= spot.off(n) < 2 and abs(n) < 99]
    if abs(spot.written - round(spot.written)) < 10.0**-spot.pen.count / 2 or not wrong:
        return None
    return str(int(rng.choice(wrong)))


def to_nothing(rng: Random, spot: Spot) -> str | None:
    """Return 0 for a number of one or more, or the number without its sign, or with one."""
    if min(map(abs, spot.right)) < 1:
        return None
    if rng.random() < 0.5:
        return "0" if rng.random() < 0.5 else f"{0:.{spot.pen.count}f}"
    (text,) = spot.pen.texts(np.array([spot.written]))
    return text.removeprefix("-") if text.startswith("-") else f"-{text}"


def by_units(rng: Random, spot: Spot) -> str | None:
    """Return a number that is some units of its last decimal off."""
    group = int(rng.integers(4))
    most = int(np.exp(rng.uniform(np.log(11), np.log(100))))
    units = (1, int(rng.integers(2, 5)), int(rng.integers(5, 11)), most)[group]
    count, sign = spot.pen.count, 1 if rng.random() < 0.5 else -1
    text = f"{spot.written + sign * units * 10.0**-count:.{count}f}"
    if spot.off(float(text)) <= 0.6 * 10.0**-count:
        return None
    return text.removeprefix("-") if float(text) == 0 else text


def a_wrong_whole_number(rng: Random, working: Working) -> Submitted | None:
    """D1: a wrong whole number stands beside decimals."""
    steps, style = shown(rng, working), any_style(rng)
    return has_decimals(one_altered("D1", rng, working, style, steps, wrong_whole))


def one_to_nothing(rng: Random, spot: Spot) -> str | None:
    """Return 0 for 1 or −1."""
    del rng
    return "0" if all(abs(abs(one) - 1) < 1e-9 for one in spot.right) else None


HOLDING = ("K", "V", "K_all", "V_all", "masked", "concat", "embedded", "Q", "scores")
"""Steps that hold whole numbers, some of which repeat a step that may not be shown."""


def nothing_for_one(rng: Random, working: Working) -> Submitted | None:
    """D2: 0 for a number of one or more, or the sign is dropped."""
    steps, style = shown(rng, working), any_style(rng)
    holding = [
        name
        for name in working.names
        if base(name) in HOLDING and (np.abs(working.exact[name]) == 1).any()
    ]
    if not holding or rng.random() < 0.5:
        return one_altered("D2", rng, working, style, steps, to_nothing)
    products = [name for name in holding if base(name) in ("scores", "masked")]
    if products and rng.random() < 0.6:
        holding = products
    count = min(len(holding), int(rng.integers(1, 3)))  # such as a cache alone
    chosen = {str(name) for name in rng.choice(holding, count, replace=False)}
    others = steps[0] if rng.random() < 0.3 else []
    names = [name for name in working.names if name in {*chosen, *others}]
    pen = replace(style.pen(""), plain=True)
    style = replace(style, pen=lambda _: pen, said=dict(style.said) | {"plain": True})
    how = ("one or two steps" if not others else steps[1]) + ", 0 for 1"
    return one_altered("D2", rng, working, style, (names, how), one_to_nothing, sorted(chosen))


def off_by_units(rng: Random, working: Working) -> Submitted | None:
    """D3: one number is off, of one who cuts off, has decimals for each step, or adjusts rows."""
    weights = [name for name in working.names if base(name) == "weights"]
    of = str(rng.choice(["H1", "H2", "H3"] if weights and working.along else ["H1", "H2"]))
    steps, how = shown(rng, working, weights if of == "H3" else ())
    able = [name for name in steps if how == "all" or working.exact[name].size >= 3]
    if not able:  # a lone number is what some rounding of hidden steps gives
        steps = able = [[name for name in working.names if working.exact[name].size >= 3][-1]]
    if of == "H1":
        style = cutting(rng)
    else:
        style = own_decimals(rng, working, steps) if of == "H2" else adjusting(rng, working)
    style = replace(style, said=dict(style.said) | {"base": of})
    return one_altered("D3", rng, working, style, (steps, how), by_units, able)


# ---- one mistake, and what comes after it


def copied_wrongly(rng: Random, number: float, pen: Pen, others: Numbers) -> float | None:
    """Return a number as somebody reads it who copies wrongly."""
    (text,) = pen.texts(np.array([number]))
    digits = [i for i, letter in enumerate(text) if letter.isdigit()]
    way = int(rng.integers(4))
    letters = list(text)
    if way == 0:  # a digit is taken for another
        place = int(rng.choice(digits))
        letters[place] = str(rng.choice([d for d in "0123456789" if d != letters[place]]))
    elif way == 1 and len(digits) > 1:  # two digits are exchanged
        place = int(rng.integers(len(digits) - 1))
        one, other = digits[place], digits[place + 1]
        letters[one], letters[other] = letters[other], letters[one]
    elif way == 2:  # the sign is lost, or put there
        letters = letters[1:] if letters[0] == "-" else ["-", *letters]
    elif len(others):  # the number beside it is taken
        letters = list(pen.texts(np.array([rng.choice(others)]))[0])
    value = float("".join(letters))
    return value if abs(value - number) > 2.5 * 10.0**-pen.count else None


def a_number_copied_wrongly(rng: Random, working: Working) -> Submitted | None:
    """H4: a number is copied wrongly; nothing after it is wrong."""
    style = rounding(rng)
    known = working.work(style.goes_on)
    names = [name for name in working.names if np.isfinite(known[name]).any()]
    step = str(rng.choice(names))
    places = np.argwhere(np.isfinite(known[step]))
    at = tuple(int(i) for i in places[rng.integers(len(places))])
    written, pen = style.written(step, known[step]), style.pen(step)
    finite = written[np.isfinite(written)]
    value = copied_wrongly(rng, float(written[at]), pen, finite)
    if value is None or is_seen(working, style, known, working.names):
        return None
    if rng.random() < 0.5:
        return read_wrongly(rng, working, style, known, (step, at, value))
    spot = Spot(step, at, (float(written[at]),), pen)
    steps, text = shown(rng, working, [step]), f"{value:.{pen.count}f}"
    used, did = value if rng.random() < 0.5 else None, "written"
    if used is not None and style.said["carries"] == "all" and rng.random() < 0.5:
        did = "worked out"
        used += float(rng.uniform(-0.45, 0.45)) * 10.0**-pen.count
    made = with_one_altered("H4", working, style, steps, spot, text, used)
    return made and replace(
        made, said=dict(made.said) | {"how": f"{did} wrongly, {made.said['used']}"}
    )


def read_wrongly(
    rng: Random,
    working: Working,
    style: Style,
    known: Known,
    cell: tuple[str, tuple[int, ...], float],
) -> Submitted | None:
    """A number is written right, and read wrongly in the first step that uses it."""
    step, at, value = cell

    def misread(name: str, numbers: Numbers) -> Numbers:
        carried = style.goes_on(name, numbers)
        if name == step:
            carried = carried.copy()
            carried[at] = value
        return carried

    wrong = working.work(misread)
    rest = list(known)[list(known).index(step) + 1 :]
    found = next((name for name in rest if not is_same(wrong[name], known[name]).all()), "")
    if found not in working.names:
        return None

    def after(name: str, numbers: Numbers) -> Numbers:
        return style.goes_on(name, wrong[found] if name == found else numbers)

    later = working.work(after) | {found: wrong[found]}
    steps, how = shown(rng, working, [found])
    made = as_written(
        "H4", working, style, later, steps, {"shown": how, "how": "read wrongly once"}
    )
    amiss = working.paper(found, ~is_same(wrong[found], known[found]))
    return made and replace(made, amiss={found: amiss})


def is_same(one: Numbers, other: Numbers) -> Numbers:
    """Return which numbers are the same, but for what floats do."""
    return np.asarray(np.isclose(one, other, rtol=1e-9, atol=1e-11))


def a_mistake_of_method(rng: Random, working: Working) -> Submitted | None:
    """H5: something is done wrong in one step; nothing after it is wrong."""
    style = rounding(rng)
    known = working.work(style.goes_on, wrong=True)
    exact = working.exact
    if any(name not in known or known[name].shape != exact[name].shape for name in exact):
        return None
    right = working.after({name: style.goes_on(name, known[name]) for name in known})
    amiss = {name: ~is_same(known[name], right[name]) for name in exact}
    wrong = [name for name in exact if amiss[name].any()]
    if not wrong or not all(name in working.names for name in wrong):
        return None
    steps, how = shown(rng, working, wrong)
    unit = 3 * 10.0 ** -style.pen(wrong[0]).count
    with np.errstate(invalid="ignore"):
        off = np.abs(style.written(wrong[0], known[wrong[0]]) - right[wrong[0]])
    if not (np.nan_to_num(off, nan=0.0) > unit).any():
        return None
    made = as_written("H5", working, style, known, steps, {"shown": how, "how": working.mistake})
    return made and replace(made, amiss={name: working.paper(name, amiss[name]) for name in wrong})


# ---- whole numbers


@dataclass(frozen=True)
class WholePen(Pen):
    """Leaves out the decimals of what is exactly a whole number: 2 beside 0.50."""

    def _text(self, number: float, made: float, places: int) -> str:
        text = super()._text(number, made, places)
        is_whole = np.isfinite(made) and abs(number - round(number)) <= 1e-12 * abs(number)
        return text.partition(".")[0] if is_whole and set(text.partition(".")[2]) <= {"0"} else text


def has_both(made: Submitted | None) -> Submitted | None:
    """Return a submission that has whole numbers, and numbers with decimals."""
    if made is None:
        return None
    texts = [text for cells in made.cells.values() for text in cells.ravel().tolist()]
    whole = [text for text in texts if text.strip("-").isdigit() and text != "0"]
    return made if whole and any("." in text for text in texts) else None


def exact_wholes(rng: Random, working: Working) -> Submitted | None:
    """What is exactly a whole number is written so, beside decimals."""
    style = rounding(rng)
    pen = style.pen("")
    other = WholePen(pen.count) if rng.random() < 0.5 else Pen(pen.count, plain=True)
    style = replace(style, pen=lambda _: other)
    return has_both(handed_in("H6", working, style, *shown(rng, working)))


NEVER_WHOLE = (
    *("exp", "weights", "probabilities", "cos", "sin", "angles", "exp_logits", "delta", "masked"),
    *("variance", "mean_square"),
)
"""Steps of which nobody writes whole numbers alone."""


def whole_steps(rng: Random, working: Working) -> Submitted | None:
    """One step, or two, are written in whole numbers; the others in decimals."""
    style = rounding(rng, (2, 3, 4))
    numbers: dict[str, list[float]] = {}
    for name in working.names:
        numbers.setdefault(key_of(name), []).extend(working.exact[name].ravel().tolist())
    able = [
        name
        for name in working.names
        if base(name) not in NEVER_WHOLE and is_large(np.array(numbers[key_of(name)]))
    ]
    if not able:
        return None
    keys = {key_of(name) for name in rng.choice(able, min(len(able), int(rng.integers(1, 3))))}
    whole = {name for name in working.exact if key_of(name) in keys}
    if "masked" in working.exact:
        before = [name for name in working.exact if base(name) in CHAIN]
        whole |= {"masked"} & set(working.exact) if before and before[-1] in whole else set()
    decimals = style.pen("")
    pens = {name: Pen(0) if name in whole else decimals for name in working.exact}
    is_early = style.said["carries"] == "written"
    carry: GoesOn = (lambda s, x: pens[s].rounded(x)) if is_early else with_all_digits
    style = replace(style, pen=lambda name: pens[name], carry=carry)
    steps, how = shown(rng, working, [name for name in working.names if name in whole])
    known = working.work(style.goes_on)
    for name in whole:  # a lone number is read with the decimals of the submission
        apart = np.abs(style.written(name, known[name]) - Pen(0).rounded(working.exact[name]))
        if known[name].size == 1 and apart.max() > 0:
            return None
    return has_both(handed_in("H6", working, style, steps, how))


def is_large(numbers: Numbers) -> bool:
    """Whether somebody may write whole numbers: some are 2 or more, and none is a fraction of 1."""
    sizes = np.abs(numbers[np.isfinite(numbers) & (np.abs(numbers) > 1e-9)])
    return bool(sizes.size and sizes.max() >= 2 and sizes.min() >= 1)


def key_of(name: str) -> str:
    """Return the steps among which a step is, which are written alike."""
    key = base(name).lower()
    return COPIES.get(key, key)


def in_significant_digits(rng: Random, working: Working) -> Submitted | None:
    """Every number has two or three significant digits: 16 beside 3.2 and 0.45."""
    pen = Pen(int(rng.choice([2, 3])), significant=True)
    carries = str(rng.choice(["written", "all"]))
    carry: GoesOn = (lambda _, x: pen.rounded(x)) if carries == "written" else with_all_digits
    style = Style(lambda _: pen, carry, said={"carries": carries})
    known = working.work(style.goes_on)
    steps, how = shown(rng, working)
    most = 10**pen.count * 0.99
    if any(np.abs(x[np.isfinite(x)]).max(initial=0) >= most for x in known.values()):
        return None
    return has_both(handed_in("H6", working, style, steps, how))


def right_by_accident(rng: Random, working: Working) -> Submitted | None:
    """A row is wrong, but for one number that is right as it reads, and not beyond."""
    style = rounding(rng)
    known = working.work(style.goes_on)
    able = [
        name
        for name in working.names
        if base(name) not in (*NEVER_WHOLE, "sum")
        and known[name].ndim
        and known[name].shape[-1] > 1
        and np.isfinite(known[name]).all()
    ]
    if not able:
        return None
    step = str(rng.choice(able))
    unit = 10.0 ** -style.pen(step).count
    numbers = known[step].copy()
    row = numbers.reshape(-1, numbers.shape[-1])[rng.integers(numbers[..., 0].size)]
    spared = int(rng.integers(len(row)))
    sizes = rng.uniform(5, 60, len(row)) * rng.choice([-1, 1], len(row)) * unit
    sizes[spared] = 0
    row += np.maximum(np.abs(sizes), 0) * np.sign(sizes)
    row[spared] = style.pen(step).rounded(row[[spared]])[0] + rng.uniform(-0.45, 0.45) * unit
    amiss = ~is_same(numbers, known[step]) & ~is_same(
        style.written(step, numbers), style.written(step, known[step])
    )

    def goes_on(name: str, found: Numbers) -> Numbers:
        return style.goes_on(name, numbers if name == step else found)

    later = working.work(goes_on) | {step: numbers}
    steps, how = shown(rng, working, [step])
    made = as_written("H6", working, style, later, steps, {"shown": how})
    return made and replace(made, amiss={step: working.paper(step, amiss)})


WHOLES: dict[str, tuple[Make, float]] = {
    "exact whole numbers": (exact_wholes, 0.15),
    "steps in whole numbers": (whole_steps, 0.2),
    "significant digits": (in_significant_digits, 0.5),
    "right by accident": (right_by_accident, 0.15),
}
"""Kinds of H6, and how often each is tried: few problems can be written in significant digits."""


def whole_or_by_accident(rng: Random, working: Working) -> Submitted | None:
    """H6: right whole numbers beside decimals; a number right by accident in a wrong row."""
    how = str(rng.choice([*WHOLES], p=[share for _, share in WHOLES.values()]))
    made = WHOLES[how][0](rng, working)
    return made and replace(made, said=dict(made.said) | {"how": how})


HONEST: dict[str, Make] = {
    "H1": cut_everywhere,
    "H2": decimals_of_each_step,
    "H2m": now_this_now_that,
    "H2h": hidden_decimals_of_each_step,
    "H3": rows_adjusted,
    "H4": a_number_copied_wrongly,
    "H5": a_mistake_of_method,
    "H6": whole_or_by_accident,
}
"""Kinds that are right, or of which only what was done wrong may be called wrong."""

DISHONEST: dict[str, Make] = {"D1": a_wrong_whole_number, "D2": nothing_for_one, "D3": off_by_units}
"""Kinds that must not pass."""

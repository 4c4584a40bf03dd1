"""Submissions: a problem, how its numbers are rounded, and what is planted in them.

Each function of `FORMS` and `PLANTS` takes a setting, and returns what is handed in; it raises
UnworkableError where the problem does not show it. `hand_in` does so with a rounding schedule
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles.drawn import Random
from benchmarks.oracles.methods import METHODS, Wrong, found_by
from benchmarks.oracles.schedules import (
    NEVER_WHOLE,
    Schedule,
    Setting,
    cut_off,
    every_step,
    own_decimals,
    rows_to_1,
    throughout,
)
from benchmarks.oracles.workings import (
    Finds,
    Known,
    UnworkableError,
    Working,
    base,
    finds_right,
    need,
)
from tests.oracles.pens import UNWRITABLE, GoesOn, Numbers, Pen


@dataclass(frozen=True)
class Submission:
    """What is handed in, and what is true of it.

    Attributes:
        working: the problem.
        cells: by step, the written numbers as they stand on paper; or arrays of floats.
        said: how it was made, as names and values; `words` says how it was rounded.
        amiss: which cells are wrong by design, by step; True for each such cell.
        mistake: the id of the mistake that makes them wrong, if one does.
        units: by how many units in the last place a wrong number is off.
        verdicts: what may be said of it, where the cells do not tell.
        most: maximum points that it may earn.
    """

    working: Working
    cells: Mapping[str, Any]
    said: Mapping[str, Any] = field(default_factory=dict)
    amiss: Mapping[str, Numbers] = field(default_factory=dict)
    mistake: str = ""
    units: float = 0
    verdicts: tuple[str, ...] = ()
    most: float = np.inf

    def but(self, form: str = "", **changes: Any) -> Submission:
        """Return a submission with changes, of a form."""
        return replace(self, said={**self.said, "form": form}, **changes)


Make: TypeAlias = Callable[[Setting], Submission]


def hand_in(at: Setting, schedule: Schedule, paper: GoesOn | None = None) -> Submission:
    """Work a problem by a schedule, and write the steps of a setting."""
    known = at.working.work(schedule.goes_on, **schedule.constants)
    need(not schedule.is_seen(at.working, known, at.steps))
    return as_written(at, schedule, known, paper)


def as_written(
    at: Setting, schedule: Schedule, known: Known, paper: GoesOn | None = None
) -> Submission:
    """Write steps, of which something must be left but zeros."""
    steps = {step: schedule.adjust(step, known[step]) for step in at.steps}
    paper = paper or at.working.paper
    cells = {s: paper(s, schedule.pen(s).texts(x)) for s, x in steps.items()}
    has_digit = any(set("123456789") & set(t) for x in cells.values() for t in x.ravel().tolist())
    need(has_digit or not any(at.working.exact[step].any() for step in at.steps))
    said = {"shown": at.shown, "decimals": at.decimals, "kind": schedule.kind}
    return Submission(at.working, cells, said | {"words": schedule.words or str(at.own)})


def last_of(names: Sequence[str]) -> str:
    """Return the step that is asked for most."""
    found = [name for name in names if name in ("d_X", "loss")]
    return (found or [name for name in names if name == "output"] or list(names))[-1]


SHOWN = ("output", "weights and output", "Q, K, V and output", "all", "some")


def shown_steps(rng: Random, names: Sequence[str], shown: str) -> list[str]:
    """Return the steps that a submission shows; none where the problem lacks one of them."""
    last = last_of(names)
    letters = [name for name in names if name in ("Q", "K", "V")]
    weights = [name for name in names if base(name) == "weights" and name != last]
    return {
        "output": [last],
        "weights and output": [*weights, last] if weights else [],
        "Q, K, V and output": [*letters, last] if len(letters) == 3 else [],
        "all": list(names),
        "some": [name for name in names if rng.random() < 0.5] or [names[-1]],
    }[shown]


# ---- other forms of right work


def plainly(at: Setting) -> Schedule:
    return throughout(at, at.own)


def blanks_in_a_coarse_step(at: Setting) -> Submission:
    """One step is written more coarsely than others, and has blanks."""
    coarse, rough, fine = at.one_of(at.steps), Pen(at.one_of([1, 2])), Pen(max(at.decimals, 3))
    is_early = at.chance(0.6)

    def carry(step: str, numbers: Numbers) -> Numbers:
        return rough.rounded(numbers) if is_early and step == coarse else numbers

    words = f"{fine}, one step {rough}, with blanks"
    made = hand_in(at, Schedule(lambda step: rough if step == coarse else fine, carry, words))
    cells = made.cells[coarse].copy()
    cells[at.rng.random(cells.shape) < 0.4] = at.one_of("~_?")
    need(any("." in text for text in cells.ravel()))  # which tells how coarse it is
    return made.but(cells={**made.cells, coarse: cells})


def shifted(at: Setting) -> Submission:
    """The largest score of each row is subtracted before the exponentials."""
    exps = [place for place, name in enumerate(at.names) if base(name) == "exp"]
    before, schedule = {at.names[place - 1] for place in exps}, plainly(at)
    need(any(base(name) in ("exp", "sum") for name in at.steps))
    need(at.working.kind != "co_attention")

    def carry(step: str, numbers: Numbers) -> Numbers:
        used = schedule.goes_on(step, numbers)
        if step not in before:
            return used
        largest = used.max(axis=at.working.along, keepdims=True)
        return used - np.where(np.isfinite(largest), largest, 0)

    return hand_in(at, replace(schedule, carry=carry, words=f"shifted, {schedule.words}"))


def blocked_as(at: Setting) -> Submission:
    """Blocked cells hold a large negative number."""
    need("masked" in at.steps)
    made = hand_in(at, plainly(at))
    word = at.one_of(["-1e9", "-9999", "-1e4", "-∞", "−∞", "score − 1e9"])
    before = at.names[at.names.index("masked") - 1]
    low = at.working.paper("masked", at.own.texts(at.working.exact[before] - 1e9))
    cells = made.cells["masked"]
    put = np.where(cells == "-inf", low if word == "score − 1e9" else word, cells)
    return made.but(word, cells={**made.cells, "masked": put})


def scaled_in_one_go(at: Setting) -> Submission:
    """`scores` holds the scaled scores, and there is no `scaled`."""
    pairs = {name: name.replace("scores", "scaled") for name in at.names if base(name) == "scores"}
    need({*pairs.values()} <= {*at.names} and not {*pairs}.isdisjoint(at.steps))
    schedule = plainly(at)

    def goes_on(step: str, numbers: Numbers) -> Numbers:
        return numbers if step in pairs else schedule.goes_on(step, numbers)

    known = at.working.work(goes_on)
    known |= {scores: known[scaled] for scores, scaled in pairs.items()}
    steps = [name for name in at.steps if name not in pairs.values()]
    return as_written(replace(at, steps=steps), schedule, known)


def masked_at_once(at: Setting) -> Submission:
    """The mask comes before the scores are scaled: in `masked` or in the scores themselves."""
    line = [name for name in at.names if name in ("scores", "scaled", "biased")]
    need({"masked", "scores"} <= {*at.steps} and "capped" not in at.names)
    schedule = plainly(at)
    known = at.working.work(schedule.goes_on)
    blocked, place = np.isneginf(known["masked"]), int(at.rng.integers(len(line)))
    is_step = place + 1 < len(line) and at.chance()  # a step of its own, after that one
    early = [*line[place + is_step :], *["masked"] * is_step]
    handed = {name: known[line[place] if name == "masked" else name] for name in early}
    handed = {name: np.where(blocked, -np.inf, x) for name, x in handed.items()}
    steps = [name for name in at.names if name in (*line, *at.steps)]
    return as_written(replace(at, steps=steps), schedule, known | handed)


def turned_throughout(at: Setting) -> Submission:
    """Tokens are columns throughout though the problem has them in rows, or the other way."""
    working = at.working
    need(working.kind not in ("pooling", "recurrent") and len(at.steps) > 1)
    return hand_in(at, plainly(at), lambda name, x: working.paper(name, x, not working.columns))


def heads_side_by_side(at: Setting) -> Submission:
    """Heads stand side by side, in all steps or in some."""
    exact, share = at.working.exact, at.one_of([0.5, 1.0])
    able = [name for name in at.steps if exact[name].ndim == 3 and len(exact[name]) > 1]
    flat = {name for name in able if at.chance(share)}
    need(bool(flat))

    def paper(name: str, numbers: Numbers) -> Numbers:
        if name in flat:
            numbers = np.concatenate([numbers[[h]] for h in range(len(numbers))], axis=-1)
        return at.working.paper(name, numbers)

    return hand_in(at, plainly(at), paper)


def from_a_computer(at: Setting) -> Submission:
    """NumPy worked it in floats of some length; in arrays, or in lists of Python."""
    dtype, form = at.one_of(["f2", "f4", "f8"]), at.one_of(["arrays", "lists"])
    known = at.working.work(dtype=np.dtype(dtype).type)
    cells: dict[str, Any] = {
        step: at.working.paper(step, known[step]).astype(dtype) for step in at.steps
    }
    if form == "lists":
        cells = {step: numbers.tolist() for step, numbers in cells.items()}
    said = {"kind": "own digits", "shown": at.shown, "words": f"{form} of {dtype}"}
    return Submission(at.working, cells, said).but(f"{form} of {dtype}")


FORMS: dict[str, Make] = {
    "blanks": blanks_in_a_coarse_step,
    "shifted": shifted,
    "blocked as": blocked_as,
    "scaled in one go": scaled_in_one_go,
    "masked at once": masked_at_once,
    "turned": turned_throughout,
    "heads": heads_side_by_side,
    "computer": from_a_computer,
}


# ---- one number that is wrong


@dataclass(frozen=True)
class Spot:
    """A cell of a step, and what may be right there.

    Attributes:
        step, place: the step, and the cell as an index of the student's array.
        right: numbers that are right there: the exact one, the student's, what follows from the
            numbers that are written before, and what the student would have written.
        pen: with what the step is written.
        others: what the student would have written in the whole step.
    """

    step: str
    place: tuple[int, ...]
    right: Sequence[float]
    pen: Pen
    others: Numbers

    @property
    def written(self) -> float:
        return self.right[-1]

    def off(self, value: float) -> float:
        """Return how far a number is from all that may be right."""
        return min(abs(value - one) for one in self.right)

    def text(self, value: float) -> str | None:
        """Return a number as it is written, if it is clearly another one."""
        return self.pen.text(value) if self.off(value) > 0.6 * self.pen.unit else None


Alter: TypeAlias = Callable[[Random, Spot], str | None]
"""Takes a cell, and returns how the wrong number in its place is written."""


def a_place(at: Setting, numbers: Numbers) -> tuple[int, ...]:
    return tuple(int(i) for i in at.one_of(np.argwhere(np.isfinite(numbers))))


def altered(at: Setting, schedule: Schedule, alter: Alter, able: Sequence[str] = ()) -> Submission:
    """Write one number wrong, and go on from it, or from the right one."""
    working = at.working
    known = working.work(schedule.goes_on)
    need(not schedule.is_seen(working, known, at.steps))
    written = {name: schedule.written(name, known[name]) for name in at.steps}
    several = (working.exact, known, working.after(written), written)
    for _ in range(12):
        step = at.one_of(able or at.steps)
        place = a_place(at, written[step])
        right = [float(one[step][place]) for one in several]
        spot = Spot(step, place, right, schedule.pen(step), written[step])
        text = alter(at.rng, spot) if np.isfinite(right).all() else None
        if text is not None:
            return with_one_altered(at, schedule, spot, text)
    raise UnworkableError("no number can be altered so")


def put(numbers: Numbers, place: tuple[int, ...], value: Any) -> Numbers:
    """Return an array with another value at one place."""
    numbers = numbers.copy()
    numbers[place] = value
    return numbers


def with_one_altered(at: Setting, schedule: Schedule, spot: Spot, text: str) -> Submission:
    """Write a wrong number in the place of a cell, and go on from it, or the right one."""
    is_used = at.chance()

    def goes_on(name: str, numbers: Numbers) -> Numbers:
        carried = schedule.goes_on(name, numbers)
        is_here = is_used and name == spot.step
        return put(carried, spot.place, float(text)) if is_here else carried

    known = at.working.work(goes_on)
    made = as_written(at, schedule, known)
    mask = at.working.paper(spot.step, put(np.zeros(spot.others.shape, bool), spot.place, True))
    cells = {**made.cells, spot.step: np.where(mask, text, made.cells[spot.step])}
    units = spot.off(float(text)) / spot.pen.unit
    return made.but(cells=cells, amiss={spot.step: mask}, units=units)


def by_units(least: int, most: int) -> Alter:
    """Return a number that is some units in the last place off."""

    def alter(rng: Random, spot: Spot) -> str | None:
        units = int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))
        return spot.text(spot.written + int(rng.choice([-1, 1])) * units * spot.pen.unit)

    return alter


def by_share(share: float) -> Alter:
    """Return a number that is a share of itself off."""
    return lambda rng, spot: spot.text(spot.right[0] * (1 + int(rng.choice([-1, 1])) * share))


def wrong_whole(rng: Random, spot: Spot) -> str | None:
    """Return a whole number near a number that is none, and not its rounding."""
    near = np.floor(spot.written) + np.arange(-1, 3)
    wrong = [int(n) for n in near if 0.55 <= spot.off(n) < 2]
    is_whole = abs(spot.written - round(spot.written)) < spot.pen.unit / 2
    return str(rng.choice(wrong)) if wrong and not is_whole else None


def to_nothing(rng: Random, spot: Spot) -> str | None:
    """Return 0 for a number of one or more, or the number without its sign, or with one."""
    if min(map(abs, spot.right)) < 1:
        return None
    return str(rng.choice(["0", f"{0:.{spot.pen.count}f}", *[spot.pen.text(-spot.written)] * 2]))


def one_to_nothing(_rng: Random, spot: Spot) -> str | None:
    """Return 0 for 1 or −1."""
    return "0" if all(abs(abs(one) - 1) < 1e-9 for one in spot.right) else None


def copied_wrongly(rng: Random, spot: Spot) -> str | None:
    """Return a number as somebody reads it who copies wrongly."""
    letters = list(spot.pen.text(spot.written))
    digits = [i for i, letter in enumerate(letters) if letter.isdigit()]
    way = int(rng.integers(4))
    if way == 0:  # a digit is taken for another
        place = int(rng.choice(digits))
        letters[place] = str(rng.choice([d for d in "0123456789" if d != letters[place]]))
    elif way == 1 and len(digits) > 1:  # two digits are exchanged
        start = int(rng.integers(len(digits) - 1))
        one, other = digits[start : start + 2]
        letters[one], letters[other] = letters[other], letters[one]
    elif way == 2:  # the sign is lost, or put there
        letters = letters[1:] if letters[0] == "-" else ["-", *letters]
    else:  # the number beside it is taken
        letters = list(spot.pen.text(rng.choice(spot.others[np.isfinite(spot.others)])))
    text = "".join(letters)
    return text if abs(float(text) - spot.written) > 2.5 * spot.pen.unit else None


SIZES: dict[str, Alter] = {
    **{f"{n} unit{'s' * (n > 1)}": by_units(n, n) for n in (1, 2, 3, 5, 10, 30, 100)},
    **{f"{share:g} %": by_share(share / 100) for share in (0.3, 1, 3, 10)},
}
"""By how much a cell of the output is wrong."""


def exactly(at: Setting) -> Schedule:
    """Return one who rounds nothing but what is written."""
    return throughout(at, at.own, "all digits")


def a_wrong_output(at: Setting) -> Submission:
    """One number of the output is wrong; all others are right with all digits."""
    size = at.one_of(SIZES)
    return altered(at, exactly(at), SIZES[size], [last_of(at.steps)]).but(size)


def some_units(at: Setting) -> Submission:
    """A number is off, of one who cuts off, has decimals for each step, or adjusts rows."""
    able = [n for n in at.steps if at.shown == "all" or at.working.exact[n].size >= 3]
    need(bool(able))
    # A lone number is what some rounding of hidden steps gives.
    alter = by_units(*at.one_of([(1, 1), (2, 4), (5, 10), (11, 3000)]))
    schedule = at.one_of([cut_off, own_decimals, rows_to_1])(at)
    return altered(at, schedule, alter, able)


def a_wrong_whole_number(at: Setting) -> Submission:
    """A wrong whole number stands beside decimals."""
    made = altered(at, every_step(at) if at.chance(0.6) else cut_off(at), wrong_whole)
    texts = [text for x in made.cells.values() for text in x.ravel().tolist()]
    need(sum("." in text for text in texts) >= 3)
    return made


def nothing_for_a_number(at: Setting) -> Submission:
    """0 for a number of one or more, or the sign is dropped."""
    if at.chance():
        return altered(at, every_step(at) if at.chance(0.6) else cut_off(at), to_nothing)
    few = {*at.rng.choice(at.working.names, 2)}  # such as a cache alone
    shown = replace(at, steps=[name for name in at.working.names if name in few])
    return altered(shown, throughout(at, replace(at.own, plain=True)), one_to_nothing)


def simply(at: Setting) -> Schedule:
    """Return one who rounds every step alike, and goes on from that or from all digits."""
    return throughout(at, at.own, "written", "all digits")


def a_number_copied_wrongly(at: Setting) -> Submission:
    """A number is copied wrongly; nothing after it is wrong."""
    return altered(at, simply(at), copied_wrongly)


# ---- numbers that are wrong in other ways, and what follows from them


def planted(
    at: Setting,
    schedule: Schedule,
    finds: Finds = finds_right,
    carry: GoesOn | None = None,
    most: float = UNWRITABLE,
) -> Submission:
    """Work with something done wrong; hand in the steps of a setting, and those that are wrong.

    Wrong are the numbers that do not follow from those that were found before.
    """
    working = at.working
    known = working.work(carry or schedule.goes_on, finds, most)
    right = working.after({n: schedule.goes_on(n, x) for n, x in known.items()}, most)
    wrong = {name: ~np.isclose(x, right[name], 1e-9, 1e-11) for name, x in known.items()}
    wrong = {name: mask for name, mask in wrong.items() if mask.any()}
    need(wrong != {} and {*wrong} <= {*working.names})
    steps = [name for name in at.names if name in at.steps or name in wrong]
    made = as_written(replace(at, steps=steps), schedule, known)
    units = 0.0
    for name, mask in wrong.items():
        with np.errstate(invalid="ignore"):
            off = np.abs(schedule.written(name, known[name]) - right[name])[mask]
        units = max(units, float(np.nan_to_num(off, nan=np.inf).max()) / schedule.pen(name).unit)
    amiss = {name: working.paper(name, mask) for name, mask in wrong.items()}
    return made.but(amiss=amiss, units=units)


def found_in(step: str, change: Callable[[Numbers], Numbers]) -> Finds:
    """Return a student who finds something else in one step."""
    return lambda name, numbers, _used: change(numbers) if name == step else numbers


def wrong_everywhere(at: Setting) -> Submission:
    """Every number of the output is 1 % or 3 % off, or has noise in it."""
    size = at.one_of(["every output +1 %", "every output +3 %", "noise"])
    by = {"every output +1 %": 1.01, "every output +3 %": 1.03}.get(size, 1.0)

    def change(right: Numbers) -> Numbers:
        return right * by + (by == 1) * at.rng.normal(0, 0.03, right.shape)

    made = planted(at, exactly(at), found_in(last_of(at.steps), change))
    need(made.units > 0.5)
    return made.but(size)


def a_number_read_wrongly(at: Setting) -> Submission:
    """A number is written right, and read wrongly where it is used."""
    schedule, step = simply(at), at.one_of(at.names)
    written = schedule.written(step, at.working.work(schedule.goes_on)[step])
    place = a_place(at, written)
    spot = Spot(step, place, [float(written[place])], schedule.pen(step), written)
    text = copied_wrongly(at.rng, spot)
    need(text is not None)

    def misread(name: str, numbers: Numbers) -> Numbers:
        carried = schedule.goes_on(name, numbers)
        return put(carried, place, float(text or 0)) if name == step else carried

    return planted(at, schedule, carry=misread)


def right_by_accident(at: Setting) -> Submission:
    """A row is wrong, but for one number that is right as it reads, and not beyond."""
    exact, unit = at.working.exact, at.own.unit
    able = [name for name in at.steps if base(name) not in (*NEVER_WHOLE, "sum")]
    able = [n for n in able if exact[n].shape[-1] > 1 and np.isfinite(exact[n]).all()]

    def change(right: Numbers) -> Numbers:
        numbers = right.copy()
        row = numbers.reshape(-1, numbers.shape[-1])[at.rng.integers(numbers[..., 0].size)]
        spared = int(at.rng.integers(len(row)))
        near = at.own.rounded(row[spared]) + at.rng.uniform(-0.45, 0.45) * unit
        row += at.rng.uniform(5, 60, len(row)) * at.rng.choice([-1, 1], len(row)) * unit
        row[spared] = near
        return numbers

    return planted(at, simply(at), found_in(at.one_of(able), change))


OF_METHOD = (
    *("not_scaled", "scaled_by_d_k", "scores_transposed", "mask_as_zero", "exponent_sign"),
    *("wrong_base", "not_normalized", "softmax_over_all"),
)
"""Mistakes that are made in one step, which can be made in most problems."""


def a_mistake_of_method(at: Setting) -> Submission:
    """Something is done wrong in one step; nothing after it is wrong."""
    able = [one for one in product(OF_METHOD, at.steps) if (one[0], base(one[1])) in METHODS]
    id_, step = at.one_of(able)
    made = planted(at, simply(at), found_by(at.working, Wrong(id_, step)))
    need(made.units > 3)
    return made.but(id_, mistake=id_)


PLANTS: dict[str, Make] = {
    "one number of the output": a_wrong_output,
    "all of the output": wrong_everywhere,
    "some units": some_units,
    "whole number": a_wrong_whole_number,
    "0 for a number": nothing_for_a_number,
    "copied wrongly": a_number_copied_wrongly,
    "read wrongly": a_number_read_wrongly,
    "right by accident": right_by_accident,
    "mistake": a_mistake_of_method,
}

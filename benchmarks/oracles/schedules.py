"""Honest rounding schedules: which steps are rounded, how, to how many digits, and what is used.

A function of `SCHEDULES` draws how somebody rounds who works a certain problem and hands in some of
its steps. It raises UnworkableError where the problem does not show that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from benchmarks.oracles.drawn import Random, one_of
from benchmarks.oracles.workings import Known, Working, base, need
from tests.oracles.pens import GoesOn, Numbers, Pen, with_all_digits

MAX_OFF_1 = 0.02
"""Maximum distance of a row of weights from the sum 1 that a student does not see."""

CHAIN = ("scores", "scaled", "capped", "biased")
COPIES = {
    **{"concat": "context", "k_all": "k", "v_all": "v", "c": "context", "z": "context"},
    **{"output": "context", "h": "context", "aligned": "context"},
}
"""Steps that are written as another is, as they hold the same numbers, or the result."""


def key_of(step: str) -> str:
    """Return the steps among which a step is, which are written alike."""
    key = base(step).lower()
    return COPIES.get(key, key)


@dataclass(frozen=True)
class Setting:
    """What a submission is drawn for: which steps it shows, and to how many decimals.

    Attributes:
        shown: how the steps were chosen.
    """

    rng: Random
    working: Working
    steps: Sequence[str]
    shown: str
    decimals: int

    @property
    def names(self) -> list[str]:
        return list(self.working.exact)

    @property
    def hidden(self) -> list[str]:
        """The steps that are not shown and from which a shown one may follow."""
        last = max(self.names.index(step) for step in self.steps)
        return [name for name in self.names[:last] if name not in self.steps]

    @property
    def own(self) -> Pen:
        return Pen(self.decimals)

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def one_of(self, words: Iterable[Any]) -> Any:
        several = list(words)
        need(bool(several))
        return one_of(self.rng, several)


@dataclass(frozen=True)
class Schedule:
    """How a student rounds.

    Attributes:
        pen: takes a step and returns the pen with which it is written.
        carry: with what the student goes on after a step.
        adjust: what the student makes of the numbers of a step before they are written and used.
        constants: what is taken for √d_k, 1/√d_k, e or the temperature.
        kind: "own digits"; "coarser" than the submission; "constant", of fewer decimals; or "hidden
            decimals", of which nothing that is shown tells how many.
        words: what is said of it.
    """

    pen: Callable[[str], Pen]
    carry: GoesOn = with_all_digits
    words: str = ""
    kind: str = "own digits"
    adjust: GoesOn = with_all_digits
    constants: Mapping[str, Any] = field(default_factory=dict)

    def goes_on(self, name: str, numbers: Numbers) -> Numbers:
        """Return what is used of a step."""
        return self.carry(name, self.adjust(name, numbers))

    def written(self, name: str, numbers: Numbers) -> Numbers:
        """Return the numbers of a step as they read when written."""
        return self.pen(name).rounded(self.adjust(name, numbers))

    def is_seen(self, working: Working, known: Known, steps: Sequence[str]) -> bool:
        """Return True if shown weights are more than 1, or miss the sum 1, as a student sees."""
        names = [name for name in steps if base(name) in ("weights", "probabilities")]
        for name in names if working.along else ():
            sums = known[name].sum(axis=working.along)
            misses = (np.abs(sums - 1)[sums > 0] > MAX_OFF_1).any()
            if misses or (self.written(name, known[name]) > 1 + 1e-9).any():
                return True
        return False


Draw: TypeAlias = Callable[[Setting], Schedule]


def rounds(pen: Pen, chosen: Iterable[str]) -> GoesOn:
    """Return a student who rounds some steps."""
    some = set(chosen)
    return lambda step, numbers: pen.rounded(numbers) if step in some else numbers


def throughout(at: Setting, pen: Pen, *carried: str) -> Schedule:
    """Write everything with a pen; go on from what is written, from all digits, or from more."""
    carries = at.one_of(carried or ("written", "all digits", "1 more", "2 more"))
    words = f"{pen}, {carries} used"
    if carries == "all digits":
        return Schedule(lambda _: pen, words=words)
    scratch = pen if carries == "written" else pen.finer(int(carries[0]))
    every = rounds(scratch, at.names)
    adjust = with_all_digits if pen.cut or scratch == pen else every
    return Schedule(lambda _: pen, every, words, adjust=adjust)


def partly(at: Setting, pen: Pen, chosen: Iterable[str], words: str, kind: str) -> Schedule:
    """Round some steps with a pen; the numbers of shown steps are used as written, or whole."""
    others, own, is_early = rounds(pen, chosen), at.own, at.chance()

    def carry(step: str, numbers: Numbers) -> Numbers:
        return own.rounded(numbers) if is_early and step in at.steps else others(step, numbers)

    return Schedule(lambda _: own, carry, f"{own}, {words} {pen}", kind)


# ---- to the digits of the submission, or finer


def every_step(at: Setting) -> Schedule:
    """Every step is rounded to the submission's decimals, or to more on scratch paper."""
    return throughout(at, replace(at.own, plain=at.chance(0.3), whole=at.chance(0.1)))


def significant_digits(at: Setting) -> Schedule:
    """Every number has so many significant digits: 16 beside 3.2 and 0.45."""
    pen = Pen(int(at.rng.choice([2, 3, 4])), significant=True)
    sizes = [np.abs(x[np.isfinite(x)]).max(initial=0) for x in at.working.exact.values()]
    need(pen.count > 2 or max(sizes) < 99)  # nobody writes 480 for 483
    return throughout(at, pen)


def one_step(at: Setting) -> Schedule:
    """One step that is not shown, or Q, K and V together, is rounded."""
    words = {name: "q, k, v" if key_of(name) in "qkv" else key_of(name) for name in at.names}
    word = at.one_of(sorted({words[name] for name in at.hidden}))
    return partly(at, at.own, (n for n in at.names if words[n] == word), word, "own digits")


def some_steps(at: Setting) -> Schedule:
    """Some steps are rounded, drawn at random."""
    chosen = [name for name in at.names if at.chance()]
    return partly(at, at.own, chosen, "some steps", "own digits")


def cut_off(at: Setting) -> Schedule:
    """Digits are cut off, everywhere, or only where they are shown, or only where not."""
    pen = replace(at.own, cut=True, plain=at.chance(0.3))
    is_plain = at.working.sort == "plain"
    where = at.one_of(["everywhere", "shown", "not"] if is_plain else ["everywhere"])
    if where == "everywhere":
        return throughout(at, pen, "written", "all digits", "1 more", "2 more")
    shown, hidden = (pen, at.own) if where == "shown" else (at.own, pen)
    is_early, is_rounded = at.chance(), where == "not" or at.chance()

    def carry(step: str, numbers: Numbers) -> Numbers:
        if step in at.steps:
            return shown.rounded(numbers) if is_early else numbers
        return hidden.rounded(numbers) if is_rounded else numbers

    return Schedule(lambda _: shown, carry, f"{shown}, hidden steps {hidden}")


def rows_to_1(at: Setting) -> Schedule:
    """Rows of weights are adjusted until they sum to 1, and used so."""
    working, unit, exact = at.working, at.own.unit, at.working.exact
    which, seed = at.one_of(["the largest", "any one"]), int(at.rng.integers(1 << 30))
    # A recurrent problem puts the weights of all times together, as they were adjusted.
    again = "weights" if working.kind == "recurrent" else ""
    weights = {name for name in at.names if base(name) == "weights" and name != again}

    def adjust(name: str, numbers: Numbers) -> Numbers:
        if name not in weights:
            return numbers
        chance = np.random.default_rng(seed)  # the same row is adjusted in the same way each time
        rows = np.moveaxis(at.own.rounded(numbers), working.along, -1).copy()
        for place in np.ndindex(rows.shape[:-1]):
            row = rows[place]
            rest = round((1 - row.sum()) / unit)
            if rest and row.any():
                able = np.flatnonzero(row > (abs(rest) + 0.5) * unit)
                is_free = which == "any one" and len(able) and abs(rest) <= 2
                row[chance.choice(able) if is_free else row.argmax()] += rest * unit
        return at.own.rounded(np.moveaxis(rows, -1, working.along))

    is_shown = weights <= {*at.steps} or (which == "the largest" and working.sort == "plain")
    need(working.along != 0 and is_shown)
    need(any(not np.array_equal(adjust(n, exact[n]), at.own.rounded(exact[n])) for n in weights))
    style = throughout(at, at.own, "written", "all digits")
    return replace(style, adjust=adjust, words=f"{which} of a row adjusted, {style.words}")


DECIMALS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("q", "k", "v", "scores", "sum", "logits", "loss"), (1, 2, 3)),
    **dict.fromkeys(("exp", "weights", "probabilities", "angles", "cos", "sin"), (2, 3, 4)),
}
"""How many decimals somebody gives a step; nobody rounds weights to one."""


def own_decimals(at: Setting) -> Schedule:
    """Each step has its own number of decimals."""
    counts: dict[str, int] = {}
    pens: dict[str, Pen] = {}
    is_plain, before = at.chance(0.3), ""
    for name in at.names:
        key = key_of(name)
        if key == "masked" and before:  # it is copied, with −∞ in places
            key = before
        if key == "d_scaled" and "d_masked" in counts:
            key = "d_masked"
        counts.setdefault(key, int(at.rng.choice(DECIMALS.get(key, (1, 2, 3, 4)))))
        before = key if key in CHAIN else before
        pens[name] = Pen(counts[key], plain=is_plain)
    carried: dict[str, tuple[Sequence[str], str]] = {
        "all digits": ((), "own digits"),
        "written numbers": (at.steps, "own digits"),
        "written numbers, hidden steps finer": (at.names, "own digits"),
        "written numbers, hidden steps alike": (at.names, "hidden decimals"),
        "some written numbers": ([n for n in at.steps if at.chance()], "hidden decimals"),
    }
    carries = at.one_of(carried)
    if carries == "written numbers, hidden steps finer":
        finer = Pen(max(pens[name].count for name in at.steps) + int(at.rng.integers(2)))
        pens = {name: pen if name in at.steps else finer for name, pen in pens.items()}
    early, kind = {*carried[carries][0]}, carried[carries][1]

    def carry(name: str, numbers: Numbers) -> Numbers:
        return pens[name].rounded(numbers) if name in early else numbers

    return Schedule(lambda name: pens[name], carry, f"own decimals, {carries} used", kind)


NEVER_WHOLE = (
    *("exp", "weights", "probabilities", "cos", "sin", "angles", "exp_logits", "delta", "masked"),
    *("variance", "mean_square"),
)
"""Steps of which nobody writes whole numbers alone."""


def whole_numbers(at: Setting) -> Schedule:
    """One step that is shown, or two, are written in whole numbers; the others in decimals."""
    exact = at.working.exact

    def is_large(key: str) -> bool:
        """Return True if some numbers are 2 or more, and none is a part of 1."""
        numbers = np.concatenate([np.abs(exact[n]).ravel() for n in exact if key_of(n) == key])
        sizes = numbers[np.isfinite(numbers) & (numbers > 1e-9)]
        return bool(sizes.size and sizes.max() >= 2 and sizes.min() >= 1)

    able = sorted({key_of(n) for n in at.steps if exact[n].size > 1} - {*NEVER_WHOLE})
    able = [key for key in able if is_large(key)]
    need(bool(able))
    keys = {*at.rng.choice(able, min(len(able), 2))}
    whole = {name for name in at.names if key_of(name) in keys}
    before = [name for name in at.names if base(name) in CHAIN]
    whole |= {n for n in at.names if n == "masked" and before and before[-1] in whole}
    pens = {name: Pen(0) if name in whole else at.own for name in at.names}
    carry: GoesOn = (lambda s, x: pens[s].rounded(x)) if at.chance() else with_all_digits
    return Schedule(lambda name: pens[name], carry, "steps in whole numbers")


# ---- constants, and other digits than the submission's


def constant(at: Setting) -> Schedule:
    """√d_k, 1/√d_k, e or the temperature is rounded or cut; all else has all digits, or its own."""
    exact, how = at.working.exact, at.working.keys.get("normalize", {})
    values: dict[str, float] = {}
    scaled = next((name for name in exact if base(name) == "scaled"), "")
    if scaled and exact[scaled].any() and "scale" not in at.working.keys:
        filled = exact[scaled] != 0
        root = (exact[scaled.replace("scaled", "scores")][filled] / exact[scaled][filled])[0]
        values |= {"root": root, "1/root": 1 / root}
    if "exp" in map(base, exact):
        values |= {"temperature": float(how.get("temperature", 1))}
        values |= {"e": float(np.e)} if "base" not in how else {}
    which = at.one_of(values or ["none"])
    counts = [n for n in (1, 2, 3, 4) if values.get(which, 0) * 10**n >= 9.95]  # two digits
    need(bool(counts))
    pen = Pen(int(at.rng.choice(counts)), cut=at.chance(0.2))
    short = float(pen.rounded(np.array(values[which])))
    need(abs(short - values[which]) >= 1e-9)
    kind = "own digits" if pen.count >= at.decimals else "constant"
    rounded = at.names if at.chance() else ()
    made = partly(at, at.own, rounded, f"{which} as {short:g}, {len(rounded)} others", kind)
    constants = {"root": 1 / short} if which == "1/root" else {which: short}
    return replace(made, constants=constants)


BEFORE_SCALED = ("q", "k", "v", "hidden", "h", "scores")
COARSE = ("exp", "weights", "exp, sum", "exp, sum, weights", "scores", "context")
"""Which steps are rounded more coarsely than what is shown, if not all, or all from `scaled` on."""


def coarser(at: Setting) -> Schedule:
    """Some steps that are not shown are rounded more coarsely than the submission, or cut so."""
    keys = {name: key_of(name) for name in at.hidden}
    chosen = {which: [n for n in keys if keys[n] in which.split(", ")] for which in COARSE}
    chosen["all"] = [*keys]
    if "scaled" in map(base, at.names):
        chosen["from scaled on"] = [name for name in keys if keys[name] not in BEFORE_SCALED]
    able = [which for which, names in chosen.items() if names]
    need(at.decimals > 2)
    which = at.one_of(able)
    has_weights = "weights" in map(key_of, chosen[which])  # nobody rounds weights to one decimal
    count = int(at.rng.integers(2 if has_weights else 1, at.decimals))
    pen = Pen(count, cut=count > 1 and at.chance(0.15))
    return partly(at, pen, chosen[which], which, "coarser")


SCHEDULES: dict[str, Draw] = {
    draw.__name__.replace("_", " "): draw
    for draw in (
        *(every_step, significant_digits, one_step, some_steps, cut_off, rows_to_1, own_decimals),
        *(whole_numbers, constant, coarser),
    )
}

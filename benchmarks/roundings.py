"""Measure how often `attn check` calls honest submissions wrong, by how their steps were rounded.

Run `python benchmarks/roundings.py` in an environment where attncli is installed, from the folder
of the project. Every submission is right work by a student who shares no code with the program, and
who rounds by one schedule: every step, one step, some steps, only constants, more coarsely or more
finely than what the submission shows. A submission is called wrong where its verdict is not
`correct`. With `--kind H1,D3` students of `benchmarks/oracles/submitted.py` are judged instead, on
five sorts of problems: H1 to H6 are right, or right but for one mistake; D1 to D3 must not pass.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.oracles.handwriting import Numbers
from benchmarks.oracles.honest import is_softmax, miss_1
from benchmarks.oracles.right_work import (
    EXACT,
    GoesOn,
    Hand,
    Pen,
    Task,
    UnworkableError,
    a_choice_flipped,
    with_all_digits,
)
from benchmarks.surveys.submissions import (
    SHOWN,
    Drawn,
    Progress,
    Random,
    Sheet,
    add_kinds,
    draw,
    is_nothing_but_0,
    keyed,
    of_kinds,
    percent,
    run,
    shown_steps,
    table,
)

OWN, COARSER, CONSTANT = "own", "coarser", "constant"
"""How a schedule rounds: to the submission's digits or finer, more coarsely, or a constant so."""

TOTALS = {
    OWN: "honest called wrong: {} % of {} (own digits or finer)",
    COARSER: "coarser: {} % of {}",
    CONSTANT: "a constant with fewer decimals than the submission: {} % of {}",
}

BEFORE_SCALED = ("Q", "K", "V", "hidden", "h", "scores")
"""The steps that come before the scaled scores."""

LETTERS = ("Q", "K", "V")


def base(step: str) -> str:
    """Return what a step is called without its time, its side or its number."""
    return re.sub(r"_(\d+|x|memory)$", "", step)


@dataclass(frozen=True)
class Setting:
    """What a schedule is drawn for.

    Attributes:
        rng: where chance comes from.
        drawn: the problem.
        decimals: how many decimals the submission has.
        steps: which steps it shows.
    """

    rng: Random
    drawn: Drawn
    decimals: int
    steps: Sequence[str]

    @property
    def names(self) -> list[str]:
        """The names of all steps of the problem."""
        return list(self.drawn.exact)

    @property
    def hidden(self) -> list[str]:
        """The names of the steps that are not shown and from which a shown one may follow."""
        last = max(self.names.index(step) for step in self.steps)
        return [name for name in self.names[:last] if name not in self.steps]

    @property
    def own(self) -> Pen:
        """The pen of the submission."""
        return Pen(self.decimals)

    def chance(self, share: float = 0.5) -> bool:
        """Decide at random."""
        return bool(self.rng.random() < share)


@dataclass(frozen=True)
class Way:
    """How one submission is worked.

    Attributes:
        pen: how shown steps are written.
        after: with what the student goes on after a step, unless it is shown and its written
            numbers are used.
        before: what the student makes of the numbers of a step before they are written, such as
            weights whose rows sum to 1.
        constants: a hand with what is taken for √d_k, 1/√d_k and e.
        temperature: what is taken for the temperature.
        said: what a file of submissions says of it.
        sort: to which total it counts.
    """

    pen: Pen
    after: GoesOn = with_all_digits
    before: GoesOn = with_all_digits
    constants: Hand = EXACT
    temperature: float | None = None
    said: str = ""
    sort: str = OWN

    def student(self, task: Task) -> Task:
        """Return the problem as the student works it."""
        if self.temperature is None:
            return task
        normalize = task.normalize | {"temperature": self.temperature}
        return replace(task, keys=task.keys | {"normalize": normalize})

    def goes_on(self, steps: Sequence[str], from_written: bool) -> GoesOn:
        """Return with what the student goes on after each step."""

        def made(step: str, numbers: Numbers) -> Numbers:
            numbers = self.before(step, numbers)
            if from_written and step in steps:
                return self.pen.rounded(numbers)
            return self.after(step, numbers)

        return made


MakeWay = Callable[[Setting], Way | None]


@dataclass(frozen=True)
class Schedule:
    """A way of rounding.

    Attributes:
        name: what it is called in the table.
        way: returns how a submission is worked; nothing where the problem does not show it.
        task: draws a problem that may show it.
        decimals: how many decimals submissions have.
    """

    name: str
    way: MakeWay
    task: Callable[[Random], Task] = draw
    decimals: Sequence[int] = (2, 3, 4)


def rounds(pen: Pen, chosen: Sequence[str]) -> GoesOn:
    """Return a student who rounds some steps."""
    return lambda step, numbers: pen.rounded(numbers) if step in chosen else numbers


# ---- own digits


def every_step(at: Setting) -> Way:
    """Every step is rounded to the submission's decimals."""
    return Way(at.own, rounds(at.own, at.names))


def one_step(*bases: str) -> MakeWay:
    """One step, or Q, K and V together, is rounded; all others keep all digits."""

    def way(at: Setting) -> Way | None:
        chosen = [name for name in at.names if base(name) in bases]
        is_hidden = any(name in at.hidden for name in chosen)
        return Way(at.own, rounds(at.own, chosen), said=f"{chosen}") if is_hidden else None

    return way


def some_steps(at: Setting) -> Way:
    """Some steps are rounded, drawn at random."""
    chosen = [name for name in at.names if at.chance()]
    return Way(at.own, rounds(at.own, chosen), said=f"{chosen}")


def significant(at: Setting) -> Way:
    """Every step has 3 or 4 significant digits."""
    pen = Pen(int(at.rng.choice([3, 4])), significant=True)
    return Way(pen, rounds(pen, at.names), said=str(pen))


def adjusted(numbers: Numbers, along: int, decimals: int) -> Numbers:
    """Round weights, and give the rest to the largest of each row, so that the row sums to 1."""
    made = np.moveaxis(Pen(decimals).rounded(numbers), along, -1).copy()
    largest = np.moveaxis(numbers, along, -1).argmax(axis=-1)
    for row in np.ndindex(largest.shape):
        if made[row].any():
            made[row][largest[row]] += 1 - made[row].sum()
    return Pen(decimals).rounded(np.moveaxis(made, -1, along))


def weights_to_1(at: Setting) -> Way | None:
    """Weights are adjusted until every row sums to 1."""
    settings = at.drawn.task.normalize
    if settings["name"] not in ("softmax", "sparsemax"):
        return None
    along = -1 if settings["axis"] == "keys" else -2
    exact = at.drawn.exact
    # A recurrent problem puts the weights of all times together, as they were adjusted.
    is_recurrent = at.drawn.task.kind == "recurrent"
    weights = [
        n for n in at.names if base(n) == "weights" and not (is_recurrent and n == "weights")
    ]

    def before(step: str, numbers: Numbers) -> Numbers:
        return adjusted(numbers, along, at.decimals) if step in weights else numbers

    if all(np.array_equal(before(n, exact[n]), at.own.rounded(exact[n])) for n in weights):
        return None  # they sum to 1 as they are
    rounded = at.names if at.chance() else []
    after = rounds(at.own, rounded)
    return Way(
        at.own, after, before, said="others rounded" if rounded else "others with all digits"
    )


def cut_everywhere(at: Setting) -> Way:
    """Every step is cut off."""
    pen = Pen(at.decimals, cut=True)
    return Way(pen, rounds(pen, at.names))


def cut_where_shown(at: Setting) -> Way:
    """What is shown is cut off; what is not keeps all digits."""
    return Way(Pen(at.decimals, cut=True))


# ---- constants


CONSTANTS = ("root", "inverse", "e", "temperature")


def draws_for(constant: str) -> Callable[[Random], Task]:
    """Return what draws a problem in which a constant stands."""

    def task(rng: Random) -> Task:
        if constant == "e":
            return draw(rng, normalize="softmax")
        if constant == "temperature":
            return with_temperature(rng)
        wish: dict[str, Any] = {"score": "scaled_dot", "scale": False}
        if rng.random() < 0.6:
            kind, d = str(rng.choice(["self", "cross"])), int(rng.choice([2, 3, 5, 6, 7, 8]))
            wish |= {"kind": kind, "d": d, "bare": False}
        return draw(rng, **wish)

    return task


def with_temperature(rng: Random) -> Task:
    """Draw a problem whose temperature has many digits."""
    task = draw(rng, normalize="warm")
    root = float(np.sqrt(rng.choice([2, 3, 5, 0.5])))
    value = root if rng.random() < 0.5 else round(float(rng.uniform(0.4, 3.5)), 4)
    normalize = {"name": "softmax", **task.keys.get("normalize", {}), "temperature": value}
    return replace(task, keys=task.keys | {"normalize": normalize})


def value_of(constant: str, at: Setting) -> float | None:
    """Return the constant with all digits; nothing where the problem has none."""
    task, exact = at.drawn.task, at.drawn.exact
    if constant in ("root", "inverse"):
        scaled = next((name for name in exact if base(name) == "scaled"), "")
        if not scaled:
            return None
        d_k = width_of_keys(task, exact)
        return float(d_k**0.5 if constant == "root" else d_k**-0.5)
    if not any(base(name) == "exp" for name in exact):
        return None
    return float(np.e) if constant == "e" else float(task.normalize["temperature"])


def width_of_keys(task: Task, exact: Mapping[str, Numbers]) -> int:
    """Return d_k, as the scaled scores tell it."""
    name = next(name for name in exact if base(name) == "scaled")
    scores, scaled = exact[name.replace("scaled", "scores")], exact[name]
    filled = scaled != 0
    return round(float(np.median((scores[filled] / scaled[filled]) ** 2))) if filled.any() else 1


def constant_rounded(constant: str) -> MakeWay:
    """A constant is rounded; everything else has all digits, or the submission's."""

    def way(at: Setting) -> Way | None:
        value = value_of(constant, at)
        if value is None:
            return None
        counts = [n for n in (1, 2, 3, 4) if value * 10**n >= 9.95]  # two significant digits
        count = int(at.rng.choice(counts))
        short = float(Pen(count).rounded(np.array([value]))[0])
        if abs(short - value) < 1e-9:
            return None
        own = at.chance()
        after = rounds(at.own, at.names if own else [])
        said = f"{constant} as {short:g}, {'own digits' if own else 'all digits'}"
        made = Way(at.own, after, said=said, sort=OWN if count >= at.decimals else CONSTANT)
        if constant == "temperature":
            return replace(made, temperature=short)
        hands = {"root": Hand(root=short), "inverse": Hand(inverse=short), "e": Hand(e=short)}
        return replace(made, constants=hands[constant])

    return way


# ---- other digits than the submission's


COARSE: dict[str, Callable[[str], bool]] = {
    "all": lambda _: True,
    "from scaled on": lambda step: step not in BEFORE_SCALED,
    "exp": lambda step: step == "exp",
    "weights": lambda step: step == "weights",
    "exp, sum": lambda step: step in ("exp", "sum"),
    "exp, sum, weights": lambda step: step in ("exp", "sum", "weights"),
    "scores": lambda step: step == "scores",
    "context": lambda step: step == "context",
}
"""Which steps are rounded more coarsely than what is shown."""


def coarser(which: str) -> MakeWay:
    """Some steps that are not shown are rounded more coarsely than the submission."""

    def way(at: Setting) -> Way | None:
        chosen = [name for name in at.hidden if COARSE[which](base(name))]
        if which == "from scaled on" and not any(base(name) == "scaled" for name in at.names):
            return None
        if not chosen:
            return None
        has_weights = "weights" in map(base, chosen)  # nobody rounds weights to one decimal
        count = int(at.rng.integers(2 if has_weights else 1, at.decimals))
        pen = Pen(count)

        def after(step: str, numbers: Numbers) -> Numbers:
            return pen.rounded(numbers) if step in chosen else numbers

        return Way(at.own, after, said=f"{count} decimals in {chosen}", sort=COARSER)

    return way


def finer(at: Setting) -> Way:
    """Every step has one or two digits more on scratch paper."""
    by = int(at.rng.integers(1, 3))
    scratch = Pen(at.decimals + by)
    every = rounds(scratch, at.names)
    return Way(at.own, every, every, said=f"{by} digits more")


SCHEDULES = (
    Schedule("every step", every_step),
    *(
        Schedule(f"one: {'Q, K, V' if bases == LETTERS else bases[0]}", one_step(*bases))
        for bases in (LETTERS, *((s,) for s in ("scores", "scaled", "exp", "sum", "weights")))
    ),
    Schedule("one: context", one_step("context", "c", "aligned")),
    Schedule("some", some_steps),
    Schedule("significant", significant),
    Schedule("weights sum to 1", weights_to_1),
    Schedule("cut: every step", cut_everywhere),
    Schedule("cut: what is shown", cut_where_shown),
    *(Schedule(f"constant: {c}", constant_rounded(c), draws_for(c)) for c in CONSTANTS),
    *(Schedule(f"coarser: {which}", coarser(which), decimals=(3, 4)) for which in COARSE),
    Schedule("finer", finer),
)
"""Every schedule."""


# ---- submissions


WAYS_SHOWN = (*SHOWN, "some")


def steps_of(rng: Random, names: Sequence[str], shown: str) -> list[str]:
    """Choose which steps are shown."""
    if shown != "some":
        return shown_steps(names, shown)
    return [name for name in names if rng.random() < 0.5] or [names[-1]]


def hand_in(at: Setting, schedule: Schedule, shown: str) -> tuple[Sheet, str] | None:
    """Work a problem, and write a submission; return it and the total to which it counts."""
    way = schedule.way(at)
    if way is None:
        return None
    task, from_written = at.drawn.task, at.chance()
    student = way.student(task)
    hand = replace(way.constants, goes_on=way.goes_on(at.steps, from_written))
    try:
        known = dict(student.work(hand))
    except UnworkableError:
        return None
    if list(known) != at.names or a_choice_flipped(at.drawn.exact, known, task):
        return None
    if any(base(step) == "weights" for step in at.steps) and seems_wrong(task, known, at.steps):
        return None
    cells = {s: task.cells(s, way.before(s, known[s]), way.pen) for s in at.steps}
    if is_nothing_but_0(cells, at.drawn.exact):
        return None
    plain = {s: task.cells(s, at.drawn.exact[s], way.pen) for s in at.steps}
    more = {
        "pen": str(way.pen),
        "shown": shown,
        "goes_on_from": "the written numbers" if from_written else "the schedule's",
        "schedule": way.said,
        "differs": cells != plain,
    }
    return Sheet(schedule.name, task.problem(), cells, more), way.sort


def seems_wrong(task: Task, known: Mapping[str, Numbers], steps: Sequence[str]) -> bool:
    """Return whether shown weights are more than 1, or miss the sum 1, which a student sees."""
    shown = {name: x for name, x in known.items() if base(name) != "weights" or name in steps}
    weights = [x for name, x in shown.items() if base(name) == "weights"]
    too_large = is_softmax(task) and any((x > 1 + 1e-9).any() for x in weights)
    return too_large or miss_1(task, shown)


@dataclass
class Found:
    """What was found of one schedule.

    Attributes:
        counts: submissions, those that read otherwise than with all digits, and those called
            wrong, by the total to which they count; and wrong cells.
        by_shown: submissions, and those called wrong, by decimals and what is shown.
        failures: submissions that are called wrong.
    """

    counts: Counter[str] = field(default_factory=Counter)
    by_shown: Counter[tuple[int, str, bool]] = field(default_factory=Counter)
    failures: list[Sheet] = field(default_factory=list)

    def judge(self, at: Setting, sheet: Sheet, sort: str) -> None:
        """Judge a submission."""
        try:
            report = sheet.report(at.drawn.key)
        except Exception as error:  # a refusal is as unfair
            is_wrong, cells, said = True, 0, f"refused: {error!r}"
        else:
            is_wrong, cells = report.verdict != "correct", report.counts["wrong"]
            said = report.verdict
        self.counts.update({f"{sort}: all": 1, f"{sort}: wrong": is_wrong})
        self.counts.update({"all": 1, "wrong": is_wrong, "differs": sheet.more["differs"]})
        self.by_shown[at.decimals, sheet.more["shown"], is_wrong] += 1
        if is_wrong:
            self.counts["wrong cells"] += cells
            more = dict(sheet.more) | {"verdict": said, "wrong_cells": cells}
            self.failures.append(replace(sheet, more=more))


def survey(rng: Random, schedule: Schedule, count: int, progress: Progress) -> Found:
    """Judge submissions that were rounded by a schedule."""
    found, number = Found(), 0
    while found.counts["all"] < count:
        try:
            drawn = keyed(schedule.task(rng))
        except UnworkableError:
            continue
        for decimals in schedule.decimals:
            shown = WAYS_SHOWN[number % len(WAYS_SHOWN)]
            number += 1
            steps = steps_of(rng, list(drawn.exact), shown)
            if not steps or found.counts["all"] == count:
                continue
            at = Setting(rng, drawn, decimals, steps)
            if made := hand_in(at, schedule, shown):
                found.judge(at, *made)
        progress.tell(f"{schedule.name}: {found.counts['all']} of {count}")
    return found


# ---- what is printed


def printed(found: Mapping[str, Found]) -> Iterator[str]:
    """Yield the tables and the totals."""
    rows = []
    for name, one in found.items():
        n = one.counts
        cells = f"{n['wrong cells'] / n['wrong']:.1f}" if n["wrong"] else "-"
        rows.append(
            [name, n["all"], n["differs"], n["wrong"], percent(n["wrong"], n["all"]), cells]
        )
    head = [
        "schedule",
        "submissions",
        "read otherwise",
        "called wrong",
        "%",
        "wrong cells in these",
    ]
    yield table(head, rows) + "\n"
    by_shown: Counter[tuple[int, str, bool]] = Counter()
    for one in found.values():
        by_shown.update(one.by_shown)
    decimals = sorted({d for d, *_ in by_shown})

    def cell(d: int, shown: str) -> str:
        wrong = by_shown[d, shown, True]
        whole = wrong + by_shown[d, shown, False]
        return f"{percent(wrong, whole)} ({whole})"

    lines = [[shown, *(cell(d, shown) for d in decimals)] for shown in WAYS_SHOWN]
    yield table(["called wrong, % (of n)", *(f"{d} dec." for d in decimals)], lines) + "\n"
    for sort, words in TOTALS.items():
        whole = sum(one.counts[f"{sort}: all"] for one in found.values())
        wrong = sum(one.counts[f"{sort}: wrong"] for one in found.values())
        if whole:
            yield words.format(percent(wrong, whole), whole)


def surveyed(given: argparse.Namespace) -> tuple[Iterator[str], str, list[Sheet]]:
    """Judge the submissions that are asked for."""
    progress, found = Progress(), {}
    for schedule in SCHEDULES:
        if schedule.name.startswith(given.schedule):
            rng = np.random.default_rng([given.seed, *map(ord, schedule.name)])
            found[schedule.name] = survey(rng, schedule, given.count, progress)
    if not found:
        raise SystemExit(f"the schedules are: {'; '.join(one.name for one in SCHEDULES)}")
    counted = f"{sum(one.counts['all'] for one in found.values())} submissions"
    return printed(found), counted, [sheet for one in found.values() for sheet in one.failures]


def main() -> None:
    """Run the survey and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="submissions of each schedule")
    parser.add_argument("--schedule", default="", help="how the names of schedules begin")
    add_kinds(parser)
    run(parser, lambda given: (of_kinds if given.kind else surveyed)(given))


if __name__ == "__main__":
    main()

"""Measure how large an error `attn check` lets pass.

Run `python benchmarks/one_wrong_cell.py` in an environment where attncli is installed, from the
folder of the project. Every submission is right, worked with all digits and rounded half up to
some decimals, but for one cell of the output that is changed by a known size. Further blocks change
every cell of the output by 1 % or 3 %, change one cell of a gradient, and add noise to every number
of a step. A submission passes where its verdict is `correct`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import attncli
from attncli.checking.check import AnswerKey
from benchmarks.oracles.gradient_student import Student, draw_gradient
from benchmarks.oracles.handwriting import Habit, Numbers
from benchmarks.oracles.right_work import Pen
from benchmarks.surveys.submissions import (
    SHOWN,
    Progress,
    Random,
    Sheet,
    add_kinds,
    draw,
    is_nothing_but_0,
    keyed,
    of_kinds,
    output_of,
    percent,
    run,
    shown_steps,
    table,
)

SIZES: dict[str, tuple[int, float]] = {
    **{f"{n} unit{'s' * (n > 1)}": (n, 0.0) for n in (1, 2, 3, 5, 10, 30, 100)},
    **{f"{share:g} %": (0, share / 100) for share in (0.3, 1, 3, 10)},
}
"""By how many units of the last decimal a cell is changed, or by which share of its number."""

FACTORS = {"every output +1 %": 1.01, "every output +3 %": 1.03}
"""By what every cell of the output is multiplied."""

NOISE = 0.03
"""The standard deviation of the noise."""

GRADIENTS = ("plain", "masked", "pooling", "half", "mean")
"""The kinds of problems with a gradient."""

BUCKETS = (("1", 1), ("2 to 4", 4), ("5 to 10", 10), ("11 to 30", 30), ("over 30", 10**9))
"""How many units relative changes are, and the most units of each group."""

MOST_REASONS = 12
"""So many roundings are listed that the program sees in what passes."""

MOST_PROBLEMS = 3
"""For every submission that is wanted of a cell, so many problems are drawn at most."""

Write = Callable[[str, Numbers, int], Any]
"""Takes a step, its numbers and how many decimals, and returns its written cells."""


@dataclass(frozen=True)
class Work:
    """A problem, and its right numbers with all digits.

    Attributes:
        problem: what the program takes.
        exact: the numbers by step.
        key: the program's own right numbers.
        write: writes a step as it is handed in.
    """

    problem: Mapping[str, Any]
    exact: Mapping[str, Numbers]
    key: AnswerKey
    write: Write

    def cells(self, steps: Sequence[str], decimals: int) -> dict[str, Any]:
        """Write some steps right."""
        return {step: self.write(step, self.exact[step], decimals) for step in steps}


@dataclass(frozen=True)
class Change:
    """Numbers of a step that are no longer right.

    Attributes:
        numbers: all numbers of the step.
        units: by how many units of the last decimal the furthest one is off.
    """

    numbers: Numbers
    units: int


Place = tuple[str, int, str]
"""A size, how many decimals, and what is shown."""


@dataclass
class Found:
    """What the survey found.

    Attributes:
        count: how many submissions are wanted in each place of a table; of gradients and noise,
            a quarter.
        seen: how many were judged, by size, decimals and what is shown.
        passed: how many of them pass.
        by_units: how many relative changes were judged and pass, by how many units they are.
        single: how many changes of one output cell were judged and pass, by decimals and units.
        honest: how many unchanged submissions were judged, and called wrong.
        reasons: which rounding the program sees in those that pass and are off by over 5 units.
        failures: submissions that pass and should not, and right ones that do not.
    """

    count: int
    seen: Counter[Place] = field(default_factory=Counter)
    passed: Counter[Place] = field(default_factory=Counter)
    by_units: Counter[tuple[str, str, int, bool]] = field(default_factory=Counter)
    single: Counter[tuple[int, int, bool]] = field(default_factory=Counter)
    honest: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[Sheet] = field(default_factory=list)

    def is_full(self, place: Place) -> bool:
        """Return whether enough submissions were judged."""
        return self.seen[place] >= (self.count if place[2] in SHOWN else self.fewer)

    @property
    def fewer(self) -> int:
        """How many submissions are wanted of gradients and of noise, which take longer."""
        return -(-self.count // 4)

    def judge(self, place: Place, sheet: Sheet, units: int, key: AnswerKey) -> bool:
        """Judge a submission that is wrong, and return whether it passes."""
        report = sheet.report(key)
        passes = report.verdict == "correct"
        self.seen[place] += 1
        self.passed[place] += passes
        if passes and units > 5:
            words = {getattr(judged, "rounding", "") for judged in report.steps.values()} - {""}
            said = "; ".join(sorted(words)) or "nothing"
            self.reasons[said] += 1
            self.failures.append(replace(sheet, more=dict(sheet.more) | {"rounding": said}))
        return passes


# ---- what is changed


def one_cell(rng: Random, numbers: Numbers, size: str, decimals: int) -> Change | None:
    """Change one number by a size; return nothing where it is less than a unit."""
    units, share = SIZES[size]
    pen, unit = Pen(decimals), 10.0**-decimals
    right = pen.rounded(numbers)
    places = np.argwhere(np.isfinite(numbers))
    if share:
        off = np.abs(pen.rounded(np.abs(numbers) * (1 + share)) - pen.rounded(np.abs(numbers)))
        places = np.argwhere(np.isfinite(numbers) & (off > unit / 2))
    if not len(places):
        return None
    place = tuple(int(i) for i in places[rng.integers(len(places))])
    sign = 1 if rng.random() < 0.5 else -1
    value = numbers[place] * (1 + sign * share) if share else right[place] + sign * units * unit
    made = right.copy()
    made[place] = pen.rounded(np.array([value]))[0]
    moved = round(abs(made[place] - right[place]) / unit)
    return Change(made, moved) if moved else None


def multiplied(numbers: Numbers, factor: float, decimals: int) -> Change | None:
    """Multiply every number; return nothing where none is written otherwise."""
    return compared(numbers, numbers * factor, decimals)


def noisy(rng: Random, numbers: Numbers, decimals: int) -> Change | None:
    """Add noise to every number."""
    return compared(numbers, numbers + rng.normal(0, NOISE, numbers.shape), decimals)


def compared(numbers: Numbers, others: Numbers, decimals: int) -> Change | None:
    """Return a change, where some number is written otherwise."""
    pen = Pen(decimals)
    right, made = pen.rounded(numbers), pen.rounded(others)
    off = np.abs(np.where(np.isfinite(right), made - right, 0.0)).max(initial=0)
    units = round(float(off) * 10**decimals)
    return Change(made, units) if units else None


# ---- submissions


@dataclass
class Survey:
    """Draws problems until enough submissions of every size were judged.

    Attributes:
        rng: where chance comes from.
        found: what was found.
        decimals: to how many decimals submissions are written.
        shown: which steps they hold.
    """

    rng: Random
    found: Found
    decimals: Sequence[int]
    shown: Sequence[str]
    progress: Progress = field(default_factory=Progress)

    def is_right(self, work: Work, cells: Mapping[str, Any]) -> bool:
        """Judge a submission that is right, and return whether it can be used."""
        if is_nothing_but_0(cells, work.exact):
            return False
        sheet = Sheet("unchanged", work.problem, cells)
        is_wrong = sheet.report(work.key).verdict != "correct"
        self.found.honest["judged"] += 1
        self.found.honest["called wrong"] += is_wrong
        if is_wrong:
            self.found.failures.append(sheet)
        return not is_wrong

    def hand_in(
        self, work: Work, cells: Mapping[str, Any], place: Place, step: str, change: Change
    ) -> bool:
        """Judge a submission with a changed step, and return whether it passes."""
        size, decimals, shown = place
        changed = dict(cells) | {step: work.write(step, change.numbers, decimals)}
        more = {"decimals": decimals, "shown": shown, "units": change.units}
        sheet = Sheet(f"{step}: {size}", work.problem, changed, more)
        return self.found.judge(place, sheet, change.units, work.key)

    # -- the output

    def outputs(self) -> None:
        """Judge submissions whose output is wrong."""
        places = [(*pair, s) for pair in self._pairs() for s in [*SIZES, *FACTORS]]
        for number in range(MOST_PROBLEMS * self.found.count):
            if all(self.found.is_full((size, d, shown)) for d, shown, size in places):
                return
            work = a_work(self.rng)
            for decimals, shown in self._pairs():
                self._of_output(work, decimals, shown)
            self.progress.tell(f"output: {number + 1} problems")

    def _pairs(self) -> list[tuple[int, str]]:
        return [(decimals, shown) for decimals in self.decimals for shown in self.shown]

    def _of_output(self, work: Work, decimals: int, shown: str) -> None:
        """Judge one submission of every size."""
        names = list(work.exact)
        steps, step = shown_steps(names, shown), output_of(names)
        sizes = [s for s in [*SIZES, *FACTORS] if not self.found.is_full((s, decimals, shown))]
        if not steps or not sizes:
            return
        cells = work.cells(steps, decimals)
        if not self.is_right(work, cells):
            return
        for size in sizes:
            numbers, place = work.exact[step], (size, decimals, shown)
            if size in FACTORS:
                change = multiplied(numbers, FACTORS[size], decimals)
            else:
                change = one_cell(self.rng, numbers, size, decimals)
            if change is None:
                continue
            passes = self.hand_in(work, cells, place, step, change)
            if size in SIZES:
                self.found.single[decimals, change.units, passes] += 1
            if size in SIZES and SIZES[size][1]:
                group = next(name for name, most in BUCKETS if change.units <= most)
                self.found.by_units[size, group, decimals, passes] += 1

    # -- gradients and noise

    def gradients(self) -> None:
        """Judge submissions with one wrong cell in d_X or d_W_q."""
        for number in range(MOST_PROBLEMS * self.found.fewer):
            work = a_gradient(self.rng, GRADIENTS[number % len(GRADIENTS)])
            for decimals in self.decimals:
                for step, shown in GRADIENT_SHOWN:
                    if step in work.exact:
                        self._of_gradient(work, decimals, step, shown)
            self.progress.tell(f"gradients: {number + 1} problems")
            if number + 1 >= self.found.fewer and not self._open_gradients():
                return

    def _open_gradients(self) -> list[Place]:
        """Return the places where submissions are missing, but for relative changes."""
        places = [
            (size, decimals, f"{step}, {shown}")
            for size in SIZES
            for decimals in self.decimals
            for step, shown in GRADIENT_SHOWN
            if not SIZES[size][1]
        ]
        return [place for place in places if not self.found.is_full(place)]

    def _of_gradient(self, work: Work, decimals: int, step: str, shown: str) -> None:
        label = f"{step}, {shown}"
        sizes = [size for size in SIZES if not self.found.is_full((size, decimals, label))]
        cells = work.cells([step] if shown == "alone" else list(work.exact), decimals)
        if not sizes or not self.is_right(work, cells):
            return
        for size in sizes:
            change = one_cell(self.rng, work.exact[step], size, decimals)
            if change is not None:
                self.hand_in(work, cells, (size, decimals, label), step, change)

    def noise(self) -> None:
        """Judge submissions with noise in every number of a step, in 3 and 4 decimals."""
        for number in range(self.found.fewer):
            gradient = a_gradient(self.rng, ("plain", "masked", "half", "mean")[number % 4])
            works = {"output": a_work(self.rng), "d_X": gradient, "d_W_q": gradient}
            for decimals in (d for d in self.decimals if d >= 3):
                for step, work in works.items():
                    for shown in ("alone", "all"):
                        self._with_noise(work, step, decimals, shown)
            self.progress.tell(f"noise: {number + 1} problems")

    def _with_noise(self, work: Work, step: str, decimals: int, shown: str) -> None:
        place = ("noise", decimals, f"{step}, {shown}")
        name = output_of(list(work.exact)) if step == "output" else step
        cells = work.cells([name] if shown == "alone" else list(work.exact), decimals)
        change = noisy(self.rng, work.exact[name], decimals)
        if change is not None and self.is_right(work, cells):
            self.hand_in(work, cells, place, name, change)


GRADIENT_SHOWN = [(step, shown) for step in ("d_X", "d_W_q") for shown in ("alone", "all")]
"""Which step of a gradient is wrong, and whether it is shown alone or with all others."""


def a_work(rng: Random) -> Work:
    """Draw a problem of any kind."""
    drawn = keyed(draw(rng))
    task = drawn.task

    def write(step: str, numbers: Numbers, decimals: int) -> Any:
        return task.cells(step, numbers, Pen(decimals))

    return Work(task.problem(), drawn.exact, drawn.key, write)


def a_gradient(rng: Random, kind: str) -> Work:
    """Draw a problem with a gradient."""

    def write(_: str, numbers: Numbers, decimals: int) -> Any:
        return np.array(Pen(decimals).texts(numbers), object).reshape(numbers.shape).tolist()

    problem = draw_gradient(rng, kind)
    key = AnswerKey(attncli.Problem(**problem))
    exact = Student(problem, Habit(12)).work()
    for name, numbers in exact.items():
        assert np.allclose(np.squeeze(key.trace[name].value), np.squeeze(numbers)), (name, problem)
    return Work(problem, exact, key, write)


# ---- what is printed


def shares(found: Found, sizes: Sequence[str], decimals: Sequence[int], shown: str) -> str:
    """Return a table of sizes: which share passes, and of how many."""
    head = ["passes, % (of n)", *(f"{d} dec." for d in decimals)]

    def cell(place: Place) -> str:
        return f"{percent(found.passed[place], found.seen[place])} ({found.seen[place]})"

    rows = [[size, *(cell((size, d, shown)) for d in decimals)] for size in sizes]
    return table(head, rows)


def by_units(found: Found, decimals: Sequence[int]) -> str:
    """Return a table of the relative changes by how many units they are."""

    def cell(size: str, group: str, d: int) -> str:
        passes = found.by_units[size, group, d, True]
        whole = passes + found.by_units[size, group, d, False]
        return f"{percent(passes, whole)} ({whole})"

    relative = [size for size, (_, share) in SIZES.items() if share]
    rows = [
        [f"{size}, {group} units", *(cell(size, group, d) for d in decimals)]
        for size in relative
        for group, _ in BUCKETS
    ]
    return table(["relative, any steps shown", *(f"{d} dec." for d in decimals)], rows)


def totals(found: Found) -> Iterator[str]:
    """Yield the totals that the project is held to."""

    def single(least: int, most: int) -> tuple[int, int]:
        some = {k: n for k, n in found.single.items() if k[0] >= 2 and least <= k[1] <= most}
        return sum(n for (*_, passes), n in some.items() if passes), sum(some.values())

    def whole(size: str) -> tuple[int, int]:
        places = [place for place in found.seen if place[0] == size and place[1] >= 3]
        return sum(found.passed[p] for p in places), sum(found.seen[p] for p in places)

    yield "over 10 units with ≥2 decimals: {} of {}".format(*single(11, 10**9))
    passes, n = single(5, 10)
    yield f"5 to 10 units with ≥2 decimals: {percent(passes, n)} % of {n}"
    yield "every output off by 1 % with 3 or 4 decimals: {} of {}".format(
        *whole("every output +1 %")
    )
    yield "noise: {} of {}".format(*whole("noise"))
    yield "honest called wrong: {} of {}".format(
        found.honest["called wrong"], found.honest["judged"]
    )


def printed(found: Found, decimals: Sequence[int], shown: Sequence[str]) -> Iterator[str]:
    """Yield every table."""
    for one in shown:
        yield f"one output cell; shown: {one}"
        yield shares(found, [*SIZES, *FACTORS], decimals, one) + "\n"
    yield by_units(found, decimals) + "\n"
    for step, one in GRADIENT_SHOWN:
        label = f"{step}, {one}"
        if any(place[2] == label and place[0] != "noise" for place in found.seen):
            yield f"one cell of a gradient; shown: {label}"
            yield shares(found, list(SIZES), decimals, label) + "\n"
    if noises := [place for place in sorted(found.seen) if place[0] == "noise"]:
        rows = [
            [f"{s}, {d} dec.", percent(found.passed[p], found.seen[p]), found.seen[p]]
            for p in noises
            for _, d, s in [p]
        ]
        yield table([f"noise of {NOISE} in every number of", "passes, %", "of"], rows) + "\n"
    if found.reasons:
        reasons = found.reasons.most_common(MOST_REASONS)
        yield table(["over 5 units passes; the rounding that is seen", "times"], reasons) + "\n"
    yield from totals(found)


BLOCKS: dict[str, Callable[[Survey], None]] = {
    "output": Survey.outputs,
    "gradients": Survey.gradients,
    "noise": Survey.noise,
}
"""The blocks of the survey."""


def surveyed(given: argparse.Namespace) -> tuple[Iterator[str], str, list[Sheet]]:
    """Judge the submissions that are asked for."""
    decimals = [int(word) for word in given.decimals.split(",")]
    shown = SHOWN if given.shown == "all of these" else (given.shown,)
    found = Found(given.count)
    survey = Survey(np.random.default_rng(given.seed), found, decimals, shown)
    for block in given.blocks.split(","):
        BLOCKS[block](survey)
    counted = f"{sum(found.seen.values())} wrong submissions"
    return printed(found, decimals, shown), counted, found.failures


def main() -> None:
    """Run the survey and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="submissions in each table cell")
    parser.add_argument("--decimals", default="1,2,3,4", help="such as 2,3")
    parser.add_argument("--shown", choices=[*SHOWN, "all of these"], default="all of these")
    parser.add_argument("--blocks", default=",".join(BLOCKS), help="such as output,noise")
    add_kinds(parser)
    run(parser, lambda given: (of_kinds if given.kind else surveyed)(given))


if __name__ == "__main__":
    main()

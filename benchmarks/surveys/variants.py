"""A survey of how fair the variants of `attn vary` are, by students who share no code with it.

Random problems of all kinds are varied; every mistake that a student can make in a variant is made
and handed in, and the program judges it. `benchmarks/variants.py` runs it with hundreds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.naming.catalogued import is_like
from attncli.classroom.drawing import Drawing
from attncli.classroom.variants import Variant, VariantForm
from attncli.core.errors import InputError
from attncli.reading.document import submission_of
from benchmarks.oracles.handwriting import Habit, Numbers
from benchmarks.oracles.homework import draw
from benchmarks.oracles.recurrent_student import draw_network
from benchmarks.oracles.recurrent_student import work as work_network
from benchmarks.oracles.students import ImpossibleError, Paper, Wrong
from benchmarks.surveys.test_mistakes import CASES, NETWORKS, OF_NETWORKS, SORTS

OTHERS = 6
"""So many other draws tell whether a mistake can be made in problems of a form at all."""

Steps = dict[str, Numbers]


@dataclass(frozen=True)
class Made:
    """A mistake that a student makes: which, in which step, and in which of several ways."""

    id: str
    at: str
    way: int = 0

    def __str__(self) -> str:
        return f"{self.id} in {self.at}"


DONE = [
    *dict.fromkeys(
        Made(id_, case.made or case.at, case.way) for id_, cases in CASES.items() for case in cases
    )
]
"""What the students of the tests do, but for networks."""


class Exercise:
    """A problem as students have it: attention, pooling or two sentences."""

    def __init__(self, paper: Paper) -> None:
        self.paper = paper
        self.mistakes = [made for made in DONE if made.at in paper.steps]

    @property
    def keys(self) -> dict[str, Any]:
        """What the program takes."""
        return self.paper.problem()

    def like(self, problem: attncli.Problem) -> Exercise:
        """Return the same with the numbers of another problem."""
        keys: dict[str, Any] = dict(self.paper.keys)
        for key, value in self.paper.keys.items():
            if key == "score" and isinstance(value, dict):
                keys[key] = {**value, **_arrays(problem.score)}
            elif key not in ("mask", "score") and isinstance(value, np.ndarray):
                array = np.array(getattr(problem, key))
                turned = self.paper.columns and array.ndim > 1 and key != "W"
                keys[key] = np.swapaxes(array, -1, -2) if turned else array
        return Exercise(Paper(keys, self.paper.columns))

    def work(self, made: Made | None, habit: Habit | None = None) -> Steps:
        """Return the numbers of every step, with something done wrong."""
        wrong = Wrong() if made is None else Wrong(made.id, made.at, made.way)
        return self.paper.work(wrong, habit)

    def sheet(self, known: Steps, habit: Habit, steps: list[str]) -> dict[str, Any]:
        """Return what is handed in."""
        return self.paper.sheet(known, habit, steps)


class Network(Exercise):
    """A recurrent network that attends to its states."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self._keys = keys
        times = range(1, len(keys["X"]) + 1)
        self.mistakes = [Made(id_, f"h_{t}") for id_ in OF_NETWORKS for t in (*times, 0)]

    @property
    def keys(self) -> dict[str, Any]:
        """What the program takes."""
        return dict(self._keys)

    def like(self, problem: attncli.Problem) -> Exercise:
        """Return the same with the numbers of another problem."""
        arrays = {k: v.tolist() for k, v in problem.matrices().items() if k in self._keys}
        return Network({**self._keys, **arrays})

    def work(self, made: Made | None, habit: Habit | None = None) -> Steps:
        """Return the numbers of every step; time 0 stands for all times."""
        if made is None:
            return work_network(self._keys, "", (), habit or EXACT)
        time_ = int(made.at.removeprefix("h_"))
        times = (time_,) if time_ else tuple(range(1, len(self._keys["X"]) + 1))
        return work_network(self._keys, made.id, times, habit or EXACT)

    def sheet(self, known: Steps, habit: Habit, steps: list[str]) -> dict[str, Any]:
        """Return what is handed in."""
        return {name: habit.texts(known[name]) for name in steps if name in known}


EXACT = Habit(17)


def _arrays(score: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in score.items() if isinstance(part, np.ndarray)}


WISHES = [*{str(c.wish): (c.wish, c.sorts) for cases in CASES.values() for c in cases}.values()]


def an_exercise(rng: np.random.Generator) -> Exercise:
    """Draw a problem of any kind that can be worked by hand."""
    while True:
        if rng.random() < 1 / 8:
            exercise: Exercise = Network(draw_network(rng, *NETWORKS[rng.integers(len(NETWORKS))]))
        else:
            wish, sorts = WISHES[rng.integers(len(WISHES))]
            sort = str(rng.choice([one for one in SORTS if one in sorts]))
            exercise = Exercise(draw(rng, sort, **wish))
        try:
            exercise.work(None)
            attncli.compute(attncli.Problem(**exercise.keys))
        except (ImpossibleError, InputError):
            continue
        return exercise


def asked_of(rng: np.random.Generator, trace: attncli.Trace) -> list[str]:
    """Draw which steps are asked: all, the last, or the weights and the last."""
    last = [list(trace.steps)[-1]]
    weights = [name for name in trace.steps if name.startswith("weights")]
    ways = [[], last, [*weights, *last]]
    if trace.problem.kind in ("co_attention", "recurrent"):
        ways.pop(1)
    return ways[rng.integers(len(ways))]


@dataclass
class Tally:
    """What was seen: counts by mistake and outcome, and what was unfair as JSON holds it."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    variants: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add what was seen elsewhere."""
        self.counts += other.counts
        self.failures += other.failures
        self.variants += other.variants

    def share(self, *outcomes: str) -> float:
        """Return the share of some outcomes among all sheets."""
        found = sum(n for (_, outcome), n in self.counts.items() if outcome in outcomes)
        every = sum(n for (_, outcome), n in self.counts.items() if outcome != SAID)
        return found / max(every, 1)

    @property
    def shares(self) -> str:
        """Which shares of the sheets were called wrong and named, in words."""
        return (
            f"{sum(self.counts.values())} sheets, wrong: {1 - self.share(MISSED):.2%}, "
            f"named: {self.share(NAMED):.2%}, or told by the shape: "
            f"{self.share(NAMED, SHAPE):.2%}, or by another mistake that gives the same numbers: "
            f"{self.share(NAMED, SHAPE, OTHER):.2%}"
        )


FAIRNESS = ("fair", "not fair")

NAMED, SHAPE, OTHER, MISNAMED, MISSED, SAID = (
    "named",
    "told by its shape",
    "another that gives the same",
    "not named",
    "not wrong",
    "said to be hidden",
)


def survey(seed: int, numbers: range, processes: int = 1) -> Iterator[Tally]:
    """Vary random problems, and judge every mistake that can be made in a variant; one after one.

    A problem depends on the seed and its own number alone, so it is the same in any process.
    """
    work = partial(tally_of, seed)
    if processes == 1:
        yield from map(work, numbers)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(work, numbers)


def tally_of(seed: int, number: int) -> Tally:
    """Vary one random problem, and judge every mistake that can be made in the variant."""
    tally, rng = Tally(), np.random.default_rng([seed, number])
    exercise = an_exercise(rng)
    given = attncli.Problem(**exercise.keys)
    ask = asked_of(rng, attncli.compute(given))
    decimals = int(rng.choice([2, 3]))
    started = time.process_time()
    (variant,) = attncli.vary(given, 1, int(rng.integers(1000)), ask=ask, decimals=decimals)
    tally.variants["milliseconds"] += round(1000 * (time.process_time() - started))
    tally.variants[FAIRNESS[not variant.is_fair]] += 1
    tally.variants[given.kind] += 1
    if variant.is_fair:
        own = exercise.like(variant.problem)
        for made in possible(exercise, given):
            if can_be_made(made, variant.trace):
                judge(tally, own, variant, made)
    else:
        about = {"hidden": variant.hidden, "alike": variant.alike, "flaws": variant.flaws}
        marking = {"ask": ask, "decimals": decimals}
        tally.failures.append(
            {"why": "not fair", **about, "problem": exercise.keys, "marking": marking}
        )
    for failure in tally.failures:
        failure["number"] = number
    return tally


def possible(exercise: Exercise, given: attncli.Problem) -> Iterator[Made]:
    """Yield the mistakes that change a number in some problem of the same form."""
    drawing = Drawing(given)
    likes = [exercise]
    for number in range(OTHERS):
        problem = drawing.problem(drawing.draw(Random(number)))
        likes.append(exercise.like(problem))
    for made in exercise.mistakes:
        if any(differs(one, made) for one in likes):
            yield made


def can_be_made(made: Made, trace: attncli.Trace) -> bool:
    """Return whether the catalogue has a mistake in a step: what it has not is not promised."""
    if made.id == "softmax_over_queries" and trace.problem.kind == "pooling":
        return False  # weights cannot sum to 1 over a single query
    times = [s.name for s in trace if s.name.startswith(TIMES)]
    places = times if trace.problem.kind == "recurrent" else [made.at]
    return any(True for at in places for _ in MISTAKES[made.id].changes(trace[at], trace))


TIMES = ("h_", "scores_", "weights_", "c_")


def differs(exercise: Exercise, made: Made) -> bool:
    """Return whether a student who does something wrong has other numbers than the right ones."""
    try:
        right, own = exercise.work(None), exercise.work(made)
    except (ImpossibleError, ArithmeticError, LookupError, ValueError):
        return False
    return any(
        own[step].shape != right[step].shape or not np.allclose(own[step], right[step])
        for step in right
    )


def judge(tally: Tally, exercise: Exercise, variant: Variant, made: Made) -> None:
    """Hand in a mistake in a variant, in all its steps and in those that are asked alone.

    All steps are handed in twice: by who goes on with every digit, and by who goes on from what is
    written.
    """
    decimals = variant.problem.marking.decimals or 2
    steps = list(variant.trace.steps)
    asked = list(variant.form.asked)
    key = AnswerKey(variant.problem)
    for habit, wanted in dict.fromkeys(
        (
            (Habit(decimals), tuple(steps)),
            (Habit(decimals, early=True), tuple(steps)),
            (Habit(decimals), tuple(asked)),
        )
    ):
        try:
            known = exercise.work(made, habit)
            right = exercise.work(None)
        except (ImpossibleError, ArithmeticError, LookupError, ValueError):
            continue  # it can be made in others, not here
        if any(np.isnan(x).any() or (x == np.inf).any() for x in known.values()):
            continue
        given = [name for name in wanted if name in known]
        if any(name in right and name not in known for name in wanted):
            continue
        report = key.check(submission_of(exercise.sheet(known, habit, given), "student"))
        outcome = outcome_of(variant, made, report, exercise, known)
        tally.counts[made.id, outcome] += 1
        if outcome in (MISNAMED, MISSED):
            tally.failures.append(
                {
                    "why": outcome,
                    "made": str(made),
                    "way": made.way,
                    "habit": str(habit),
                    "steps": given,
                    "named": names_of(report),
                    "wrong": report.wrong_steps,
                    "problem": exercise.keys,
                    "marking": {"ask": asked, "decimals": decimals},
                    "sheet": exercise.sheet(known, habit, given),
                }
            )


def names_of(report: Report) -> list[str]:
    """Return what is named in the wrong steps."""
    findings = [report.findings[name] for name in report.wrong_steps if name in report.findings]
    return [one.id for finding in findings for one in (finding, *finding.also)]


def outcome_of(
    variant: Variant, made: Made, report: Report, exercise: Exercise, known: Steps
) -> str:
    """Return what is said of a mistake."""
    form = variant.form
    if not report.wrong_steps:
        return SAID if is_said(form, made.id, made.at) else MISSED
    named = names_of(report)
    if any(one == made.id or is_like(one, made.id) for one in named):
        return NAMED
    if made.id == "step_transposed" and "transposed" in named:
        return NAMED
    if {"wrong_shape", "transposed", "all_the_same"} & {*named}:
        return SHAPE
    pairs = {frozenset(pair) for pair in form.never_apart}
    if any(frozenset((one, made.id)) in pairs for one in named):
        return OTHER
    first = report.first_wrong_step or ""
    before = list(known)[: list(known).index(first) + 1]
    ways = (Made(one, at, way) for one in named for at in before for way in range(4))
    return OTHER if any(is_same(exercise, way, known, first) for way in ways) else MISNAMED


def is_said(form: VariantForm, id_: str, at: str) -> bool:
    """Return whether the summary says that a mistake does not show in a step."""
    reason = form.unseen.get(id_, "")
    start = "not always in "
    return at in reason.removeprefix(start).split(", ") if start in reason else bool(reason)


def is_same(exercise: Exercise, made: Made, known: Steps, step: str) -> bool:
    """Return whether another mistake gives the same numbers in a step."""
    if made.id not in MISTAKES:
        return False
    try:
        other = exercise.work(made)[step]
    except (ImpossibleError, ArithmeticError, LookupError, ValueError):
        return False
    return other.shape == known[step].shape and np.allclose(other, known[step], atol=0.006)

"""Mistakes in variants of `attn vary` are found and named, made by students who share no code.

Random problems of all kinds are varied; every mistake that a student can make in a problem of that
form is made in the variant and handed in. It must be called wrong, or the variant must say that it
does not show there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.classroom.drawing import Drawing
from attncli.classroom.variants import Variant
from attncli.reading.document import submission_of
from benchmarks.oracles.handwriting import Habit, Numbers
from benchmarks.oracles.homework import draw
from benchmarks.oracles.recurrent_student import draw_network
from benchmarks.oracles.recurrent_student import work as work_network
from benchmarks.oracles.students import RIGHT, ImpossibleError, Known, Paper, Wrong, is_array
from benchmarks.surveys.judging import check
from benchmarks.surveys.test_mistakes import CASES, NETWORKS, first_other
from tests.support.truth import Truth, faults

OTHERS = 6
"""Number of other problems of a form that tell whether a mistake can be made in it at all."""

MOST_UNNAMED = 0.02
"""Maximum share of submissions in which neither the mistake is named nor one with its numbers."""

UNWORKABLE = (ImpossibleError, ArithmeticError, LookupError, ValueError)
SHAPES = ("wrong_shape", "transposed", "all_the_same")
EXACT = Habit(17)


class Network:
    """A recurrent network that attends to its states, with what is used here of a `Paper`."""

    columns = False

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self.keys = dict(keys)
        self.times = range(1, len(keys["X"]) + 1)

    def problem(self) -> dict[str, Any]:
        return self.keys

    def work(self, wrong: Wrong = RIGHT, habit: Habit = EXACT) -> dict[str, Numbers]:
        """Return the numbers of every step; way 0 makes a mistake at all times."""
        return work_network(
            self.keys, wrong.id, (wrong.way,) if wrong.way else (*self.times,), habit
        )

    def sheet(self, known: Known, habit: Habit, steps: list[str]) -> dict[str, Any]:
        return {name: habit.texts(known[name]) for name in steps}


Exercise = Paper | Network


def an_exercise(rng: np.random.Generator) -> Exercise:
    """Draw a problem of any kind that can be worked by hand."""
    cases = [case for cases in CASES.values() for case in cases]
    while True:
        case, is_network = cases[rng.integers(len(cases))], rng.random() < 1 / 8
        network = draw_network(rng, *NETWORKS["drawn"][rng.integers(6)])
        paper = draw(rng, str(rng.choice(case.sorts)), **case.wish)
        one = Network(network) if is_network else paper
        with suppress(ImpossibleError):
            one.work()
            return one


def like(one: Exercise, problem: attncli.Problem) -> Exercise:
    """Return the same with the numbers of another problem."""
    keys = {}
    for key, value in one.keys.items():
        new = value if key == "mask" else problem.written.get(key, value)
        turned = one.columns and is_array(new) and np.ndim(new) > 1 and key not in ("W", "mask")
        keys[key] = np.swapaxes(np.array(new, float), -1, -2) if turned else new
    return Network(keys) if isinstance(one, Network) else Paper(keys, one.columns)


def possible(one: Exercise, given: attncli.Problem, trace: attncli.Trace) -> Iterator[Wrong]:
    """Yield the mistakes that the catalogue has there, and that change a number in some problem."""
    drawing = Drawing(given)
    draws = (drawing.draw(Random(number)) for number in range(OTHERS))
    likes = [one, *(like(one, drawing.problem(drawn)) for drawn in draws)]
    done = [case.wrong(id_) for id_, cases in CASES.items() for case in cases if case.head is None]
    if isinstance(one, Network):
        done = [Wrong(id_, way=time) for id_ in NETWORKS["mistakes"] for time in (0, *one.times)]
    for wrong in dict.fromkeys(done):
        places = [step for step in trace if wrong.at in ("", step.name)]
        is_known = any(True for step in places for _ in MISTAKES[wrong.id].changes(step, trace))
        # Weights cannot sum to 1 over the only query of pooling.
        is_vain = wrong.id == "softmax_over_queries" and given.kind == "pooling"
        if is_known and not is_vain and any(differs(each, wrong) for each in likes):
            yield wrong


def differs(one: Exercise, wrong: Wrong) -> bool:
    """Return whether a student who does something wrong has other numbers than the right ones."""
    with suppress(*UNWORKABLE):
        right, own = one.work(), one.work(wrong)
        return not all(is_close(own[step], right[step], 1e-8) for step in right)
    return False


def is_close(one: Numbers, other: Numbers, tolerance: float) -> bool:
    return one.shape == other.shape and np.allclose(one, other, atol=tolerance)


def is_same(one: Exercise, id_: str, known: Known, first: str) -> bool:
    """Return whether another mistake, made there or before, gives the same numbers in a step."""
    for step, way in product(list(known)[: list(known).index(first) + 1], range(4)):
        with suppress(*UNWORKABLE):
            if is_close(one.work(Wrong(id_, step, way))[first], known[first], 0.006):
                return True
    return False


def is_said(variant: Variant, wrong: Wrong) -> bool:
    """Return whether the summary says that a mistake does not show in a step."""
    reason, start = variant.form.unseen.get(wrong.id, ""), "not always in "
    return wrong.at in reason.removeprefix(start).split(", ") if start in reason else reason != ""


@pytest.mark.parametrize("number", [0, 1, 12])
def test_students_who_make_mistakes_in_variants_are_told(number: int) -> None:
    """All steps are handed in, in two ways of rounding, and what is asked alone."""
    rng = np.random.default_rng([3, number])
    one = an_exercise(rng)
    given = attncli.Problem(**one.problem())
    steps = list(attncli.compute(given).steps)
    ways = [[], [name for name in steps if name.startswith("weights") or name == steps[-1]]]
    if given.kind not in ("co_attention", "recurrent"):
        ways.append(steps[-1:])
    ask, decimals = ways[rng.integers(len(ways))], int(rng.choice([2, 3]))
    (variant,) = attncli.vary(given, 1, int(rng.integers(1000)), ask=ask, decimals=decimals)
    assert variant.is_fair, (one.problem(), ask, decimals)
    own, key, late = like(one, variant.problem), AnswerKey(variant.problem), Habit(decimals)
    named: Counter[bool] = Counter()
    sheets = [(late, steps), (Habit(decimals, early=True), steps)] + [(late, ask)] * bool(ask)
    for wrong, (habit, wanted) in product(possible(one, given, variant.trace), sheets):
        try:
            known, right = own.work(wrong, habit), own.work(habit=habit)
        except UNWORKABLE:
            continue
        sheet = own.sheet(known, habit, [name for name in wanted if name in known])
        about = f"{wrong}, {habit}: {own.problem()} {sheet}"
        report = key.check(submission_of(sheet, "student"))
        if not report.wrong_steps:
            assert is_said(variant, wrong), about
            continue
        found = {f.id for finding in report.findings.values() for f in (finding, *finding.also)}
        first = first_other(known, right, sheet)
        also = tuple(n for n in found if n in SHAPES or is_same(own, n, known, first))
        is_named = wrong.id in found or also != ()
        named[is_named] += 1
        # A step that is not asked counts where others follow from it, and none does from its shape.
        counts = first in variant.form.asked or known[first].shape == right[first].shape
        if is_named and counts:
            truth = Truth(mistake=wrong.id, step=first, also=also)
            assert faults(check(key, sheet, truth), truth) == [], about
    assert named[True] > 20
    assert named[False] <= MOST_UNNAMED * named[True]

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
from benchmarks.surveys.test_mistakes import CASES, NETWORKS, OF_NETWORKS, first_other
from tests.support.truth import Truth, faults

EVERY_DIGIT = Habit(17)

OTHERS = 6
"""Number of other problems of a form that tell whether a mistake can be made in it at all."""

MOST_UNNAMED = 0.02
"""Maximum share of submissions in which neither the mistake is named nor one with its numbers."""

UNWORKABLE = (ImpossibleError, ArithmeticError, LookupError, ValueError)
SHAPES = ("wrong_shape", "transposed", "all_the_same")


class Network:
    """A recurrent network that attends to its states, with what is used here of a `Paper`."""

    columns = False

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self.keys = dict(keys)
        self.times = range(1, len(keys["X"]) + 1)

    def problem(self) -> dict[str, Any]:
        return self.keys

    def work(self, wrong: Wrong = RIGHT, habit: Habit = EVERY_DIGIT) -> dict[str, Numbers]:
        """Return the numbers of every step; way 0 makes a mistake at all times."""
        times = (wrong.way,) if wrong.way else (*self.times,)
        return work_network(self.keys, wrong.id, times, habit)

    def sheet(self, known: Known, habit: Habit, steps: list[str]) -> dict[str, Any]:
        return {name: habit.texts(known[name]) for name in steps if name in known}


Exercise = Paper | Network


def mistakes_of(one: Exercise) -> list[Wrong]:
    """Return what the students of the other surveys do in such a problem."""
    if isinstance(one, Network):
        return [Wrong(id_, way=time) for id_ in OF_NETWORKS for time in (0, *one.times)]
    done = dict.fromkeys(case.wrong(id_) for id_, cases in CASES.items() for case in cases)
    return [wrong for wrong in done if wrong.at in one.steps]


def an_exercise(rng: np.random.Generator) -> Exercise:
    """Draw a problem of any kind that can be worked by hand."""
    cases = [case for cases in CASES.values() for case in cases]
    while True:
        case = cases[rng.integers(len(cases))]
        is_network = rng.random() < 1 / 8
        network = draw_network(rng, *NETWORKS[rng.integers(len(NETWORKS))])
        paper = draw(rng, str(rng.choice(case.sorts)), **case.wish)
        one: Exercise = Network(network) if is_network else paper
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
    for wrong in mistakes_of(one):
        places = [trace[wrong.at]] if wrong.at else list(trace)
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


def handed_in(
    one: Exercise, variant: Variant, wrong: Wrong
) -> Iterator[tuple[Habit, dict[str, Any], Known]]:
    """Yield a mistake with all steps, by two ways of rounding, and in what is asked alone."""
    decimals = variant.problem.marking.decimals or 2
    every, asked = list(variant.trace.steps), list(variant.form.asked)
    ways = [(Habit(decimals), every), (Habit(decimals, early=True), every)]
    for habit, wanted in ways + ([(Habit(decimals), asked)] if asked != every else []):
        with suppress(*UNWORKABLE):
            known, right = one.work(wrong, habit), one.work()
            is_finite = not any(np.isnan(x).any() or (x == np.inf).any() for x in known.values())
            if is_finite and not any(name in right and name not in known for name in wanted):
                steps = [name for name in wanted if name in known]
                yield habit, one.sheet(known, habit, steps), known


def is_said(variant: Variant, wrong: Wrong) -> bool:
    """Return whether the summary says that a mistake does not show in a step."""
    reason = variant.form.unseen.get(wrong.id, "")
    start = "not always in "
    steps = reason.removeprefix(start).split(", ")
    return wrong.at in steps if start in reason else bool(reason)


def is_same(one: Exercise, id_: str, known: Known, first: str) -> bool:
    """Return whether another mistake, made there or before, gives the same numbers in a step."""
    for step, way in product(list(known)[: list(known).index(first) + 1], range(4)):
        with suppress(*UNWORKABLE):
            if is_close(one.work(Wrong(id_, step, way))[first], known[first], 0.006):
                return True
    return False


@pytest.mark.parametrize("number", [0, 1, 12])
def test_students_who_make_mistakes_in_variants_are_told(number: int) -> None:
    rng = np.random.default_rng([3, number])
    one = an_exercise(rng)
    given = attncli.Problem(**one.problem())
    steps = list(attncli.compute(given).steps)
    weights = [name for name in steps if name.startswith("weights")]
    ways = [[], [*weights, steps[-1]]]
    if given.kind not in ("co_attention", "recurrent"):
        ways.append(steps[-1:])
    ask, decimals = ways[rng.integers(len(ways))], int(rng.choice([2, 3]))
    (variant,) = attncli.vary(given, 1, int(rng.integers(1000)), ask=ask, decimals=decimals)
    assert variant.is_fair, (one.problem(), ask, decimals)
    own, key = like(one, variant.problem), AnswerKey(variant.problem)
    named: Counter[bool] = Counter()
    for wrong in possible(one, given, variant.trace):
        for habit, sheet, known in handed_in(own, variant, wrong):
            about = f"{wrong}, {habit}: {own.problem()} {sheet}"
            report, right = key.check(submission_of(sheet, "student")), own.work(habit=habit)
            if not report.wrong_steps:
                assert is_said(variant, wrong), about
                continue
            found = {f.id for one in report.findings.values() for f in (one, *one.also)}
            first = first_other(known, right, sheet)
            also = [n for n in found if n in SHAPES or is_same(own, n, known, first)]
            is_named = wrong.id in found or also != []
            # No step that is not asked is the first wrong one by its shape.
            named[is_named] += 1
            if is_named and (
                first in variant.form.asked or known[first].shape == right[first].shape
            ):
                truth = Truth(mistake=wrong.id, step=first, also=tuple(also))
                assert faults(check(key, sheet, truth), truth) == [], about
    assert named[True] > 20
    assert named[False] <= MOST_UNNAMED * named[True]

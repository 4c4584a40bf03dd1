"""Mistakes in variants of `attn vary` are found and named, made by students who share no code.

Random problems of all kinds are varied; every mistake that a student can make in a problem of that
form is made in the variant and handed in. It must be called wrong, or the variant must say that it
does not show there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.classroom.variants import Variant
from attncli.core.drawing.numbers_like import Drawing
from attncli.reading.document import submission_of
from benchmarks.oracles.methods import Wrong, found_by
from benchmarks.oracles.workings import Known, UnworkableError, Working
from benchmarks.surveys.judging import check
from benchmarks.surveys.test_mistakes import CASES, exercise
from tests.oracles.pens import Habit, Numbers
from tests.support.truth import Truth, faults

OTHERS = 6
"""Number of other problems of a form that tell whether a mistake can be made in it at all."""

MOST_UNNAMED = 0.02
"""Maximum share of submissions in which neither the mistake is named nor one with its numbers."""

SHAPES = ("wrong_shape", "transposed", "all_the_same")
RIGHT, EXACT = Wrong(), Habit(12)


def worked(one: Working, wrong: Wrong = RIGHT, habit: Habit = EXACT) -> Known:
    return one.work(habit.goes_on, found_by(one, wrong))


def like(one: Working, problem: attncli.Problem) -> Working:
    """Return the same with the numbers of another problem, but for its mask."""
    written = {key: problem.written.get(key, value) for key, value in one.problem.items()}
    keys = Working(one.sort, written, one.columns).problem  # transposed twice, in rows again
    keys.pop("tokens_as", None)
    return replace(one, keys=keys | {key: one.keys[key] for key in ("mask",) if key in one.keys})


def possible(one: Working, given: attncli.Problem, trace: attncli.Trace) -> Iterator[Wrong]:
    """Yield the mistakes that the catalogue has there, and that change a number in some problem."""
    drawing = Drawing(given)
    draws = (drawing.draw(Random(number)) for number in range(OTHERS))
    likes = [one, *(like(one, drawing.problem(drawn)) for drawn in draws)]
    done = [case.wrong(id_) for id_, cases in CASES.items() for case in cases if case.head is None]
    for wrong in dict.fromkeys(done):
        places = [step for step in trace if wrong.at in ("", step.name)]
        is_known = any(True for step in places for _ in MISTAKES[wrong.id].changes(step, trace))
        # Weights cannot sum to 1 over the only query of pooling.
        is_vain = wrong.id == "softmax_over_queries" and given.kind == "pooling"
        if is_known and not is_vain and any(differs(each, wrong) for each in likes):
            yield wrong


def differs(one: Working, wrong: Wrong) -> bool:
    """Return whether a student who does something wrong has other numbers than the right ones."""
    with suppress(UnworkableError):
        right, own = worked(one), worked(one, wrong)
        return not all(is_close(own[step], right[step], 1e-8) for step in right)
    return False


def is_close(one: Numbers, other: Numbers, tolerance: float) -> bool:
    return one.shape == other.shape and np.allclose(one, other, atol=tolerance)


def is_same(one: Working, id_: str, known: Known, first: str) -> bool:
    """Return whether another mistake, made there or before, gives the same numbers in a step."""
    for step, way in product(list(known)[: list(known).index(first) + 1], range(4)):
        with suppress(UnworkableError):
            if is_close(worked(one, Wrong(id_, step, way))[first], known[first], 0.006):
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
    cases = [case for cases in CASES.values() for case in cases]
    case = cases[rng.integers(len(cases))]
    one = exercise(rng, str(rng.choice(case.sorts)), case.wish)
    given = attncli.Problem(**one.problem)
    steps = list(attncli.compute(given).steps)
    ways = [[], [name for name in steps if name.startswith("weights") or name == steps[-1]]]
    if given.kind not in ("co_attention", "recurrent"):
        ways.append(steps[-1:])
    ask, decimals = ways[rng.integers(len(ways))], int(rng.choice([2, 3]))
    (variant,) = attncli.vary(given, 1, int(rng.integers(1000)), ask=ask, decimals=decimals)
    assert variant.is_fair, (one.problem, ask, decimals)
    own, key, late = like(one, variant.problem), AnswerKey(variant.problem), Habit(decimals)
    named: Counter[bool] = Counter()
    sheets = [(late, steps), (Habit(decimals, early=True), steps)] + [(late, ask)] * bool(ask)
    for wrong, (habit, wanted) in product(possible(one, given, variant.trace), sheets):
        try:
            known, right = worked(own, wrong, habit), worked(own, habit=habit)
        except UnworkableError:
            continue
        sheet = own.sheet(known, habit, [name for name in wanted if name in known])
        about = f"{wrong}, {habit}: {own.problem} {sheet}"
        report = key.check(submission_of(sheet, "student"))
        if not report.wrong_steps:
            assert is_said(variant, wrong), about
            continue
        found = {f.id for finding in report.findings.values() for f in (finding, *finding.also)}
        first = next(name for name in sheet if not np.array_equal(known[name], right[name]))
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

"""Slips are made in random problems, in any step, and found; what follows from them is not wrong.

Which cells must be found wrong is decided as in `benchmarks/surveys/test_mistakes.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
import pytest

from benchmarks.oracles.drawn import Random
from benchmarks.oracles.methods import turned
from benchmarks.oracles.workings import Known, UnworkableError, Working, need
from benchmarks.surveys.fairness import key_of
from benchmarks.surveys.judging import check
from benchmarks.surveys.test_mistakes import (
    SORTS,
    TABLES,
    Work,
    examined,
    exercise,
    exercises,
    told,
)
from tests.oracles.pens import HABITS, Habit, Numbers
from tests.support.truth import Truth, faults


class Desk(NamedTuple):
    """What a student has who slips in a step: the numbers of the steps up to it."""

    random: Random
    working: Working
    step: str
    known: Known

    @property
    def numbers(self) -> Numbers:
        """The right numbers of the step, to be changed."""
        return self.known[self.step].copy()


Slip: TypeAlias = Callable[[Desk], Numbers]
"""Returns what is written for a step; raises UnworkableError where it cannot be made."""


def in_a_number(change: Callable[[float, Random], float]) -> Slip:
    """Return a slip in one number, which is not nearly 0."""

    def slip(at: Desk) -> Numbers:
        numbers = at.numbers
        places = np.argwhere((np.abs(numbers) > 0.3) & np.isfinite(numbers))
        need(len(places) > 0)
        place = tuple(places[at.random.integers(len(places))])
        numbers[place] = change(float(numbers[place]), at.random)
        return numbers

    return slip


def sign_of_a_product(at: Desk) -> Numbers:
    """One of the products that a score is the sum of."""
    need(at.step == "scores")
    q, k, made = at.known["Q"], at.known["K"], at.working.step(at.step, at.known)
    head, i, j = (int(at.random.integers(n)) for n in made.shape)
    feature = int(at.random.integers(q.shape[-1]))
    product = q[head, i, feature] * k[head * len(k) // len(q), j, feature]
    need(product != 0)
    made[head, i, j] -= 2 * product
    return made


def signs_of_all(at: Desk) -> Numbers:
    need((np.abs(at.numbers) > 0.3).sum() > 1)
    return -at.numbers


def wrong_row(random: Random, made: Numbers) -> Numbers:
    head, row = (int(random.integers(n)) for n in made.shape[:2])
    made[head, row] += random.uniform(3, 9, made.shape[2])
    need(made.shape[2] > 1)
    return made


def a_row_of_a_misread_number(at: Desk) -> Numbers:
    """A number of Q is read as another one, in the whole row of its scores."""
    need(at.step == "scores")
    q = at.known["Q"].copy()
    head, row, feature = (int(at.random.integers(n)) for n in q.shape)
    q[head, row, feature] += int(at.random.integers(1, 4))
    return at.working.step("scores", at.known | {"Q": q})


def rows_exchanged(random: Random, made: Numbers) -> Numbers:
    head, last = int(random.integers(len(made))), made.shape[1] - 1
    need(last > 0 and made.shape[2] > 1)
    need(not np.array_equal(*np.abs(made[head, [0, last]])))  # only their signs, else
    made[head, [0, last]] = made[head, [last, 0]]
    return made


def cells_exchanged(at: Desk) -> Numbers:
    made = at.numbers
    need(min(made.shape[1:]) > 1)
    head = int(at.random.integers(len(made)))
    made[head, [0, 1], [0, 1]] = made[head, [1, 0], [1, 0]]
    return made


def digits_exchanged(number: float, random: Random) -> float:
    """2.15 for 1.25: the first two digits."""
    del random
    text = f"{number:.10f}"
    one, other = [i for i, letter in enumerate(text) if letter.isdigit()][:2]
    if "0" in (text[one], text[other]):  # that moves the point, too
        return number
    letters = list(text)
    letters[one], letters[other] = letters[other], letters[one]
    return float("".join(letters))


def a_factor_too_many(at: Desk) -> Numbers:
    made: Numbers = at.numbers * float(at.random.uniform(3.1, 3.9))
    need(bool((np.abs(made) > 1).sum() >= 3 and at.numbers.all()))  # of a 0 nobody sees the factor
    return made


def numbers_of_another_step(at: Desk) -> Numbers:
    """The first step with the same shape, where that is not used by a mistake."""
    same = [n for n in at.known if n != at.step and at.known[n].shape == at.numbers.shape]
    need(same != [] and at.step not in ("Q", "K", "V"))
    return at.known[same[0]]


SLIPS: dict[str, tuple[Slip, ...]] = {
    "sign_slip": (in_a_number(lambda x, random: -x), sign_of_a_product, signs_of_all),
    "single_cell_slip": (in_a_number(lambda x, random: x + float(random.uniform(5, 8))),),
    "row_slip": (lambda at: wrong_row(at.random, at.numbers),),
    "column_slip": (lambda at: turned(wrong_row(at.random, turned(at.numbers))),),
    "miscopied_number": (a_row_of_a_misread_number,),
    "rows_swapped": (lambda at: rows_exchanged(at.random, at.numbers),),
    "columns_swapped": (lambda at: turned(rows_exchanged(at.random, turned(at.numbers))),),
    "cells_swapped": (cells_exchanged,),
    "digits_swapped": (in_a_number(digits_exchanged),),
    "decimal_point_slip": (in_a_number(lambda x, random: x * 10),),
    "constant_factor": (a_factor_too_many,),
    "another_step": (numbers_of_another_step,),
}
"""Ways to make each slip."""

OF_SLIPS = TABLES["slips"]


def handed_in(random: Random, working: Working, habit: Habit, slip: Slip, step: str) -> Work:
    """Work a problem with a slip in one step, and go on from it.

    Raises:
        UnworkableError: where the slip cannot be made, or a sum is 0: nobody divides by that.
    """
    need(step in working.names)
    known = working.work(habit.goes_on)
    given = {name: known[name] for name in working.before(step)}
    own = {name: habit.rounded(known[name]) for name in (*given, step)}
    given[step] = habit.rounded(slip(Desk(random, working, step, own)))
    mine = working.work(habit.goes_on, lambda name, right, _: given.get(name, right))
    own = {name: habit.rounded(numbers) for name, numbers in mine.items()}
    need(all(numbers.all() for name, numbers in own.items() if name.startswith("sum")))
    return Work(working, habit, own, working.names)


@pytest.mark.parametrize("slip_id", SLIPS)
def test_slip_is_named(slip_id: str, record_property: Callable[[str, object], None]) -> None:
    named: Counter[str] = Counter()
    for make in SLIPS[slip_id]:
        for place, sort in enumerate(SORTS):
            random = np.random.default_rng([place, *map(ord, slip_id)])
            for habit in HABITS:
                for i in range(200):
                    working = exercise(random, sort, OF_SLIPS["wishes"][i % 4])
                    step = str(random.choice([s for s in OF_SLIPS["steps"] if s in working.names]))
                    with suppress(UnworkableError):
                        work = handed_in(random, working, habit, make, step)
                        if shows(work, slip_id, step):
                            id_ = named_by_rows(slip_id) if working.columns else slip_id
                            report = examined(work, id_, step, OF_SLIPS["may_be"].get(slip_id, ()))
                            assert report.wrong_steps == [step]
                            other = report.findings[step].id
                            named[slip_id if other == id_ else other] += 1
                            break
                else:
                    pytest.fail(f"no problem of {sort} shows {slip_id}, {make}")
    assert named[slip_id] >= 0.8 * named.total(), named
    record_property(slip_id, told(named, slip_id))


def shows(work: Work, slip_id: str, step: str) -> bool:
    """Return whether a slip makes enough numbers clearly wrong, and leaves the others right."""
    clear, right = work.clear(step)
    is_all = slip_id == "sign_slip" or bool((clear | right).all())
    return is_all and bool(clear.sum() >= (1 if slip_id in OF_SLIPS["of_one_cell"] else 2))


@pytest.mark.parametrize("sort", SORTS)
def test_a_wrong_shape_is_named_and_later_steps_go_on_from_the_right_numbers(sort: str) -> None:
    judged = 0
    for working in islice(exercises({"kind": "cross"}, sort, 5), 12):
        known = working.exact
        for step in ("Q", "V", "scores", "weights"):
            shaped = {
                "transposed": turned(known[step]),
                "wrong_shape": np.concatenate([known[step]] * 2, axis=1),
            }
            rows, columns = known[step].shape[1:]
            for id_, numbers in shaped.items() if 1 < rows != columns > 1 else ():
                truth = Truth(mistake=id_, step=step)
                sheet = working.sheet(known | {step: numbers}, HABITS[3], working.names)
                report = check(key_of(working), sheet, truth)
                assert faults(report, truth) == []
                assert report.wrong_steps == [step]
                assert report.findings[step].id == id_
                judged += 1
    assert judged > 20


def named_by_rows(slip_id: str) -> str:
    """Return the id that a slip has where a token is a row: rows stand as columns on paper."""
    one, _, rest = slip_id.partition("_")
    turned = {"row": "column", "column": "row", "rows": "columns", "columns": "rows"}
    return f"{turned.get(one, one)}_{rest}"


# ---- numbers that are wrong for no reason: no cause is made up for them


def one_number(random: Random, numbers: Numbers) -> None:
    place = tuple(random.integers(size) for size in numbers.shape)
    numbers[place] += random.choice([-1, 1]) * random.integers(1, 40)


def one_row(random: Random, numbers: Numbers) -> None:
    row = random.integers(numbers.shape[1])
    numbers[0, row] += random.integers(1, 15, numbers.shape[2])


def two_rows(random: Random, numbers: Numbers) -> None:
    for row in random.choice(numbers.shape[1], 2, replace=False):
        numbers[0, row] += random.integers(1, 15, numbers.shape[2])


def said_of(sort: str, change: Callable[[Random, Numbers], None]) -> list[str]:
    """Return what is said of 40 steps of which some numbers are random."""
    random = np.random.default_rng(list(map(ord, sort)))
    said: list[str] = []
    while len(said) < 40:
        working = exercise(random, sort, ({}, {"columns": True})[len(said) % 2])
        known = working.exact
        step = str(random.choice(["Q", "V", "scores", "output"]))
        if step not in known or min(known[step].shape[1:]) < 3:
            continue
        given = {s: known[s] for s in working.before(step)}
        given[step] = known[step].copy()
        change(random, given[step])
        habit = HABITS[int(random.integers(len(HABITS)))]
        sheet, truth = working.sheet(given, habit, [*given]), Truth(step=step)
        if habit.significant and np.abs(known[step]).max() > 100:
            continue  # three digits do not show a change of 1
        report = check(key_of(working), sheet, truth)
        assert not faults(report, truth)
        said.append(report.findings[step].message if step in report.findings else "")
    return said


def is_claim(said: str) -> bool:
    """Return whether a sentence names a cause without a "perhaps"."""
    is_fact = said.startswith("Only") and (": it is " in said or ":" not in said)
    return bool(said) and not is_fact and "perhaps" not in said.lower()


@pytest.mark.parametrize("sort", ["integers", "decimals", "heads"])
def test_a_random_number_gets_no_certain_cause(sort: str) -> None:
    claims = [said for said in said_of(sort, one_number) if is_claim(said)]
    assert len(claims) <= 1, claims


@pytest.mark.parametrize("sort", ["integers", "decimals"])
def test_a_random_row_gets_no_certain_cause(sort: str) -> None:
    claims = [said for said in said_of(sort, one_row) if is_claim(said)]
    assert len(claims) <= 1, claims


@pytest.mark.parametrize("sort", ["integers", "decimals"])
def test_random_rows_get_no_mistakes_of_their_own(sort: str) -> None:
    assert not [said for said in said_of(sort, two_rows) if "; in row" in said]

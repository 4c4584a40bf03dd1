"""Slips are made in random problems, in any step, and found; what follows from them is not wrong.

Which cells must be found wrong is decided as in `benchmarks/surveys/test_mistakes.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.checking.mistakes.catalogue import MISTAKES
from benchmarks.oracles.handwriting import HABITS, Habit, Numbers
from benchmarks.oracles.homework import draw
from benchmarks.oracles.students import ImpossibleError, Paper
from benchmarks.surveys.test_mistakes import WRONG, Work, apart, codes_of, spread

Random: TypeAlias = np.random.Generator
Slip: TypeAlias = Callable[[Random, Paper, str, dict[str, Numbers]], Numbers | None]
"""Takes the numbers of the steps up to one and returns what is written for it; None for nothing."""

SORTS = ("integers", "decimals", "heads")


def a_cell(random: Random, numbers: Numbers, least: float = 0.3) -> tuple[int, ...] | None:
    """Return the place of a number that is not nearly 0."""
    places = np.argwhere((np.abs(numbers) > least) & np.isfinite(numbers))
    if not len(places):
        return None
    return tuple(int(i) for i in places[random.integers(len(places))])


def one_changed(
    random: Random, numbers: Numbers, change: Callable[[float], float]
) -> Numbers | None:
    """Return the numbers with one of them changed."""
    place = a_cell(random, numbers)
    if place is None:
        return None
    made = numbers.copy()
    made[place] = change(float(made[place]))
    return made


def sign_of_a_number(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del paper
    return one_changed(random, known[step], lambda x: -x)


def sign_of_a_product(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    """One of the products that a score is the sum of."""
    if step != "scores":
        return None
    q, k = known["Q"], known["K"]
    made = paper.step(step, known)
    head, i, j = (int(random.integers(n)) for n in made.shape)
    feature = int(random.integers(q.shape[-1]))
    product = q[head, i, feature] * k[head * len(k) // len(q), j, feature]
    made[head, i, j] -= 2 * product
    return made if product else None


def signs_of_all(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del random, paper
    made: Numbers = -known[step]
    return made if (np.abs(made) > 0.3).sum() > 1 and np.isfinite(made).all() else None


def a_wrong_number(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del paper
    return one_changed(random, known[step], lambda x: x + float(random.uniform(5, 8)))


def a_point_moved(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del paper
    return one_changed(random, known[step], lambda x: x * 10)


def a_wrong_row(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del paper
    made: Numbers = known[step].copy()
    head, row = (int(random.integers(n)) for n in made.shape[:2])
    made[head, row] += random.uniform(3, 9, made.shape[2])
    return made if made.shape[2] > 1 and np.isfinite(made).all() else None


def a_wrong_column(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    made = a_wrong_row(random, paper, step, {step: np.swapaxes(known[step], 1, 2)})
    return None if made is None else np.swapaxes(made, 1, 2)


def a_row_of_a_misread_number(
    random: Random, paper: Paper, step: str, known: Any
) -> Numbers | None:
    """A number of Q is read as another one, in the whole row of its scores."""
    if step != "scores":
        return None
    q = known["Q"].copy()
    head, row, feature = (int(random.integers(n)) for n in q.shape)
    q[head, row, feature] += int(random.integers(1, 4))
    return paper.step("scores", known | {"Q": q})


def rows_exchanged(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del paper
    made: Numbers = known[step].copy()
    head, last = int(random.integers(len(made))), made.shape[1] - 1
    if not last or np.isinf(made).any() or made.shape[2] < 2:
        return None
    made[head, [0, last]] = made[head, [last, 0]]
    return made


def columns_exchanged(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    made = rows_exchanged(random, paper, step, {step: np.swapaxes(known[step], 1, 2)})
    return None if made is None else np.swapaxes(made, 1, 2)


def cells_exchanged(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del paper
    made: Numbers = known[step].copy()
    if min(made.shape[1:]) < 2 or np.isinf(made).any():
        return None
    head = int(random.integers(len(made)))
    made[head, 0, 0], made[head, 1, 1] = made[head, 1, 1], made[head, 0, 0]
    return made


def digits_exchanged(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    """2.15 for 1.25: the first two digits."""
    del paper

    def exchanged(number: float) -> float:
        text = f"{number:.10f}"
        one, other = [i for i, letter in enumerate(text) if letter.isdigit()][:2]
        if "0" in (text[one], text[other]):  # that moves the point, too
            return number
        letters = list(text)
        letters[one], letters[other] = letters[other], letters[one]
        return float("".join(letters))

    return one_changed(random, known[step], exchanged)


def a_factor_too_many(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    del paper
    factor = float(random.uniform(3.1, 3.9))
    made: Numbers = known[step] * factor
    return made if (np.abs(made) > 1).sum() >= 3 and np.isfinite(made).all() else None


def numbers_of_another_step(random: Random, paper: Paper, step: str, known: Any) -> Numbers | None:
    """The step before it with the same shape, where that is not used by a mistake."""
    del random, paper
    same = [n for n, found in known.items() if n != step and found.shape == known[step].shape]
    return known[same[0]].copy() if same and step not in ("Q", "K", "V") else None


SLIPS: dict[str, tuple[Slip, ...]] = {
    "sign_slip": (sign_of_a_number, sign_of_a_product, signs_of_all),
    "single_cell_slip": (a_wrong_number,),
    "row_slip": (a_wrong_row,),
    "column_slip": (a_wrong_column,),
    "miscopied_number": (a_row_of_a_misread_number,),
    "rows_swapped": (rows_exchanged,),
    "columns_swapped": (columns_exchanged,),
    "cells_swapped": (cells_exchanged,),
    "digits_swapped": (digits_exchanged,),
    "decimal_point_slip": (a_point_moved,),
    "constant_factor": (a_factor_too_many,),
    "another_step": (numbers_of_another_step,),
}
"""Ways to make each slip."""

SAME: dict[str, tuple[str, ...]] = {
    "rows_swapped": ("columns_swapped", "cells_swapped"),
    "columns_swapped": ("rows_swapped", "cells_swapped"),
    "another_step": ("sign_slip", "constant_factor"),
    "constant_factor": ("decimal_point_slip",),
    "miscopied_number": ("row_slip", "column_slip"),  # as another line of equal numbers
}
"""Slips that may give the same numbers in a small matrix."""

STEPS = ("Q", "V", "scores", "scaled", "exp", "weights", "output", "context")
WISHES: tuple[dict[str, Any], ...] = ({}, {"columns": True}, {"kind": "cross"}, {"biases": True})


def handed_in(random: Random, paper: Paper, habit: Habit, slip: Slip, step: str) -> Work | None:
    """Work a problem with a slip in one step, and go on from it."""
    known = paper.work(habit=habit)
    earlier = paper.steps[: paper.steps.index(step) + 1]
    made = slip(random, paper, step, {name: habit.rounded(known[name]) for name in earlier})
    if made is None:
        return None
    mine = {name: known[name] for name in earlier} | {step: habit.rounded(made)}
    for name in paper.steps[len(earlier) :]:
        found = paper.step(name, mine)
        mine[name] = habit.rounded(found) if habit.early else found
    if not all(np.isfinite(found).all() and np.abs(found).max() < 1e7 for found in mine.values()):
        return None
    own = {name: habit.rounded(numbers) for name, numbers in mine.items()}
    if any((found == 0).any() for name, found in own.items() if name.startswith("sum")):
        return None  # nobody divides by 0
    return Work(paper, habit, own, paper.steps)


@pytest.mark.parametrize("slip_id", SLIPS)
def test_slip_is_found(slip_id: str, record_property: Callable[[str, object], None]) -> None:
    named: Counter[str] = Counter()
    for make in SLIPS[slip_id]:
        for place, sort in enumerate(SORTS):
            random = np.random.default_rng([place, *map(ord, slip_id)])
            for habit in HABITS:
                for i in range(200):
                    paper = draw(random, sort, **WISHES[i % len(WISHES)])
                    step = str(random.choice([s for s in STEPS if s in paper.steps]))
                    try:
                        work = handed_in(random, paper, habit, make, step)
                    except (ImpossibleError, ZeroDivisionError):
                        continue
                    if work is None:
                        continue
                    clear, right = work.clear(step)
                    if clear.sum() < (1 if slip_id in ONE_CELL else 2):
                        continue
                    if slip_id != "sign_slip" and not (clear | right).all():
                        continue
                    named[examined(work, slip_id, step, clear, right)] += 1
                    break
                else:
                    pytest.fail(f"no problem of {sort} shows {slip_id}, {make.__name__}")
    assert named[slip_id] >= 0.8 * named.total(), named
    others = ", ".join(f"{n} as {other}" for other, n in named.items() if other != slip_id)
    record_property(slip_id, f"{named[slip_id]} named" + (f", {others}" if others else ""))


ONE_CELL = ("sign_slip", "single_cell_slip", "digits_swapped", "decimal_point_slip")


def examined(work: Work, slip_id: str, step: str, must: Numbers, must_not: Numbers) -> str:
    """Check the report of a slip, and return the id that is named."""
    report = work.checked(AnswerKey(attncli.Problem(**work.paper.problem())))
    told = f"{slip_id} at {step}, {work.habit}: {work.paper.problem()} {work.sheet}"
    assert report.first_wrong_step == step, f"{report.first_wrong_step}: {told}"
    is_wrong = codes_of(report, step) == WRONG
    assert is_wrong[must].all(), told
    assert not is_wrong[must_not].any(), told
    assert report.wrong_steps == [step], f"{report.wrong_steps}: {told}"
    assert step in report.findings, told
    finding = report.findings[step]
    found = named_by_rows(finding.id) if work.paper.columns else finding.id
    if found != slip_id and explains(found, work, step, is_wrong):
        return found
    if finding.id in MISTAKES:  # a catalogue mistake may give the same numbers, and then it must
        assert work.is_reproduced(finding.id, step, is_wrong), f"{finding.id}: {told}"
    else:
        assert found in (slip_id, *SAME.get(slip_id, ())), f"{finding}: {told}"
    return found


@pytest.mark.parametrize("sort", SORTS)
def test_a_wrong_shape_is_told_and_later_steps_go_on_from_the_right_numbers(sort: str) -> None:
    random = np.random.default_rng(5)
    found: Counter[str] = Counter()
    while min(found["transposed"], found["wrong_shape"]) < 3:
        paper = draw(random, sort, kind="cross")
        step = str(random.choice(["Q", "V", "scores", "weights"]))
        try:
            known = paper.work()
        except ImpossibleError:
            continue
        rows, columns = known[step].shape[1:]
        if rows == columns or min(rows, columns) < 2:
            continue
        sheet = paper.sheet(known, HABITS[3])
        for id_, shaped in (
            ("transposed", np.swapaxes(known[step], 1, 2)),
            ("wrong_shape", np.concatenate([known[step]] * 2, axis=1)),
        ):
            sheet[step] = paper.cells(shaped, HABITS[3])
            report = attncli.check(attncli.Problem(**paper.problem()), sheet)
            assert report.wrong_steps == [step]
            assert report.findings[step].id == id_
            found[id_] += 1


def explains(slip_id: str, work: Work, step: str, is_wrong: Numbers) -> bool:
    """Whether another slip gives the same numbers: in small numbers that happens."""
    right, unsure = spread(work.paper, step, work.before(step), work.habit)
    mine = work.own[step]
    more = work.habit.half_units(mine) + 1.5 * unsure
    if slip_id == "sign_slip":
        return bool((apart(-mine, right) <= more)[is_wrong].all())
    if slip_id == "decimal_point_slip":
        points = [mine / 10.0**power for power in (1, 2, 3, -1, -2, -3)]
        return any(bool((apart(other, right) <= more)[is_wrong].all()) for other in points)
    return False


def named_by_rows(slip_id: str) -> str:
    """Return the id that a slip has where a token is a row: rows stand as columns on paper."""
    one, _, rest = slip_id.partition("_")
    turned = {"row": "column", "column": "row", "rows": "columns", "columns": "rows"}
    return f"{turned.get(one, one)}_{rest}"

"""Every mistake of the catalogue is made by a student, in numbers of its own, and is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking import AnswerKey, Report, sheet_of
from attncli.checking.judging import WRONG
from attncli.checking.mistakes import MISTAKES
from tests.students import CASES, HABITS, Array, Case, Habit, as_given, draws, first_step, work

ENOUGH = 3
"""On how many problems of each sort, in each habit, a mistake is made."""


def ids(report: Report, step: str) -> list[str]:
    """Return the mistakes that are named for a step, the first and the others."""
    finding = report.findings.get(step)
    return [] if finding is None else [finding.id, *(other.id for other in finding.also)]


def test_every_mistake_has_a_student() -> None:
    assert set(CASES) == set(MISTAKES)


def shows(case: Case, mistake: str, problem: dict[str, Any], habit: Habit) -> bool:
    """Whether the numbers of a problem show a mistake clearly in the step that it is made in.

    At least two numbers must be off by more than three units of what is written, and what comes
    before must be the same: else nobody could tell.
    """
    right, wrong = work(problem, "", habit), work(problem, mistake, habit)
    step = first_step(case, problem)
    if step not in wrong:
        return False
    before = list(wrong)[: list(wrong).index(step) + 1]
    if not all(np.isfinite(wrong[name]).all() or name == "masked" for name in before):
        return False
    a, b = right[step], wrong[step]
    if a.shape != b.shape:
        return False
    # Where the softmax is not written down, it may have been rounded to nothing on the way.
    if case.hidden and min(right["exp"][right["exp"] != 0].min(), wrong["exp"].min()) < 0.2:
        return False
    size = np.where(np.isfinite(a), np.abs(a), 1.0)
    unit = 10.0 ** -(habit.decimals or 0) if habit.decimals else 0.01 * size + 1e-9
    with np.errstate(invalid="ignore"):
        return bool((np.where(a == b, 0.0, np.abs(a - b)) > 3 * unit).sum() >= 2)


@pytest.mark.parametrize("habit", HABITS, ids=str)
@pytest.mark.parametrize("mistake", CASES)
def test_mistake_is_found(
    mistake: str, habit: Habit, record_property: Callable[[str, object], None]
) -> None:
    case = CASES[mistake]
    draw = np.random.default_rng([len(mistake), *map(ord, mistake)])
    made: Counter[str] = Counter()
    for sort in case.sorts:
        for _ in range(400):
            if made[sort] == ENOUGH:
                break
            problem = draws(case, sort, draw)
            try:
                key = AnswerKey(attncli.Problem(**as_given(problem)))
            except attncli.InputError:
                continue  # a zero vector has no cosine
            if not shows(case, mistake, problem, habit):
                continue
            steps = work(problem, mistake, habit)
            step = first_step(case, problem)
            given = {
                name: habit.texts(value)
                for name, value in steps.items()
                if name not in case.hidden and not np.isnan(value).any()
            }
            report = key.check(sheet_of(given, "student"))
            assert report.first_wrong_step == step, (sort, problem, report.findings)
            assert mistake in ids(report, step), (sort, problem, report.findings.get(step))
            marked_where_they_differ(report, step, steps[step], habit)
            made[sort] += 1
        assert made[sort] == ENOUGH, f"too few problems of {sort} show {mistake}"
    if habit is HABITS[0]:
        record_property(f"{mistake} found on problems in each of {len(HABITS)} habits", dict(made))


def marked_where_they_differ(report: Report, step: str, written: Array, habit: Habit) -> None:
    """The cells that are clearly off are marked wrong, and those that are right are not."""
    judged = report.steps[step]
    codes = judged.step.on_paper(judged.codes).reshape(written.shape)
    right = judged.step.value.reshape(written.shape)
    with np.errstate(invalid="ignore"):
        off = np.where(written == right, 0.0, np.abs(written - right))
    coarse = 10.0 ** -(habit.decimals or 0) if habit.decimals else 0.01 * np.abs(written) + 1e-9
    # Two hundredths for what numbers that were rounded before may make of a sum or an exponential.
    clearly = off > 4 * coarse + 0.1 * np.abs(right) + (0.1 if habit.early else 0)
    assert (codes[clearly & np.isfinite(off)] == WRONG).all()
    assert not (codes[off == 0] == WRONG).any()


def test_a_wrong_start_followed_faithfully_is_one_mistake() -> None:
    """W_q transposed: Q is wrong, and everything after it follows."""
    draw = np.random.default_rng(7)
    case = CASES["weights_matrix_transposed"]
    count = 0
    for habit in HABITS:
        for sort in case.sorts:
            problem = draws(case, sort, draw)
            while not shows(case, "weights_matrix_transposed", problem, habit):
                problem = draws(case, sort, draw)
            steps = work(problem, "weights_matrix_transposed", habit)
            given = {name: habit.texts(value) for name, value in steps.items()}
            report = attncli.check(attncli.Problem(**as_given(problem)), given)
            assert report.wrong_steps == ["Q"]
            assert list(report.findings) == ["Q"]
            after = [report.steps[n].status for n in given if n not in ("Q", "K", "V")]
            assert set(after) <= {"follows", "correct"}
            assert "follows" in after
            count += 1
    assert count == len(HABITS) * 3


@pytest.mark.parametrize("habit", HABITS, ids=str)
def test_correct_answers_are_never_wrong(
    habit: Habit, record_property: Callable[[str, object], None]
) -> None:
    """Any steps left out, and cells; also strictly, where nothing was rounded on the way."""
    draw = np.random.default_rng([habit.decimals or 0, habit.significant or 0, habit.early])
    cases = list(CASES.values())
    cells: Counter[str] = Counter()
    count = 0
    while count < 350:
        case = cases[count % len(cases)]
        sort = str(draw.choice(case.sorts))
        problem = draws(case, sort, draw)
        try:
            key = AnswerKey(attncli.Problem(**as_given(problem)))
        except attncli.InputError:
            continue
        steps = work(problem, "", habit)
        if not all(np.isfinite(v).all() or name == "masked" for name, v in steps.items()):
            continue  # a sum that was rounded to 0 divides nothing
        names = list(steps)
        kept = [names, ["Q", "K", "V", "output"], [n for n in names if draw.random() < 0.5]]
        chosen = kept[count % 3] or ["output"]
        given = {name: blanked(habit.texts(steps[name]), draw) for name in chosen}
        report = key.check(sheet_of(given, "student"), strict=not habit.early)
        assert report.verdict == "correct", (problem, chosen, report.first_wrong_step)
        cells.update(report.counts)
        count += 1
    record_property(f"correct answers, {habit}", f"{count} problems, cells {dict(cells)}")


def blanked(rows: Any, draw: np.random.Generator) -> Any:
    """Return a matrix with a few cells left out."""
    if isinstance(rows, list):
        return [blanked(row, draw) for row in rows]
    return "~" if draw.random() < 0.03 else rows


# ---- slips


def at_random(draw: np.random.Generator, value: Array) -> tuple[int, ...]:
    """Return the place of a number that is not nearly 0, in a matrix or in one of a stack."""
    places = np.argwhere(np.abs(value) > 0.5)
    return tuple(int(i) for i in places[draw.integers(len(places))])


def sign_slip(draw: np.random.Generator, value: Array) -> None:
    value[at_random(draw, value)] *= -1


def decimal_point_slip(draw: np.random.Generator, value: Array) -> None:
    value[at_random(draw, value)] *= 10


def single_cell_slip(draw: np.random.Generator, value: Array) -> None:
    value[at_random(draw, value)] += 37.77


def row_slip(draw: np.random.Generator, value: Array) -> None:
    value[at_random(draw, value)[:-1]] += draw.uniform(3, 9, value.shape[-1])


def column_slip(draw: np.random.Generator, value: Array) -> None:
    place = at_random(draw, value)
    value[place[:-2]][:, place[-1]] += draw.uniform(3, 9, value.shape[-2])


def rows_swapped(draw: np.random.Generator, value: Array) -> None:
    lead = at_random(draw, value)[:-2]
    value[lead] = value[lead][[1, 0, *range(2, value.shape[-2])]]


def columns_swapped(draw: np.random.Generator, value: Array) -> None:
    lead = at_random(draw, value)[:-2]
    value[lead] = value[lead][:, [1, 0, *range(2, value.shape[-1])]]


def constant_factor(draw: np.random.Generator, value: Array) -> None:
    del draw
    value *= 3.7


SLIPS: dict[str, Callable[[np.random.Generator, Array], None]] = {
    "sign_slip": sign_slip,
    "decimal_point_slip": decimal_point_slip,
    "single_cell_slip": single_cell_slip,
    "row_slip": row_slip,
    "column_slip": column_slip,
    "rows_swapped": rows_swapped,
    "columns_swapped": columns_swapped,
    "constant_factor": constant_factor,
}
"""Slips in a matrix of numbers, made in place."""

ONE_NUMBER = ("sign_slip", "decimal_point_slip", "single_cell_slip")


@pytest.mark.parametrize("habit", HABITS, ids=str)
@pytest.mark.parametrize("slip", SLIPS)
def test_slip_in_a_random_problem_is_found(slip: str, habit: Habit) -> None:
    """In Q, from which everything else follows; in each sort of problem three times."""
    draw = np.random.default_rng(list(map(ord, slip)))
    for sort in ("integers", "decimals", "heads"):
        made = 0
        for _ in range(200):
            problem = draws(CASES["not_scaled"], sort, draw)
            steps = work(problem, "", habit)
            wrong = steps["Q"].copy()
            SLIPS[slip](draw, wrong)
            off = np.abs(wrong - steps["Q"]) > 0.2
            if off.sum() < (1 if slip in ONE_NUMBER else 2):
                continue  # two rows that are nearly the same
            problem["Q"] = wrong
            given = {"Q": habit.texts(wrong), "K": habit.texts(steps["K"])}
            report = attncli.check(attncli.Problem(**as_given(problem | {"Q": None})), given)
            assert report.first_wrong_step == "Q"
            assert slip in ids(report, "Q"), (problem, report.findings.get("Q"))
            codes = report.steps["Q"].step.on_paper(report.steps["Q"].codes).reshape(off.shape)
            assert (codes[off] == WRONG).all()
            assert (codes[np.abs(wrong - steps["Q"]) == 0] != WRONG).all()
            made += 1
            if made == ENOUGH:
                break
        assert made == ENOUGH


INTEGERS = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "dot"}
SCORES = np.array([[5, 5, 2], [5, 11, 8], [2, 8, 8]])
# X Xᵀ by hand: rows [1,0,2], [3,1,1], [2,2,0]


def of_scores(changed: Any) -> tuple[str, str]:
    """Return the id and the sentence for scores that are slightly wrong."""
    report = attncli.check(attncli.Problem(**INTEGERS), {"scores": np.array(changed).tolist()})
    assert report.first_wrong_step == "scores"
    finding = report.findings["scores"]
    return finding.id, finding.message


def with_cells(**cells: int) -> Array:
    """Return the scores with some cells, such as r0c2=7, changed."""
    changed = SCORES.copy()
    for place, value in cells.items():
        changed[int(place[1]), int(place[3])] = value
    return changed


@pytest.mark.parametrize(
    ("changed", "id_", "words"),
    [
        (with_cells(r0c0=-5), "sign_slip", "scores[1, 1]"),
        (with_cells(r1c1=-7), "sign_slip", "3·3 was taken as -9"),
        (with_cells(r1c1=2), "single_cell_slip", "3·3 was left out"),
        (with_cells(r1c1=20), "single_cell_slip", "3·3 was counted twice"),
        (with_cells(r1c2=7), "single_cell_slip", "3·2 was taken as 5, the sum"),
        (with_cells(r1c2=33), "single_cell_slip", "Only scores[2, 3] is wrong"),
        (with_cells(r1c1=110), "decimal_point_slip", "scores[2, 2]"),
        (SCORES[[1, 0, 2]], "rows_swapped", "rows 1 and 2"),
        (SCORES[:, [0, 2, 1]], "columns_swapped", "columns 2 and 3"),
        (with_cells(r2c0=5, r2c1=5, r2c2=2), "row_slip", "it holds the numbers of 1"),
        (with_cells(r0c1=40, r1c1=41, r2c1=47), "column_slip", "Only column 2 is wrong"),
        (with_cells(r1c0=21, r1c1=40, r1c2=90), "row_slip", "Only row 2 is wrong"),
        (SCORES * -1, "sign_slip", "Every number has the wrong sign"),
        (SCORES * 7, "constant_factor", "7 times"),
        (with_cells(r0c0=6, r0c1=8, r0c2=4), "miscopied_number", "were 2, not 1"),
    ],
)
def test_slip_is_named(changed: Array, id_: str, words: str) -> None:
    found, message = of_scores(changed)
    assert found == id_, message
    assert words in message


def test_swapped_digits_are_named() -> None:
    report = attncli.check(
        attncli.Problem(X=[[3, 5], [4, 7]], score="dot"), {"scores": [[34, 74], [47, 65]]}
    )
    assert report.findings["scores"].id == "digits_swapped"
    assert "scores[1, 2]" in report.findings["scores"].message


def test_numbers_of_another_step_are_named() -> None:
    given = {"X": [[1, 2, 0], [0, 1, 1], [1, 1, 1]], "W_k": [[1, 2, 1], [0, 1, 0], [2, 1, 3]]}
    trace = attncli.compute(attncli.Problem(**given))
    report = attncli.check(attncli.Problem(**given), {"V": trace["K"].value * 1.0})
    assert report.findings["V"].id in ("swapped_k_v", "another_step")


def test_a_divisor_is_told() -> None:
    """A row of weights that was divided by another row's sum."""
    trace = attncli.compute(attncli.Problem(**INTEGERS))
    weights = trace["weights"].value.copy()
    e, total = trace["exp"].value, trace["sum"].value.ravel()
    weights[1] = e[1] / total[2]
    report = attncli.check(
        attncli.Problem(**INTEGERS),
        {"exp": e, "sum": total, "weights": [[f"{x:.3f}" for x in row] for row in weights]},
    )
    assert report.findings["weights"].id == "row_slip"
    assert "divided by" in report.findings["weights"].message


def test_garbage_is_not_named_as_a_mistake() -> None:
    """Numbers at random in several cells: a slip at most, and no mistake of the catalogue."""
    draw = np.random.default_rng(3)
    named = 0
    for _ in range(200):
        changed = SCORES + draw.integers(-30, 31, SCORES.shape)
        if (changed == SCORES).sum() > 5:
            continue
        report = attncli.check(attncli.Problem(**INTEGERS), {"scores": changed.tolist()})
        named += any(i in MISTAKES for i in ids(report, "scores"))
    assert named == 0

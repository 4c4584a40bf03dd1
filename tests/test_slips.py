"""Slips are made in random problems, in any step, and found; what follows from them is not wrong.

Which cells must be found wrong is decided as in `tests/test_mistakes.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.checking.mistakes.catalogue import MISTAKES
from tests.oracles.handwriting import HABITS, Habit, Numbers
from tests.oracles.homework import draw
from tests.oracles.students import ImpossibleError, Paper
from tests.test_mistakes import WRONG, Work, apart, codes_of, spread

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


INTEGERS: dict[str, Any] = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "dot"}
SCORES = np.array([[5, 5, 2], [5, 11, 8], [2, 8, 8]])
# X Xᵀ by hand: rows [1,0,2], [3,1,1], [2,2,0]


def of_scores(changed: Any) -> tuple[str, str]:
    """Return the id and the sentence for scores that are slightly wrong."""
    report = attncli.check(attncli.Problem(**INTEGERS), {"scores": np.array(changed).tolist()})
    assert report.first_wrong_step == "scores"
    finding = report.findings["scores"]
    return finding.id, finding.message


def with_cells(**cells: int) -> Numbers:
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
        (with_cells(r0c1=2, r0c2=5), "cells_swapped", "scores[1, 2] and scores[1, 3]"),
        (SCORES[[1, 0, 2]], "rows_swapped", "Rows 1 and 2"),
        (SCORES[:, [0, 2, 1]], "columns_swapped", "Columns 2 and 3"),
        (with_cells(r2c0=5, r2c1=5, r2c2=2), "row_slip", "it holds the numbers of row 1"),
        (with_cells(r0c1=40, r1c1=41, r2c1=47), "column_slip", "Only column 2 is wrong"),
        (with_cells(r1c0=21, r1c1=40, r1c2=90), "row_slip", "Only row 2 is wrong"),
        (SCORES * -1, "sign_slip", "Every number has the wrong sign"),
        (SCORES * 7, "constant_factor", "7 times"),
        (with_cells(r0c0=6, r0c1=8, r0c2=4), "miscopied_number", "was read as 2, not as 1"),
    ],
)
def test_slip_is_named(changed: Numbers, id_: str, words: str) -> None:
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
    w_k = [[1, 2, 1], [0, 1, 0], [2, 1, 3]]
    given: dict[str, Any] = {"X": [[1, 2, 0], [0, 1, 1], [1, 1, 1]], "W_k": w_k}
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


# ---- what is said where no mistake is known

PROJECTED: dict[str, Any] = {
    "X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]],
    "W_q": [[0.1, 0.2], [0, 0.3], [0.2, 0.1]],
    "W_k": [[0.2, 0], [0.1, 0.1], [0, 0.3]],
    "W_v": [[1, 0], [0, 1], [1, 1]],
}


def written(numbers: Numbers, decimals: int = 4) -> list[list[str]]:
    return [[f"{x:.{decimals}f}" for x in row] for row in numbers]


def weights_with_a_score(row: int, column: int, by: float) -> Numbers:
    """Return the weights of `PROJECTED` where one of the scaled scores is off."""
    scaled = attncli.compute(attncli.Problem(**PROJECTED))["scaled"].value.copy()
    scaled[row, column] += by
    e = np.exp(scaled)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("cell", "by", "decimals", "said"),
    [
        ((1, 2), 0.5, 4, "row 2 is wrong: it is as if scaled[2, 3] had been 0.8536, not 0.3536."),
        ((0, 0), -1.0, 2, "row 1 is wrong: perhaps it is as if scaled[1, 1] had been -0.7, not"),
    ],
)
def test_weights_tell_which_hidden_score_was_another_one(
    cell: tuple[int, int], by: float, decimals: int, said: str
) -> None:
    weights = written(weights_with_a_score(*cell, by), decimals)
    report = attncli.check(attncli.Problem(**PROJECTED), {"weights": weights})
    finding = report.findings["weights"]
    assert said in finding.message
    assert finding.sentence(solution=False).endswith("had been another number.")


def test_scores_that_are_shown_are_not_said_to_be_other_ones() -> None:
    trace = attncli.compute(attncli.Problem(**PROJECTED))
    given = {"scaled": written(trace["scaled"].value)}
    weights = written(weights_with_a_score(1, 2, 0.5))
    report = attncli.check(attncli.Problem(**PROJECTED), given | {"weights": weights})
    assert "as if" not in report.findings["weights"].message


def test_a_row_that_two_wrong_scores_explain_names_none() -> None:
    random = np.random.default_rng(4)
    trace, said = attncli.compute(attncli.Problem(**PROJECTED)), list[str]()
    for _ in range(15):
        weights = trace["weights"].value.copy()
        weights[1] = random.dirichlet(np.ones(3))
        report = attncli.check(attncli.Problem(**PROJECTED), {"weights": written(weights)})
        finding = report.findings.get("weights")
        said.append(finding.message if finding else "")
    assert not [one for one in said if "as if" in one]


def test_no_step_is_named_that_comes_after_the_wrong_one() -> None:
    trace = attncli.compute(attncli.Problem(**PROJECTED))
    report = attncli.check(
        attncli.Problem(**PROJECTED), {"scores": written(trace["weights"].value)}
    )
    assert "scores" not in report.findings


def test_what_to_hand_in_next_is_said_where_no_mistake_is_known() -> None:
    trace = attncli.compute(attncli.Problem(**PROJECTED))
    noise = np.random.default_rng(3).normal(size=(3, 3))
    given: dict[str, Any] = {"weights": written(np.abs(noise))}
    given["scores"] = written(trace["scores"].value)
    page = attncli.render(attncli.check(attncli.Problem(**PROJECTED), given))
    assert (
        "9 numbers are wrong; no single usual mistake gives them. "
        "Hand in scaled, exp or sum too, or compare yours with the right numbers."
    ) in " ".join(page.split())
    given = {name: written(trace[name].value) for name in "QK"}
    given["scores"] = written(trace["scores"].value + noise)
    page = attncli.render(attncli.check(attncli.Problem(**PROJECTED), given))
    assert "no single usual mistake gives them. Work scores[1, 1] again first." in page


def test_two_wrong_steps_with_one_hidden_source_lead_to_it() -> None:
    gradient = {"loss": "squared_error", "target": [[1, 0], [0, 1], [1, 1]]}
    problem = attncli.Problem(**PROJECTED, gradient=gradient)
    trace, random = attncli.compute(problem), np.random.default_rng(3)
    shown = ("Q", "K", "V", "scores", "scaled", "weights", "output", "d_output", "d_W_v")
    given = {name: written(trace[name].value) for name in shown}
    for name in ("d_W_k", "d_W_q"):
        given[name] = written(trace[name].value + random.normal(size=(3, 2)))
    page = " ".join(attncli.render(attncli.check(problem, given)).split())
    said = "d_W_k and d_W_q both depend on d_scores, which was not handed in: compare it next."
    assert page.count(said) == 1


# ---- which factor was transposed


def test_the_factor_that_was_not_transposed_is_named() -> None:
    square = {key: value for key, value in PROJECTED.items() if key == "X"}
    for name in ("W_q", "W_k", "W_v"):
        square[name] = [[1, 2, 0], [0, 1, 1], [2, 0, 3]] if name == "W_q" else np.diag([1, 2, 3])
    gradient = {"loss": "squared_error", "target": [[1, 0, 1], [0, 1, 2], [1, 1, 0]]}
    problem = attncli.Problem(**square, gradient=gradient)
    value = {step.name: step.value for step in attncli.compute(problem)}
    x = np.array(square["X"])
    cases = {
        "scores": (value["Q"] @ value["K"], "K was not transposed."),
        "Q": (
            x @ np.array(square["W_q"]).T,
            "The weight matrix W_q was transposed, and should not be.",
        ),
        "d_W_q": (x @ value["d_Q"], "The factor X was not transposed."),
        "d_Q": (
            value["d_scores"].T @ value["K"],
            "The factor d_scores was transposed, and should not be.",
        ),
    }
    for name, (numbers, said) in cases.items():
        given = {"d_scores": written(value["d_scores"], 6)} if name == "d_Q" else {}
        given |= {"d_Q": written(value["d_Q"], 6)} if name == "d_W_q" else {}
        report = attncli.check(problem, given | {name: written(numbers, 6)})
        assert report.findings[name].message == said


def test_a_copied_number_is_no_sum() -> None:
    report = attncli.check(attncli.Problem(**INTEGERS), {"Q": [[1, 0, 2], [3, 2, 1], [2, 2, 0]]})
    assert report.findings["Q"].message == "Only Q[2, 2] is wrong."


def test_one_wrong_number_of_a_large_step_is_found_soon() -> None:
    random = np.random.default_rng(1)
    matrices: dict[str, Any] = {
        key: random.integers(-3, 4, (60, 60)).tolist() for key in ("X", "W_q", "W_k", "W_v")
    }
    problem = attncli.Problem(**matrices, heads=2)
    for name in ("Q", "scores"):
        given = attncli.compute(problem)[name].value.copy()
        given[0, 0, 0] += 100_001
        start = perf_counter()
        report = attncli.check(problem, {name: given.astype(int).tolist()})
        assert report.findings[name].message.startswith(f"Only {name}[head 1][1, 1] is wrong")
        assert perf_counter() - start < 5

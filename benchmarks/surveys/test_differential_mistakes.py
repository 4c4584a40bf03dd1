"""Mistakes with differential attention, made by a student of `differential_student.py`."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes import of_differential
from attncli.checking.mistakes.mistake import Mistake
from benchmarks.oracles.differential_student import Student, draw, half_up
from benchmarks.oracles.gate_student import written

FIRST_WRONG = {
    **dict.fromkeys(("halves_interleaved", "other_half_taken"), "Q_1"),
    "scaled_by_whole_head": "scaled_1",
    **dict.fromkeys(("lambda_init_left_out", "lambda_without_powers"), "lambda"),
    **dict.fromkeys(("powers_of_lambda_added", "powers_of_lambda_exchanged"), "lambda"),
    **dict.fromkeys(("second_weights_added", "second_weights_left_out"), "weights"),
    **dict.fromkeys(("lambda_on_the_difference", "lambda_on_the_first_weights"), "weights"),
    **dict.fromkeys(("lambda_left_out", "halves_exchanged", "difference_normalized"), "weights"),
    "softmax_of_the_difference": "weights",
    "norm_of_all_heads": "mean_square_context",
    **dict.fromkeys(("lambda_init_not_its_rest", "rest_of_lambda_left_out"), "rescaled_context"),
    "rest_of_lambda_itself": "rescaled_context",
}
"""The step in which each mistake shows first."""

ONLY_WHERE: dict[str, dict[str, Any]] = {
    **{id_: {"learned": True} for id_, at in FIRST_WRONG.items() if at == "lambda"},
    **{id_: {"normed": True} for id_, at in FIRST_WRONG.items() if at == "rescaled_context"},
    "norm_of_all_heads": {"normed": True, "heads": 2},
}
"""The problems in which alone a mistake can be made."""

BACKWARD = "minus_of_lambda_lost"

FORMS: list[dict[str, Any]] = [
    {"heads": heads, "learned": learned, "normed": normed}
    for heads, learned, normed in product((1, 2), (False, True), (False, True))
]


def test_every_mistake_has_a_student() -> None:
    ids = [name for name, row in vars(of_differential).items() if isinstance(row, Mistake)]
    assert sorted(ids) == sorted([*FIRST_WRONG, BACKWARD])


@pytest.mark.parametrize("id_", FIRST_WRONG)
def test_mistake_with_a_difference_is_named(id_: str) -> None:
    """With all steps, and in the output alone, without those in which it was made."""
    for seed, form in product(range(3), FORMS):
        if not ONLY_WHERE.get(id_, {}).items() <= form.items():
            continue
        keys = draw(np.random.default_rng(seed), **form)
        problem, steps = attncli.Problem(**keys), Student(keys, id_).work()
        report = attncli.check(problem, written(steps))
        at = FIRST_WRONG[id_]
        assert report.first_wrong_step == at, report.first_wrong_step
        finding = report.findings[at]
        assert id_ in {finding.id, *(other.id for other in finding.also)}, finding
        if id_ == "halves_interleaved":  # which is seen in halves alone, as it is of Q and of K
            continue
        shown = {name: steps[name] for name in ("weights", "output")}
        report = attncli.check(problem, written(shown, 6))
        finding = report.findings[report.first_wrong_step or "output"]
        assert id_ in {finding.id, *(other.id for other in finding.also)}, finding


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("normed", [False, True])
def test_who_subtracts_right_is_right(heads: int, learned: bool, normed: bool) -> None:
    """Every step, some, and the output alone, with few digits or many, rounded or not."""
    keys = draw(np.random.default_rng(8), heads, learned, normed)
    problem = attncli.Problem(**keys)
    for decimals in (2, 3, 4, 5):
        for goes_on in (lambda numbers: numbers, partial(half_up, decimals=decimals)):
            steps = Student(keys, goes_on=goes_on).work()
            for shown in ([*steps], ["weights_1", "weights_2", "weights", "output"], ["output"]):
                one = {name: steps[name] for name in shown}
                report = attncli.check(problem, written(one, decimals))
                assert report.verdict == "correct", (decimals, shown, report)


@pytest.mark.parametrize("heads", [1, 2])
def test_minus_of_lambda_is_missed(heads: int) -> None:
    keys = draw(np.random.default_rng(9), heads) | {"gradient": "sum"}
    problem, steps = attncli.Problem(**keys), Student(keys).work()
    d_context = np.array(np.split(np.ones((3, 3)) @ keys["W_o"].T, heads, axis=-1))
    d_weights = d_context @ steps["V"].swapaxes(1, 2)
    lost = {"d_weights_2": keys["differential"]["lambda"][0] * d_weights}
    finding = attncli.check(problem, written(lost)).findings["d_weights_2"]
    assert finding.id == BACKWARD, finding

"""Mistakes with encoders and decoders, made by a student of `network_student.py`, are named."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes import of_networks
from attncli.checking.mistakes.mistake import Mistake
from benchmarks.oracles.network_student import Student, draw, half_up, written

CELLS = ("lstm", "gru", "rnn")
OF_CELL = {
    "lstm": (
        *("forget_gate_left_out", "input_gate_left_out", "gates_of_cell_exchanged"),
        *("tanh_missing", "sigmoid_for_tanh"),
    ),
    "gru": (
        *("update_gate_reversed", "reset_gate_left_out", "reset_on_other_side"),
        "sigmoid_for_tanh",
    ),
    "rnn": (),
}
"""The mistakes that one cell alone shows."""

OF_ALL = ("weights_of_gate_exchanged", "words_attended_to")
OF_ATTENDS = {
    "after": ("query_of_time_before", "joined_in_wrong_order", "decoder_from_zeros"),
    "before": ("context_left_out", "joined_in_wrong_order"),
}

MISTAKES = sorted(
    {*OF_ALL, *(id_ for some in (OF_CELL, OF_ATTENDS) for of in some.values() for id_ in of)}
)
FORMS = [(cell, attends) for cell in CELLS for attends in ("after", "before")]
SEEDS = 3

LEAST_STATE = 0.1
"""A state nearer to 0 may have been rounded to 0, which is no mistake."""


def ids_of(finding: Any) -> set[str]:
    return {finding.id, *(other.id for other in finding.also)} if finding else set()


def test_every_mistake_with_a_network_has_a_student() -> None:
    rows = vars(of_networks).values()
    assert {row.id for row in rows if isinstance(row, Mistake)} <= {*MISTAKES}


@pytest.mark.parametrize("id_", MISTAKES)
def test_mistake_in_a_network_is_named(id_: str) -> None:
    """With all steps; and, of one problem of each form, in states, contexts and results alone."""
    for seed, (cell, attends) in product(range(SEEDS), FORMS):
        if id_ not in (*OF_CELL[cell], *OF_ALL, *OF_ATTENDS[attends]):
            continue
        reset = ("before", "after")[seed % 2]
        keys = draw(np.random.default_rng([seed, len(id_)]), cell, attends, reset)
        problem, right, steps = (
            attncli.Problem(**keys),
            Student(keys).work(),
            Student(keys, id_).work(),
        )
        if id_ == "decoder_from_zeros" and np.abs(right["h_2"]).min() < LEAST_STATE:
            continue
        changed = [name for name in steps if not np.allclose(steps[name], right[name], atol=1e-3)]
        report = attncli.check(problem, written(steps))
        assert id_ in ids_of(report.findings.get(changed[0])), (changed[0], report.findings)
        few = [name for name in steps if name.startswith(("h_", "s_", "context", "attentional"))]
        first = next((name for name in changed if name in few), "")
        if first and not seed:
            report = attncli.check(problem, written({name: steps[name] for name in few}))
            assert id_ in ids_of(report.findings.get(first)), (first, report.findings)


@pytest.mark.parametrize("attends", ["after", "before"])
@pytest.mark.parametrize("cell", CELLS)
def test_who_works_a_network_right_is_right(cell: str, attends: str) -> None:
    """Every step, or only some, with few digits or many, rounded in between or not."""
    for seed, reset in enumerate(("before", "after")):
        keys = draw(np.random.default_rng([8, seed]), cell, attends, reset)
        problem = attncli.Problem(**keys)
        for decimals in (2, 3, 4, 6):
            for goes_on in (lambda numbers: numbers, partial(half_up, decimals=decimals)):
                steps = Student(keys, goes_on=goes_on).work()
                states = {k: v for k, v in steps.items() if k[:2] in ("h_", "s_")}
                few = {name: steps[name] for name in ("H", "weights", "output")}
                for shown in (steps, states | few, few):
                    report = attncli.check(problem, written(shown, decimals))
                    assert report.verdict == "correct", (decimals, [*shown], report.findings)

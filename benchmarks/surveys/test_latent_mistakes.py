"""Mistakes in latent attention, made by a student of `latent_student.py`, are named."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes import of_latent
from attncli.checking.mistakes.mistake import Mistake
from benchmarks.oracles.gate_student import written
from benchmarks.oracles.latent_student import Student, draw, rounded

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "scaled_by_content_part": ("scaled_by_content_part", "scaled", {}),
    "rotary_part_left_out": ("rotary_part_left_out", "Q", {}),
    "parts_added": ("parts_added", "Q", {"form": "naive"}),
    "content_turned": ("content_turned", "Q", {}),
    "key_turned": ("content_turned", "K", {}),
    "whole_turned": ("content_turned", "Q", {}),
    "rotary_queries_shared": ("rotary_queries_shared", "Q_rotated", {"heads": 2}),
    "one_side_turned": ("one_side_turned", "K_rotated", {}),
    "angle_negative": ("angle_negative", "Q_rotated", {}),
    "other_up_matrix": ("latent_operand_exchanged", "V", {"form": "naive"}),
    "other_down_matrix": ("latent_operand_exchanged", "c_kv", {}),
    "queries_from_x": ("latent_operand_exchanged", "Q_C", {}),
    "keys_from_x": ("latent_operand_exchanged", "K_C", {"form": "naive"}),
    "rotary_key_from_c": ("latent_operand_exchanged", "K_rotary", {}),
    "norm_skipped": ("norm_skipped", "Q_C", {"norm": True, "form": "naive"}),
    "gain_forgotten": ("gain_forgotten", "normed_kv", {"norm": True}),
}
"""What the student does, the id of the mistake, where it shows first, and where it can be made."""

PROBLEMS: list[dict[str, Any]] = [
    {"heads": heads, "form": form, "norm": norm}
    for heads in (1, 2)
    for form in ("naive", "absorbed")
    for norm in (False, True)
]
SHOWN = ("Q", "K", "V", "scaled", "weights", "output")
"""The steps that a student hands in who skips some."""


def test_every_mistake_of_latent_attention_has_a_student() -> None:
    own = {row.id for row in vars(of_latent).values() if isinstance(row, Mistake)}
    assert own <= {id_ for id_, _, _ in CASES.values()}


@pytest.mark.parametrize("wrong", CASES)
def test_mistake_in_latent_attention_is_named(wrong: str) -> None:
    """With all steps, with some of them, and with weights and output alone."""
    id_, first, where = CASES[wrong]
    for number, form in enumerate(form for form in PROBLEMS if where.items() <= form.items()):
        keys = draw(np.random.default_rng(number), **form)
        problem, steps = attncli.Problem(**keys), Student(keys, wrong).work()
        report = attncli.check(problem, written(steps))
        assert report.first_wrong_step == first, (form, report.first_wrong_step)
        for shown in (steps, SHOWN, ("weights", "output")):
            some = {name: steps[name] for name in shown if name in steps}
            report = attncli.check(problem, written(some))
            step = report.first_wrong_step
            if step is None:
                continue  # what was done wrong changes no number that is shown
            assert step in report.findings, (form, list(some), step)
            finding = report.findings[step]
            named = {finding.id, *(other.id for other in finding.also)}
            assert id_ in named, (form, list(some), step, finding)


@pytest.mark.parametrize("form", PROBLEMS)
def test_who_works_latent_attention_right_is_right(form: dict[str, Any]) -> None:
    """Every step, some, and the output alone, with few digits or many, rounded between or not."""
    keys = draw(np.random.default_rng(21), **form)
    problem = attncli.Problem(**keys)
    for decimals in (2, 3, 4, 6):
        for goes_on in (lambda numbers: numbers, partial(rounded, decimals=decimals)):
            steps = Student(keys, goes_on=goes_on).work()
            for shown in (steps, SHOWN, ("weights", "output"), ("output",)):
                some = {n: rounded(steps[n], decimals) for n in shown if n in steps}
                report = attncli.check(problem, written(some, decimals))
                assert report.verdict == "correct", (decimals, list(some), report.findings)

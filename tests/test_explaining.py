"""Explanations are true: what is printed, worked out by another reader, gives what was computed."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.explaining import Source, explain, explain_all
from attncli.trace import Step, Trace
from tests.conftest import SAMPLES
from tests.worked import value_of

FILES = sorted(p for p in SAMPLES.iterdir() if p.is_file())
DECIMALS = 4


def half_unit(printed: str) -> float:
    """Return half a unit of the last of four digits after the point of a printed number."""
    exponent = int(printed.partition("e")[2] or 0)
    return 0.5 * 10.0 ** (exponent - DECIMALS) * (1 + 1e-9)


def number(printed: str) -> float:
    return float(printed.replace("∞", "inf"))


def cell_of(trace: Trace, name: str) -> float:
    """Return the number of a cell by its name, from labels or places, with a reading of its own."""
    key, *groups = re.findall(r"^[^\[]+|\[[^\]]*\]", name)
    step = trace.steps.get(key) or trace.inputs[key]
    value = step.value
    for axis, group in zip(step.leading, groups, strict=False):
        value = value[int(group[1:-1].split()[-1]) - 1]
        assert axis in group
    words = groups[-1][1:-1].split(", ") if len(groups) > len(step.leading) else []
    axes = [axis for axis in step.axes[len(step.leading) :] if axis != "sum"]
    for axis, word in zip(axes, words, strict=True):
        labels = step.labels.get(axis, ())
        place = labels.index(word) if word in labels else int(word) - 1
        value = np.take(value, [place], axis=step.axes.index(axis) - len(step.leading))
    assert value.size == 1
    return float(value.reshape(()))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_the_numbers_that_are_put_in_give_the_number_that_was_computed(path: Path) -> None:
    """Every cell of every step of every sample, by a reader that shares nothing with the writer."""
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        for step in trace:
            explained = explain_all(trace, step, DECIMALS, full=True)
            assert explained
            for place, found in explained.items():
                value = float(step.value[place])
                assert found.value == value
                if np.isinf(value):
                    assert found.result == "-∞"
                    assert found.reason or number(found.numbers) == value
                    continue
                allowed = half_unit(found.result)
                assert abs(number(found.result) - value) <= allowed
                assert abs(value_of(found.numbers) - value) <= 2 * allowed, found.line
                assert abs(value_of(found.numbers) - number(found.result)) <= allowed, found.line
                if found.unfolded:
                    assert abs(value_of(found.unfolded) - number(found.result)) <= allowed


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_the_cells_that_a_formula_names_hold_its_numbers(path: Path) -> None:
    """Where the formula names single cells, their numbers by these names give the result."""
    count = 0
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        for step in trace:
            for place, found in explain_all(trace, step, full=True).items():
                if any(sign in found.formula for sign in (" · ", "‖", "τ")):
                    continue  # vectors and letters have tests of their own
                if not found.formula:
                    continue
                value = value_of(found.formula, partial(cell_of, trace))
                assert value == pytest.approx(float(step.value[place]), rel=1e-12, abs=1e-13)
                count += 1
    assert count or path.name.startswith("dictionary")


def test_a_dot_product() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    found = explain(trace, trace["scores"], (1, 0))
    assert found.name == "scores[am, I]"
    assert found.formula == "q_am · k_I"
    assert found.numbers == "1·1 + 1·3 + 3·2"
    assert found.result == "10"
    assert found.sources == tuple(
        Source(step, (row, column)) for column in range(3) for step, row in (("Q", 1), ("K", 0))
    )
    assert found.line == "scores[am, I] = q_am · k_I = 1·1 + 1·3 + 3·2 = 10"


def test_a_weight() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    assert explain(trace, trace["weights"], (1, 0)).line == (
        "weights[am, I] = exp[am, I] / sum[am] = e^10 / (e^10 + e^11 + e^6) "
        "= 22026.4658 / 82304.0363 = 0.2676"
    )


def step_line(trace: Trace, step: Step, *place: int) -> str:
    return explain(trace, step, place).line


def test_what_a_mask_blocks() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "mask_causal.yaml"))
    assert step_line(trace, trace["masked"], 0, 2) == ("masked[I, good] = -∞, as mask[I, good] = 0")
    sources = explain(trace, trace["masked"], (0, 2)).sources
    assert sources == (Source("mask", (0, 2)),)

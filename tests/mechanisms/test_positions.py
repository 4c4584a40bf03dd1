"""Positions: numbers of papers and of transformers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import DATA
from tests.mechanisms.table import computed

DUMPS = json.loads((DATA / "dumps" / "rope_scaling.json").read_text("utf-8"))
"""Numbers of transformers in float64, from `python -m benchmarks.libraries rope_scaling`."""


def test_the_published_sinusoidal_table() -> None:
    """The table for 4 tokens, 4 features and the base 100 (published by others to 8 digits)."""
    trace = computed({"X": [[0] * 4] * 4, "positions": {"name": "sinusoidal", "base": 100}})
    published: Any = [
        [0, 1, 0, 1],
        [0.84147098, 0.54030231, 0.09983342, 0.99500417],
        [0.90929743, -0.41614684, 0.19866933, 0.98006658],
        [0.14112001, -0.9899925, 0.29552021, 0.95533649],
    ]
    np.testing.assert_allclose(trace["positions"].value, published, atol=5e-9)


SLOPES: dict[int, list[float]] = {
    1: [-8],
    2: [-4, -8],
    3: [-4, -8, -2],
    4: [-2, -4, -6, -8],
    5: [-2, -4, -6, -8, -1],
    6: [-2, -4, -6, -8, -1, -3],
    7: [-2, -4, -6, -8, -1, -3, -5],
    8: [-1, -2, -3, -4, -5, -6, -7, -8],
    9: [-1, -2, -3, -4, -5, -6, -7, -8, -0.5],
    12: [-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5],
}
"""Of which powers of two `get_slopes` of the authors' code prints, for each number of heads."""


@pytest.mark.parametrize("heads", SLOPES)
def test_the_published_slopes(heads: int) -> None:
    trace = computed({"X": np.zeros((2, heads)), "heads": heads, "positions": "alibi"})
    found = -trace["biased"].array[0, :, 0, 1]
    np.testing.assert_allclose(found, np.exp2(SLOPES[heads]), rtol=1e-15)


@pytest.mark.parametrize("model", DUMPS["frequencies"])
def test_frequencies_are_those_of_transformers(model: str) -> None:
    """`ROPE_INIT_FUNCTIONS`, with the keys of a config.json as they are."""
    dump = DUMPS["frequencies"][model]
    positions = {"name": "rope", "base": dump["base"], "scaling": dump["scaling"]}
    found = computed({"X": np.ones((1, dump["size"])), "positions": positions})
    np.testing.assert_allclose(found["frequencies"].value, dump["frequencies"], rtol=1e-14)
    np.testing.assert_allclose(found["cos"].value, dump["attention_factor"], rtol=1e-15)


def test_three_directions_are_those_of_qwen2_vl() -> None:
    dump = DUMPS["Qwen2-VL"]
    positions = {"name": "rope", "pairs": "halves"} | {
        key: dump[key] for key in ("ids", "sections", "base")
    }
    problem = attncli.Problem(Q=dump["Q"], K=dump["K"], V=dump["K"], positions=positions)
    found = attncli.compute(problem)
    for name in ("Q_rotated", "K_rotated"):
        np.testing.assert_allclose(found[name].value, dump[name], rtol=1e-13)

"""Whole layers of PyTorch, GPT-2 and Llama: outputs and derivatives that these libraries gave."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import DATA

LINES = (DATA / "recorded" / "torch_blocks.jsonl").read_text().splitlines()
"""What `python -m benchmarks.libraries blocks` has written, in float64."""

APART = 1e-11
"""Maximum difference, relative to the largest number of a case: a derivative may be a difference of
such numbers, as that of b_k, which is 0. A layer adds up some hundred products, each with a
relative error of 2^-53, in two orders; a norm divides by a root of them."""


@pytest.mark.parametrize("line", LINES, ids=lambda line: json.loads(line)["problem"]["activation"])
def test_a_layer_of_a_library_and_its_derivatives(line: str) -> None:
    case: dict[str, Any] = json.loads(line)
    trace = attncli.compute(attncli.Problem(**case["problem"], gradient="sum"))
    matrices = {name: np.array(rows) for name, rows in case["derivatives"].items()}
    matrices["output"] = np.array(case["output"])
    largest = max(np.abs(matrix).max() for matrix in matrices.values())
    for name, right in matrices.items():
        np.testing.assert_allclose(trace[name].value, right, rtol=0, atol=APART * largest)

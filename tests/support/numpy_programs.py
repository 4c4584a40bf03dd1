"""Programs that `-f numpy` writes, run by themselves."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import attncli

TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-4}
"""Maximum difference from a step, relative to its largest number."""


def run(program: str) -> dict[str, Any]:
    """Return the variables of a program, which may not even warn."""
    found: dict[str, Any] = {}
    with np.errstate(all="raise", under="ignore"):
        exec(program, found)
    return found


def assert_same_steps(trace: attncli.Trace, variables: dict[str, Any]) -> None:
    largest = {
        step.name: float(np.abs(step.array[np.isfinite(step.array)]).max(initial=0))
        for step in trace
    }
    for step in trace:
        found = variables[re.sub(r"\W", "_", step.name)]
        # A derivative is 0 in the trace where it is a rounding error of larger numbers.
        scale = max(largest.values()) if step.backward else largest[step.name]
        atol = TOLERANCE[step.array.dtype] * scale
        assert found.squeeze().shape == step.array.squeeze().shape, step
        np.testing.assert_allclose(found.reshape(step.array.shape), step.array, 0, atol, True)

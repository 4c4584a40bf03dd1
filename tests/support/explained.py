"""Explanations worked out by another reader, which shares nothing with what wrote them."""

from __future__ import annotations

import numpy as np

import attncli
from tests.oracles.worked import value_of

ERROR = {np.dtype(np.float64): 1e-14, np.dtype(np.float32): 1e-6}
"""Maximum error of a computed number, relative to itself."""


def is_blank(step: attncli.Step, place: tuple[int, ...]) -> bool:
    """Return whether a cell is blank: in all weights of a recurrence, a state still to come."""
    of_recurrence = step.name == "weights" and step.axes == ("time", "state")
    return of_recurrence and place[1] > place[0] + 1


def assert_explained_truly(trace: attncli.Trace, decimals: int) -> None:
    """Assert that the numbers that each cell is explained by give the number of the cell."""
    error = ERROR[trace.last.array.dtype]
    for step in trace:
        explained = attncli.explain_all(trace, step, decimals, full=True)
        places = {place for place in np.ndindex(step.value.shape) if not is_blank(step, place)}
        assert set(explained) == places
        for place, found in explained.items():
            value = found.value
            assert step.array.dtype.type(value) == step.value[place]
            if not np.isfinite(value):
                assert found.result == "-∞"
                assert found.reason or value_of(found.numbers) == value
                continue
            result = float(found.result.replace("∞", "inf"))
            unit = 10.0 ** (int(found.result.partition("e")[2] or 0) - decimals)
            allowed = unit / 2 * (1 + 1e-9) + error * abs(value)
            assert abs(result - value) <= allowed
            assert abs(value_of(found.numbers) - result) <= allowed, found.line
            assert not found.unfolded or abs(value_of(found.unfolded) - result) <= allowed

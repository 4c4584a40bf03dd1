"""Published numbers of transformer blocks come out, and those that are wrong are known."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest

import attncli
from tests.oracles import transformer as oracle
from tests.published_blocks import EXAMPLES, Example


def reasons(example: Example, steps: dict[str, Any]) -> list[str]:
    """Return which published numbers do not come out, but for those that are known to be wrong."""
    found = []
    for name, (matrix, decimals) in example.printed.items():
        printed: Any = np.asarray(matrix, float)
        values: Any = np.asarray(steps[name], float).reshape(printed.shape)
        for place in np.ndindex(printed.shape):
            shown = as_printed(printed[place], decimals)
            right = (example.wrong or {}).get((name, place))
            if right is None:
                if as_printed(values[place], decimals) != shown:
                    found.append(f"{name}{[*place]} is {values[place]}, not {shown}")
            elif not shown != as_printed(right, decimals) == as_printed(values[place], decimals):
                found.append(
                    f"{name}{[*place]} is {values[place]}, not {right} in place of {shown}"
                )
    return found


def as_printed(number: float, decimals: int) -> Decimal:
    """Return a number with so many decimals; halves are rounded away from zero."""
    # Floats that are a few ulps below a half are taken as it.
    number = float(f"{number:.12g}")
    return Decimal(repr(number)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


@pytest.mark.parametrize("name", EXAMPLES)
def test_published_numbers_come_out(name: str) -> None:
    trace = attncli.compute(attncli.Problem(**EXAMPLES[name].keys))
    assert not reasons(EXAMPLES[name], {step.name: step.value for step in trace})


@pytest.mark.parametrize("name", EXAMPLES)
def test_they_come_out_of_plain_loops_too(name: str) -> None:
    assert not reasons(EXAMPLES[name], oracle.solve(EXAMPLES[name].keys, oracle.FLOATS))

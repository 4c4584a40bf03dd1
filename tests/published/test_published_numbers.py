"""Published numbers come out, and those that are wrong are known; the tables name their sources."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import tables
from tests.oracles import transformer as oracle

BLOCKS = tables("published_blocks")
"""Each was copied from the source that it names. What a source leaves out is left out here; where
it goes on with a rounded or a wrong number, another problem begins with that number."""

EXAMPLES: dict[str, dict[str, Any]] = tables("published_numbers") | BLOCKS


def differences(example: dict[str, Any], steps: dict[str, Any]) -> list[str]:
    """Return which published numbers do not come out, but for those that are known to be wrong.

    For each of these the example has the right number, by its step and place, counted from 0.
    """
    right = {(one["step"], *one["place"]): one["right"] for one in example.get("wrong", ())}
    found = []
    for name, about in example["printed"].items():
        printed = np.asarray(about["numbers"], object)
        values = np.asarray(steps[name], float).reshape(printed.shape)
        for place in np.ndindex(printed.shape):
            unit = unit_of(printed[place], about.get("decimals"))
            published = rounded(float(printed[place]), unit)
            wanted = rounded(right.get((name, *place), printed[place]), unit)
            value = rounded(values[place], unit)
            is_known = (name, *place) in right
            if value != wanted or (published == wanted) is is_known:
                found.append(f"{name}{[*place]} is {values[place]}, not {wanted}")
    return found


def unit_of(number: Any, decimals: int | None) -> Decimal:
    """Return the unit of the last digit that is printed of a number."""
    if decimals is not None:
        return Decimal(1).scaleb(-decimals)
    return Decimal(1).scaleb(int(Decimal(number).as_tuple().exponent))


def rounded(number: Any, unit: Decimal) -> Decimal:
    """Return a multiple of a unit; halves are rounded away from zero."""
    # Floats that are a few ulps below a half are taken as it.
    return Decimal(f"{float(number):.12g}").quantize(unit, ROUND_HALF_UP)


@pytest.mark.parametrize("name", EXAMPLES)
def test_published_numbers_come_out(name: str) -> None:
    trace = attncli.compute(attncli.Problem(**EXAMPLES[name]["keys"]))
    assert not differences(EXAMPLES[name], {step.name: step.value for step in trace})
    assert bool(trace.warnings) is ("tie" in name)


@pytest.mark.parametrize("name", BLOCKS)
def test_published_blocks_come_out_of_plain_loops_too(name: str) -> None:
    assert not differences(BLOCKS[name], oracle.solve(BLOCKS[name]["keys"], oracle.FLOATS))

"""Published numbers come out, and those that are wrong are known; the tables name their sources."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import table, tables
from tests.oracles import reference
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


GOOD = [[1, 3, 2], [1, 1, 3], [1, 2, 1]]


def test_identity_projections_give_softmax_of_scaled_similarities() -> None:
    """With W = identity the general formula is softmax(X Xᵀ / √d_k) X."""
    one = np.eye(3)
    projected = attncli.compute(attncli.Problem(X=GOOD, W_q=one, W_k=one, W_v=one))
    plain = attncli.compute(attncli.Problem(X=GOOD, score="dot", scale="1/sqrt(d_k)"))
    assert list(projected.steps) == list(plain.steps)
    for step in plain:
        np.testing.assert_array_equal(projected[step.name].value, step.value)
    x = reference.exact(GOOD)
    for i, row in enumerate(reference.product(x, reference.transpose(x))):
        weights = reference.softmax([s / reference.mp.sqrt(3) for s in row], 1)
        mixed = reference.product([weights], x)[0]
        np.testing.assert_allclose(plain.output[i], reference.floats(mixed), rtol=1e-14)


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_columns_are_rows_transposed_in_every_step(score: str) -> None:
    keys = table("published_numbers", "self-attention in integers")["keys"] | {"score": score}
    turned: dict[str, Any] = {
        key: np.transpose(value) if key in ("X", "W_q", "W_k", "W_v") else value
        for key, value in keys.items()
    }
    rows = attncli.compute(attncli.Problem(**keys))
    columns = attncli.compute(attncli.Problem(**turned, tokens_as="columns"))
    assert list(rows.steps) == list(columns.steps)
    for step in rows:
        other = columns[step.name]
        assert other.axes == step.axes[::-1]
        assert dict(other.labels) == dict(step.labels)
        np.testing.assert_allclose(other.value.T, step.value, rtol=1e-15)

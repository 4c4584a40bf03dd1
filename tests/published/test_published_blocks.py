"""Published numbers of transformer blocks come out, and those that are wrong are known."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest

import attncli
from tests.conftest import tables
from tests.oracles import transformer as oracle

Keys = dict[str, Any]
Matrix = list[Any]
Wrong = dict[tuple[str, tuple[int, ...]], float]


class Example(NamedTuple):
    """A published calculation.

    Attributes:
        source: title, author, address and date.
        keys: the problem.
        printed: the published numbers by step, and with how many decimals they are printed.
        wrong: the right number, with as many decimals, for each published one that is wrong, by
            step and place, counted from 0.
        note: in what the source differs from the problem, and where its errors come from.
    """

    source: str
    keys: Keys
    printed: dict[str, tuple[Matrix, int]]
    wrong: Wrong | None = None
    note: str = ""


def example_of(row: dict[str, Any]) -> Example:
    printed = {name: (one["numbers"], one["decimals"]) for name, one in row["printed"].items()}
    wrong = {(one["step"], tuple(one["place"])): one["right"] for one in row.get("wrong", ())}
    return Example(row["source"], row["keys"], printed, wrong, row.get("note", ""))


EXAMPLES = {name: example_of(row) for name, row in tables("published_blocks").items()}
"""Each was copied from the source that it names. What a source leaves out is left out here; where
it goes on with a rounded or a wrong number, another problem begins with that number."""


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

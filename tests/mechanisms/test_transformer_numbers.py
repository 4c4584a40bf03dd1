"""Transformer blocks: every step and every derivative against loops that share no line with them.

The problems are lines of a file; `python -m benchmarks.surveys.blocks 2000` compares so many, and
prints how much of the bound of each step was used at most.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import DATA
from tests.oracles import transformer as oracle
from tests.oracles.rounded import ROUNDED, parts

Keys = dict[str, Any]

LINES = DATA / "recorded" / "transformers.jsonl"
PROBLEMS = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
"""Problems that together have every key, each with what to go backward from."""

SLACK = 4
"""Ratio of the error that is allowed to the first-order bound of the oracle: both calculations may
be off by the bound, and a softmax may shift its exponents by the largest one."""

MOST = 1e-10
"""Maximum error that is allowed in a step, relative to its largest number or to 1, where the bound
is larger: through three layers a bound grows faster than the errors do, which are below 1e-12."""

OF_GRADIENT = 1e-9
"""Maximum error of a derivative, relative to itself or to 1."""

KINK = 1e-9
"""Distance from 0 below which a hidden number is too near the kink of relu for a difference."""


def reasons(keys: Keys, shares: dict[str, float] | None = None) -> list[str]:
    """Return what is wrong with the trace of a problem; add to the used shares of the bounds."""
    work = oracle.Work(keys, ROUNDED).work()
    trace = attncli.compute(attncli.Problem(**keys))
    found = [f"{name} is missing" for name in work.steps if name not in trace]
    for step in trace:
        name = "output" if step.name == work.last else step.name
        if name in work.steps:
            share = used(step.value, work.steps[name])
            if not share <= 1:
                found.append(f"{step.name} is off by {share:.2g} of what is allowed")
            if shares is not None:
                last = name.split(".")[-1]
                shares[last] = max(shares.get(last, 0), share)
        elif not may_be_more(step.name):
            found.append(f"{step.name} is no step of the contract")
    return found


def may_be_more(name: str) -> bool:
    """Return True for steps that the contract leaves open: `next`, and the mean of a final norm."""
    return name == "next" or name.endswith(("_final", "_output"))


def used(value: Any, expected: Any) -> float:
    """Return the largest error of a step, as a share of what is allowed."""
    right, bounds = (np.asarray(part, float) for part in parts(expected))
    if value.size != right.size:
        return np.inf
    value = np.asarray(value, float).reshape(right.shape)
    known = np.isfinite(right)
    if not (value[~known] == right[~known]).all():
        return np.inf
    largest = max(1.0, np.abs(right[known]).max(initial=0))
    allowed = np.minimum(SLACK * bounds[known], MOST * largest) + np.finfo(float).tiny
    return float((np.abs(value[known] - right[known]) / allowed).max(initial=0))


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_every_step_is_that_of_plain_loops(number: int) -> None:
    assert not reasons(PROBLEMS[number]["problem"])


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_gradients_are_those_of_differences_in_50_digits(number: int) -> None:
    """With two features, what passes back through a layer norm is as small as its eps."""
    keys, upstream = PROBLEMS[number]["problem"], PROBLEMS[number]["upstream"]
    assert not wrong_derivatives(keys, upstream, number)


def wrong_derivatives(keys: Keys, upstream: Any, seed: int) -> list[str]:
    """Return what is wrong with the derivatives of a problem, one number of each matrix."""
    if not has_gradient(keys):
        return []
    trace = attncli.compute(attncli.Problem(**keys, gradient=upstream))
    random, found = np.random.default_rng(seed), []
    for parameter in oracle.parameters(keys):
        shape = np.shape(oracle.numbers_at(keys, parameter.path))
        place = tuple(int(random.integers(size)) for size in shape)
        right = float(oracle.difference(keys, parameter, place, upstream))
        if f"d_{parameter.name}" not in trace:
            found.append(f"d_{parameter.name} is missing")
            continue
        derivative = trace[f"d_{parameter.name}"].value
        if derivative.shape != shape:
            found.append(f"d_{parameter.name} has shape {derivative.shape}, not {shape}")
        elif not abs(derivative[place] - right) <= OF_GRADIENT * max(1.0, abs(right)):
            found.append(f"d_{parameter.name}{[*place]} is {derivative[place]}, not {right}")
    return found


def has_gradient(keys: Keys) -> bool:
    """Return True if there is a loss or an output to go backward from, and no kink of relu near."""
    has_end = "target" in keys or not ("W_u" in keys or "unembedding" in keys)
    return has_end and bool(oracle.distance_to_kink(keys) > KINK)


# ---- the oracle itself


def test_floats_are_within_the_bounds_of_50_digits() -> None:
    """What the other tests allow is derived; this is what it must hold for."""
    for number, case in enumerate(PROBLEMS[:20]):
        exact = oracle.solve(case["problem"])
        for name, value in oracle.solve(case["problem"], ROUNDED).items():
            floats, bounds = (np.asarray(part, float) for part in parts(value))
            right = np.asarray(exact[name], object)
            for place in np.ndindex(floats.shape):
                if np.isfinite(floats[place]):
                    is_near = abs(floats[place] - right[place]) <= bounds[place] + 1e-300
                    assert is_near, (number, name)


def test_the_problems_have_every_key() -> None:
    problems = [case["problem"] for case in PROBLEMS]
    layers = [layer for keys in problems for layer in oracle.layers_of(keys)]
    for key in (*oracle.OF_LAYER, "heads", "kv_heads", "mask", "eps"):
        assert any(key in layer for layer in layers), key
    for key, values in (
        ("norm", ("layer", "rms", "none")),
        ("place", ("pre", "post")),
        ("activation", (*oracle.ACTIVATIONS, *oracle.GATED)),
    ):
        assert {layer[key] for layer in layers if key in layer} == {*values}
    for key in ("final_norm", "embedding", "unembedding", "W_u", "target", "layers", "X"):
        assert any(key in keys for keys in problems), key
    named = {p["name"] for keys in problems for p in oracle.listed(keys.get("positions", []))}
    assert named == {"sinusoidal", "learned", *oracle.OF_SCORES}
    assert sum(map(has_gradient, problems)) > len(problems) * 0.8

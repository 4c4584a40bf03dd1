"""Causes of wrong dumps that lie in a cache, in positions, or in what is added to scores.

Layers of random sizes are worked in plain NumPy, by `tests/oracles/programs_with_places.py`, as
float64, float32 and bfloat16.
"""

from __future__ import annotations

from itertools import cycle, islice, product
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

import attncli
from tests.oracles.programs_with_places import HELD, Layer

Keys = dict[str, Any]

SHOWN = ("output", "weights output", "Q K V weights output")
"""The steps that a program dumps."""

ALONG = ("causal rope", "rope past", "causal rope past", "decode rope")
ADDED = ("causal alibi", "alibi", "causal alibi past", "decode alibi past")

CAUSES: dict[str, tuple[str, ...]] = {
    "causal_top_left": (
        *("one causal past", "causal past", "causal rope past", "causal alibi past"),
        *("decode past", "decode rope past", "aligned"),
    ),
    "cache_dropped": (
        *("causal past", "past", "causal rope past", "causal alibi past", "bias past", "decode"),
        *("decode past", "decode rope past"),
    ),
    "cache_turned_again": ("causal rope past", "rope past", "decode rope past", "decode rope"),
    "cache_upside_down": (
        *("causal past", "causal rope past", "causal alibi past", "bias past"),
        "decode alibi past",
    ),
    "rope_before_heads": ALONG,
    "other_pairs": ALONG,
    # Turned by −θ or by π/2 − θ, queries and keys that are both turned have the same scores.
    "angle_negative": ALONG[:3],
    "sine_and_cosine_exchanged": ALONG[:3],
    "another_base": ALONG,
    "positions_from_another_start": ("causal rope past", "rope past", "decode rope past"),
    "positions_stand_still": ("decode rope", "decode rope past"),
    "alibi_one_series": ADDED,
    "alibi_from_exponent_0": ADDED,
    "bias_before_scaling": (*ADDED, "bias", "causal bias past"),
}
"""The layers in which each cause shows, in words."""

NEEDS = dict.fromkeys(("angle_negative", "sine_and_cosine_exchanged"), SHOWN[-1:])
"""The steps without which a cause does not show."""

RIGHT = tuple(dict.fromkeys(layer for layers in CAUSES.values() for layer in layers))


def drawn(random: Generator, words: str, cause: str) -> Keys:
    """Return a random layer; a cache holds two tokens or more.

    A mask at the top left of one cached token is the same as one that blocks a token's own key.
    """
    heads = int(random.choice([3, 5, 6] if cause == "alibi_one_series" else [2, 3, 4, 6]))
    kv = int(random.choice([count for count in (1, 2, 3, heads) if heads % count == 0]))
    d, n, p = int(random.choice([4, 6, 8])), int(random.integers(3, 8)), int(random.integers(2, 6))
    n = 1 if "one" in words else n
    if cause == "rope_before_heads":
        kv = heads
    keys: Keys = {"kind": "self", "heads": heads, "kv_heads": kv}
    keys["X"] = random.normal(size=(n, heads * d))
    for key, out in (("W_q", heads), ("W_k", kv), ("W_v", kv), ("W_o", heads)):
        keys[key] = random.normal(size=(heads * d, out * d)) / (heads * d) ** 0.5
    if "past" in words:
        keys["past"] = {name: random.normal(size=(p, kv * d)) for name in "KV"}
    if "decode" in words:
        keys["kind"] = "decode"
    if "causal" in words:
        keys["mask"] = "causal"
    if words == "aligned":
        keys |= {"kind": "cross", "memory": random.normal(size=(n + p, heads * d))}
        keys["mask"] = {"causal": True, "align": "bottom-right"}
    if "rope" in words:
        pairs, base = random.choice(["halves", "neighbours"]), random.choice([100.0, 10000.0])
        keys["positions"] = {"name": "rope", "pairs": str(pairs), "base": float(base)}
    if "alibi" in words:
        keys["positions"] = {"name": "alibi"}
    if "bias" in words:
        keys["bias"] = random.normal(size=(n, n + ("past" in words) * p))
    return keys


def held(value: Any, dtype: str) -> Any:
    """Return a key as a program of some type of floats holds it."""
    if isinstance(value, dict):
        return {key: held(part, dtype) for key, part in value.items()}
    return HELD[dtype](value) if isinstance(value, np.ndarray) else value


def checked(random: Generator, words: str, cause: str, shown: str, dtype: str) -> attncli.Report:
    """Return the report on what a layer with a cause dumps; "" is none."""
    keys: Keys = held(drawn(random, words, cause), dtype)
    used, rope, way = keys, keys.get("positions", {}), int(random.integers(2))
    if cause == "other_pairs":
        other = "halves" if rope["pairs"] == "neighbours" else "neighbours"
        used = {**keys, "positions": {**rope, "pairs": other}}
    if cause == "another_base":  # bfloat16 does not show bases that are near to each other
        used = {**keys, "positions": {**rope, "base": 10.0 if rope["base"] == 1e4 else 1e5}}
    if cause == "cache_dropped" and "past" not in words:
        way = 1
    steps = Layer(used, cause, way, HELD[dtype]).work()
    dump = {name: array for name, array in steps.items() if name.split("_")[0] in shown.split()}
    return attncli.check(attncli.Problem(**keys), dump, marking={"dtype": dtype})


def named(cause: str, draws: int) -> list[str]:
    """Return what is named of some draws: the cause, with another one that fits as well.

    What differs by no more than the error of bfloat16 is right.
    """
    names = []
    shown_steps, dtypes = cycle(NEEDS.get(cause, SHOWN)), cycle([*HELD, "float32"])
    each = zip(cycle(CAUSES[cause]), shown_steps, dtypes, strict=False)
    for seed, (words, shown, dtype) in enumerate(islice(each, draws)):
        report = checked(np.random.default_rng(seed), words, cause, shown, dtype)
        finding = report.convention
        if report.verdict != "correct" or dtype != "bfloat16":
            ids = [finding.id, *(other.id for other in finding.also)] if finding else [words]
            names.append(" ".join(ids))
    return names


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_is_named(cause: str) -> None:
    assert {*named(cause, 4)} == {cause}


@pytest.mark.whole
@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_is_named_in_many_layers(cause: str) -> None:
    names = named(cause, 60)
    assert {*names} == {cause}
    assert len(names) > 50


def right(draws: int) -> None:
    for seed, (words, shown) in zip(range(draws), cycle(product(RIGHT, SHOWN)), strict=False):
        dtype = [*HELD][seed % len(HELD)]
        assert checked(np.random.default_rng(seed), words, "", shown, dtype).verdict == "correct"


def test_right_layers_are_not_blamed() -> None:
    right(12)


@pytest.mark.whole
def test_many_right_layers_are_not_blamed() -> None:
    right(200)


@pytest.mark.parametrize("words", ["past", "decode past", "decode rope"])
def test_an_order_of_keys_that_shows_in_the_weights_alone(words: str) -> None:
    """Without a mask or a bias, what is read of keys and values does not depend on their order."""
    for shown, verdict in (("output", "correct"), ("weights output", "wrong")):
        random = np.random.default_rng(0)
        report = checked(random, words, "cache_upside_down", shown, "float64")
        assert report.verdict == verdict
        assert (report.convention is not None) == (verdict == "wrong")


def test_wrong_numbers_beside_alibi_and_one_key_head() -> None:
    """Mistakes that make scores of another number of heads have no biases."""
    random = np.random.default_rng(0)
    keys: Keys = {"heads": 6, "kv_heads": 1, "positions": "alibi", "X": random.normal(size=(5, 24))}
    keys |= {"W_k": random.normal(size=(24, 4)), "W_v": random.normal(size=(24, 4))}
    problem = attncli.Problem(**keys)
    assert attncli.check(problem, {"output": random.normal(size=(5, 24))}).verdict == "wrong"
    assert attncli.check(problem, {"output": np.eye(5, 24).tolist()}).verdict == "wrong"


HANDWORK: dict[str, tuple[Keys, Keys]] = {
    "cache_dropped": ({"past": {"K": np.eye(2, 6), "V": np.eye(2, 6)}}, {}),
    "alibi_one_series": (
        {"positions": "alibi"},
        {"positions": {"name": "alibi", "slopes": [2 ** (-8 * head / 3) for head in (1, 2, 3)]}},
    ),
    "alibi_from_exponent_0": (
        {"positions": "alibi"},
        {"positions": {"name": "alibi", "slopes": [1, 2**-4, 1]}},
    ),
}
"""Causes that people have, too, with keys of the problem, and of the one that was worked."""


@pytest.mark.parametrize("cause", HANDWORK)
def test_handwork_that_is_another_problem(cause: str) -> None:
    right, used = HANDWORK[cause]
    x = np.random.default_rng(1).integers(-2, 3, (3, 6)).tolist()
    trace = attncli.compute(attncli.Problem(X=x, heads=3, mask="causal", **used))
    given = attncli.Problem(X=x, heads=3, mask="causal", **right)
    report = attncli.check(given, {"output": trace.output.round(3).tolist()})
    assert report.findings["output"].id == cause

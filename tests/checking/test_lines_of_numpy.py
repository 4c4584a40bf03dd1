"""Lines of NumPy in the advice on a dump: with the arrays that they make both agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes.conventions import CONVENTIONS

Keys = dict[str, Any]
Columns = list[tuple[str, int]]

SIZES = ((4, 4), (4, 2), (6, 2))
"""Numbers of heads, and of those of keys and values."""

D, WIDTH = 4, 24
"""Number of features of a head, and of the tokens."""


def layer(random: np.random.Generator, heads: int, kv: int, has_biases: bool) -> Keys:
    keys: Keys = {"heads": heads, "kv_heads": kv, "X": random.normal(size=(5, WIDTH))}
    for letter, count in (("q", heads), ("k", kv), ("v", kv)):
        keys[f"W_{letter}"] = random.normal(size=(WIDTH, count * D)) / 4
        if has_biases:
            keys[f"b_{letter}"] = random.normal(size=count * D)
    return keys


def fused(heads: int, kv: int) -> tuple[Columns, Columns]:
    """Return which columns follow each other in fused weights: Q, K, V, and those of each head."""
    counts = {"q": heads // kv * D, "k": D, "v": D}
    three = [(letter, at) for letter, count in counts.items() for at in range(kv * count)]
    per_head = [
        (letter, at)
        for head in range(kv)
        for letter, count in counts.items()
        for at in range(head * count, (head + 1) * count)
    ]
    return three, per_head


def read_as(keys: Keys, stored: Columns, read: Columns) -> Keys:
    """Return a layer whose fused weights are stored in one order, and read in another."""
    other = {key: np.array(value) for key, value in keys.items()}
    for (letter, at), (source, place) in zip(read, stored, strict=True):
        for kind in (kind for kind in "Wb" if f"{kind}_{letter}" in keys):
            other[f"{kind}_{letter}"][..., at] = keys[f"{kind}_{source}"][..., place]
    return other


def cases() -> Iterator[tuple[str, Keys, Keys]]:
    """Yield causes, each with a layer, and the layer that is calculated instead."""
    for seed, (heads, kv) in enumerate(SIZES):
        random = np.random.default_rng(seed)
        for has_biases in (False, True):
            keys = layer(random, heads, kv, has_biases)
            three, per_head = fused(heads, kv)
            yield "fused_per_head", keys, read_as(keys, three, per_head)
            yield "fused_in_three", keys, read_as(keys, per_head, three)
            for pairs, others in (("halves", "neighbours"), ("neighbours", "halves")):
                positions, used = ({"name": "rope", "pairs": name} for name in (pairs, others))
                rope = {**keys, "positions": positions, "mask": "causal"}
                yield "other_pairs", rope, {**rope, "positions": used}
    square: Keys = {"heads": 6, "X": random.normal(size=(5, WIDTH))}
    square |= {f"W_{letter}": random.normal(size=(WIDTH, WIDTH)) / 4 for letter in "qkvo"}
    yield "w_o_transposed", square, {**square, "W_o": square["W_o"].T}
    turned = {key: value.T for key, value in square.items() if key.startswith("W_")}
    yield "weights_out_in", square, square | turned
    yield "weights_out_in", square, square | {k: w for k, w in turned.items() if k != "W_o"}


def stored(keys: Keys) -> Keys:
    """Return the keys of a layer whose weights are stored (out, in)."""
    turned = {key: value.T for key, value in keys.items() if key.startswith("W_")}
    return {**keys, **turned, "weights_as": "out_in"}


CASES = [*cases()]


def mended(id_: str, keys: Keys, dump: Keys) -> str:
    """Return the verdict on a dump with what the line in its advice makes of all arrays."""
    finding = attncli.check(attncli.Problem(**keys), dump).convention
    assert finding is not None
    assert finding.id == id_
    names = {"np": np, **keys, **dump}
    exec(finding.advice.partition(" In NumPy: ")[2], names)
    again = attncli.Problem(**{key: names[key] for key in keys})
    return attncli.check(again, {name: names[name] for name in dump}).verdict


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
@pytest.mark.parametrize("is_stored", [False, True], ids=["in_out", "out_in"])
def test_a_line_turns_weights(case: tuple[str, Keys, Keys], is_stored: bool) -> None:
    id_, keys, other = case
    trace = attncli.compute(attncli.Problem(**other))
    dump = {name: trace[name].value for name in ("weights", "output")}
    assert mended(id_, stored(keys) if is_stored else keys, dump) == "correct"


@pytest.mark.parametrize("names", ["QKV", "Q"])
def test_a_line_turns_the_arrays_of_a_dump(names: str) -> None:
    random = np.random.default_rng(0)
    keys: Keys = {"heads": 4, "X": random.normal(size=(2, 4, 8))}
    keys |= {f"W_{letter}": random.normal(size=(8, 8)) for letter in "qkv"}
    trace = attncli.compute(attncli.Problem(**keys))
    dump = {name: trace[name].value for name in (*names, "weights")}
    dump |= {name: dump[name].swapaxes(1, 2) for name in names}
    assert mended("heads_after_tokens", keys, dump) == "correct"


def test_every_line_is_run() -> None:
    with_lines = {id_ for id_, row in CONVENTIONS.items() if row.line}
    assert with_lines == {"heads_after_tokens", *(id_ for id_, *_ in CASES)}


def test_a_line_that_would_not_do_is_left_out() -> None:
    """A cache has keys of these pairs, too; each head has its own matrices; K has longer tokens."""
    random = np.random.default_rng(0)
    keys = layer(random, 4, 4, has_biases=False) | {"positions": "rope"}
    past = {"past": {name: random.normal(size=(2, 4 * D)) for name in "KV"}}
    cut = {f"W_{letter}": random.normal(size=(4, WIDTH, D)) for letter in "qkv"}
    wide = {"kind": "cross", "memory": random.normal(size=(3, WIDTH + 1))}
    wide |= {f"W_{letter}": random.normal(size=(WIDTH + 1, 4 * D)) for letter in "kv"}
    for more in (past, cut, wide):
        other = attncli.Problem(
            **{**keys, **more, "positions": {"name": "rope", "pairs": "halves"}}
        )
        dump = {"output": attncli.compute(other).output}
        finding = attncli.check(attncli.Problem(**{**keys, **more}), dump).convention
        assert finding is not None
        assert (finding.id, "NumPy" in finding.advice) == ("other_pairs", False)

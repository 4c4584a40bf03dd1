"""The table of mechanisms: how its rows become problems, and are compared with the oracle.

Its rows stand in `tests/data/cases/mechanisms.yaml`: the numbers of libraries with their bounds,
recorded problems, problems for derivatives and of many tokens, what they may be written as instead,
steps, names; `test_every_mechanism.py` has a test for each promise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import attncli
from attncli.core.records import replace
from tests.conftest import DATA, table
from tests.oracles import reference

Keys = dict[str, Any]
mp = reference.mp

SEEDS = st.integers(0, 10**6)
HEADS = st.sampled_from([(1, 1), (2, 2), (4, 2), (2, 1)])
"""Numbers of heads, and of heads of keys and values."""


def numbers(seed: int, *shape: int) -> Any:
    """Return numbers between −2 and 2."""
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape)


def computed(keys: Keys, **more: Any) -> attncli.Trace:
    return attncli.compute(attncli.Problem(**keys, **more))


def output(keys: Keys, **more: Any) -> Any:
    return computed(keys, **more).output


RECORDED = DATA / "recorded"


def recorded(file: str) -> list[Keys]:
    """Return the lines of a recorded file."""
    text = (RECORDED / f"{file}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def redrawn(value: Any, rng: np.random.Generator) -> Any:
    """Return the keys of a problem, in which each number that is not whole is another, smaller one.

    Whole ones are sizes, masks and places.
    """
    if isinstance(value, dict):
        return {key: redrawn(part, rng) for key, part in value.items()}
    if isinstance(value, list):
        return [redrawn(part, rng) for part in value]
    if isinstance(value, float) and not value.is_integer():
        return round(value * rng.uniform(0.5, 1), 4)
    return value


FORMS = ("naive", "absorbed")
NORM: Keys = {"name": "rms", "eps": 0.5, "g_q": [1, 2, -1], "g_k": [3, 1, 2]}
RELATIVE: Keys = {"name": "relative", "table": [3, 1, 0, -1, -2]}


def sinks(z: float, **more: Any) -> Keys:
    return {"normalize": {"name": "softmax", "sink": z} | more}


# Small problems, drawn from a seed.


def shared(heads: int, kv_heads: int) -> Keys:
    return {"heads": heads, "kv_heads": kv_heads} if heads > 1 else {}


def attention(seed: int, n: int = 3, heads: int = 1, kv_heads: int = 1, **more: Any) -> Keys:
    """Return the keys of a problem with d_k = 3 and d_v = 2."""
    keys: Keys = {
        "X": numbers(seed, n, 4),
        "W_q": numbers(seed + 1, 4, 3 * heads),
        "W_k": numbers(seed + 2, 4, 3 * kv_heads),
        "W_v": numbers(seed + 3, 4, 2 * kv_heads),
    }
    return keys | shared(heads, kv_heads) | more


def gated(seed: int, heads: int = 1, kv_heads: int = 1, by_head: bool = True, **more: Any) -> Keys:
    """Return the keys of attention with a gate for each head, or for each of its features."""
    width = heads if by_head else 2 * heads
    gate = {"W": numbers(seed + 4, 4, width), "b": numbers(seed + 5, width)}
    return attention(seed, 3, heads, kv_heads, gate=gate, **more)


def differential(seed: int, heads: int = 1, kv_heads: int = 1, **more: Any) -> Keys:
    """Return the keys of attention whose halves have 3 features each, without `differential`."""
    halves = {"W_q": numbers(seed + 1, 4, 6 * heads), "W_k": numbers(seed + 2, 4, 6 * kv_heads)}
    return attention(seed, 3, heads, kv_heads) | halves | more


def of_latents(
    seed: int, heads: int = 1, compresses: bool = True, rotary: bool = True, **more: Any
) -> Keys:
    """Return the keys of kind latent: 3 tokens, d_h = 3, d_r = 2, d_v = 2 and d_c = 3."""
    below = 2 if compresses else 4
    shapes = {"X": (3, 4), "W_dkv": (4, 3), "W_uk": (3, 3 * heads), "W_uv": (3, 2 * heads)}
    of_queries = {"W_dq": (4, 2), "W_uq": (2, 3 * heads)}
    shapes |= of_queries if compresses else {"W_q": (4, 3 * heads)}
    shapes |= {"W_qr": (below, 2 * heads), "W_kr": (4, 2)} if rotary else {}
    drawn = {key: numbers(seed + i, *shape) for i, (key, shape) in enumerate(shapes.items())}
    return {"kind": "latent", "heads": heads, **drawn, **more}


def with_state(seed: int, rule: str, heads: int = 1, kv_heads: int = 1, **more: Any) -> Keys:
    """Return the keys of kind delta: 4 tokens, d_k = 3 and d_v = 2."""
    keys: Keys = {"kind": "delta", "update": rule, "Q": numbers(seed, 4, 3 * heads)}
    keys |= {"K": numbers(seed + 1, 4, 3 * kv_heads), "V": numbers(seed + 2, 4, 2 * kv_heads)}
    for place, (word, name) in enumerate((("gated", "alpha"), ("delta", "beta"))):
        if word in rule:
            keys[name] = np.random.default_rng([seed, place]).uniform(0.1, 1, (4, kv_heads))
    return keys | shared(heads, kv_heads) | more


GATES = {"lstm": ("_f", "_i", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}


def network(seed: int, cell: str, size: int, width: int, *matrices: str) -> Keys:
    """Return the weights of a network, with a bias for each gate."""
    parts: Keys = {}
    for place, gate in enumerate(GATES[cell]):
        sizes = {"W": (size, width), "U": (size, size), "C": (size, 2), "b": (size,)}
        for row, letter in enumerate(("W", "U", "b", *matrices)):
            parts[f"{letter}{gate}"] = numbers(seed + 10 * place + row, *sizes[letter])
    return parts


def translation(
    seed: int, cell: str, attends: str = "after", m: int = 3, start: Keys | None = None, **more: Any
) -> Keys:
    """Return the keys of kind encoder_decoder; states have two numbers, and `start` is of both."""
    read = ("C",) if attends == "before" else ()
    keys: Keys = {"kind": "encoder_decoder", "cell": cell, "attends": attends}
    keys |= {"memory": numbers(seed, m, 3), "X": numbers(seed + 1, 2, 2)}
    keys["encoder"] = network(seed + 2, cell, 2, 3) | (start or {})
    keys["decoder"] = network(seed + 50, cell, 2, 2, *read) | (start or {})
    return keys | more


MAKERS: dict[str, Callable[..., Keys]] = {
    "attention": attention,
    "gated": gated,
    "differential": differential,
    "latent": of_latents,
    "delta": with_state,
    "encoder_decoder": translation,
}


def problem_of(row: Keys, seed: int = 0) -> Keys:
    """Return the keys of a row of a table in `tests/data/cases`, drawn from a seed.

    `of` names one of `MAKERS`, which takes `with`; `keys` are as they are; `shapes` are those of
    arrays that are drawn, of zeros and ones for a mask; `line` is one of the recorded problems
    with positions.
    """
    with_ = row.get("with", {})
    keys = Keys()
    if "of" in row:
        keys |= MAKERS[row["of"]](**with_ | {"seed": with_["seed"] + seed})
    if "line" in row:
        keys |= recorded("position_problems")[row["line"] - 1]
    keys |= row.get("keys", {})
    for at, (path, shape) in enumerate(row.get("shapes", {}).items(), seed):
        array = numbers(at, *shape)
        key, _, part = path.partition(".")
        array = (array > 0).astype(int) if key == "mask" else array
        keys[key] = keys.get(key, {}) | {part: array} if part else array
    return keys


def as_lists(keys: Keys) -> Keys:
    """Return the keys with lists for arrays, as a file has them."""
    found: Keys = json.loads(json.dumps(keys, default=lambda array: array.tolist()))
    return found


def rows(subject: str, name: str) -> pytest.MarkDecorator:
    """Run a test with each `row` of a table of `data/cases`, under the row's name."""
    found = table(subject, name)
    return pytest.mark.parametrize("row", found, ids=[row["name"] for row in found])


# Oracles: every step in 50 digits.

EXPRESSIONS: dict[str, Callable[[int, int, int], Any]] = {
    "-0.5*abs(i - j)": lambda i, j, h: -mp.mpf("0.5") * abs(i - j),
    "-abs(i - j)/2^h": lambda i, j, h: -mp.mpf(abs(i - j)) / 2**h,
    "sqrt(i)*exp(-j) + h": lambda i, j, h: mp.sqrt(i) * mp.exp(-j) + h,
}
"""Biases of the recorded problems with positions, and what they say."""


def solve(keys: Keys) -> dict[str, Any]:
    """Return every step of a problem of any mechanism, [batch][head][row][column]."""
    if isinstance(keys.get("bias"), str):
        term, memory = EXPRESSIONS[keys["bias"]], keys["memory" if "memory" in keys else "X"]
        n, m = len(keys["X"]), len(memory)
        places = np.moveaxis(np.indices((keys.get("heads", 1), n, m)) + 1, 0, -1).tolist()
        bias = [[[term(i, j, h) for h, i, j in row] for row in head] for head in places]
        keys = keys | {"bias": bias}
    steps = reference.solve(**keys)
    for name, key in (("x", "X"), ("memory", "memory")) if keys.get("enhance") else ():
        pairs = zip(reference.exact(keys[key]), steps[f"aligned_{name}"][0][0], strict=True)
        steps[f"enhanced_{name}"] = [[[enhanced(*pair) for pair in pairs]]]
    return steps


def enhanced(a: list[Any], b: list[Any]) -> list[Any]:
    """Return [a; b; a − b; a ⊙ b]."""
    pairs = [*zip(a, b, strict=True)]
    return [*a, *b, *(x - y for x, y in pairs), *(x * y for x, y in pairs)]


def is_array(part: Any) -> bool:
    """Return whether a value is numbers in one axis or more."""
    return isinstance(part, np.ndarray) or (
        isinstance(part, list) and not isinstance(part[0], dict)
    )


ANGLES = ("frequencies", "angles", "cos", "sin")
"""Steps that queries and keys may share or have each for themselves."""


def check(trace: attncli.Trace, keys: Keys) -> None:
    """Compare every step with 50 digits, but for angles, which the rotated numbers show."""
    shown = {n: step for n, step in trace.steps.items() if not n.startswith(ANGLES)}
    expected = {n: step for n, step in solve(keys).items() if not n.startswith(ANGLES)}
    reference.check(replace(trace, steps=shown), expected)


def array_at(keys: Keys, path: str) -> Any:
    """Return the numbers of a key, or of a part such as score.W or positions.table."""
    key, _, part = path.partition(".")
    several = keys[key] if isinstance(keys[key], list) else [keys[key]]
    return next(one[part] for one in several if part in one) if part else keys[key]


def with_array(keys: Keys, path: str, array: Any) -> Keys:
    """Return the keys with other numbers there."""
    key, _, part = path.partition(".")
    if not part:
        return keys | {key: array}
    if isinstance(keys[key], dict):
        return keys | {key: keys[key] | {part: array}}
    return keys | {key: [one | {part: array} if part in one else one for one in keys[key]]}


WITHOUT_DERIVATIVE = ("mask", "slopes", "start", "ids", "sections")


def parameters(keys: Keys) -> list[str]:
    """Return the paths of all numbers that the output has a derivative with regard to."""
    found = []
    for key, value in keys.items():
        parts = value if isinstance(value, list) else [value]
        inner = [name for one in parts if isinstance(one, dict) for name in one.items()]
        named = [(f"{key}.{name}", part) for name, part in inner if name not in WITHOUT_DERIVATIVE]
        named += [(key, value)] if is_array(value) else []
        found += [path for path, part in named if is_array(part) or path == "normalize.sink"]
    return [path for path in found if path.partition(".")[0] not in WITHOUT_DERIVATIVE]


# The same problem written in other ways.

MATRICES = re.compile(
    r"X|memory|mask|(past\.)?[QKV]|scores|bias|(mask\.)?(keep|block)|alpha|beta|positions\.P"
    r"|gate\.W|gradient\.target|W_(?!c$)\w+"
)
"""Keys whose matrices are transposed where tokens are columns."""

WEIGHTS = re.compile(r"gate\.W|W_(?!c$)\w+")
"""Keys whose matrices are transposed where weights are written as (out, in)."""


def transposed(keys: Keys, which: re.Pattern[str], path: str = "") -> Keys:
    """Return the keys with the matrices of some of them transposed, also inside mappings."""
    turned = dict(keys)
    for key, part in keys.items():
        if isinstance(part, dict):
            turned[key] = transposed(part, which, f"{key}.")
        elif which.fullmatch(path + key) and is_array(part) and np.ndim(part) > 1:
            turned[key] = np.swapaxes(part, -1, -2)
    return turned


def in_columns(keys: Keys) -> Keys:
    return transposed(keys, MATRICES) | {"tokens_as": "columns"}


def by_head(keys: Keys) -> Keys:
    """Return the keys with a list of matrices, one per head, for each projection."""
    heads: int = keys.get("heads", 1)
    kv_heads: int = keys.get("kv_heads", heads)
    counts = dict.fromkeys(("W_q", "W_uq", "W_qr", "W_uk", "W_uv"), heads)
    counts |= dict.fromkeys(("W_k", "W_v"), kv_heads)
    cut = {k: np.stack(np.split(keys[k], h, 1)) for k, h in counts.items() if k in keys and h > 1}
    return keys | cut


def with_given(keys: Keys) -> Keys:
    """Return the keys with Q, K and V in place of what they are made of."""
    trace = computed(keys)
    return {key: x for key, x in keys.items() if key not in ("X", "W_q", "W_k", "W_v")} | {
        name: trace[name].value for name in "QKV"
    }


WAYS: dict[str, Callable[[Keys], Keys]] = {
    "out_in": lambda keys: transposed(keys, WEIGHTS) | {"weights_as": "out_in"},
    "batch": lambda keys: keys | {"X": np.stack([keys["X"], -keys["X"]])},
    "by head": by_head,
    "decode": lambda keys: keys | {"kind": "decode", "mask": None},
    "given": with_given,
}
"""Other ways to write a problem, of which the output is the same; of a batch, the first one."""

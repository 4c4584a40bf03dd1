"""Attention a tile of scores at a time is that of the plain lines, as far as floats can tell."""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import time
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attncli
from attncli.core.arithmetic import machine
from attncli.core.attention import tile_loop, weights
from attncli.core.attention.masks import is_kept, reach_of
from attncli.core.errors import InputError
from tests.conftest import Attn
from tests.mechanisms.table import Keys, computed, recorded
from tests.support.bounds import share_of_bound

Numbers = np.ndarray[Any, Any]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let everything be streamed, in tiles of any size."""

    def set_sizes(rows: int, keys: int, count: int = 2) -> None:
        def tiling(q: Numbers, k: Numbers, _: int, whole_rows: bool) -> tile_loop.Tiling:
            m = k.shape[-2]
            if whole_rows:
                return tile_loop.Tiling(max(1, rows * keys // m), m, count)
            return tile_loop.Tiling(rows, keys, count)

        monkeypatch.setattr(weights, "MANY_SCORES", 1)
        monkeypatch.setattr(weights, "MASK_ROWS", rows)
        monkeypatch.setattr(tile_loop, "tiling_of", tiling)

    return set_sizes


@pytest.fixture(autouse=True)
def tiles(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calculations by tiles and the scores in them."""
    counted: Counter[str] = Counter()
    adjusted, run = tile_loop.TileLoop._adjusted, tile_loop.TileLoop.run

    def counting(self: Any, *arguments: Any) -> Numbers:
        scores = adjusted(self, *arguments)
        counted["scores"] += scores.size
        return scores

    def once(self: Any) -> None:
        counted["calculations"] += 1
        run(self)

    monkeypatch.setattr(tile_loop.TileLoop, "_adjusted", counting)
    monkeypatch.setattr(tile_loop.TileLoop, "run", once)
    return counted


def with_arrays(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"dtype", "rows"}:
        return np.array(value["rows"], value["dtype"])
    if isinstance(value, dict):
        return {key: with_arrays(part) for key, part in value.items()}
    return value


PROBLEMS: list[Keys] = list(map(with_arrays, recorded("tiled_problems")))
"""Random problems that together have every option, warning and refusal.

The numbers are whole or eighths and small, so that dot products come out exactly, in whatever
order they are added: a last digit of a score of 1000 is 500 last digits of its e^s.
"""


def outcome(keys: Keys, only: tuple[str, ...] | None) -> attncli.Trace | str:
    """Calculate; an error is its message."""
    try:
        return attncli.compute(attncli.Problem(**keys), only=only)
    except InputError as error:
        return str(error)


@cache
def plain_outcomes() -> list[attncli.Trace | str]:
    """Return what the plain lines make of each problem, before anything is set for tiles."""
    return [outcome(keys, None) for keys in PROBLEMS]


def test_streamed_is_plain_within_the_bound_of_its_sums(small: Any, tiles: Counter[str]) -> None:
    """Problems of every option, in tiles of every size, on one thread and on two."""
    for seed, (keys, plain) in enumerate(zip(PROBLEMS, plain_outcomes(), strict=True)):
        pick = random.Random(seed)
        # Of one key a tile, each key costs the sums another rounding; that is `test_every_edge`.
        small(pick.randint(1, 12), pick.randint(3, 16), pick.choice([1, 2]))
        found = outcome(keys, ("output",))
        if isinstance(plain, str) or isinstance(found, str):
            # Of several heads, rows of which sum to 0, each way meets another one first.
            assert re.sub(r"row \d+", "row", str(found)) == re.sub(r"row \d+", "row", str(plain))
            continue
        assert not set(found.steps) - weights.TILED
        assert found["output"].axes == plain["output"].axes
        assert sorted(found.warnings) == sorted(plain.warnings), seed
        share = share_of_bound(found, plain)
        assert share <= 1, f"{share} of what rounding explains in problem {seed}: {keys}"
    assert tiles["calculations"] > len(PROBLEMS) / 2


def test_a_step_alone_is_that_of_the_plain_lines(small: Any) -> None:
    """Without the steps after it, and with its formula, axes, labels and warnings."""
    plain_ones, tried = plain_outcomes(), Counter[str]()
    small(5, 9)
    for keys, plain in zip(PROBLEMS, plain_ones, strict=True):
        for name in ("scores", "scaled", "capped", "biased", "masked", "weights"):
            if isinstance(plain, str) or name not in plain:
                continue
            trace = attncli.compute(attncli.Problem(**keys), only=(name,), alone=True)
            one, other = trace[name], plain[name]
            assert (one.formula, one.axes, one.labels) == (other.formula, other.axes, other.labels)
            assert sorted(trace.warnings) == sorted(plain.warnings)
            # Scores up to 1000 are off by their last digits, and so are exponents.
            digits = 1e4 * np.finfo(other.array.dtype).eps if name == "weights" else 0
            np.testing.assert_allclose(one.array, other.array, digits, digits)
            if "streamed" in trace.path:
                tried[keys["normalize"]["name"] if name == "weights" else name] += 1
                assert not {"exp", "weights"} & {*trace.steps} - {name}
                assert name != "scores" or "scaled" not in trace
    assert {*tried} >= {"scores", "scaled", "capped", "biased", "masked", "softmax", "hardmax"}


def streamed(keys: Keys, only: tuple[str, ...] = ("output",)) -> attncli.Trace:
    """Calculate in tiles, and assert that the output is within the bound of its sums."""
    problem = attncli.Problem(**keys)
    trace = attncli.compute(problem, only=only)
    assert share_of_bound(trace, attncli.compute(problem)) <= 1
    return trace


@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (1, 9), (9, 1), (8, 8), (9, 9), (10, 10)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_edge_of_a_tile(rows: int, keys: int, dtype: str, small: Any) -> None:
    numbers = np.random.default_rng(1)
    small(rows, keys)
    for n, m in ((1, 9), (9, 1), (9, 9), (8, 10), (18, 27)):
        shapes = {"Q": (n, 4), "K": (m, 4), "V": (m, 3)}
        eighths = {key: numbers.integers(-16, 17, shape) / 8 for key, shape in shapes.items()}
        given_: Keys = {key: array.astype(dtype) for key, array in eighths.items()}
        for mask in ({}, {"causal": True}, {"window": [3, 0]}, {"window": [0, 2], "offset": -3}):
            for scale in (0.5, 1000, 1e4):
                streamed(given_ | {"mask": mask, "scale": scale})


def normal(*shape: int, seed: int = 0, dtype: str = "f8") -> Numbers:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# What is never calculated.


@pytest.mark.parametrize(
    ("mask", "rows", "most"),
    [
        ({"causal": True}, 20, 0.53),
        ({"causal": True}, 80, 0.53),
        ({"window": [8, 0]}, 20, 0.05),
        ({"window": [8, 0]}, 80, 0.07),
        ({"window": [0, 8], "align": "bottom-right"}, 20, 0.05),
        ({"lengths": 40}, 20, 0.1),
        ({"causal": True, "window": [8, -1]}, 20, 0.05),
        ({"keep": np.tri(400)}, 20, 0.53),
        ({"block": 1 - np.tri(400)}, 20, 0.53),
        ({"keep": np.eye(400), "causal": True}, 20, 0.05),
    ],
)
def test_tiles_that_are_blocked_are_not_calculated(
    mask: Keys,
    rows: int,
    most: float,
    small: Any,
    tiles: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small(rows, rows)
    monkeypatch.setattr(tile_loop, "PARTLY_SEEN_KEYS", 20)
    streamed({"X": normal(400, 4), "mask": mask})
    assert 0 < tiles["scores"] <= most * 400 * 400


def test_each_element_of_a_batch_has_the_keys_of_its_length(
    small: Any, tiles: Counter[str]
) -> None:
    small(20, 20)
    streamed({"X": normal(2, 200, 4), "mask": {"lengths": [200, 20]}})
    assert tiles["scores"] == 200 * 200 + 200 * 20


FORMS = st.fixed_dictionaries(
    {},
    optional={
        "causal": st.just(True),
        "window": st.tuples(st.integers(-1, 6), st.integers(-1, 3)),
        "lengths": st.integers(0, 12).map(lambda length: np.array([length])),
        "offset": st.integers(-5, 5),
    },
)


@given(FORMS, st.integers(1, 12), st.integers(1, 12), st.data())
def test_keys_that_are_seen(mask: Keys, n: int, m: int, data: st.DataObject) -> None:
    """What the reach of the forms tells is what `is_kept` tells cell by cell."""
    start = data.draw(st.integers(0, n - 1))
    rows = slice(start, data.draw(st.integers(start + 1, n)))
    found = is_kept(mask, n, m, rows)
    keep = np.ones((rows.stop - start, m), bool) if found is None else found[0, 0]
    first, last, is_exact = reach_of(mask, n, m, rows)
    assert is_exact
    between = (first[:, None] <= np.arange(m)) & (np.arange(m) <= last[:, None])
    assert (between == keep).all()
    *bounds, is_exact = reach_of(mask | {"keep": np.eye(n, m)[None, None]}, n, m, rows)
    assert not is_exact
    assert (np.array(bounds) == (first, last)).all()


# Warnings and errors.


ONES = np.ones((9, 9))
LARGE: Keys = {"X": 30 * normal(9, 4), "score": "dot"}
AROUND_SCORES: list[tuple[Keys, str]] = [
    ({}, "scores"),
    ({"scale": 2}, "scaled"),
    ({"softcap": 1e4}, "capped"),
    ({"bias": ONES}, "biased"),
]
"""What is done to scores, and the last step by which."""

BLOCKING = np.eye(9)
BLOCKING[0] = 50  # with itself 22,500; it is masked, and so is no exponent


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        *((LARGE | more, f"e^{last} ") for more, last in AROUND_SCORES),
        *((LARGE | more | {"mask": {"keep": ONES}}, f"e^{last} ") for more, last in AROUND_SCORES),
        *((LARGE | more | {"mask": "causal"}, "e^masked ") for more, _ in AROUND_SCORES),
        # The squares of these are no floats.
        ({"Q": 1e-170 * ONES, "K": 1e180 * ONES, "V": ONES, "score": "dot"}, "e^scores "),
        ({"X": ONES, "normalize": "hardmax"}, "several scores of a row are largest"),
        ({"X": BLOCKING, "score": "dot", "mask": {"block": BLOCKING @ BLOCKING.T > 709}}, ""),
    ],
)
def test_warns_as_plain_does(keys: Keys, told: str, small: Any) -> None:
    plain = computed(keys).warnings
    small(3, 4)
    assert attncli.compute(attncli.Problem(**keys), only=("output",)).warnings == plain
    assert [told in text for text in plain] == [True] * bool(told)


@pytest.mark.parametrize(
    "keys",
    [
        {"X": 1e200 * normal(9, 4), "score": "dot"},
        {"X": 1e150 * normal(9, 4), "score": "dot", "scale": 1e200},
        {"X": 1e30 * normal(9, 4, dtype="f4")},
        {"X": normal(9, 4), "scale": 1e307, "score": "dot", "bias": np.full((9, 9), 1.7e308)},
        {"X": np.vstack([np.eye(8), np.zeros((1, 8))]), "score": "cosine"},
        {"X": np.vstack([np.eye(8), -np.ones((1, 8))]), "score": "dot", "normalize": "sum"},
        {"X": np.eye(9)[:, :2], "K": np.ones((9, 2)), "score": "dot", "normalize": "sum"},
        {"X": 1e200 * normal(9, 4), "score": "distance"},
        {"X": 1e200 * normal(9, 4), "score": "dot", "mask": "causal"},
    ],
)
def test_refuses_what_plain_refuses(keys: Keys, small: Any) -> None:
    plain = outcome(keys, None)
    small(4, 5)
    assert isinstance(plain, str)
    assert outcome(keys, ("output",)) == plain


def test_large_values_do_not_overflow_before_they_are_divided(small: Any) -> None:
    small(4, 5)
    problem = attncli.Problem(Q=normal(9, 2), K=normal(9, 2), V=np.full((9, 2), 1.7e308))
    np.testing.assert_allclose(attncli.compute(problem, only=("output",)).output, 1.7e308)


@pytest.mark.parametrize("score", [-300, 300])
@pytest.mark.parametrize("value", [1e-250, 1.0, 1e250])
def test_what_is_added_up_stays_within_floats(score: float, value: float, small: Any) -> None:
    """e^s alone is a float, as plain has it; e^s · v is none."""
    small(4, 5)
    q, k, v = np.ones((9, 1)), np.full((9, 1), score), value * normal(9, 2)
    streamed({"Q": q, "K": k, "V": v, "score": "dot"})


@pytest.mark.parametrize("scale", [1e3, 1e100, 1e300])
def test_enormous_scores_that_floats_hold(scale: float, small: Any) -> None:
    small(4, 5)
    streamed({"X": normal(9, 4), "scale": scale})


# Types of numbers, memory.

SIZE = 16 * 512 * 64 * 8
BUFFERS = 4 * tile_loop.TILE_ROWS * tile_loop.TILE_KEYS * 8


def test_mixed_types_are_those_of_the_plain_lines(small: Any) -> None:
    small(3, 4)
    keys: Keys = {"Q": normal(9, 4, dtype="f4"), "K": normal(9, 4), "V": normal(9, 4, dtype="f4")}
    assert streamed(keys).output.dtype == computed(keys).output.dtype == np.float64


@pytest.mark.parametrize(
    ("keys", "shapes", "only", "most"),
    [
        # Of 16 heads the context and itself side by side, and a buffer for each thread: not K and
        # V 16 times.
        (
            {"heads": 16, "kv_heads": 1},
            {"Q": (16, 512, 64), "K": (1, 512, 64), "V": (1, 512, 64)},
            *("context", 3 * SIZE + BUFFERS),
        ),
        # Of 5,000 tokens the scores alone would take 200 MB.
        ({"mask": "causal"}, {"X": (5_000, 8)}, "output", 50e6),
    ],
    ids=["grouped heads", "square matrix"],
)
def test_memory_is_not_that_of_the_plain_lines(
    keys: Keys, shapes: Keys, only: str, most: float
) -> None:
    problem = attncli.Problem(**keys | {key: normal(*shape) for key, shape in shapes.items()})
    tracemalloc.start()
    attncli.compute(problem, only=(only,))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most


# Threads.


def test_blas_has_its_threads_again_and_the_environment_is_as_it_was() -> None:
    blas = machine._blas_threads()
    assert blas is not None  # NumPy's own wheels have OpenBLAS
    read, write = blas
    before, environment = read(), dict(os.environ)
    seen: list[int] = []
    try:
        write(2)
        machine.over_threads(lambda _: seen.append(read()), list(range(9)), 2)
        assert (seen, read()) == ([1] * 9, 2)
        with pytest.raises(ZeroDivisionError):
            machine.over_threads(lambda i: print(1 // i), [0, 1], 2)
        assert read() == 2
        with ThreadPoolExecutor(3) as pool:
            for _ in range(3):
                pool.submit(machine.over_threads, lambda _: seen.append(read()), range(9), 2)
        assert (seen, read()) == ([1] * 36, 2)
    finally:
        write(before)
    assert dict(os.environ) == environment


def test_an_error_in_a_thread_is_raised_and_ends_the_others() -> None:
    done: list[int] = []

    def work(task: int) -> None:
        done.append(task)
        if task == 3:
            raise ValueError(task)
        time.sleep(0.01)

    with pytest.raises(ValueError, match="3"):
        machine.over_threads(work, list(range(100)), 2)
    assert len(done) < 50


def test_one_thread_where_blas_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_blas_threads", lambda: None)
    assert machine.threads_available() == 1
    trace = attncli.compute(attncli.Problem(X=normal(600, 4)), only=("output",))
    assert trace.path.startswith("streamed, ")
    assert "threads" not in trace.path


def test_a_numpy_of_another_blas_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    monkeypatch.setattr(machine, "_openblas_of", machine._openblas_of.__wrapped__)
    assert machine._blas_threads() is None


@pytest.mark.parametrize(("said", "count"), [("1", 1), ("", None), ("0", None), ("many", None)])
def test_omp_num_threads_is_heeded(
    said: str, count: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    every = machine.threads_available()
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert machine.threads_available() == (count or every)


def test_threads_do_not_change_a_digit(small: Any) -> None:
    problem = attncli.Problem(X=normal(90, 4), mask="causal")
    outputs = []
    for count in (1, 2, 5):
        small(8, 16, count)
        outputs.append(attncli.compute(problem, only=("output",)).output)
    assert all((one == outputs[0]).all() for one in outputs)


# What is told of it.


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "output: every step is calculated and kept"),
        (["--only", "output"], "output: streamed, 4 query rows at a time on 2 threads; "),
        (["--only", "output", "--normalize", "hardmax"], "output: streamed, 2 query rows at a "),
        (["--only", "output", "--normalize", "{axis: queries}"], "output: every step is "),
        (["--only", "output", "--round", "2"], "output: every step is calculated and kept"),
    ],
)
def test_verbose_says_which_way_it_went(
    arguments: list[str], told: str, small: Any, attn: Attn
) -> None:
    small(4, 5)
    x = json.dumps({"X": normal(9, 2).tolist()}).encode()
    result = attn("compute", "-", "--verbose", *arguments, stdin=x)
    assert result.err.startswith(told)
    assert attn("compute", "-", *arguments, stdin=x).out == result.out

"""Causes of wrong dumps: layers drawn at random, as programs write them, with one deviation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import attncli
from tests.oracles.programs import Array, Layer, Steps, rounded, steps_of

DTYPES = ("float32", "bfloat16", "float64")
EVERY = ("Q", "K", "V", "weights", "context", "output")
SHOWN = (("weights", "output"), ("output",), EVERY)


class Cause(NamedTuple):
    """What a drawn layer needs for its numbers to show a cause."""

    mask: tuple[str, ...] = ("", "causal", "lengths")  # one of these
    needs: tuple[str, ...] = ()  # steps of which one is in the dump
    deviation: str = ""  # of the oracle, where its name is not the id
    batch: int = 1  # at least
    shares: bool = True  # whether heads may share keys and values
    has_d_v: bool = False  # values have another size than keys
    keeps_width: bool = False  # the output is as wide as the input
    heads: tuple[int, ...] = (2, 3, 4)
    of_n: tuple[int, ...] = (4, 5, 6, 7)  # how many tokens there are
    dtypes: tuple[str, ...] = DTYPES


CAUSES: dict[str, list[Cause]] = {
    # Without the weights nobody knows which were dropped: the output is a mixture like any other.
    "dropout_left_on": [Cause(needs=("weights",)), Cause(deviation="dropout_of_output")],
    "weights_averaged": [Cause(needs=("weights",))],
    # Blocked weights have no logarithm with which a program could go on.
    "log_softmax": [Cause(mask=("",)), Cause(mask=("causal",), needs=("weights",))],
    "softmax_over_heads": [Cause()],
    "softmax_over_batch": [Cause(batch=2)],
    "heads_ignored": [Cause(shares=False)],
    "mask_heads_and_batch": [Cause(mask=("lengths",), batch=2)],
    "padding_zeroed": [Cause(mask=("lengths",))],
    # The output alone does not tell weights of 0 from `padding_zeroed`.
    "padded_queries_blocked": [
        Cause(mask=("lengths",)),
        Cause(mask=("lengths",), needs=("weights",), deviation="padded_queries_zeroed"),
    ],
    # e^−10 of a weight is less than the error of a bfloat16.
    "finite_fill": [Cause(mask=("causal", "lengths"), dtypes=("float32", "float64"))],
    # Without the weights it is a mask that was left out.
    "output_before_mask": [Cause(mask=("causal", "lengths"), needs=("weights",))],
    "window_both_sides": [Cause(mask=("window",))],
    # An output in bfloat16 hardly tells √d_v from √d_model, or from d_k.
    "scaled_by_sqrt_d_v": [Cause(has_d_v=True, heads=(3, 4), dtypes=("float32", "float64"))],
    "residual_and_norm": [Cause(keeps_width=True)],
    "input_added": [Cause(keeps_width=True)],
    # A mask of tokens does not fit heads; of as many tokens as heads it is `heads_reshaped`.
    "attention_over_heads": [Cause(mask=("",), of_n=(5, 6, 7), shares=False)],
    # Where the sizes differ, arrays are read so, and are right.
    "heads_after_tokens": [Cause(needs=("Q",), heads=(4,), of_n=(4,))],
    # Of three heads both are one.
    "fused_per_head": [Cause(heads=(2, 4))],
    "fused_in_three": [Cause(heads=(2, 4))],
}
"""What each cause needs."""


def drawn(cause: Cause, rng: np.random.Generator, dtype: str) -> tuple[Layer, dict[str, Any]]:
    """Return a layer, and the keys of its problem."""
    b, n = int(rng.integers(cause.batch, 4)), int(rng.choice(cause.of_n))
    heads = int(rng.choice(cause.heads))
    size = int(rng.integers(2, 6))
    size_v = 2 * size + 1 if cause.has_d_v else size
    d = int(heads * size + (0 if cause.keeps_width else rng.integers(0, 3)))
    cast = rounded(dtype)
    x = cast(rng.normal(size=(b, n, d)))
    groups = heads // 2 if cause.shares and heads == 4 and rng.random() < 0.3 else heads
    widths = heads * size, groups * size, groups * size_v
    shapes: dict[str, tuple[int, ...]] = {}
    for letter, width in zip("qkv", widths, strict=True):
        shapes |= {f"W_{letter}": (d, width), f"b_{letter}": (width,)}
    if cause.keeps_width or rng.random() < 0.5:
        shapes["W_o"] = heads * size_v, d
    matrices = {name: cast(rng.normal(size=shape) / d**0.5) for name, shape in shapes.items()}
    keys: dict[str, Any] = {"X": x.astype(float), "heads": heads, "kv_heads": groups}
    keys |= {name: matrix.astype(float) for name, matrix in matrices.items()}
    lengths, mask = None, None
    i, j = np.arange(n)[:, None], np.arange(n)
    match rng.choice(cause.mask):
        case "causal":
            mask, keys["mask"] = (j <= i)[None, None], "causal"
        case "lengths":
            lengths = np.array([n - 1, 2, n - 2])[:b] if b > 1 else np.array([n - 2])
            mask = np.broadcast_to(j < lengths[:, None, None, None], (b, 1, n, n))
            keys["mask"] = {"lengths": lengths.tolist()}
        case "window":
            mask = ((j <= i) & (j >= i - 1))[None, None]
            masks: list[Any] = [{"window": [1, 0]}, {"causal": True, "window": [1, -1]}]
            keys["mask"] = rng.choice(masks)
    if b == 1:
        keys["X"] = keys["X"][0]
    return Layer(x, matrices, heads, groups, mask, lengths), keys


def dump_of(steps: Steps, shown: tuple[str, ...], dtype: str, is_alone: bool) -> Steps:
    """Return some steps as a program stores them, without a batch of one element."""
    numbers = {name: steps[name].astype("f8" if dtype == "float64" else "f4") for name in shown}
    return {name: array[0] if is_alone else array for name, array in numbers.items()}


RIGHT = [Cause(), Cause(mask=("window",), has_d_v=True), Cause(keeps_width=True)]


OTHERS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "noise": lambda output, rng: output + rng.normal(size=output.shape) / 10,
    "a factor": lambda output, rng: output * 1.1,
    "features reversed": lambda output, rng: output[..., ::-1],
    "zeros": lambda output, rng: np.where(rng.random(output.shape) < 0.2, 0, output),
}
"""What makes an output wrong that is no cause."""


def report_on(
    id_: str, seed: int, other: Callable[[Array, np.random.Generator], Array] | None = None
) -> attncli.Report:
    """Return the report on one dump with a cause, or with none; `other` changes the output."""
    rng = np.random.default_rng([seed, *id_.encode()])
    causes = CAUSES.get(id_, RIGHT)
    cause = causes[seed % len(causes)]
    dtype = cause.dtypes[seed % len(cause.dtypes)]
    shown = [steps for steps in SHOWN if not cause.needs or {*cause.needs} & {*steps}]
    layer, keys = drawn(cause, rng, dtype)
    steps = steps_of(layer, cause.deviation or id_, dtype, rng)
    dump = dump_of(steps, shown[seed // 3 % len(shown)], dtype, is_alone=len(layer.x) == 1)
    if other:
        dump["output"] = other(dump["output"], rng)
    return attncli.check(attncli.Problem(**keys), dump, marking={"dtype": dtype})


def named(report: attncli.Report) -> set[str]:
    every = report.findings.values()
    return {one.id for finding in every for one in (finding, *finding.also)}


def assert_named(id_: str, seeds: range) -> None:
    assert [
        (seed, found) for seed in seeds if (found := named(report_on(id_, seed))) != {id_}
    ] == []


@pytest.mark.parametrize("id_", CAUSES)
def test_the_cause_is_named_and_no_other(id_: str) -> None:
    assert_named(id_, range(1000, 1003))


@pytest.mark.whole
@pytest.mark.parametrize("id_", CAUSES)
def test_the_cause_is_named_in_many_dumps(id_: str) -> None:
    assert_named(id_, range(20))


@pytest.mark.whole
def test_right_dumps_are_right() -> None:
    verdicts = {report_on("", seed).verdict for seed in range(200)}
    assert verdicts == {"correct"}


@pytest.mark.whole
@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_cause_is_not_named(other: str) -> None:
    assert all(named(report_on("", seed, OTHERS[other])) == set() for seed in range(25))

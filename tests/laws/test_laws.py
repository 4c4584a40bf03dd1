"""Laws that hold for every problem, tried on random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import attncli
from tests.mechanisms.table import in_columns, problem_of
from tests.mechanisms.test_attention import LAYOUTS, NORMALIZED, SCORED
from tests.oracles import reference
from tests.support.bounds import of_mixed

Keys = dict[str, Any]

SEEDS = st.integers(0, 2**32 - 1)
SIZE = st.integers(1, 4)


def numbers(seed: int, *shape: int) -> Any:
    """Return eighths between −3 and 3, none of them 0: their products are exact."""
    random = np.random.default_rng(seed)
    return random.choice([-1, 1], size=shape) * random.integers(1, 24, size=shape) / 8


def compute(keys: Keys, **more: Any) -> attncli.Trace:
    """Calculate; a problem whose numbers the functions are not defined for is passed over."""
    try:
        return attncli.compute(attncli.Problem(**keys | more))
    except attncli.InputError as error:
        # Random projections may meet in a zero vector, random scores in a sum of 0.
        if "is all zeros" in str(error) or "sum to 0" in str(error):
            reject()
        raise


WEIGHTS = 8 * float(np.finfo(float).eps)
"""Two right weights differ by this share at most: each is within 4 ulp (test_precision.py)."""


def close(found: Any, expected: Any, relative: float = 1e-12) -> None:
    """Compare relative to the largest number: random sums may cancel.

    The sums have at most ten terms, each of which may add a distance of ε = 2.2e-16 of the largest;
    1e-12 leaves room for sums that cancel to a four-hundredth of it.
    """
    finite = np.abs(expected)[np.isfinite(expected)]
    largest = float(finite.max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=relative, atol=relative * largest)


@st.composite
def masks(draw: st.DrawFn, n: int, m: int, batch: int) -> Keys:
    """Any forms together."""
    mask: Keys = {}
    if draw(st.booleans()):
        mask |= {"causal": True, "align": draw(st.sampled_from(["top-left", "bottom-right"]))}
    elif draw(st.booleans()):
        mask["offset"] = draw(st.integers(-2, 3))
        mask["causal"] = draw(st.booleans())
    if draw(st.booleans()):
        mask["window"] = [draw(st.integers(-1, 3)), draw(st.integers(-1, 3))]
    for form in ("keep", "block"):
        if draw(st.integers(0, 3)) == 0:
            rows = draw(st.sampled_from([n, n, 1]))
            row = st.lists(st.sampled_from([1, 1, 1, 0]), min_size=m, max_size=m)
            kept = draw(st.lists(row, min_size=rows, max_size=rows))
            mask[form] = [[cell ^ (form == "block") for cell in row] for row in kept]
    if draw(st.integers(0, 3)) == 0:
        length = st.integers(0, m)
        mask["lengths"] = draw(st.lists(length, min_size=batch, max_size=batch) | length)
    return mask


ROWS = [row for row in (*LAYOUTS.values(), *SCORED) if "past.K" not in row.get("shapes", {})]
NORMALIZATIONS = st.sampled_from([row for row in NORMALIZED if "sink" not in row])


@st.composite
def problems(draw: st.DrawFn) -> Keys:
    """A problem of any layout or score function with any mask, normaliser and extras."""
    keys = problem_of(draw(st.sampled_from(ROWS)), draw(SEEDS))
    keys.pop("bias", None)
    heads = keys.setdefault("heads", 1)
    n = np.shape(next(keys[key] for key in ("scores", "Q", "X") if key in keys))[-2]
    m = np.shape(next(keys[key] for key in ("K", "V", "memory", "X") if key in keys))[-2]
    batch = len(keys["X"]) if np.ndim(keys.get("X", 0)) == 3 else 1
    axis = draw(st.sampled_from(["keys", "keys", "queries"]))
    keys["normalize"] = draw(NORMALIZATIONS) | {"axis": axis}
    keys["mask"] = draw(masks(n, m, batch))
    if "scores" not in keys and "score" not in keys:
        keys |= draw(st.sampled_from([{}, {}, {"scale": "1/d_k"}, {"scale": "1/sqrt(n*m)"}]))
    if draw(st.integers(0, 3)) == 0:
        keys["softcap"] = draw(st.sampled_from([0.5, 2, 30]))
    if draw(st.integers(0, 2)) == 0:
        lead = (1, heads) if heads > 1 and draw(st.booleans()) else ()
        bias = numbers(draw(SEEDS), *lead, draw(st.sampled_from([n, 1])), m)
        keys["bias"] = np.where(bias < -2, -np.inf, bias)
    return keys


@given(problems())
def test_any_problem_is_as_in_exact_arithmetic(keys: Keys) -> None:
    """Every step, near enough to 50 digits; a choice among ties may fall otherwise."""
    assume(keys["normalize"]["name"] not in ("hardmax", "sum"))
    trace = compute(keys)
    assume(not any("beyond" in warning for warning in trace.warnings))
    expected = reference.solve(**keys)
    assert list(trace.steps) == list(expected)
    for step in trace:
        want = reference.floats(expected[step.name])
        places = tuple(slice(None) if a in step.axes else None for a in ("batch", "head"))
        close(np.broadcast_to(step.value[places], want.shape), want)


# Scores and masks.


@given(SEEDS, SIZE, SIZE, st.integers(-(2**20), 2**20), NORMALIZATIONS)
def test_softmax_ignores_a_constant_added_to_a_row(
    seed: int, n: int, m: int, added: int, how: Keys
) -> None:
    """Of eighths and whole numbers, so that the additions are exact."""
    how = how | {"name": "softmax", "axis": "keys"}
    scores = numbers(seed, n, m)
    offsets = np.arange(n)[:, None] * added / 8
    keys = {"V": np.eye(m), "normalize": how}
    plain, moved = compute(keys, scores=scores), compute(keys, scores=scores + offsets)
    np.testing.assert_allclose(moved["weights"].value, plain["weights"].value, WEIGHTS)


@given(SEEDS, SIZE, SIZE)
def test_a_causal_row_is_the_last_one_of_a_sentence_that_ends_there(
    seed: int, n: int, d: int
) -> None:
    """Of attention without a mask: what comes later changes nothing of what came before."""
    x = numbers(seed, n, d)
    causal = compute({"X": x, "mask": "causal"})
    allowed = of_mixed(causal)[0, 0]
    for length in range(1, n + 1):
        last = compute({"X": x[:length]}).output[-1]
        assert (np.abs(last - causal.output[length - 1]) <= allowed[length - 1]).all()


@given(problems())
def test_weights_sum_to_one_unless_all_are_blocked(keys: Keys) -> None:
    """Along the axis asked for; with all blocked they are 0, and a warning says so."""
    assume(keys["normalize"]["name"] in ("softmax", "hardmax", "sparsemax"))
    trace = compute(keys)
    weights = trace["weights"].value
    along = -1 if keys["normalize"]["axis"] == "keys" else -2
    sums = weights.sum(axis=along)
    assert (weights >= 0).all()
    assert ((np.abs(sums - 1) <= 4e-16 * weights.shape[along]) | (sums == 0)).all()
    assert (sums == 0).any() == any("blocked" in warning for warning in trace.warnings)


# Conventions and orders.


def assert_columns_are_rows_transposed(keys: Keys) -> None:
    rows, columns = compute(keys), compute(in_columns(keys))
    assert list(columns.steps) == list(rows.steps)
    for step in rows:
        other = columns[step.name]
        first = 2 if step.name == "hidden" else 1
        turned = np.swapaxes(step.value, -first - 1, -first)
        np.testing.assert_allclose(other.value, turned, 1e-13, 1e-13, err_msg=step.name)
        axes = list(step.axes)
        axes[-first - 1], axes[-first] = axes[-first], axes[-first - 1]
        assert list(other.axes) == axes
    assert len(columns.warnings) == len(rows.warnings)


@given(problems())
def test_columns_are_rows_transposed_in_every_step(keys: Keys) -> None:
    assume("scores" not in keys)
    assert_columns_are_rows_transposed(keys)


@pytest.mark.parametrize("row", LAYOUTS.values(), ids=list(LAYOUTS))
def test_columns_are_rows_transposed_in_every_layout(row: Keys) -> None:
    """Known scores are transposed, too; a list of bias vectors stays as it is."""
    assert_columns_are_rows_transposed(problem_of(row))


@given(problems(), SEEDS)
def test_order_of_keys_and_values_changes_nothing(keys: Keys, seed: int) -> None:
    """Permuted together, with everything that stands beside them; positions have no part in it."""
    assume({"K", "scores"} & {*keys} and keys["normalize"]["name"] != "hardmax")
    m = np.shape(keys["V"])[-2]
    order = np.random.default_rng(seed).permutation(m)
    mask = {form: part for form, part in keys["mask"].items() if form in ("keep", "block")}
    keys = keys | {"mask": mask}
    moved = dict(keys)
    for name, axis in (("K", -2), ("V", -2), ("scores", -1), ("bias", -1)):
        if name in keys:
            moved[name] = np.take(keys[name], order, axis=axis)
    moved["mask"] = {form: np.take(part, order, axis=-1) for form, part in mask.items()}
    close(compute(moved).output, compute(keys).output)

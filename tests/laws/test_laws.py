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
from tests.support.bounds import of_mixed, share_of_bound

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


EPSILON = float(np.finfo(float).eps)
WEIGHTS = 8 * EPSILON
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


# One mechanism equals another.


@given(SEEDS, SIZE, SIZE, SIZE, st.booleans())
def test_concat_with_w_beside_u_is_additive(seed: int, d: int, e: int, h: int, b: bool) -> None:
    keys = {"Q": numbers(seed, 3, d), "K": numbers(seed + 1, 2, e), "V": np.eye(2)}
    w, u, v = numbers(seed + 2, h, d), numbers(seed + 3, h, e), numbers(seed + 4, h)
    bias = {"b": numbers(seed + 5, h)} if b else {}
    additive = compute(keys, score={"name": "additive", "W": w, "U": u, "v": v} | bias)
    joined = {"name": "concat", "W": np.concatenate([w, u], axis=1), "v": v} | bias
    concat = compute(keys, score=joined)
    for step in additive:
        close(concat[step.name].value, step.value)


@given(SEEDS, SIZE, SIZE, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_cosine_ignores_the_length_of_a_vector(
    seed: int, n: int, d: int, of_q: float, of_k: float
) -> None:
    q, k = numbers(seed, n, d), numbers(seed + 1, 3, d)
    plain = compute({"Q": q, "K": k, "V": np.eye(3), "score": "cosine"})
    longer = compute({"Q": q * of_q, "K": k * of_k, "V": np.eye(3), "score": "cosine"})
    # Each is within (d + 4)·ε of the exact one: the products, both lengths, and the division.
    allowed = 2 * (d + 4) * EPSILON
    np.testing.assert_allclose(longer["scores"].value, plain["scores"].value, atol=allowed)
    assert (np.abs(plain["scores"].value) <= 1 + allowed).all()


@pytest.mark.parametrize("of_q", [1e-200, 1e-160, 1e160, 1e200])
def test_cosine_ignores_even_an_extreme_length(of_q: float) -> None:
    q = np.array([[3, 4], [4, -3]]) * of_q
    trace = compute({"Q": q, "K": [[1, 0]], "V": [[1]], "score": "cosine"})
    np.testing.assert_allclose(trace["scores"].value, [[0.6], [0.8]], rtol=1e-14)


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


# Masks.


@given(SEEDS, SIZE, SIZE)
def test_last_causal_row_is_the_unmasked_one(seed: int, n: int, d: int) -> None:
    keys = {"X": numbers(seed, n, d)}
    causal, free = compute(keys, mask="causal"), compute(keys)
    np.testing.assert_array_equal(causal["weights"].value[-1], free["weights"].value[-1])
    np.testing.assert_array_equal(causal.output[-1], free.output[-1])
    np.testing.assert_array_equal(causal["weights"].value[0], np.eye(n)[0])


@given(SEEDS, SIZE, SIZE)
def test_causal_rows_are_those_of_the_shorter_sentence(seed: int, n: int, d: int) -> None:
    """What comes later changes nothing of what came before."""
    x = numbers(seed, n, d)
    whole = compute({"X": x, "mask": "causal"})
    allowed = of_mixed(whole)[0, 0]
    for length in range(1, n + 1):
        part = compute({"X": x[:length], "mask": "causal"}).output
        assert (np.abs(part - whole.output[:length]) <= allowed[:length]).all()


@given(SEEDS, SIZE, SIZE, st.integers(0, 3))
def test_cached_keys_with_an_offset_are_the_last_rows_of_all(
    seed: int, new: int, d: int, cached: int
) -> None:
    """With `offset` and with `align: bottom-right` alike."""
    x = numbers(seed, cached + new, d)
    whole = compute({"X": x, "mask": "causal"})
    keys = {"Q": x[cached:], "K": x, "V": x}
    for aligned in ({"offset": cached}, {"align": "bottom-right"}):
        output = compute(keys, mask={"causal": True} | aligned).output
        assert (np.abs(output - whole.output[cached:]) <= of_mixed(whole)[0, 0, cached:]).all()


@given(SEEDS, SIZE, SIZE, st.integers(1, 4))
def test_padding_of_given_length_is_as_if_it_were_not_there(
    seed: int, n: int, real: int, padding: int
) -> None:
    k, v = numbers(seed + 1, real + padding, 2), numbers(seed + 2, real + padding, 2)
    q = numbers(seed, n, 2)
    padded = compute({"Q": q, "K": k, "V": v, "mask": {"lengths": real}})
    short = compute({"Q": q, "K": k[:real], "V": v[:real]})
    np.testing.assert_allclose(padded["weights"].value[:, :real], short["weights"].value, WEIGHTS)
    assert share_of_bound(padded, short) <= 1


@given(problems())
def test_blocked_weights_are_exactly_zero(keys: Keys) -> None:
    trace = compute(keys)
    before = [trace[name] for name in ("biased", "masked") if name in trace]
    assume(before and "weights" in trace)
    blocked, weights = np.broadcast_arrays(before[-1].value == -np.inf, trace["weights"].value)
    assert (weights[blocked] == 0).all()


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


@given(problems(), SEEDS)
def test_order_of_queries_is_the_order_of_outputs(keys: Keys, seed: int) -> None:
    assume("Q" in keys and keys["normalize"]["name"] != "hardmax")
    keys = {key: part for key, part in keys.items() if key not in ("mask", "bias")}
    order = np.random.default_rng(seed).permutation(np.shape(keys["Q"])[-2])
    moved = compute(keys | {"Q": np.take(keys["Q"], order, axis=-2)})
    close(moved.output, np.take(compute(keys).output, order, axis=-2))


@given(problems())
def test_elements_of_a_batch_know_nothing_of_each_other(keys: Keys) -> None:
    assume(not {"X", "Q"} <= {*keys})  # whose first axis is that of heads
    names = [k for k in ("X", "memory", "Q", "K", "V", "scores") if k in keys]
    extra = 4 if keys["heads"] > 1 and "X" not in keys else 3
    batched = [name for name in names if np.ndim(keys[name]) == extra]
    assume(batched)
    whole = compute(keys).output
    for b in range(len(keys[batched[0]])):
        one = keys | {name: keys[name][b] for name in batched}
        lengths = keys["mask"].get("lengths")
        if isinstance(lengths, list):
            one["mask"] = keys["mask"] | {"lengths": lengths[b % len(lengths)]}
        close(compute(one).output, whole[b])

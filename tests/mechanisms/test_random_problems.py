"""Random problems of every kind are right, or refused, whatever the size of their numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.calculation.compute import compute
from attncli.core.errors import InputError
from tests.conftest import DATA
from tests.mechanisms.table import Keys, is_array
from tests.oracles import reference

mp = reference.mp
Numbers = np.ndarray[Any, Any]

PROBLEMS = DATA / "recorded" / "exact_problems.jsonl"
"""Problems of every kind, of ordinary and of extreme size, with the right numbers in 40 digits.

They were drawn at random. Beside each number is the largest error that floats may have, derived
from the sizes that were added; None for any.
"""


def with_arrays(value: Any, dtype: str) -> Any:
    """Return a value with arrays of a type for its lists, but for those of whole numbers."""
    if isinstance(value, dict):
        whole = ("keep", "ids", "sections")
        return {k: x if k in whole else with_arrays(x, dtype) for k, x in value.items()}
    if isinstance(value, list) and isinstance(value[0], dict):
        return [with_arrays(one, dtype) for one in value]
    return np.array(value, dtype) if isinstance(value, list) else value


def exact_cases() -> Iterator[tuple[Keys, attncli.Problem]]:
    for line in PROBLEMS.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        yield case, attncli.Problem(**with_arrays(case["keys"], case["dtype"]))


def with_fixed_scale(keys: Keys) -> Keys:
    """Return the keys with a scale without exponents, which the oracle does not read."""
    times, _, over = keys["scale"].partition("/")
    factor = mp.mpf(times) / mp.mpf(over or 1)
    return keys | {"scale": mp.nstr(factor, 60, min_fixed=-mp.inf, max_fixed=mp.inf)}


def exact(given: Any) -> Numbers:
    return np.array(reference.exact(given), object)


def worked(keys: Keys) -> Keys:
    """Return every step in 50 digits, and what is inside of a step, named as messages name it."""
    found = {name: exact(heads) for name, (heads,) in reference.solve(**keys).items()}
    given = {key: exact(part) for key, part in keys.items() if is_array(part)}
    of_keys = "memory" if keys["kind"] == "cross" else "X"
    for key, source in (("W_q", "X"), ("W_k", of_keys), ("W_v", of_keys)):
        if key in keys:
            found[f"{source} {key}"] = given[source] @ given[key]
    if keys["kind"] == "pooling" and "W" in keys:
        found["X Wᵀ"] = given["X"] @ given["W"].T
    for t, word in enumerate(given["X"]) if keys["kind"] == "recurrent" else ():
        context = found[f"c_{t}"][0, 0] if t else 0 * given["A"][:, 0]
        found[f"A [x_{t + 1}; c_{t}]"] = given["A"] @ np.concatenate([word, context])
    for q, k in compared(keys, given, found):
        found |= inside(q, k, keys["score"])
    last = "concat" if "concat" in found else "context"
    if "W_o" in keys:
        found[f"{last} W_o"] = found[last][0] @ given["W_o"]
    if "W_c" in keys:
        joined = np.concatenate([found["output"][0], given["X"]], 1)
        found["[output; X] W_cᵀ"] = joined @ given["W_c"].T
    return found


def compared(keys: Keys, given: Keys, found: Keys) -> list[tuple[Numbers, Numbers]]:
    """Return the queries and the keys of which scores are made, of each head."""
    if keys["kind"] == "co_attention":
        return [(given["X"], given["memory"])]
    if keys["kind"] == "pooling":
        return [(given["u"].reshape(1, -1), found["hidden"][0] if "W" in keys else given["X"])]
    q, k = (found.get(name, []) for name in "QK")
    return [(rows, k[h * len(k) // len(q)]) for h, rows in enumerate(q)]


def inside(q: Numbers, k: Numbers, score: Keys) -> Keys:
    """Return the products inside of scores, named as messages name them."""
    parts = {key: exact(part) for key, part in score.items() if is_array(part)}
    if score["name"] == "general":
        return {"Q W": q @ parts["W"]}
    if score["name"] == "concat":
        pairs = np.array([[*a, *b] for a in q for b in k])
        return {"[q; k] Wᵀ": pairs @ parts["W"].T}
    return {"Q Wᵀ": q @ parts["W"].T, "K Uᵀ": k @ parts["U"].T} if "U" in parts else {}


def reasons_to_refuse(keys: Keys, dtype: str) -> set[str]:
    """Return what floats cannot hold: a division by 0, or steps with a number beyond the largest.

    Powers of e and their sum are shifted where they are too large, which is no reason.
    """
    about = np.finfo(dtype)
    most, least = mp.mpf(float(about.max)), mp.mpf(float(about.smallest_subnormal))
    try:
        steps = worked(with_fixed_scale(keys))
    except ZeroDivisionError:  # of a cosine
        return {"all zeros"}
    is_sum = keys["normalize"]["name"] == "sum"
    sums = [step for name, step in steps.items() if name.startswith("sum")] if is_sum else []
    if any(abs(total) < least for step in sums for total in np.ravel(step)):
        return {"sum to 0"}
    left_out = () if is_sum else ("exp", "sum")
    sizes = {
        name: max((abs(x) for x in np.ravel(numbers) if x != -mp.inf), default=0)
        for name, numbers in steps.items()
        if not name.startswith(left_out)
    }
    return {name for name, size in sizes.items() if size > most}


ZEROS = {"all zeros", "sum to 0"}
BEYOND = re.compile(r"(?:\w+ is made of (.*), which|(\w+)) holds a number that is beyond what a fl")


def test_random_problems_are_right_or_refused() -> None:
    """Refused are exactly those of which an oracle cannot hold a number in a float, by its name."""
    for number, (case, problem) in enumerate(exact_cases(), 1):
        if reasons := reasons_to_refuse(case["keys"], case["dtype"]):
            with pytest.raises(InputError) as refused:
                attncli.compute(problem)
            said = str(refused.value)
            named = BEYOND.match(said)
            word = named[1] or named[2] if named else said
            assert word in reasons or (reasons <= ZEROS and any(zero in said for zero in reasons))
            continue
        trace = attncli.compute(problem)
        for name, heads in case["steps"].items():
            array = trace[name].array
            assert array.dtype == case["dtype"], name
            for head, (right, bounds) in enumerate(heads):
                numbers = array[0, min(head, array.shape[1] - 1)].ravel().astype(float)
                most = np.array([np.inf if bound is None else bound for bound in bounds])
                off = np.abs(numbers - right) - np.spacing(np.abs(right))
                assert np.isfinite(numbers).all(), f"{name} of line {number}"
                assert (off <= most * (1 + 1e-9)).all(), f"{name} of line {number}: {numbers}"


@pytest.mark.parametrize("key", ["scale", "softcap", "normalize"])
def test_a_number_that_float32_cannot_hold_is_refused(key: str) -> None:
    """Divided by ∞, every score would be 0."""
    x = np.array([[3e18], [1e18]], np.float32)
    value: Any = {"scale": "1/1e39", "softcap": 1e39, "normalize": {"temperature": 1e39}}[key]
    with pytest.raises(InputError, match="beyond what a float can hold"):
        attncli.compute(attncli.Problem(X=x, score="dot", **{key: value}))


def test_sparsemax_of_float32_differences_whose_sum_overflows() -> None:
    """In double precision 4 · −2.5e38 is above a sum of float32 that is −∞ already."""
    scores = np.array([[-1.26e38, -8.4e37, -2.5e38, 0]], np.float32)
    problem = attncli.Problem(scores=scores, V=np.eye(4, dtype="f4"), normalize="sparsemax")
    assert attncli.compute(problem)["weights"].value.tolist() == [[0, 0, 0, 1]]


Q, K, V = np.array([[3, 4], [1, -2.0]]), np.array([[1, 1], [2, 0.5], [0, 3.0]]), [[1.0], [2], [4]]


def scaled_by_powers_of_two(of_q: int, of_k: int, score: Any) -> attncli.Trace:
    """Return the gradient of a problem whose vectors are 2^n times as long: exactly, in floats."""
    q, k = np.ldexp(Q, of_q), np.ldexp(K, of_k)
    return attncli.compute(attncli.Problem(Q=q, K=k, V=V, score=score, gradient="sum"))


@pytest.mark.parametrize("exponent", [-600, -200, 200, 600])
def test_gradients_of_a_cosine_are_smaller_where_vectors_are_longer(exponent: int) -> None:
    """The cosine ignores lengths, so 2^n X has 2^−n of the derivative."""
    plain, long = (scaled_by_powers_of_two(n, 0, "cosine") for n in (0, exponent))
    np.testing.assert_array_equal(long["scores"].array, plain["scores"].array)
    np.testing.assert_array_equal(np.ldexp(long["d_Q"].array, exponent), plain["d_Q"].array)
    np.testing.assert_array_equal(long["d_K"].array, plain["d_K"].array)
    assert plain["d_Q"].array.all()


@pytest.mark.parametrize("exponent", [-600, 600])
def test_distances_and_their_gradients_depend_on_the_width_alone(exponent: int) -> None:
    """2^n of all vectors and of the width: the same scores, and 2^−n of the derivatives."""
    plain, large = (
        scaled_by_powers_of_two(n, n, {"name": "distance", "width": 2.0**n}) for n in (0, exponent)
    )
    np.testing.assert_array_equal(large["scores"].array, plain["scores"].array)
    for name in ("d_Q", "d_K"):
        np.testing.assert_array_equal(np.ldexp(large[name].array, exponent), plain[name].array)


def test_all_steps_are_judged_by_their_own_numbers(tmp_path: Any) -> None:
    """2·2 − 1 is 3 everywhere, though 1·1 − 1 would be a sum of 0."""
    matrix = ", ".join(["[2]"] * 512)
    path = tmp_path / "hw.yaml"
    path.write_text(f"X: [{matrix}]\nscore: dot\nbias: -1\nnormalize: sum\n")
    problem = attncli.load(path)
    assert compute(problem).output[0, 0] == 2

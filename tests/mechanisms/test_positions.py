"""Positions: numbers of the papers, laws, and every step against 50 digits.

`python -m benchmarks.surveys.positions 300` tries so many random problems and prints the worst
error, as a share of the largest term that was added.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.formulas.text import text
from attncli.core.problem.key_values import hint_for
from tests.conftest import DATA, Attn
from tests.oracles import positions as oracle

Keys = dict[str, Any]
law = settings(max_examples=25, deadline=None, derandomize=True)
SEEDS = st.integers(0, 2**32 - 1)

ALLOWED = 1e-12
EXPRESSIONS = {
    "-0.5*abs(i - j)": lambda i, j, h: -mpmath.mpf("0.5") * abs(i - j),
    "-abs(i - j)/2^h": lambda i, j, h: -mpmath.mpf(abs(i - j)) / 2**h,
    "sqrt(i)*exp(-j) + h": lambda i, j, h: mpmath.sqrt(i) * mpmath.exp(-j) + h,
}


LINES = DATA / "recorded" / "position_problems.jsonl"
PROBLEMS: list[Keys] = [json.loads(line) for line in LINES.read_text("utf-8").splitlines()]
"""Problems with one or two kinds of positions."""


def written_out(keys: Keys) -> Keys:
    """Return a problem with a function for its bias expression."""
    return keys | ({"bias": EXPRESSIONS[keys["bias"]]} if "bias" in keys else {})


def worst(keys: Keys) -> float:
    """Return the largest error of any step, as a share of the largest term that was added."""
    with mpmath.workdps(50):
        numbers = {k: v for k, v in keys.items() if _is_numbers(k)}
        exact = oracle.solve(written_out(keys) | {k: oracle.exact(v) for k, v in numbers.items()})
        trace, errors = attncli.compute(attncli.Problem(**keys)), [0.0]
        terms = {name: np.array(rows, float) for name, rows in exact.items()}
        sizes = {name: np.abs(rows).max() for name, rows in terms.items()}
        turned = sizes.get("Q_rotated", sizes["Q"]) * sizes.get("K_rotated", sizes["K"])
        size = max(1.0, turned * terms["Q"].shape[-1], *(sizes[n] for n in ("scores", "biased")))
        for name in (name for name in exact if name in trace):
            right = np.array(exact[name], object).reshape(-1)
            found = trace[name].array.reshape(-1)
            off = max(
                abs(float(mpmath.mpf(float(f)) - r)) for f, r in zip(found, right, strict=True)
            )
            largest = max(1.0, sizes[name])
            if name in ("scores", "biased"):
                largest = size
            elif name in ("weights", "output"):
                largest = size * max(1.0, sizes["V"])
            errors.append(off / largest)
    return max(errors)


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_every_step_is_right_to_its_last_digits(number: int) -> None:
    assert worst(PROBLEMS[number]) < ALLOWED


def test_the_published_sinusoidal_table() -> None:
    """The table for 4 tokens, 4 features and the base 100 (published by others to 8 digits)."""
    problem = attncli.Problem(X=[[0] * 4] * 4, positions={"name": "sinusoidal", "base": 100})
    published: Any = [
        [0, 1, 0, 1],
        [0.84147098, 0.54030231, 0.09983342, 0.99500417],
        [0.90929743, -0.41614684, 0.19866933, 0.98006658],
        [0.14112001, -0.9899925, 0.29552021, 0.95533649],
    ]
    np.testing.assert_allclose(attncli.compute(problem)["positions"].value, published, atol=5e-9)


def random_rows(seed: int, n: int, d: int) -> Any:
    return np.random.default_rng(seed).uniform(-2, 2, (n, d))


@law
@given(SEEDS, st.integers(-50, 50), st.sampled_from(["neighbours", "halves"]))
def test_a_rotation_keeps_lengths(seed: int, start: int, pairs: str) -> None:
    rope = {"name": "rope", "start": start, "pairs": pairs, "base": 50}
    trace = attncli.compute(attncli.Problem(X=random_rows(seed, 3, 6), positions=rope))
    for name in "QK":
        lengths = np.linalg.norm(trace[name].value, axis=-1)
        np.testing.assert_allclose(np.linalg.norm(trace[f"{name}_rotated"].value, axis=-1), lengths)


@law
@given(SEEDS, st.integers(0, 40), st.integers(0, 40), st.integers(-20, 20))
def test_scores_depend_on_distances_alone(seed: int, q: int, k: int, shift: int) -> None:
    """Also with the numbers of queries and keys counted from elsewhere."""
    x = random_rows(seed, 3, 4)

    def scores(starts: list[int]) -> Any:
        positions = {"name": "rope", "start": starts, "base": 100}
        return attncli.compute(attncli.Problem(X=x, positions=positions))["scores"].value

    np.testing.assert_allclose(scores([q, k]), scores([q + shift, k + shift]), atol=1e-11)


def test_rope_of_a_later_token_is_that_of_all_tokens() -> None:
    x = random_rows(1, 5, 4)
    whole = attncli.compute(attncli.Problem(X=x, positions="rope", mask="causal"))
    last = attncli.Problem(Q=x[4:], K=x, V=x, positions={"name": "rope", "start": [4, 0]})
    np.testing.assert_allclose(attncli.compute(last).output[0], whole.output[4], rtol=1e-12)


def test_each_element_of_a_batch_is_turned_alike() -> None:
    x = random_rows(1, 6, 4)
    both = attncli.compute(attncli.Problem(X=x.reshape(2, 3, 4), positions=["rope", "sinusoidal"]))
    for place, rows in enumerate((x[:3], x[3:])):
        alone = attncli.compute(attncli.Problem(X=rows, positions=["rope", "sinusoidal"]))
        np.testing.assert_allclose(both.output[place], alone.output, rtol=1e-12)
    assert both["positions"].axes == ("query", "model")


@pytest.mark.parametrize("positions", ["rope", "sinusoidal", {"name": "rope", "features": 2}])
def test_columns_are_transposed_rows(positions: Any) -> None:
    x, w = random_rows(2, 3, 4), random_rows(3, 4, 4)
    rows = attncli.compute(attncli.Problem(X=x, W_q=w, positions=positions))
    columns = attncli.Problem(X=x.T, W_q=w.T, positions=positions, tokens_as="columns")
    for step in attncli.compute(columns):
        np.testing.assert_allclose(step.value, rows[step.name].value.T, rtol=1e-12)


def test_only_some_features_are_turned() -> None:
    problem = attncli.Problem(X=random_rows(4, 3, 6), positions={"name": "rope", "features": 4})
    trace = attncli.compute(problem)
    np.testing.assert_array_equal(trace["Q_rotated"].value[:, 4:], trace["Q"].value[:, 4:])
    assert trace["angles"].value.shape == (3, 2)


SLOPES = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [2**-4, 2**-8, 2**-2],
    4: [2**-2, 2**-4, 2**-6, 2**-8],
    5: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1],
    6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3],
    7: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3, 2**-5],
    8: [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8],
    **{
        heads: [2.0**-p for p in range(1, 9)] + [2.0 ** -(p + 0.5) for p in range(heads - 8)]
        for heads in range(9, 13)
    },
}
"""What `get_slopes` of the authors' code prints for each number of heads."""


@pytest.mark.parametrize("heads", SLOPES)
def test_the_published_slopes(heads: int) -> None:
    x = np.zeros((2, heads))
    trace = attncli.compute(attncli.Problem(X=x, heads=heads, positions="alibi"))
    found = -trace["biased"].array[0, :, 0, 1]
    np.testing.assert_allclose(found, SLOPES[heads], rtol=1e-15)


@law
@given(SEEDS, st.integers(0, 6), st.sampled_from(["alibi", "relative"]))
def test_a_shift_of_queries_and_keys_changes_no_bias(seed: int, more: int, name: str) -> None:
    """A cache: so many keys come before, of which none is seen."""
    positions: Any = (
        {"name": "relative", "table": [3, 1, 0, -1, -2]} if name == "relative" else name
    )
    x = random_rows(seed, 4, 4)
    alone = attncli.compute(attncli.Problem(Q=x, K=x, V=x, positions=positions))
    keys = np.concatenate([random_rows(seed + 1, more, 4), x]) if more else x
    keep = [[0] * more + [1] * 4] * 4
    mask = {"keep": keep, "offset": more, "causal": False}
    later = attncli.Problem(Q=x, K=keys, V=keys, positions=positions, mask=mask)
    np.testing.assert_allclose(attncli.compute(later).output, alone.output, rtol=1e-9)


def test_a_bias_expression_is_the_matrix_of_its_values() -> None:
    x = random_rows(5, 3, 4)
    matrix = [[-0.5 * abs(i - j) for j in range(3)] for i in range(3)]
    by_matrix = attncli.compute(attncli.Problem(X=x, bias=matrix))
    by_formula = attncli.compute(attncli.Problem(X=x, bias="-0.5*abs(i - j)"))
    np.testing.assert_allclose(by_formula.output, by_matrix.output, rtol=1e-15)
    assert by_formula["biased"].formula == "biased = scaled − 0.5·|i − j|"


WEIGHTS = ("X", "W_q", "W_k", "W_v")


@pytest.mark.parametrize("keys", [*PROBLEMS[:6], *PROBLEMS[25:27]])
def test_gradients_are_those_of_differences_in_50_digits(keys: Keys) -> None:
    trace = attncli.compute(attncli.Problem(**keys, gradient="sum"))
    with mpmath.workdps(50):
        known = written_out(keys).items()
        exact = {k: oracle.exact(v) if _is_numbers(k) else v for k, v in known}
        exact["positions"] = [dict(p) for p in oracle.listed(keys["positions"])]

        def loss() -> Any:
            return mpmath.fsum(x for row in oracle.solve(exact)["output"][0] for x in row)

        places = [(name, exact[name]) for name in WEIGHTS]
        for p in exact["positions"]:
            for part in ("P", "table"):
                if part in p:
                    p[part] = oracle.exact(p[part])
                    places.append((f"positions.{part}", p[part]))
        for name, numbers in places:
            if f"d_{name}" not in trace:
                continue
            found, right = trace[f"d_{name}"].value, []
            rows = numbers if isinstance(numbers[0], list) else [numbers]
            for row in rows:
                for place, number in enumerate(row):
                    ends = []
                    for sign in (1, -1):
                        row[place] = number + sign * mpmath.mpf(10) ** -15
                        ends.append(loss())
                    row[place] = number
                    right.append(float((ends[0] - ends[1]) / (2 * mpmath.mpf(10) ** -15)))
            largest = max(1.0, np.abs(right).max())
            assert np.abs(found.ravel() - right).max() < 1e-9 * largest, (name, keys)


def _is_numbers(key: str) -> bool:
    return key in ("X", "memory") or key[:2] == "W_"


MANY: list[Keys] = [
    {"positions": "rope"},
    {"positions": {"name": "rope", "features": 2, "pairs": "halves"}},
    {"positions": "alibi", "heads": 2},
    {"positions": ["rope", {"name": "relative", "table": [3, 1, 0, -1, -2]}]},
    {"positions": "alibi", "score": "distance", "normalize": "sparsemax"},
    {"bias": "-abs(i - j)/2^h + 0.1*j/m", "heads": 2},
]


@pytest.mark.parametrize("more", MANY)
def test_many_tokens_take_tiles(more: Keys) -> None:
    """Queries and keys are turned before; what is added is made for each tile."""
    keys: Keys = {"X": random_rows(0, 600, 4), "mask": "causal"} | more
    whole = attncli.compute(attncli.Problem(**keys))
    tiled = attncli.compute(attncli.Problem(**keys), only="output")
    assert "streamed" in tiled.path
    assert "scores" not in tiled
    np.testing.assert_allclose(tiled.output, whole.output, rtol=1e-9)


ROPE: Keys = {"X": [[1, 2, 3, 4], [0, 1, 1, 0]], "positions": "rope"}


def test_a_rotation_is_explained_as_in_a_textbook() -> None:
    trace = attncli.compute(attncli.Problem(**ROPE))
    assert attncli.explain(trace, "angles[2, 2]").line == "angles[2, 2] = 1/100 = 0.01"
    assert attncli.explain(trace, "cos[2, 1]").line == "cos[2, 1] = cos 1 = 0.5403"
    expected = (
        "Q_rotated[2, 1] = Q[2, 1]·cos[2, 1] − Q[2, 2]·sin[2, 1]"
        " = 0·cos 1 − 1·sin 1 = 0·0.5403 − 1·0.8415 = -0.8415"
    )
    assert attncli.explain(trace, "Q_rotated[2, 1]").line == expected


@pytest.mark.parametrize(
    ("more", "pairs"),
    [
        ({}, "pairs (1, 2), (3, 4)"),
        ({"pairs": "halves"}, "pairs (1, 3), (2, 4)"),
        ({"features": 2}, "pairs (1, 2)"),
    ],
)
def test_a_page_says_which_features_are_a_pair(more: Keys, pairs: str) -> None:
    keys: Keys = {"X": [[1, 2, 3, 4]], "positions": {"name": "rope", **more}}
    note = attncli.compute(attncli.Problem(**keys))["Q_rotated"].note
    assert note is not None
    assert text(note) == pairs


def test_a_pair_that_was_not_turned_is_wrong() -> None:
    """An angle of 0.01 that is rounded to 0 is no rounding: the second pair stays as it is."""
    x = np.array([[4, 3, 5, 1], [1, 2, 6, 4]])
    turned = x.astype(float)
    turned[1, :2] = [np.cos(1) - 2 * np.sin(1), np.sin(1) + 2 * np.cos(1)]
    shown = {"Q_rotated": [[f"{number:.4f}" for number in row] for row in turned]}
    report = attncli.check(attncli.Problem(X=x, positions="rope"), shown)
    assert (report.verdict, report.first_wrong_step) == ("wrong", "Q_rotated")
    assert report.steps["Q_rotated"].counts["wrong"] == 2


@pytest.mark.parametrize("decimals", [2, 4])
def test_cosines_and_sines_may_be_rounded(decimals: int) -> None:
    """As a hand looks them up: cos 2 = −0.4161 and sin 2 = 0.9093, then multiplies."""
    x = np.array([[4, 3], [1, 2], [5, 6]])
    turned = []
    for t, (a, b) in enumerate(x.tolist()):
        cos, sin = (round(float(f(t)), decimals) for f in (np.cos, np.sin))
        turned.append([f"{a * cos - b * sin:.{decimals}f}", f"{a * sin + b * cos:.{decimals}f}"])
    problem = attncli.Problem(X=x, positions="rope", score="dot")
    assert attncli.check(problem, {"Q_rotated": turned}).verdict == "correct"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"X": [[1, 2, 3]], "positions": "rope"}, "rope turns pairs .* 3 of 3"),
        (ROPE | {"positions": {"name": "rope", "features": 6}}, "cannot turn 6 of 4"),
        (ROPE | {"positions": {"name": "rope", "features": 3}}, "cannot turn 3 of 4"),
        (ROPE | {"positions": ["rope", "rope"]}, "positions has rope twice"),
        (ROPE | {"positions": ["learned", "sinusoidal"]}, "needs P"),
        (ROPE | {"positions": {"name": "learned", "P": [[1, 2]]}}, "positions.P has 1 row"),
        (
            ROPE | {"positions": [{"name": "learned", "P": [[1] * 4] * 2}, "sinusoidal"]},
            "two kinds of positions are added to X",
        ),
        (ROPE | {"positions": {"name": "alibi", "slopes": [1, 2]}}, "slopes has 2 numbers, but"),
        (ROPE | {"positions": {"name": "relative", "table": [1, 2]}}, "distances from −k to k"),
        (ROPE | {"bias": "-abs(i - k)"}, "unknown name k"),
        (ROPE | {"positions": "rop"}, "did you mean rope"),
        (ROPE | {"positions": {}}, "positions needs a name"),
        (ROPE | {"positions": {"name": "alibi", "slopes": [1, 2]}}, "write one for each head"),
        (ROPE | {"positions": {"name": "rope", "theta": 1}}, "unknown key theta"),
        (ROPE | {"positions": {"name": "rope", "start": [1, 2, 3]}}, "one number, or two"),
        (
            {"Q": [[1, 2]], "K": [[1, 2]], "V": [[1, 2]], "positions": "sinusoidal"},
            "no queries, keys or values are made of it",
        ),
        ({"scores": [[1, 2]], "V": [[1], [2]], "positions": "rope"}, "rope has no use"),
        ({"kind": "pooling", "X": [[1, 2]], "u": [1, 2], "positions": "rope"}, "no use in kind"),
    ],
)
def test_what_does_not_fit_is_said(keys: Keys, message: str) -> None:
    with pytest.raises(attncli.InputError, match=message):
        attncli.Problem(**keys)


def test_a_bias_without_a_value_is_said() -> None:
    with pytest.raises(attncli.InputError, match="no value for i = 1 and j = 1"):
        attncli.compute(attncli.Problem(X=[[1, 2]], bias="1/(i - j)"))


@pytest.mark.parametrize("word", ["rope_theta", "rotary", "positional_encoding"])
def test_keys_of_other_tools_have_a_hint(word: str) -> None:
    assert "positions" in hint_for(word)


def test_a_derivative_of_positions_is_asked_for_by_its_name(attn: Attn, tmp_path: Path) -> None:
    problem = tmp_path / "p.yaml"
    problem.write_text("X: [[1, 0], [0, 1]]\npositions: {name: relative, table: [1, 0, 1]}\n")
    shown = attn(
        "compute", problem, "--gradient", "sum", "--only", "d_positions.table", "-f", "csv"
    )
    assert shown.status == 0
    assert shown.out.count(",") == 2


def test_positions_have_a_flag(attn: Attn) -> None:
    result = attn("compute", "-", "--positions", "rope", "-f", "json", stdin=b"X: [[1, 2], [3, 4]]")
    assert '"Q_rotated"' in result.out


@pytest.mark.usefixtures("small_pool")
def test_arrays_in_a_list_of_positions_are_varied() -> None:
    listed: list[Any] = ["rope", {"name": "learned", "P": [[1, 2], [3, 4]]}]
    (found,) = attncli.vary(attncli.Problem(X=[[1, 2], [0, 1]], positions=listed), 1)
    assert found.problem.positions["P"].shape == (2, 2)


@pytest.mark.parametrize("suffix", ["json", "yaml", "csv", "npz"])
def test_results_with_positions_are_read_back(attn: Attn, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "p.csv").write_text("1,2,3,4\n4,3,2,1\n")
    problem, results = tmp_path / "problem.yaml", tmp_path / f"results.{suffix}"
    problem.write_text(
        "X: [[1, 0, 1, 2], [0, 1, 0.5, 1]]\nheads: 2\nbias: -abs(i - j)/2\n"
        "past: {K: p.csv, V: p.csv}\nqk_norm: rms\nnormalize: {name: softmax, sink: [1, 2]}\n"
        "positions: [{name: learned, P: p.csv}, rope, {name: alibi, slopes: [1, 2]}]\n"
    )
    attn("compute", problem, "-o", results)
    again = attn("compute", results, "--only", "output", "-f", "csv").out
    assert again == attn("compute", problem, "--only", "output", "-f", "csv").out != ""


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize(
    "positions",
    ["rope", ["rope", "alibi"], {"name": "relative", "table": [3, 1, 0, -1, -2]}, "sinusoidal", []],
)
def test_a_cache_and_the_rest_are_the_whole(positions: Any, heads: int) -> None:
    """Later tokens count their positions from the number of those before them, also in `decode`."""
    rng = np.random.default_rng(8)
    keys: dict[str, Any] = {"heads": heads, "mask": "causal", "qk_norm": "rms"}
    keys |= {f"W_{letter}": rng.normal(size=(4, 4)) for letter in "qkv"}
    if positions:
        keys["positions"] = positions
    x = rng.normal(size=(5, 4))
    whole = attncli.compute(attncli.Problem(X=x, **keys))
    k = next(whole[name] for name in ("K_rotated", "K_normed") if name in whole)
    past = {"K": k.value[..., :2, :], "V": whole["V"].value[..., :2, :]}
    rest: Keys = keys | {"X": x[2:], "past": past}
    for way in (rest, {key: rest[key] for key in rest if key != "mask"} | {"kind": "decode"}):
        output = attncli.compute(attncli.Problem(**way)).output
        np.testing.assert_allclose(output, whole.output[2:], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("keys", [keys for keys in PROBLEMS if "memory" not in keys][:6])
def test_decode_with_positions_is_causal_attention(keys: Keys) -> None:
    """Row t of the output, and every derivative, also of the numbers of the positions."""
    keys = {key: part for key, part in keys.items() if key not in ("mask", "bias")}
    keys["kind"] = "decode"
    decoded = attncli.compute(attncli.Problem(**keys, gradient="sum"))
    causal = {**keys, "kind": "self", "mask": "causal", "gradient": "sum"}
    whole = attncli.compute(attncli.Problem(**causal))
    names = [name for name in whole.steps if name in decoded and name != "loss"]
    assert {"output", "d_X"} <= {*names}
    for name in names:
        one, other = decoded[name].value, whole[name].value
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_steps_of_decode_with_rope() -> None:
    x = [[1, 0], [0, 1]]
    trace = attncli.compute(attncli.Problem(X=x, kind="decode", positions="rope"))
    names = [name for name in trace.steps if name.endswith("_2")]
    assert names[3:9] == ["angles_2", "cos_2", "sin_2", "q_rotated_2", "k_rotated_2", "K_2"]
    # the second token is turned by 1: (0, 1) becomes (−sin 1, cos 1)
    np.testing.assert_allclose(trace["k_rotated_2"].value, [-0.8414709848, 0.5403023059])
    note = trace["angles_2"].note
    assert note is not None
    assert text(note) == "t = 1"
    assert trace["K_2"].formula == "K_2 = [K_1; k_rotated_2]"


def test_keys_that_alibi_leaves_nothing_of_take_no_time() -> None:
    """e^s of a far key is 0 in floats; the numbers are those of the lines."""
    x = random_rows(2, 3000, 4)
    keys: Keys = {"X": x, "heads": 2, "positions": {"name": "alibi", "slopes": [4, 0.5]}}
    tiled = attncli.compute(attncli.Problem(**keys), only="output")
    assert "streamed" in tiled.path
    rows = [0, 1499, 2999]
    for row in rows:
        near = slice(max(0, row - 400), row + 400)  # e^(−0.5·400) is far below the last digit
        distances = np.abs(np.arange(3000)[near] - row)
        for head, slope in enumerate((4, 0.5)):
            columns = slice(2 * head, 2 * head + 2)
            scores = x[near, columns] @ x[row, columns] / np.sqrt(2) - slope * distances
            powers = np.exp(scores)
            right = powers @ x[near, columns] / powers.sum()
            np.testing.assert_allclose(tiled.output[row, columns], right, rtol=1e-12, atol=1e-13)

"""Transformers as problems: their files, names, messages and pages; the laws of their layers."""

from __future__ import annotations

import json
import re
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import attncli
from attncli.core.arithmetic.intervals import Interval
from attncli.core.attention.norms_and_activations import ACTIVATIONS, LEAST
from attncli.core.errors import InputError
from attncli.core.tape.by_hand import CONTEXT, Digits
from attncli.core.tape.evaluation import evaluate
from attncli.core.tape.tape import Tape
from tests.conftest import Attn

Keys = dict[str, Any]

MATRICES = ("W_q", "W_k", "W_v", "W_1", "W_2")


def layer(seed: int, **more: Any) -> Keys:
    random = np.random.default_rng(seed)
    return {key: (random.integers(-4, 5, (4, 4)) / 4).tolist() for key in MATRICES} | more


def language(**more: Any) -> Keys:
    """Two layers that continue a sentence of three words."""
    table = (np.random.default_rng(9).integers(-4, 5, (4, 4)) / 4).tolist()
    keys: Keys = {
        "kind": "transformer",
        "tokens": ["I", "love", "AI"],
        "embedding": {"vocabulary": ["I", "love", "AI", "."], "table": table},
        "positions": "sinusoidal",
        "heads": 2,
        "mask": "causal",
        "layers": [layer(1), layer(2, activation="gelu", norm="rms", gain_1=[1, 2, 1, 1])],
        "final_norm": {"gain": [1, 2, 1, 1]},
        "unembedding": "tied",
        "target": ["love", "AI", "."],
    }
    return keys | more


def steps_of(keys: Keys) -> dict[str, Any]:
    return {step.name: step.value for step in attncli.compute(attncli.Problem(**keys))}


@pytest.mark.parametrize("format_", ["json", "csv", "tsv", "yaml", "npz"])
def test_results_are_read_back_as_their_problem(format_: str, attn: Attn, tmp_path: Path) -> None:
    problem = attncli.Problem(**language(gradient="loss"))
    trace = attncli.compute(problem)
    path = tmp_path / f"results.{format_}"
    given = json.dumps(language(gradient="loss")).encode()
    assert attn("compute", "-", "-o", path, stdin=given).status == 0
    again = attncli.compute(attncli.load(path))
    assert list(again.steps) == list(trace.steps)
    for step in trace:
        np.testing.assert_array_equal(again[step.name].value, step.value, step.name)


@pytest.mark.parametrize("layers", [[layer(1, heads=2)], {1: layer(1, heads=2)}])
def test_the_only_layer_may_stand_at_the_top(layers: Any) -> None:
    x = [[1, 0, 2, 1], [0, 1, 1, 1]]
    flat = steps_of({"kind": "transformer", "X": x, **layer(1, heads=2)})
    found = steps_of({"kind": "transformer", "X": x, "layers": layers})
    assert list(found) == list(flat)
    assert all(np.array_equal(found[name], flat[name]) for name in flat)


def test_what_stands_at_the_top_is_shared() -> None:
    """Its derivative is the sum of those that the layers would have for their own."""
    own = language(gradient="loss", layers=[layer(1), layer(1)])
    shared = language(gradient="loss", layers=[{}, {}], **layer(1))
    each, one = steps_of(own), steps_of(shared)
    assert each["loss"] == one["loss"]
    for key in MATRICES:
        total = each[f"d_layers.1.{key}"] + each[f"d_layers.2.{key}"]
        np.testing.assert_allclose(one[f"d_{key}"], total, rtol=1e-12, atol=1e-14)


def test_layers_go_one_after_the_other() -> None:
    x = [[1, 0, 2, 1], [0, 1, 1, 1]]
    first = steps_of({"kind": "transformer", "X": x, **layer(1)})
    second = steps_of({"kind": "transformer", "X": first["output"], **layer(2)})
    both = steps_of({"kind": "transformer", "X": x, "layers": [layer(1), layer(2)]})
    np.testing.assert_array_equal(both["output"], second["output"])
    np.testing.assert_array_equal(both["layers.2.weights"], second["weights"])


def test_a_layer_by_itself_has_no_input() -> None:
    """It is what the layer before makes, which nothing but a calculation has."""
    problem = attncli.Problem(kind="transformer", X=np.eye(3, 4).tolist(), layers=[layer(1)] * 2)
    for one in problem.layers:
        assert isinstance(one, attncli.Problem)
        assert one.X is None
        assert "X" not in one.given
        with pytest.raises(attncli.InputError, match="what the layer before it makes"):
            attncli.compute(one)


def test_tokens_that_are_used_twice_are_learned_twice() -> None:
    """The derivative of their row is the sum of both."""
    twice = language(tokens=["I", "AI", "I"], gradient="loss", positions=None)
    found = steps_of(twice)
    table = np.array(twice["embedding"]["table"])
    alone = language(
        tokens=["1", "2", "3"], gradient="loss", positions=None, X=table[[0, 2, 0]].tolist()
    )
    rows = steps_of(alone)["d_X"]
    tied = steps_of(alone)["d_embedding.table"]
    expected = tied + np.stack([rows[0] + rows[2], 0 * rows[0], rows[1], 0 * rows[0]])
    np.testing.assert_allclose(found["d_embedding.table"], expected, rtol=1e-12, atol=1e-14)


def test_a_plain_name_means_that_of_every_layer() -> None:
    problem = attncli.Problem(**language())
    found = attncli.compute(problem, only="weights")
    shown = json.loads(attncli.render(found, "json", only=["weights"]))
    assert [*shown["steps"]] == ["layers.1.weights", "layers.2.weights"]
    trace = attncli.compute(problem)
    assert "layers.2.scores = Q Kᵀ" in trace["layers.2.scores"].formula
    assert trace["layers.2.residual_1"].formula == (
        "layers.2.residual_1 = layers.1.residual_2 + attended"
    )
    message = "weights may mean layers.1.weights or layers.2.weights here"
    with pytest.raises(InputError, match=message):
        attncli.explain(trace, "weights[head 1][I, I]")


def test_the_next_word_is_an_answer() -> None:
    problem = attncli.Problem(**language())
    (word,) = np.flatnonzero(steps_of(language())["next"])
    labels = language()["embedding"]["vocabulary"]
    assert attncli.check(problem, {"next": labels[word]}).verdict == "correct"
    wrong = attncli.check(problem, {"next": labels[word - 1]})
    assert wrong.first_wrong_step == "next"
    assert wrong.findings["next"].id == "cells_swapped"


BLOCK = """\
kind: transformer
X: [[1, 0], [0, 1]]
W_1: [[1, 0, 1], [0, 1, 1]]
W_2: [[1, 0], [0, 1], [1, 1]]
"""

ONE_LAYER = "kind: transformer\nX: [[1, 0], [0, 1]]\nlayers:\n  - norm: rms\n"

LAYERS = """\
kind: transformer
X: [[1, 0], [0, 1]]
layers:
  - W_1: [[1, 0], [0, 1]]
    W_2: [[1, 0], [0, 1]]
  - W_1: [[1, 0], [0, 1]]
"""


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (f"{LAYERS}    W_2: [[1, 0, 1]]\n", "7:5", "layer 2: W_2 has 1 row, but W_1 has 2 columns"),
        (LAYERS, "6:5", "layer 2: W_1 has no use without W_2"),
        (f"{LAYERS}    W2: [[1, 0], [0, 1]]\n    gain: 1\n", "8:5", "unknown key gain in layers"),
        (f"{ONE_LAYER}    kind: self\n", "5:5", "unknown key kind in layers"),
        (f"{ONE_LAYER}    X: [[2, 0]]\n", "5:5", "unknown key X in layers"),
        (f"{BLOCK}activation: swiglu\n", "5:1", "swiglu needs W_3"),
        (f"{BLOCK}activation: tanh\n", "5:1", "activation tanh has no use in kind transformer"),
        (f"{BLOCK}norm: none\ngain_1: [1, 1]\n", "6:1", "gain_1 has no use without a norm"),
        (f"{BLOCK}target: [1, 2]\n", "5:1", "target needs logits"),
        (f"{BLOCK}W_u: [[1, 0], [0, 1]]\ntarget: [1, 3]\n", "6:13", "3 is not in the vocabulary"),
        (f"{BLOCK}unembedding: tied\n", "5:1", "unembedding: tied needs a table"),
        (f"{BLOCK}gradient: loss\n", "5:1", "gradient: loss needs target"),
        (f"{BLOCK}eps: -1\n", "5:1", "eps must be at least 0"),
        (
            "kind: transformer\nlayers:\n  - {W_q: [[1, 0]]}\nX: [[1, 0], [0, 1]]\n",
            "3:6",
            "W_q has 1 row, but X has 2 columns",
        ),
        ("kind: transformer\ntokens: [a]\n", "1:1", "there is neither X nor embedding"),
        (
            f"{BLOCK}W_o: [[1, 2, 3], [1, 2, 3]]\n",
            "5:1",
            "W_o has 3 columns, but X has 2 columns\n",
        ),
        (f"{BLOCK}layers: 2\n", "5:1", "layers must be a list of layers"),
        (
            "kind: transformer\nX: [[1, 2]]\nlayers: [{}, {positions: learned}]\n",
            "3:15",
            "layer 2: ",
        ),
    ],
)
def test_what_is_refused(text: str, place: str, message: str, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(text)
    result = attn("compute", "p.yaml", cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"p.yaml:{place}: ")
    assert message in result.err
    assert "Traceback" not in result.err


def test_parts_of_layers_are_folded_on_a_page() -> None:
    page = str(attncli.render(attncli.compute(attncli.Problem(**language())), "html"))
    heads = re.findall(r'<details( open="open")?><summary><h2[^>]*>([^<]+)<', page)
    assert [name for _, name in heads] == [
        "layer 1: attention",
        "layer 1: feed-forward",
        "layer 2: attention",
        "layer 2: feed-forward",
        "next token",
    ]
    assert [bool(is_open) for is_open, _ in heads] == [True] + 4 * [False]
    assert page.count("<details") == page.count("</details>") == 5


# Activations.


EXACT = {
    "relu": lambda x: mpmath.mpf(max(x, 0)),
    "gelu": lambda x: x * (1 + mpmath.erf(x / mpmath.sqrt(2))) / 2,
    "gelu_tanh": lambda x: (
        x * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))) / 2
    ),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_those_of_mpmath(name: str) -> None:
    numbers = np.linspace(-6, 6, 97)
    given = Tape().put("x", numbers[None, None, None], ("feature",))
    with mpmath.workdps(40):
        exact = [EXACT[name](mpmath.mpf(x)) for x in numbers.tolist()]
        found = evaluate(ACTIVATIONS[name].build(given), lambda step: step.array).ravel()
        for x, one, other in zip(numbers, found, exact, strict=True):
            # x times a gate of about 1 + t, where t is near −1 for a number far below 0.
            assert abs(one - other) <= 4 * np.finfo(float).eps * abs(x), (name, x)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_bounds_of_activations_are_those_of_the_function(name: str) -> None:
    """They hold every value, and their ends are values."""
    random = np.random.default_rng(3)
    ends = np.sort(random.uniform(-4, 2, (2, 300)), axis=0)
    given = Tape().put("x", ends[:1, None, None], ("feature",))
    made = ACTIVATIONS[name].build(given)
    low, high = (end[None, None, None] for end in ends)
    found = evaluate(made, lambda step: Interval(low, high))
    many = np.linspace(ends[0], ends[1], 2001)[:, None, None]
    values = evaluate(made, lambda step: many)[:, 0, 0]
    assert (values >= found.low[0, 0] - 1e-15).all()
    assert (values <= found.high[0, 0] + 1e-15).all()
    np.testing.assert_allclose(values.min(axis=0), found.low[0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(values.max(axis=0), found.high[0, 0, 0], atol=1e-15)


def test_the_least_values_are_those_that_mpmath_finds() -> None:
    names = {"Sigmoid": "silu", "Phi": "gelu", "TanhGate": "gelu_tanh"}
    with mpmath.workdps(30):
        for kind, least in LEAST.items():
            function = EXACT[names[kind.__name__]]
            exact = mpmath.findroot(lambda x, f=function: mpmath.diff(f, x), -0.8)
            assert abs(exact - least) < 1e-15


@pytest.mark.parametrize("text", ["0", "0.3", "-1.75", "4", "-9"])
def test_erf_in_decimal_digits(text: str) -> None:
    with localcontext(CONTEXT), mpmath.workdps(60):
        found = mpmath.mpf(str(Digits(Decimal(text)).erf().decimal))
        assert abs(found - mpmath.erf(mpmath.mpf(text))) < mpmath.mpf(10) ** -47


def test_closed_forms_of_a_layer(attn: Attn) -> None:
    """Of a token (1, 3) with eps 0: (1 − 2)/√1, and x·(1 + erf(x/√2))/2 of x = 1."""
    pytest.importorskip("sympy")
    keys: Keys = {
        "kind": "transformer",
        "X": [[1, 3]],
        "W_v": [[0, 0], [0, 0]],
        "eps": 0,
        "activation": "gelu",
        "W_1": [[-1], [0]],
        "W_2": [[1, 0]],
    }
    result = attn("compute", "-", "-f", "json", "--exact", stdin=json.dumps(keys).encode())
    steps = json.loads(result.out)["steps"]
    assert steps["normed_2"]["exact"] == [["-1", "1"]]
    assert steps["activated"]["exact"] == [["erf(√2/2)/2 + 1/2"]]

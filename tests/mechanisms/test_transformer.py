"""Transformer blocks: every step and derivative beside loops that share no line with them; laws."""

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
from attncli.core.tape.by_hand import CONTEXT, Digits
from attncli.core.tape.evaluation import evaluate
from attncli.core.tape.tape import Tape
from tests.conftest import SAMPLES, Attn
from tests.mechanisms.table import Keys, computed, numbers, recorded
from tests.oracles import transformer as oracle
from tests.oracles.rounded import ROUNDED, parts
from tests.support.moodle_quiz import quiz_of

PROBLEMS = recorded("transformers")
"""Problems that together have every key, each with what to go backward from."""

SLACK = 4
"""Ratio of the error that is allowed to the first-order bound of the oracle: both calculations may
be off by the bound, and a softmax may shift its exponents by the largest one."""

MOST = 1e-10
"""Maximum error that is allowed in a step, relative to its largest number or to 1, where the bound
is larger: through three layers a bound grows faster than the errors do, which are below 1e-12."""

OF_GRADIENT = 1e-9
"""Maximum error of a derivative, relative to itself or to 1."""

KINK = 1e-9
"""Distance from 0 below which a hidden number is too near the kink of relu for a difference."""


def reasons(keys: Keys) -> list[str]:
    """Return what is wrong with the trace of a problem."""
    work = oracle.Work(keys, ROUNDED).work()
    trace = attncli.compute(attncli.Problem(**keys))
    found = [f"{name} is missing" for name in work.steps if name not in trace]
    for step in trace:
        name = "output" if step.name == work.last else step.name
        if name in work.steps:
            share = used(step.value, work.steps[name])
            if not share <= 1:
                found.append(f"{step.name} is off by {share:.2g} of what is allowed")
        elif step.name != "next" and not step.name.endswith(("_final", "_output")):
            found.append(f"{step.name} is no step of the contract")
    return found


def used(value: Any, expected: Any) -> float:
    """Return the largest error of a step, as a share of what is allowed."""
    right, bounds = (np.asarray(part, float) for part in parts(expected))
    if value.size != right.size:
        return np.inf
    value = np.asarray(value, float).reshape(right.shape)
    known = np.isfinite(right)
    if not (value[~known] == right[~known]).all():
        return np.inf
    largest = max(1.0, np.abs(right[known]).max(initial=0))
    allowed = np.minimum(SLACK * bounds[known], MOST * largest) + np.finfo(float).tiny
    return float((np.abs(value[known] - right[known]) / allowed).max(initial=0))


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_every_step_is_that_of_plain_loops(number: int) -> None:
    assert not reasons(PROBLEMS[number]["problem"])


SOME = (1, 5, 11, 14, 20, 23, 25, 27, 28, 34, 36, 37)
"""Problems of one or two layers that together have every activation, norm and position."""


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[pytest.mark.whole] * (n not in SOME)) for n in range(len(PROBLEMS))],
)
def test_gradients_are_those_of_differences_in_50_digits(number: int) -> None:
    """With two features, what passes back through a layer norm is as small as its eps."""
    keys, upstream = PROBLEMS[number]["problem"], PROBLEMS[number]["upstream"]
    assert not wrong_derivatives(keys, upstream, number)


def wrong_derivatives(keys: Keys, upstream: Any, seed: int) -> list[str]:
    """Return what is wrong with the derivatives of a problem, one number of each matrix.

    There are none without a loss or an output to go backward from, or near the kink of relu.
    """
    has_end = "target" in keys or not ("W_u" in keys or "unembedding" in keys)
    if not has_end or oracle.distance_to_kink(keys) <= KINK:
        return []
    trace = attncli.compute(attncli.Problem(**keys, gradient=upstream))
    random, found = np.random.default_rng(seed), []
    for parameter in oracle.parameters(keys):
        shape = np.shape(oracle.numbers_at(keys, parameter.path))
        place = tuple(int(random.integers(size)) for size in shape)
        right = float(oracle.difference(keys, parameter, place, upstream))
        if f"d_{parameter.name}" not in trace:
            found.append(f"d_{parameter.name} is missing")
            continue
        derivative = trace[f"d_{parameter.name}"].value
        if derivative.shape != shape:
            found.append(f"d_{parameter.name} has shape {derivative.shape}, not {shape}")
        elif not abs(derivative[place] - right) <= OF_GRADIENT * max(1.0, abs(right)):
            found.append(f"d_{parameter.name}{[*place]} is {derivative[place]}, not {right}")
    return found


# Layers and tokens.

MATRICES = ("W_q", "W_k", "W_v", "W_1", "W_2")


def layer(seed: int, **more: Any) -> Keys:
    return {key: numbers(seed + at, 4, 4).tolist() for at, key in enumerate(MATRICES)} | more


def language(**more: Any) -> Keys:
    """Two layers that continue a sentence of three words."""
    keys: Keys = {
        "kind": "transformer",
        "tokens": ["I", "love", "AI"],
        "embedding": {"vocabulary": ["I", "love", "AI", "."], "table": numbers(9, 4, 4).tolist()},
        "positions": "sinusoidal",
        "heads": 2,
        "mask": "causal",
        "layers": [layer(1), layer(20, activation="gelu", norm="rms", gain_1=[1, 2, 1, 1])],
        "final_norm": {"gain": [1, 2, 1, 1]},
        "unembedding": "tied",
        "target": ["love", "AI", "."],
    }
    return keys | more


def steps_of(keys: Keys) -> dict[str, Any]:
    trace = computed(keys if "kind" in keys else {"kind": "transformer", **keys})
    return {step.name: step.value for step in trace}


X = [[1, 0, 2, 1], [0, 1, 1, 1]]


@pytest.mark.parametrize("layers", [[layer(1, heads=2)], {1: layer(1, heads=2)}])
def test_the_only_layer_may_stand_at_the_top(layers: Any) -> None:
    flat, found = steps_of({"X": X, **layer(1, heads=2)}), steps_of({"X": X, "layers": layers})
    assert list(found) == list(flat)
    assert all(np.array_equal(found[name], flat[name]) for name in flat)


def test_what_stands_at_the_top_is_shared() -> None:
    """Its derivative is the sum of those that the layers would have for their own."""
    each = steps_of(language(gradient="loss", layers=[layer(1), layer(1)]))
    one = steps_of(language(gradient="loss", layers=[{}, {}], **layer(1)))
    assert each["loss"] == one["loss"]
    for key in MATRICES:
        total = each[f"d_layers.1.{key}"] + each[f"d_layers.2.{key}"]
        np.testing.assert_allclose(one[f"d_{key}"], total, rtol=1e-11, atol=1e-13)


def test_a_layer_by_itself_has_no_input() -> None:
    """It is what the layer before makes, which nothing but a calculation has."""
    problem = attncli.Problem(kind="transformer", X=X, layers=[layer(1)] * 2)
    for one in problem.layers:
        assert isinstance(one, attncli.Problem)
        assert one.X is None
        assert "X" not in one.given
        with pytest.raises(attncli.InputError, match="what the layer before it makes"):
            attncli.compute(one)


def test_tokens_that_are_used_twice_are_learned_twice() -> None:
    """The derivative of their row is the sum of both."""
    keys = language(tokens=["I", "AI", "I"], gradient="loss", positions=None)
    rows = np.array(keys["embedding"]["table"])[[0, 2, 0]].tolist()
    alone = steps_of(keys | {"tokens": ["1", "2", "3"], "X": rows})
    d_x, tied = alone["d_X"], alone["d_embedding.table"]
    expected = tied + np.stack([d_x[0] + d_x[2], 0 * d_x[0], d_x[1], 0 * d_x[0]])
    found = steps_of(keys)["d_embedding.table"]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_a_plain_name_means_that_of_every_layer() -> None:
    found = attncli.compute(attncli.Problem(**language()), only="weights")
    shown = json.loads(attncli.render(found, "json", only=["weights"]))
    assert [*shown["steps"]] == ["layers.1.weights", "layers.2.weights"]
    message = "weights may mean layers.1.weights or layers.2.weights here"
    with pytest.raises(attncli.InputError, match=message):
        attncli.explain(attncli.compute(found.problem), "weights[head 1][I, I]")


def test_the_next_word_is_an_answer() -> None:
    problem = attncli.Problem(**language())
    (word,) = np.flatnonzero(steps_of(language())["next"])
    labels = language()["embedding"]["vocabulary"]
    assert attncli.check(problem, {"next": labels[word]}).verdict == "correct"
    wrong = attncli.check(problem, {"next": labels[word - 1]})
    assert wrong.first_wrong_step == "next"
    assert wrong.findings["next"].id == "cells_swapped"


def test_parts_of_layers_are_folded_on_a_page() -> None:
    page = str(attncli.render(attncli.compute(attncli.Problem(**language())), "html"))
    heads = re.findall(r'<details( open="open")?><summary><h2[^>]*>([^<]+)<', page)
    named = [f"layer {at}: {half}" for at in (1, 2) for half in ("attention", "feed-forward")]
    assert [name for _, name in heads] == [*named, "next token"]
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
    numbers_ = np.linspace(-6, 6, 97)
    given = Tape().put("x", numbers_[None, None, None], ("feature",))
    with mpmath.workdps(40):
        exact = [EXACT[name](mpmath.mpf(x)) for x in numbers_.tolist()]
        found = evaluate(ACTIVATIONS[name].build(given), lambda step: step.array).ravel()
        for x, one, other in zip(numbers_, found, exact, strict=True):
            # x times a gate of about 1 + t, where t is near −1 for a number far below 0.
            assert abs(one - other) <= 4 * np.finfo(float).eps * abs(x), (name, x)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_bounds_of_activations_are_those_of_the_function(name: str) -> None:
    """They hold every value, and their ends are values."""
    ends = np.sort(np.random.default_rng(3).uniform(-4, 2, (2, 300)), axis=0)
    made = ACTIVATIONS[name].build(Tape().put("x", ends[:1, None, None], ("feature",)))
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
    keys: Keys = {"kind": "transformer", "X": [[1, 3]], "W_v": [[0, 0], [0, 0]], "eps": 0}
    keys |= {"activation": "gelu", "W_1": [[-1], [0]], "W_2": [[1, 0]]}
    result = attn("compute", "-", "-f", "json", "--exact", stdin=json.dumps(keys).encode())
    steps = json.loads(result.out)["steps"]
    assert steps["normed_2"]["exact"] == [["-1", "1"]]
    assert steps["activated"]["exact"] == [["erf(√2/2)/2 + 1/2"]]


# The samples do what their notes say.


def test_the_block_is_in_whole_numbers_up_to_the_softmax() -> None:
    """And those of the first token, which attends to nothing but itself, to the end."""
    trace = attncli.compute(attncli.load(SAMPLES / "transformer_block.yaml"))
    steps = {step.name: step.value for step in trace}
    names = list(steps)
    for name in names[: names.index("masked")]:
        assert (steps[name] == np.round(steps[name])).all(), name
    for name in names[names.index("weights") :]:
        np.testing.assert_allclose(steps[name][0], np.round(steps[name][0]), atol=1e-12)


@pytest.mark.parametrize(("first", "last"), [("dogs", "cats"), ("cats", "dogs")])
def test_the_model_continues_both_sentences(first: str, last: str, tmp_path: Path) -> None:
    """After "love" comes the animal that was not said before it."""
    text = (SAMPLES / "next_word.yaml").read_text()
    text = text.replace("[dogs, love, cats]", f"[{first}, love, {last}]")
    path = tmp_path / "words.yaml"
    path.write_text(text.replace("[love, cats, .]", f"[love, {last}, .]"))
    trace = attncli.compute(attncli.load(path))
    words = ["dogs", "love", "cats", "."]
    probabilities = trace["probabilities"].value
    assert [words[place] for place in probabilities.argmax(axis=-1)] == ["love", last, "."]
    assert probabilities.max(axis=-1).min() > 0.9
    assert trace["next"].value.tolist() == [0, 0, 0, 1]


@pytest.mark.whole
def test_mistakes_that_narrow_the_probabilities_are_passed_over() -> None:
    """Without W_u there is a logit for each feature, and targets lie beyond the last."""
    problem = attncli.load(SAMPLES / "transformer_training.yaml")
    wrong = [[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]]
    result = attncli.check(problem, {"d_W_u": wrong})
    assert (result.verdict, result.first_wrong_step) == ("wrong", "d_W_u")
    (question,) = quiz_of([problem.marked({"ask": ["d_W_u"], "decimals": 2})])
    right = attncli.compute(problem)["d_W_u"].value.ravel()
    pairs = zip(question.fields, right, strict=True)
    assert [field.judge(f"{x:.2f}")[0] for field, x in pairs] == [1] * 6


def test_a_step_of_training_lowers_the_loss() -> None:
    problem = attncli.load(SAMPLES / "transformer_training.yaml")
    trace = attncli.compute(problem)
    new = {name[4:]: step.value for name, step in trace.steps.items() if name.startswith("new_")}
    assert set(new) == {*problem.matrices()} - {"X"}
    after = attncli.compute(problem.with_arrays(new))
    assert after["loss"].value < trace["loss"].value - 0.1
    assert trace["next"].value.tolist() == after["next"].value.tolist() == [0, 0, 1]

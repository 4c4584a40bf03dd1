"""What people and programs call steps: the step that is meant, and the axes of their arrays."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.judging.judged_steps import NotGiven
from attncli.core.calculation.trace import with_named_steps
from attncli.core.errors import InputError
from attncli.core.tape.find_cells import find_cells
from attncli.core.tape.step_words import ALIASES
from tests.checking.judged_cases import problem_of
from tests.conftest import SAMPLES, Attn, table


def words(name: str) -> pytest.MarkDecorator:
    """Run a test with each word of a table, of a problem, and the step that it means."""
    samples = table("names_of_steps", name).items()
    rows = [(sample, word, step) for sample, steps in samples for word, step in steps.items()]
    ids = [f"{sample}: {word}" for sample, word, _ in rows]
    return pytest.mark.parametrize(("sample", "word", "step"), rows, ids=ids)


@cache
def key_of(sample: str) -> attncli.AnswerKey:
    return attncli.AnswerKey(problem_of(sample))


def judged(keys: dict[str, Any], answers: dict[str, Any]) -> tuple[str, set[str]]:
    """Return the verdict, and the steps that were found in the answers."""
    report = attncli.check(attncli.Problem(**keys), answers)
    return report.verdict, {n for n, one in report.steps.items() if not isinstance(one, NotGiven)}


@words("of_a_step")
def test_a_word_means_a_step(sample: str, word: str, step: str) -> None:
    key = key_of(sample)
    value = with_named_steps(key.trace)[step].value
    report = key.check({word: value})
    given = [name for name, one in report.steps.items() if not isinstance(one, NotGiven)]
    assert (report.verdict, given) == ("correct", [step])
    # A letter may mean another step, so that other numbers are wrong, or of no step.
    assert key.check({word: value + 1}).verdict in ("wrong", "incomplete")


@words("of_cells")
def test_a_word_means_the_same_cells_to_explain_and_to_check(
    sample: str, word: str, step: str
) -> None:
    key = key_of(sample)
    found = find_cells(word, key.trace.steps, key.trace.inputs)
    assert found.step.name == step
    value = found.step.value[found.at]
    report = key.check({word: value.tolist()})
    assert (report.verdict, report.steps[step].status) == ("correct", "correct")


def test_no_alias_is_the_name_of_another_step() -> None:
    for name, aliases in ALIASES.items():
        assert not set(aliases) & (set(ALIASES) - {name})


def test_the_gradient_of_what_may_be_several_steps_is_refused(attn: Attn) -> None:
    path = SAMPLES / "gradient_heads.yaml"
    told = "d_Z may mean d_output, d_concat or d_context here"
    assert told in attn("explain", path, "d_Z").err
    report = attncli.check(attncli.load(path), {"d_Z": [["1.0", "2.0"]]})
    assert report.verdict == "incomplete"
    assert dict(report.skipped)["d_Z"].startswith("may mean d_output")


# ---- arrays of programs

RANDOM = np.random.default_rng(11)

KEYS: dict[str, Any] = {
    "X": RANDOM.normal(size=(1, 3, 4)),
    "heads": 2,
    "mask": "causal",
    **{f"W_{side}": RANDOM.normal(size=(4, 4)) for side in "qkvo"},
}
SQUARE = {**KEYS, "X": RANDOM.normal(size=(1, 2, 4))}
"""As many tokens as heads, so that no shape tells which axis is which."""

STEPS = ("Q", "K", "V", "masked", "weights", "context", "output")


def numbers(keys: dict[str, Any]) -> dict[str, Any]:
    """Return the steps of a problem as a program has them, (batch, head, token, …)."""
    trace = attncli.compute(attncli.Problem(**keys))
    return {name: np.array(trace[name].value) for name in STEPS}


def hooked(keys: dict[str, Any], layer: int = 0) -> dict[str, Any]:
    """Return what a cache of TransformerLens holds of one layer: names, axes and float32."""
    steps = numbers(keys)
    inside = {
        **{f"hook_{side}": steps[side.upper()].swapaxes(1, 2) for side in "qkv"},
        "hook_attn_scores": steps["masked"],
        "hook_pattern": steps["weights"],
        "hook_z": steps["context"].swapaxes(1, 2),
    }
    block = f"blocks.{layer}"
    cache = {
        "hook_embed": keys["X"],
        f"{block}.hook_resid_pre": keys["X"],
        f"{block}.ln1.hook_scale": np.ones((1, keys["X"].shape[1], 1)),
        **{f"{block}.attn.{name}": array for name, array in inside.items()},
        f"{block}.hook_attn_out": steps["output"],
    }
    return {name: array.astype(np.float32) for name, array in cache.items()}


@pytest.mark.parametrize("keys", [KEYS, SQUARE], ids=["3 tokens", "as many tokens as heads"])
def test_a_cache_of_transformer_lens(keys: dict[str, Any]) -> None:
    cache = hooked(keys)
    unbatched = {name: array[0] for name, array in cache.items()}  # cache.remove_batch_dim()
    inside = {name.rpartition(".")[2]: array for name, array in cache.items()}
    for steps in (cache, unbatched, inside):
        assert judged(keys, steps) == ("correct", {*STEPS})
    name = "blocks.0.attn.hook_z"
    assert judged(keys, cache | {name: cache[name][..., ::-1]}) == ("wrong", {*STEPS})


@pytest.mark.parametrize("name", ["hook_q", "hook_k", "hook_v", "hook_z"])
def test_heads_after_tokens_are_never_read_as_heads_before_tokens(name: str) -> None:
    """With as many tokens as heads, only the name tells the two axes apart."""
    array = hooked(SQUARE)[f"blocks.0.attn.{name}"]
    assert judged(SQUARE, {name: array})[0] == "correct"
    assert judged(SQUARE, {name: array.swapaxes(1, 2)})[0] == "wrong"


def test_arrays_of_other_names_may_have_heads_after_tokens_where_only_that_fits() -> None:
    q = numbers(KEYS)["Q"]
    assert judged(KEYS, {"Q": q.swapaxes(1, 2)}) == ("correct", {"Q"})
    assert judged(SQUARE, {"Q": numbers(SQUARE)["Q"].swapaxes(1, 2)})[0] == "wrong"


def test_rotated_queries_and_keys_of_transformer_lens() -> None:
    keys = {**KEYS, "positions": {"name": "rope", "pairs": "halves"}}
    trace = attncli.compute(attncli.Problem(**keys))
    cache = {
        f"blocks.0.attn.hook_rot_{side}": trace[f"{side.upper()}_rotated"].value.swapaxes(1, 2)
        for side in "qk"
    }
    assert judged(keys, cache) == ("correct", {"Q_rotated", "K_rotated"})
    unturned = {name: trace["Q"].value.swapaxes(1, 2) for name in cache}
    assert judged(keys, unturned)[0] == "wrong"


def test_two_layers_of_a_cache_are_one_too_many() -> None:
    with pytest.raises(InputError) as caught:
        attncli.check(attncli.Problem(**KEYS), hooked(KEYS) | hooked(KEYS, 1))
    said = "blocks.0.attn.hook_q and blocks.1.attn.hook_q are the same step, Q"
    assert str(caught.value).startswith(said)
    assert "leave one of them out" in str(caught.value)


def test_files_of_a_cache_and_of_output_attentions(tmp_path: Path, attn: Attn) -> None:
    """NPZ holds names with dots, which are no parts of keys; a tuple of layers is one axis more."""
    problem, dump = tmp_path / "problem.npz", tmp_path / "dump.npz"
    np.savez(problem, **KEYS)
    np.savez(dump, **hooked(KEYS))
    result = attn("check", problem, dump)
    assert result.status == 0, result.out
    assert "hook_resid_pre" in result.out + result.err
    weights = numbers(KEYS)["weights"]
    np.savez(dump, attentions=(weights.astype(np.float32),))
    assert attn("check", problem, dump, "-q").status == 0
    np.savez(dump, attentions=[weights] * 2)
    result = attn("check", problem, dump)
    assert result.status == 1
    assert "The shape is (2, 1, 2, 3, 3), but weights is (1, 2, 3, 3) here" in result.out


def test_states_may_be_rotated_or_not() -> None:
    problem = attncli.Problem(**{**KEYS, "positions": "rope"})
    trace = attncli.compute(problem)
    for name in ("Q", "Q_rotated"):
        report = attncli.check(problem, {"query_states": trace[name].value})
        assert (report.verdict, report.steps[name].status) == ("correct", "correct")
    report = attncli.check(problem, {"query_states": trace["Q"].value + 1})
    assert report.verdict == "incomplete"
    hint = "may mean Q or Q_rotated; write the name of the step"
    assert report.skipped == (("query_states", hint),)


def test_attention_scores_are_weights_in_keras() -> None:
    """People call the scores so, and others the weights: the numbers tell."""
    steps = {"attention_scores": numbers(KEYS)["weights"]}
    report = attncli.check(attncli.Problem(**KEYS), steps)
    assert (report.verdict, report.said) == ("correct", ("attention_scores is read as weights.",))
    problem = attncli.Problem(X=[[1, 0], [0, 1]], score="dot")
    for scores, verdict in (([[1, 0], [0, 1]], "correct"), ([[1, 0], [0, 2]], "wrong")):
        assert attncli.check(problem, {"attention_scores": scores}).verdict == verdict

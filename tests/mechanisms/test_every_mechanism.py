"""What holds for every mechanism of `table.py`: libraries, oracles, derivatives, other writings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import attncli
from attncli.core.attention.scores import SCORES
from attncli.core.formulas.text import text
from attncli.core.problem.keys import KINDS
from attncli.core.tape.step import Step
from tests.conftest import SAMPLE_FILES, Attn, table
from tests.mechanisms.table import (
    SEEDS,
    WAYS,
    Keys,
    array_at,
    as_lists,
    check,
    computed,
    in_columns,
    numbers,
    output,
    parameters,
    problem_of,
    recorded,
    redrawn,
    rows,
    solve,
    with_array,
)
from tests.oracles import reference

mp = reference.mp
whole = pytest.mark.whole


@rows("mechanisms", "libraries")
def test_numbers_are_those_of_libraries(row: Keys) -> None:
    """The output, the last state, other steps, or derivatives of a backward pass."""
    for line, case in enumerate(recorded(row["file"]), 1):
        upstream = {"gradient": case.pop("gradient")} if "gradient" in case else {}
        keys = case.pop("problem") | upstream
        expected_steps = case.pop("steps", case)
        for way in row.get("ways", [{}]):
            trace = computed(keys | way)
            for name, given_ in expected_steps.items():
                step = trace[name] if name != "state" else [s for s in trace if s.stem == "S"][-1]
                expected = np.array(given_)
                if name == "output" and expected.ndim > step.value.ndim:
                    expected = np.concatenate([*expected], -1)  # heads side by side
                elif name != "output":
                    expected = expected.reshape(step.value.shape)
                said = f"{name} of line {line}"
                bounds = row["rtol"], row["atol"]
                np.testing.assert_allclose(step.value, expected, *bounds, err_msg=said)


@rows("mechanisms", "recorded")
def test_every_step_of_random_problems_is_that_of_50_digits(row: Keys) -> None:
    for keys in recorded(row["file"]):
        check(computed(keys), keys)


@whole
@rows("mechanisms", "recorded")
@given(SEEDS)
def test_every_step_of_such_problems_with_other_numbers_is_that_of_50_digits(
    row: Keys, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for given_ in recorded(row["file"]):
        keys = redrawn(given_, rng)
        check(computed(keys), keys)


@rows("mechanisms", "kinds")
def test_every_score_function_aligns_states_as_in_plain_loops(row: Keys) -> None:
    """Also where tokens are columns, and no steps are there that are not asked for."""
    assert {score["name"] for score in table("mechanisms", "scores")} == {*SCORES}
    for score in table("mechanisms", "scores"):
        keys = problem_of(row) | problem_of({"keys": {"score": {"name": score["name"]}}} | score)
        trace = computed(keys)
        check(trace, keys)
        assert not {*row.get("absent", [])} & {*trace.steps}
        if keys["kind"] != "recurrent":  # whose formulas are in columns as they are
            found = computed(in_columns(keys)).last.value.T
            np.testing.assert_allclose(found, trace.last.value, rtol=1e-14)


STEP = mp.mpf(10) ** -15


def loss(keys: Keys, upstream: Any) -> Any:
    """Return the sum of the upstream gradient times the output, in 50 digits."""
    found = solve(keys)["output"][0][0]
    return mp.fsum(
        mp.mpf(x) * reference.exact(up)
        for row, ups in zip(found, upstream.tolist(), strict=True)
        for x, up in zip(row, ups, strict=True)
    )


@rows("mechanisms", "derivatives")
def test_derivatives_are_those_of_differences_in_50_digits(row: Keys) -> None:
    """Along a random direction of each input, which takes two evaluations for all its numbers."""
    keys = problem_of(row)
    upstream = numbers(9, *output(keys).shape)
    trace = computed(keys, gradient=upstream, learning_rate=0.5)
    for path in parameters(keys):
        own = np.asarray(array_at(keys, path), float)
        direction = numbers(7, *own.shape)
        ends = []
        for sign in (1, -1):
            moved = [
                reference.exact(x) + sign * STEP * reference.exact(by)
                for x, by in zip(own.ravel(), np.ravel(direction), strict=True)
            ]
            array = np.array(moved, object).reshape(own.shape)
            there = array.tolist() if own.ndim else array.item()
            ends.append(loss(with_array(keys, path, there), upstream))
        expected = float((ends[0] - ends[1]) / (2 * STEP))
        products = trace[f"d_{path}"].value * direction
        size = max(float(np.abs(products).sum()), 1e-6)
        assert abs(products.sum() - expected) <= 1e-9 * size, path
        if f"new_{path}" in trace:
            new = own - 0.5 * trace[f"d_{path}"].value
            np.testing.assert_allclose(trace[f"new_{path}"].value, new, rtol=1e-14)


@rows("mechanisms", "many_tokens")
def test_tiles_of_many_tokens_give_the_numbers_of_the_lines(row: Keys) -> None:
    keys = problem_of(row)
    problem = attncli.Problem(**keys)
    whole = attncli.compute(problem)
    tiled = attncli.compute(problem, only="output")
    weighed = attncli.compute(problem, only=["output", "weights"], alone=True)
    assert tiled.path.startswith("streamed")
    assert "scores" not in tiled
    assert weighed.path.startswith("streamed") or "differential" in keys
    most = np.abs(whole.output).max()
    for found in (tiled, weighed):
        assert found.warnings == whole.warnings
        np.testing.assert_allclose(found.output, whole.output, rtol=1e-11, atol=1e-13 * most)
    one, other = weighed["weights"].value, whole["weights"].value
    np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-15)


@rows("mechanisms", "rewritten")
@given(seed=SEEDS)
def test_other_ways_to_write_it_give_the_same(row: Keys, seed: int) -> None:
    """All steps, where tokens are columns, with their derivatives; the output of the others."""
    keys = {"gradient": "sum"} | problem_of(row, seed)
    in_rows, columns = computed(keys), computed(in_columns(keys))
    assert list(columns.steps) == list(in_rows.steps)
    for step in in_rows:
        expected = np.swapaxes(step.value, -1, -2) if len(step.trailing) > 1 else step.value
        found = columns[step.name].value
        np.testing.assert_allclose(found, expected, 1e-9, 1e-11, err_msg=step.name)
    for way in row["ways"]:
        found = output(WAYS[way](keys))
        found = found[0] if way == "batch" else found
        np.testing.assert_allclose(found, in_rows.output, rtol=1e-11, atol=1e-12, err_msg=way)


@rows("mechanisms", "the_same")
@given(seed=SEEDS)
def test_other_words_say_the_same(row: Keys, seed: int) -> None:
    keys = problem_of(row, seed)
    first, *others = (output(keys | way) for way in row["ways"])
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-12, atol=1e-13)


SHOWN: dict[str, Callable[[Step], Any]] = {
    "formulas": lambda step: step.formula,
    "values": lambda step: step.value.tolist(),
    "near": lambda step: pytest.approx(step.value.ravel().tolist(), rel=1e-14),
    "axes": lambda step: [*step.axes],
    "labels": lambda step: {axis: [*names] for axis, names in step.labels.items()},
    "groups": lambda step: step.group,
    "notes": lambda step: step.note and text(step.note),
}
"""Words of the table `steps`, and what they are of a step."""


@rows("mechanisms", "steps")
def test_steps_are_as_in_the_textbook(row: Keys) -> None:
    trace = computed(problem_of(row))
    for word, shown in SHOWN.items():
        expected = row.get(word, {})
        assert expected == {name: shown(trace[name]) for name in expected}
    assert {*row.get("present", [])} <= {*trace.steps}
    assert not {*row.get("absent", [])} & {*trace.steps}
    order = row.get("order", [*trace.steps])
    first = [*trace.steps].index(order[0])
    assert [*trace.steps][first:][: len(order)] == order
    assert [*trace.warnings] == row.get("warnings", [])
    for key, value in row.get("resolved", {}).items():
        assert getattr(trace.problem, key) == value


@rows("mechanisms", "names")
def test_names_of_papers_and_formulas_are_accepted(row: Keys, attn: Attn) -> None:
    given_ = json.dumps(as_lists(problem_of(row))).encode()
    for word in row["words"]:
        result = attn("compute", "-", "--gradient", "sum", "--only", word, stdin=given_)
        assert (result.status, result.err) == (0, ""), word
        assert result.out


@rows("mechanisms", "new")
def test_a_new_problem_has_the_steps_that_were_asked_for(row: Keys, attn: Attn) -> None:
    made = attn("new", *row["options"])
    if "says" in row:
        assert (made.status, made.out) == (2, "")
        assert row["says"] in made.err
        return
    computed = attn("compute", "-", "--only", row["step"], stdin=made.out.encode())
    assert (made.status, computed.status, computed.err) == (0, 0, ""), made.err


@pytest.mark.parametrize("cell", ["rnn", *(pytest.param(x, marks=whole) for x in ("gru", "lstm"))])
@pytest.mark.parametrize("attends", ["after", "before"])
def test_a_new_decoder_attends_differently_at_each_time(
    cell: str, attends: str, attn: Attn
) -> None:
    options = ("--kind", "encoder_decoder", "--cell", cell, "--attends", attends)
    made = attn("new", *options).out.encode()
    shown = json.loads(attn("compute", "-", "-f", "json", stdin=made).out)
    weights = np.array(shown["steps"]["weights"]["value"])
    assert len(np.unique(weights.round(6), axis=0)) == len(weights)
    assert weights.min() >= 0.01


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("options", [(), ("--heads", "2"), ("--tokens", "a,b,c,d,e")])
def test_a_new_state_shows_what_its_rule_does(
    rule: str, options: tuple[str, ...], attn: Attn, tmp_path: Path
) -> None:
    result = attn("new", "--kind", "delta", "--set", f"update={rule}", *options)
    assert (result.status, result.err) == (0, "")
    (tmp_path / "hw.yaml").write_text(result.out)
    trace = attncli.compute(attncli.load(tmp_path / "hw.yaml"))
    assert trace.problem.update == rule
    assert all(step.array.any() for step in trace if step.stem in ("S", "k", "v") and step.suffix)
    assert "alpha" not in trace.inputs or (trace.inputs["alpha"].array != 1).any()


REFUSED = table("refusals_of_mechanisms", "refused")


@pytest.mark.parametrize("row", REFUSED, ids=[row["says"] for row in REFUSED])
def test_what_does_not_fit_is_refused(row: Keys) -> None:
    """When the problem is read, but for `late` ones, which only a calculation can know."""
    keys, is_late = problem_of(row), row.get("late", False)
    problem = attncli.Problem(**keys) if is_late else None
    with pytest.raises(attncli.InputError) as refused:
        attncli.compute(problem) if problem else attncli.Problem(**keys)
    assert row["says"] in str(refused.value)


def test_every_kind_has_a_sample() -> None:
    assert {p.kind for path in SAMPLE_FILES for p in attncli.load_all(path)} == {*KINDS}


@rows("mechanisms", "read_back")
@pytest.mark.parametrize("suffix", ["json", "yaml", "csv", "tsv", "npz"])
def test_results_are_read_back_as_their_problem(
    row: Keys, suffix: str, attn: Attn, tmp_path: Path
) -> None:
    keys, results = as_lists(problem_of(row)), tmp_path / f"results.{suffix}"
    assert attn("compute", "-", "-o", results, stdin=json.dumps(keys).encode()).status == 0
    trace, again = computed(keys), attncli.compute(attncli.load(results))
    assert [*again.steps] == [*trace.steps]
    for step in trace:
        np.testing.assert_array_equal(again[step.name].value, step.value, step.name)


def test_the_table_of_a_time_step_fits_one_screen(attn: Attn) -> None:
    """From h_{t−1} to h_t in at most 40 lines of at most 90 columns, under the time's name."""
    out = attn("compute", "sample_inputs/recurrent.yaml").out
    times = [step.partition("\nweights =")[0].strip() for step in out.split("── t = ")[1:]]
    assert [len(time.splitlines()) <= 40 for time in times] == [True] * 3
    assert max(map(len, out.splitlines())) <= 90

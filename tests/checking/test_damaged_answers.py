"""Answer files that went wrong on the way: each is judged or refused, in a sentence or two."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.calculation import trace
from tests.conftest import SAMPLES, Attn, Result
from tests.reading.damaged_files import odd_files

FORMATS = ("yaml", "json", "csv", "npz", "ipynb", "html")


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("form", FORMATS)
def test_right_numbers_in_an_odd_file_are_right_or_refused(
    form: str, attn: Attn, tmp_path: Path
) -> None:
    path = tmp_path / f"answers.{form}"
    for file in odd_files(form):
        path.write_bytes(file["data"])
        found = attn("check", SAMPLES / file["sample"], path, "-f", "json")
        shown = f"{file['sample']}: {file['data'][:400]!r}"
        assert_ends_well(found, path, shown)
        assert_ends_well(attn("check", SAMPLES / file["sample"], path), path, shown)
        if found.status == 2:
            assert "readable" not in file, f"{found.err}{shown}"
            continue
        for report in map(json.loads, found.out.splitlines()):
            if "readable" in file:
                assert report["verdict"] == "correct", f"{file['readable']}, {shown}"
            wrong = {name for name, step in report["steps"].items() if step["status"] == "wrong"}
            assert wrong <= {*file["damaged"]}, f"{wrong}, {shown}"


def assert_ends_well(result: Result, path: Path, shown: str) -> None:
    """Assert that a file is judged or refused, in sentences that name it."""
    assert result.status in (0, 1, 2), shown
    # Bytes that are not UTF-8 are read, with a note.
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert bool(lines) == (result.status == 2), (lines, shown)
    for number, line in enumerate(lines):
        starts = (str(path), "nothing.csv", "a.csv", *("  ", str(path.parent)) * (number > 0))
        assert line.startswith(starts), (lines, shown)
        assert len(line) < 1000, (line[:300], shown)
    assert "\x1b" not in result.err + result.out


@pytest.mark.parametrize("odd", ["0.1*e^2", "1.0e^10", "-1.heads: 00", "0.5e5."])
def test_a_number_with_a_point_and_an_e_may_be_an_expression_or_nothing(odd: str) -> None:
    problem = attncli.load(SAMPLES / "i_am_good.yaml")
    rows = [[odd, "0.10", "0.3"], ["0.4", "0.5", "0.6"], ["0.1", "0.2", "0.3"]]
    assert attncli.check(problem, {"exp": rows}).verdict == "wrong"


def test_one_key_judges_any_number_of_submissions_as_a_key_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a key keeps is bounded, and changes nothing in a report."""
    monkeypatch.setattr(trace, "MAX_KEPT_RESULTS", 8)
    problem = attncli.load(SAMPLES / "heads_cut.yaml")
    key, numbers = attncli.AnswerKey(problem), random.Random(5)
    output = key.trace.output
    for _ in range(10):
        digits, factor = numbers.randint(1, 4), 1 + numbers.choice([0, 0.004, -0.02])
        answers = {"output": [[f"{x * factor:.{digits}f}" for x in row] for row in output]}
        ours, alone = key.check(answers), attncli.check(problem, answers)
        assert attncli.render(ours, "json") == attncli.render(alone, "json")
        assert len(key.trace._kept) <= 8


def test_more_axes_than_any_step_has_are_refused() -> None:
    nested: object = 1
    for _ in range(40):
        nested = [nested]
    with pytest.raises(attncli.InputError, match="scores has 40 axes, which no step has"):
        attncli.check(attncli.Problem(X=[[1, 2], [3, 1]]), {"scores": nested})


def of_other_shapes(value: Any) -> Iterator[Any]:
    """Yield matrices of other shapes than the right one, which no axis of size 1 makes equal."""
    yield from (2, [], [[]], [[[1, 2], [3, 4]], [[1, 2], [3, 4]]])
    if value.ndim >= 2:
        rows = value.reshape(-1, value.shape[-1]).tolist()
        yield [*rows, rows[-1]]  # long
        yield [row[:-1] if row is rows[0] else row for row in rows]  # ragged
        yield [[*row, 1] for row in rows]  # wide


@pytest.mark.parametrize("name", ["differential", "online", "decode", "heads_grouped", "delta"])
def test_a_step_of_another_size_is_no_right_answer(name: str) -> None:
    """The judge looks for mistakes that give another shape, also one without any number."""
    key = attncli.AnswerKey(attncli.load(SAMPLES / f"{name}.yaml"))
    for step in [*key.trace][::2]:
        for raw in of_other_shapes(np.nan_to_num(step.value, neginf=-99)):
            is_alone = step.value.size == 1 and np.size(raw) == 1
            try:
                report = key.check({step.name: raw})
            except attncli.InputError:
                continue
            is_short = report.steps[step.name].has(5)  # a row that is left out costs that row
            assert report.verdict != "correct" or is_alone or is_short, (step.name, raw)


ONES = "V: [[1, 0], [0, 1], [1, 1]]"
"""A right step of mask_matrix.yaml."""


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("asked: [[1, 0, -inf], [-inf, 1, 1], [-inf, -inf, -inf]]", 1, "(did you mean masked?)"),
        ("asked: 1", 1, "incomplete: 6 numbers; skipped: asked (did you mean masked?)"),
        ("q1: [9, 9]", 1, "wrong: 2 of 8 numbers, first at Q"),
        ("Q1: [9, 9]", 1, "incomplete: 6 numbers; skipped: Q1 (write q_1 for a row)"),
        ("QQ: [[2.5]]", 1, "incomplete: 6 numbers; skipped: QQ (write the name of the step)"),
        ("scores: [[[1], [2]], [[3]]]", 1, "skipped: scores (matrix 2 of scores has the shape"),
        ("weights:", 1, "incomplete: 6 numbers"),
        ("weights: ~", 0, "correct: 6 numbers"),
        ("dk: 2", 0, "skipped: dk (no steps of this problem)"),
        ("points: 3", 0, "skipped: points (no steps of this problem)"),
        ("date: 3 May", 0, "skipped: date (no steps of this problem)"),
        ("heads 2:", 2, "heads 2 in answers has no value"),
        ("heads 2:", 2, "write heads: 2"),
        ("mask: {causal}", 2, "write mask: causal"),
        ("foo:", 2, "a.yaml:2:1: foo in answers has no value"),
        ("ouput:", 2, "did you mean output?"),
    ],
)
def test_nothing_beside_the_steps_is_passed_over(
    line: str, status: int, said: str, attn: Attn, tmp_path: Path
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"{ONES}\n{line}\n")
    result = attn("check", SAMPLES / "mask_matrix.yaml", file)
    assert result.status == status
    assert said in result.out + result.err


def test_the_row_of_a_letter_needs_no_underscore() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "integers_scaled.yaml"))
    for letter, other in (("q1", "q_1"), ("k3", "k_3"), ("z2", "z_2")):
        every = [attncli.explain_all(trace, word).values() for word in (letter, other)]
        assert [one.line for one in every[0]] == [one.line for one in every[1]]

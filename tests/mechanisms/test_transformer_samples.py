"""The samples of transformers do what their notes say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import attncli
from tests.conftest import SAMPLES
from tests.support.moodle_quiz import quiz_of


def arrays_of(name: str) -> Any:
    return {step.name: step.value for step in attncli.compute(attncli.load(SAMPLES / name))}


def test_the_block_is_in_whole_numbers_up_to_the_softmax() -> None:
    """And those of the first token, which attends to nothing but itself, to the end."""
    steps = arrays_of("transformer_block.yaml")
    names = list(steps)
    for name in names[: names.index("masked")]:
        assert (steps[name] == np.round(steps[name])).all(), name
    for name in names[names.index("weights") :]:
        np.testing.assert_allclose(steps[name][0], np.round(steps[name][0]), atol=1e-12)


def test_the_answers_to_the_block_are_right_but_for_one_mistake() -> None:
    problem = attncli.load(SAMPLES / "transformer_block.yaml")
    (answers,) = attncli.load_answers(SAMPLES / "block_answers" / "eve.yaml")
    report = attncli.check(problem, answers)
    statuses = {name: step.status for name, step in report.steps.items()}
    assert [name for name, status in statuses.items() if status == "wrong"] == ["residual_1"]
    assert report.findings["residual_1"].id == "residual_of_normed"


def test_the_model_continues_both_sentences(tmp_path: Path) -> None:
    """After "love" comes the animal that was not said before it."""
    text = (SAMPLES / "next_word.yaml").read_text()
    for first, last in (("dogs", "cats"), ("cats", "dogs")):
        changed = text.replace("[dogs, love, cats]", f"[{first}, love, {last}]")
        changed = changed.replace("[love, cats, .]", f"[love, {last}, .]")
        path = tmp_path / f"{first}.yaml"
        path.write_text(changed)
        trace = attncli.compute(attncli.load(path))
        words = ["dogs", "love", "cats", "."]
        probabilities = trace["probabilities"].value
        assert [words[place] for place in probabilities.argmax(axis=-1)] == ["love", last, "."]
        assert probabilities.max(axis=-1).min() > 0.9
        assert trace["next"].value.tolist() == [0, 0, 0, 1]


def test_mistakes_that_narrow_the_probabilities_are_passed_over() -> None:
    """Without W_u there is a logit for each feature, and targets lie beyond the last."""
    problem = attncli.load(SAMPLES / "transformer_training.yaml")
    wrong = [[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]]
    result = attncli.check(problem, {"d_W_u": wrong})
    assert (result.verdict, result.first_wrong_step) == ("wrong", "d_W_u")
    asked = problem.marked({"ask": ["d_W_u"], "decimals": 2})
    (question,) = quiz_of([asked])
    right = attncli.compute(problem)["d_W_u"].value.ravel()
    assert [
        field.judge(f"{x:.2f}")[0] for field, x in zip(question.fields, right, strict=True)
    ] == [1] * 6


def test_a_step_of_training_lowers_the_loss() -> None:
    problem = attncli.load(SAMPLES / "transformer_training.yaml")
    trace = attncli.compute(problem)
    new = {
        name.removeprefix("new_"): step.value
        for name, step in trace.steps.items()
        if name.startswith("new_")
    }
    assert set(new) == {*problem.matrices()} - {"X"}
    after = attncli.compute(problem.with_arrays(new))
    assert after["loss"].value < trace["loss"].value - 0.1
    assert trace["next"].value.tolist() == after["next"].value.tolist() == [0, 0, 1]

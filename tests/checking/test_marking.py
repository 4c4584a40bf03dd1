"""The key `marking`: digits, tolerance, steps and points that a teacher asks for."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.core.problem.marking import FLAGS, Marking
from tests.checking.judged_cases import problem_of
from tests.conftest import SAMPLES, Attn, table

SCALED = SAMPLES / "integers_scaled.yaml"
ADA = SAMPLES / "answers" / "ada.json"
BO = SAMPLES / "answers" / "bo.yaml"
WEIGHTS = [["0.98", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.91", "0.05", "0.05"]]


def test_json_and_pages_know_points_and_what_is_not_given(attn: Attn, tmp_path: Path) -> None:
    flag = ("--points", "scores: 3, weights: 4, Z: 3, Q: 0.5")
    said = "points: 10 of 10.5 (scores 3 of 3, weights 4 of 4, output 3 of 3, Q 0 of 0.5)"
    assert said in attn("check", SCALED, BO, *flag, "-f", "html").out
    report = json.loads(attn("check", SCALED, BO, *flag, "-f", "json").out)
    assert (report["points"], report["of"], report["not_given"]) == (10, 10.5, ["Q"])
    assert (report["steps"]["Q"]["points"], report["steps"]["Q"]["of"]) == (0, 0.5)
    assert "points" not in report["steps"]["scaled"]
    cells = ("--points", "scaled[1,1]: 1, output: 3")
    report = json.loads(attn("check", SCALED, BO, *cells, "-f", "json").out)
    assert report["parts"] == {"scaled[1,1]": {"points": 0, "of": 1}}
    assert (report["steps"]["output"]["points"], report["of"]) == (3, 4)
    ask = ("--ask", "output,scores")
    assert json.loads(attn("check", SCALED, ADA, *ask, "-f", "json").out)["verdict"] == "incomplete"
    assert "not given" in attn("check", SCALED, ADA, *ask, "-f", "html").out
    assert attn("check", SCALED, ADA, *ask, "--feedback", tmp_path).status == 1
    assert "… incomplete: 9 numbers; not given: scores" in (tmp_path / "Ada.html").read_text()


def test_gradescope_has_a_test_for_everything_that_is_asked(attn: Attn) -> None:
    asked = ("--ask", "scores[1,1],scaled[2],Q[1]")
    tests = json.loads(attn("check", SCALED, BO, *asked, "-f", "gradescope").out)["tests"]
    assert [(test["score"], test["output"].splitlines()[0]) for test in tests] == [
        (1, "✓ right"),
        (0, "the first wrong number is scaled[a1, a1]"),
        (0, "not given"),
    ]


@pytest.mark.usefixtures("small_pool")
def test_variants_are_drawn_where_cells_are_asked(attn: Attn, tmp_path: Path) -> None:
    flags = ("-n", "1", "--seed", "1", "--ask", "weights[1, 1]", "-o", f"{tmp_path}/")
    assert "asked: weights, in 2 decimals" in attn("vary", SCALED, *flags).out


def test_python_takes_a_mapping_or_a_marking() -> None:
    own = problem_of("good", {"marking": {"ask": ["weights"], "decimals": 2}})
    assert own.marking.ask == ("weights",)
    both = attncli.check(own, {"weights": WEIGHTS}, marking={"points": {"weights": 1}})
    assert (both.marking.ask, both.marking.decimals, both.total) == (("weights",), 2, 1)
    only = attncli.check(own, {"weights": WEIGHTS}, marking=Marking(points={"weights": 1}))
    assert (only.marking.ask, only.marking.decimals) == ((), None)
    assert pickle.loads(pickle.dumps(both)).total == 1
    assert "marking" not in attncli.compute(own).problem.options()


def test_a_marking_from_python_stands_in_no_file(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("{X: [[1, 3], [2, 1]], score: dot, marking: {ask: [scores]}}")
    with pytest.raises(attncli.InputError, match=r"^there is no step nonsense"):
        attncli.check(attncli.load(path), {"scores": [[1]]}, marking={"ask": ["nonsense"]})


FAULTS = table("marking", "FAULTS")


@pytest.mark.parametrize(("written", "message", "hint"), FAULTS, ids=[row[0] for row in FAULTS])
def test_what_is_wrong_is_one_clear_sentence(
    written: str, message: str, hint: str, attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(f"X: [[1, 3], [2, 1]]\nscore: dot\nmarking: {written}\n")
    result = attn("check", "p.yaml", BO, cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert hint in result.err


def test_the_schema_knows_every_part() -> None:
    properties: Any = attncli.schema()["properties"]
    assert set(properties["marking"]["properties"]) == set(FLAGS) == set(Marking.fields)

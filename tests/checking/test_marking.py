"""The key `marking`: digits, tolerance, steps and points that a teacher asks for."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.core.problem.marking import FLAGS, Marking
from tests.checking.judged_cases import problem_of
from tests.conftest import SAMPLES, Attn, table

SCALED = SAMPLES / "integers_scaled.yaml"
BO = SAMPLES / "answers" / "bo.yaml"
WEIGHTS = [["0.98", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.91", "0.05", "0.05"]]


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

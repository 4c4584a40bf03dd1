"""A row of a table is all that a new mask form, normaliser or score function needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.cli.listings import score_tables
from attncli.core.arithmetic.elements import Array
from attncli.core.attention import masks, normalizers, scores
from attncli.core.attention.masks import MASKS, Grid, MaskForm
from attncli.core.attention.normalizers import NORMALIZERS, Normalizer
from attncli.core.attention.parameters import Normalize, Parameter
from attncli.core.attention.scores import SCORES, Parameters, ScoreFunction
from attncli.core.numbers.forms import TRUTH, count, number
from attncli.core.tape.operations import MatMul, Scale, dot
from attncli.core.tape.step import Expression, Operation, Step
from attncli.core.tape.tape import Tape
from attncli.reading.load import Overrides, load_all

X = [[1, 0], [0, 1], [1, 1]]


def part_of_schema(key: str, part: str) -> Any:
    """Return what `attn schema` says of the keys inside a key that stand beside one of them."""
    kinds = attncli.schema()["properties"][key]["anyOf"]
    mappings = (kind["properties"] for kind in kinds if "properties" in kind)
    return next(mapping for mapping in mappings if part in mapping)


def listed() -> str:
    """Return what `attn scores` prints."""
    return "\n".join("".join(text for text, _ in line) for line in score_tables())


def trace_of(path: Path, text: str, **flags: str) -> attncli.Trace:
    """Return the trace of a file, with flags of the command line, as `attn compute` has them."""
    path.write_text(text)
    (problem,) = load_all(path, Overrides(flags))
    return attncli.compute(problem)


def diagonal(wanted: bool, grid: Grid) -> Array | None:
    """With false, no token attends to itself."""
    return None if wanted else grid.key != grid.position


def test_a_mask_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = MaskForm(diagonal, TRUTH, "j ≠ p", "false: no token sees itself", by_position=True)
    monkeypatch.setitem(masks.MASKS, "diagonal", row)
    trace = attncli.compute(attncli.Problem(X=X, mask={"diagonal": False}))
    assert trace["weights"].value.diagonal().tolist() == [0, 0, 0]
    with pytest.raises(attncli.InputError, match=r"mask\.diagonal must be true or false"):
        attncli.Problem(X=X, mask={"diagonal": "perhaps"})
    with pytest.raises(attncli.InputError, match="the mask diagonal has no use in kind pooling"):
        attncli.Problem(kind="pooling", X=X, u=[1, 1], mask={"diagonal": False})
    path = tmp_path / "problem.yaml"
    of_file = trace_of(path, f"X: {X}\nmask: {{diagonal: false, causal: true, offset: 1}}\n")
    assert of_file.inputs["mask"].value.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    of_flag = trace_of(path, f"X: {X}\n", mask="{diagonal: false}")
    assert of_flag.inputs["mask"].value.tolist() == (1 - np.eye(3)).tolist()
    truth = {"anyOf": [{"$ref": "#/$defs/truth"}, {"type": "null"}]}
    assert part_of_schema("mask", "diagonal")["diagonal"] == truth
    assert "diagonal  j ≠ p" in listed()


def test_a_mask_form_of_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its letters are bound, and it is turned round with the tokens, without a line elsewhere."""
    row = MaskForm(masks.block, masks.ZEROS_AND_ONES, "hidden[i, j] = 0", "as block")
    monkeypatch.setitem(masks.MASKS, "hidden", row)
    upper = np.triu(np.ones((3, 3)), 1)
    plain = attncli.compute(attncli.Problem(X=X, mask={"hidden": upper}))
    turned = attncli.Problem(X=np.transpose(X), mask={"hidden": upper.T}, tokens_as="columns")
    causal = attncli.compute(attncli.Problem(X=X, mask="causal"))
    for trace in (plain, attncli.compute(turned)):
        np.testing.assert_array_equal(trace["weights"].array, causal["weights"].array)
    with pytest.raises(attncli.InputError, match=r"mask\.hidden has 2 columns, but X has 3 rows"):
        attncli.Problem(X=X, mask={"hidden": np.ones((3, 2))})


def power(tape: Tape, s: Expression, settings: Normalize) -> Expression:
    """S to a whole power, divided by the sum of these."""
    factor = settings.parameters["factor"]
    return normalizers.divide_by_sum(tape, Scale(s, factor), settings)


def test_a_normaliser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = Parameter("factor", default=2.0, number=count())
    row = Normalizer(power, "c s / Σ c s", "as sum", (own,))
    monkeypatch.setitem(normalizers.NORMALIZERS, "multiplied", row)
    keys = {"name": "multiplied", "factor": 3, "axis": "queries"}
    trace = attncli.compute(attncli.Problem(X=X, scale=1, normalize=keys))
    assert trace["sum"].formula == "sum = scores · 3 summed over queries"
    with pytest.raises(attncli.InputError, match="the normaliser softmax has no factor"):
        attncli.Problem(X=X, normalize={"factor": 3})
    path = tmp_path / "problem.yaml"
    text = f"X: {X}\nscale: 1\nnormalize: multiplied\n"
    assert trace_of(path, text).problem.options()["normalize"] == {
        "name": "multiplied",
        "factor": 2,
    }
    with pytest.raises(attncli.InputError, match=r"normalize\.factor must be a whole number"):
        trace_of(path, text, normalize="{name: multiplied, factor: 0}")
    schema = part_of_schema("normalize", "factor")
    assert schema["name"]["enum"] == ["multiplied"]
    assert schema["factor"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 2**31}
    assert "axis" in schema
    assert "multiplied  c s / Σ c s" in listed()


def bent(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    """Q M Kᵀ, times a number."""
    del tape
    matrix, times = p["M"], p["times"]
    assert isinstance(matrix, Step)
    assert not isinstance(times, Step)
    return Scale(dot(MatMul(q, matrix), k), times)


def test_a_score_function(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = (
        Parameter("M", ("d_q", "d_k"), required=True),
        Parameter("times", default=3.0, number=number(above=2)),
    )
    row = ScoreFunction(bent, "c qᵀ M k", "nobody", own, same_size=False)
    monkeypatch.setitem(scores.SCORES, "bent", row)
    trace = attncli.compute(attncli.Problem(X=X, score={"name": "bent", "M": [[2, 0], [0, 1]]}))
    assert trace["scores"].value.tolist() == [[6, 0, 6], [0, 3, 3], [6, 3, 9]]
    assert trace.inputs["M"].key == "score.M"
    with pytest.raises(attncli.InputError, match="the score function bent needs M"):
        attncli.Problem(X=X, score="bent")
    with pytest.raises(attncli.InputError, match=r"score\.times must be greater than 2"):
        attncli.Problem(X=X, score={"name": "bent", "M": np.eye(2), "times": 2})
    (tmp_path / "m.csv").write_text("2,0\n0,1\n")
    path = tmp_path / "problem.yaml"
    of_file = trace_of(path, f"X: {X}\nscore: {{name: bent, M: m.csv}}\n")
    assert of_file["scores"].value.tolist() == trace["scores"].value.tolist()
    overrides = Overrides({"score": "bent"}, {"score.M": str(tmp_path / "m.csv")})
    (of_flags,) = load_all(path, overrides)
    assert of_flags.score["M"].tolist() == [[2, 0], [0, 1]]
    schema = part_of_schema("score", "M")
    assert schema["M"] == {"$ref": "#/$defs/matrix"}
    assert schema["name"]["enum"] == ["bent"]
    assert schema["times"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 2}
    assert "with M (d_q, d_k), times = 3" in listed()


@pytest.mark.parametrize("table", [SCORES, NORMALIZERS], ids=["score", "normalize"])
def test_parameters_of_one_name_are_written_in_one_form(table: Any) -> None:
    """The key `score.W` has one form, whatever row it belongs to."""
    forms: dict[str, set[str]] = {}
    for row in table.values():
        for parameter in row.parameters:
            forms.setdefault(parameter.name, set()).add(str(parameter.form.schema()))
    assert all(len(found) == 1 for found in forms.values())


def test_every_mask_form_has_a_value_of_its_own() -> None:
    names = [key for name, row in MASKS.items() for key in (name, *row.settings)]
    assert len(names) == len(set(names))


def test_an_input_knows_its_key() -> None:
    """By what it was given as, even where another key has the same numbers."""
    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    problem = attncli.Problem(
        X=numbers, W_q=numbers, bias=numbers, score={"name": "general", "W": numbers}, mask="causal"
    )
    trace = attncli.compute(problem)
    keys = {name: step.key for name, step in trace.inputs.items()}
    assert keys == {"X": "X", "W_q": "W_q", "W": "score.W", "bias": "bias", "mask": "mask"}
    assert all(step.key == "" for step in trace)

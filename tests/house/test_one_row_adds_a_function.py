"""A row of a table is all that a new function needs, as the recipes of docs/extending.md say."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

import attncli
from attncli import formats
from attncli.checking.mistakes import of_weights
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.core.attention import masks, normalizers, scores
from attncli.core.attention.masks import MASKS, MaskForm
from attncli.core.attention.normalizers import NORMALIZERS
from attncli.core.attention.parameters import Normalize, Parameter
from attncli.core.attention.scores import SCORES
from attncli.core.numbers.forms import count, number
from attncli.core.tape import operations
from attncli.core.tape.operations import MatMul, Scale, dot
from attncli.core.tape.step import Expression, Operation
from attncli.core.tape.tape import Tape
from attncli.printing import counts
from attncli.printing import table as table_format
from attncli.reading.load import Overrides, load_all
from tests.conftest import ROOT, Attn, run_command

X = [[1, 0], [0, 1], [1, 1]]

RECIPES = re.findall(
    r"^\*\*An? ([\w ]+?)\*\*.*?```python\n(.*?)```",
    (ROOT / "docs" / "extending.md").read_text(),
    re.DOTALL | re.MULTILINE,
)
"""What can be added, with the code that adds it: a function, then the rows of tables."""


@pytest.fixture(autouse=True)
def _tables_stay_as_they_were() -> Iterator[None]:
    """Take out of the tables what a test adds to them."""
    with ExitStack() as stack:
        for table in (SCORES, MASKS, NORMALIZERS, MISTAKES, formats.FORMATS):
            stack.enter_context(mock.patch.dict(table))
        yield


def recipe(thing: str, *modules: ModuleType) -> tuple[dict[str, Any], list[Any]]:
    """Run the code of a recipe where it is said to go; return the names there and the rows.

    It goes into the last module, which imports from the others.
    """
    (code,) = [code for name, code in RECIPES if name == thing]
    function, *rows = re.split(r"\n\n(?=\")", code)
    names = {name: value for module in modules for name, value in vars(module).items()}
    exec(function, names)
    return names, [eval(f"{{{row}}}", names) for row in rows]


def import_as(name: str, function: Any, patch: pytest.MonkeyPatch) -> None:
    """Let a module be imported that holds the function of a recipe alone."""
    module = ModuleType(name)
    setattr(module, function.__name__, function)
    patch.setitem(sys.modules, name, module)


def part_of_schema(key: str, part: str) -> Any:
    """Return what `attn schema` says of the keys inside a key that stand beside one of them."""
    kinds = attncli.schema()["properties"][key]["anyOf"]
    mappings = (kind["properties"] for kind in kinds if "properties" in kind)
    return next(mapping for mapping in mappings if part in mapping)


def trace_of(path: Path, text: str, **flags: str) -> attncli.Trace:
    """Return the trace of a file, with flags of the command line, as `attn compute` has them."""
    path.write_text(text)
    (problem,) = load_all(path, Overrides(flags))
    return attncli.compute(problem)


def test_there_is_a_recipe_for_each_table() -> None:
    things = ["score function", "mask form", "normaliser", "mechanism", "mistake", "format"]
    assert [name for name, _ in RECIPES] == [*things, "page"]


def test_costs_are_those_of_the_recipes() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    said = re.findall(r"^\| the ([a-z ]+?)(?: below|, .*?)? \| (\d+) \|", page, re.MULTILINE)
    codes = dict(RECIPES) | {"mechanism": "".join(files_of_the_mechanism())}
    counts = {name: sum(map(bool, code.split("\n"))) for name, code in codes.items()}
    assert {name: int(count) for name, count in said} == counts


def files_of_the_mechanism() -> list[str]:
    section = (ROOT / "docs" / "extending.md").read_text().partition("**A mechanism**")[2]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)[:3]


STARS = "".join(
    f"from attncli.core.{name} import *\n"
    for name in (
        *("attention.scores", "attention.masks", "attention.normalizers"),
        *("attention.parameters", "numbers.forms", "tape.operations"),
    )
)


def test_recipe_for_a_score_function() -> None:
    recipe("score function", operations, scores)
    problem = attncli.Problem(X=[[3, 4], [4, 3]], score={"name": "sharp_cosine", "sharpness": 5})
    trace = attncli.compute(problem)
    # (3·4 + 4·3) / (5·5) = 24/25, times 5
    np.testing.assert_allclose(trace["scores"].value, [[5, 4.8], [4.8, 5]], rtol=1e-15)
    assert trace["scores"].formula == "scores = Q Kᵀ / (‖Q‖ ‖K‖) · 5"


def test_recipe_for_a_mask_form(attn: Attn, tmp_path: Path) -> None:
    recipe("mask form", masks)
    trace = attncli.compute(attncli.Problem(X=X, mask={"diagonal": False}))
    assert trace["weights"].value.diagonal().tolist() == [0, 0, 0]
    assert trace["weights"].value[2].tolist() == [0.5, 0.5, 0]
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
    assert "diagonal  j ≠ p" in attn("scores").out


def test_recipe_for_a_normaliser() -> None:
    recipe("normaliser", operations, normalizers)
    problem = attncli.Problem(scores=[[0, 1]], V=[[4], [8]], normalize="tanh")
    # tanh 0 = 0, tanh 1 = 0.761594…
    np.testing.assert_allclose(attncli.compute(problem).output, [[8 * 0.7615941559557649]])


@pytest.mark.whole
def test_recipe_for_a_mechanism(tmp_path: Path) -> None:
    """A package with the files of the recipe adds it to an installed program.

    The numbers are the published ones of "I am good", MECHANISMS 1.
    """
    files = files_of_the_mechanism()
    package, about = tmp_path / "similarity", tmp_path / "similarity-1.dist-info"
    for folder in (package, about):
        folder.mkdir()
    for name, text in zip(("__init__", "steps", "mistakes"), files, strict=True):
        (package / f"{name}.py").write_text(text)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: similarity\nVersion: 1\n")
    others = "sharp_cosine", "diagonal", "tanh"
    rows = (dict(RECIPES)[name] for name in ("score function", "mask form", "normaliser"))
    (package / "rows.py").write_text(STARS + "\n".join(rows))
    offered = ("similarity = similarity", *(f"{name} = similarity.rows" for name in others))
    (about / "entry_points.txt").write_text("\n".join(("[attn]", *offered)))
    file = tmp_path / "file.yaml"
    file.write_text("kind: similarity\nX: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]\nsharpness: 1\n")

    def attn(*words: str | Path, stdin: bytes = b"") -> str:
        env = {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
        result = run_command(sys.executable, "-m", "attncli", *words, stdin=stdin, env=env)
        assert "Traceback" not in result.err
        return result.out

    (step,) = json.loads(attn("compute", file, "--only", "output", "-f", "json"))["steps"].values()
    published = [[1, 2.957691, 2.011295], [1, 1.540148, 2.722573], [1, 2.864164, 2.0]]
    np.testing.assert_allclose(step["value"], published, atol=5e-7)
    assert "sharpness: 2" in attn("new", "--kind", "similarity")
    flags = "--score", "sharp_cosine", "--mask", "{diagonal: false}", "--normalize", "tanh"
    shown = attn("compute", file, *flags)
    assert "scores = X Xᵀ / (‖X‖ ‖X‖) · 10" in shown
    assert "masked = sharpened, −∞ where mask = 0" in shown
    assert "weights = tanh(masked)" in shown
    answers = b"output: [[33, 70, 67], [27, 53, 59], [21, 45, 42]]"
    assert "not of the weights" in attn("check", file, "-", stdin=answers)
    assert attn("scores").count("(of similarity)") == 4


def test_recipe_for_a_mistake() -> None:
    names, _ = recipe("mistake", operations, of_weights)
    row = names["weights_halved"]
    MISTAKES[row.id] = row
    problem = attncli.Problem(scores=[[0, 0], [0, 0]], V=[[1, 0], [0, 1]])
    report = attncli.check(problem, {"weights": [["0.25", "0.25"], ["0.25", "0.25"]]})
    finding = report.findings["weights"]
    assert "weights_halved" in [finding.id, *(other.id for other in finding.also)]


def test_recipe_for_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    names, (row,) = recipe("format", table_format, formats)
    import_as("attncli.printing.sizes", names["traces"], monkeypatch)
    formats.FORMATS.update(row)
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1]], score="dot"))
    assert attncli.render(trace, "sizes", only=("Q", "sum")) == "Q 4\nsum 2\n"


def test_recipe_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """One builder: every writer of blocks has the page."""
    names, rows = recipe("page", counts, formats)
    import_as("attncli.printing.lengths", names["page"], monkeypatch)
    formats.FORMATS.update(rows[0] | rows[1])
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1]], score="dot"))
    shown = attncli.render(trace, "lengths", only=("Q", "sum"))
    assert shown == "Numbers\nstep  numbers\nQ           4\nsum         2\n\n6 numbers in all\n"
    shown = attncli.render(trace, "lengths_md", only=("Q", "sum"))
    table = "| step | numbers |\n|---|---:|\n| Q | 4 |\n| sum | 2 |"
    assert shown == f"# Numbers\n\n{table}\n\n6 numbers in all\n"


def test_a_mask_form_of_a_matrix() -> None:
    """Its letters are bound, and it is turned round with the tokens, without a line elsewhere."""
    MASKS["hidden"] = MaskForm(masks.block, masks.ZEROS_AND_ONES, "hidden[i, j] = 0", "as block")
    upper = np.triu(np.ones((3, 3)), 1)
    plain = attncli.compute(attncli.Problem(X=X, mask={"hidden": upper}))
    turned = attncli.Problem(X=np.transpose(X), mask={"hidden": upper.T}, tokens_as="columns")
    causal = attncli.compute(attncli.Problem(X=X, mask="causal"))
    for trace in (plain, attncli.compute(turned)):
        np.testing.assert_array_equal(trace["weights"].array, causal["weights"].array)
    with pytest.raises(attncli.InputError, match=r"mask\.hidden has 2 columns, but X has 3 rows"):
        attncli.Problem(X=X, mask={"hidden": np.ones((3, 2))})


def test_a_normaliser_with_a_parameter(attn: Attn, tmp_path: Path) -> None:
    factor = Parameter("factor", default=2.0, number=count())

    @NORMALIZERS.row("multiplied", "c s / Σ c s", "as sum", (factor,))
    def multiplied(tape: Tape, s: Expression, settings: Normalize) -> Expression:
        times = settings.parameters["factor"]
        return normalizers.divide_by_sum(tape, Scale(s, times), settings)

    keys = {"name": "multiplied", "factor": 3, "axis": "queries"}
    trace = attncli.compute(attncli.Problem(X=X, scale=1, normalize=keys))
    assert trace["sum"].formula == "sum = scores · 3 summed over queries"
    with pytest.raises(attncli.InputError, match="the normaliser softmax has no factor"):
        attncli.Problem(X=X, normalize={"factor": 3})
    path = tmp_path / "problem.yaml"
    text = f"X: {X}\nscale: 1\nnormalize: multiplied\n"
    of_file = trace_of(path, text).problem.options()
    assert of_file["normalize"] == {"name": "multiplied", "factor": 2}
    with pytest.raises(attncli.InputError, match=r"normalize\.factor must be a whole number"):
        trace_of(path, text, normalize="{name: multiplied, factor: 0}")
    schema = part_of_schema("normalize", "factor")
    assert schema["name"]["enum"] == ["multiplied"]
    assert schema["factor"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 2**31}
    assert "axis" in schema
    assert "multiplied  c s / Σ c s" in attn("scores").out


def test_a_score_function_with_parameters(attn: Attn, tmp_path: Path) -> None:
    matrix = Parameter("M", ("d_q", "d_k"), required=True)
    times = Parameter("times", default=3.0, number=number(above=2))

    @SCORES.row("bent", "c qᵀ M k", "nobody", (matrix, times), same_size=False)
    def bent(tape: Tape, q: Expression, k: Expression, p: Any) -> Operation:
        return Scale(dot(MatMul(q, p["M"]), k), p["times"])

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
    assert "with M (d_q, d_k), times = 3" in attn("scores").out


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

"""The package as a library: what `import attncli` offers, and what it costs."""

from __future__ import annotations

import inspect
import io
import json
import pickle
import re
import runpy
import sys
from decimal import Decimal
from fractions import Fraction
from html import unescape
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.drawing.hand_work import Work
from attncli.core.problem.keys import KEYS
from attncli.core.problem.marking import Marking
from attncli.core.problem.shapes import Bound
from attncli.core.records import Record
from attncli.core.tape.step import Step
from attncli.formats import FORMATS
from attncli.printing.selection import Selection
from tests.conftest import ROOT, SAMPLES, TYPICAL_SAMPLES, Attn, Result, run_command, table


def test_import_prints_nothing_and_needs_no_numpy() -> None:
    code = "import attncli, sys; print('numpy' in sys.modules or 'yaml' in sys.modules)"
    assert run_command(sys.executable, "-c", code) == Result(0, "False\n", "")


def test_problem_does_not_change() -> None:
    problem = attncli.Problem(X=[[1.0]])
    with pytest.raises(AttributeError, match="does not change"):
        problem.heads = 2


def test_arrays_of_problems_and_traces_do_not_change(tmp_path: Any) -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0]])
    keys: dict[str, Any] = {
        "X": x,
        "score": {"name": "general", "W": x},
        "bias": x.astype(int),
        "softcap": 1,
    }
    problem = attncli.Problem(
        **keys, mask={"keep": x + 1 > 1, "lengths": 2}, gradient=x, answers={"weights": x}
    )
    np.savez(tmp_path / "x.npz", X=x, W_q=x.astype(int))
    read = attncli.load(tmp_path / "x.npz")
    for one in (
        problem,
        read,
        attncli.Problem(X=[[1, 2]]),
        attncli.Problem(X=[[1.0]], b_q=x[0, :1]),
    ):
        trace = attncli.compute(one)
        steps = [*trace, *trace.inputs.values()]
        arrays = [*one.matrices().values(), *(step.value for step in steps)]
        for array in [*arrays, *(step.array for step in steps), trace.output]:
            before = array.copy()
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 99
            np.testing.assert_array_equal(array, before)
    for array in (problem.written["X"], problem.written["bias"], problem.answers["weights"]):  # type: ignore[index]
        assert not array.flags.writeable


def test_arrays_of_large_steps_do_not_change() -> None:
    """These are calculated some queries at a time, and written into as they come."""
    x = np.ones((600, 2))
    for only in (["weights"], ["output"]):
        trace = attncli.compute(attncli.Problem(X=x), only=only, alone=True)
        assert "streamed" in trace.path
        assert not any(step.array.flags.writeable for step in trace)


def test_what_the_caller_does_with_an_array_changes_no_problem() -> None:
    x, rows = np.eye(2), [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    score = {"name": "general", "W": x}
    problem = attncli.Problem(X=x, W_q=rows, mask={"keep": x}, score=score)
    kept = np.zeros((1, 1, 2, 2))
    trace = attncli.compute(attncli.Problem(X=x), settle=lambda name, array: kept)
    for array in (x, *rows, kept):
        array[...] = 7
    for held in (problem.X, problem.W_q, problem.mask["keep"], problem.score["W"]):
        np.testing.assert_array_equal(held, np.eye(2))
    assert not trace["Q"].value.flags.writeable


ARRAY = r"^(?!.*Callable).*\bArray\b"
"""The annotation of a field that holds arrays, and no function of them."""


def test_records_that_hold_arrays_compare_by_identity() -> None:
    for module in walk_packages(attncli.__path__, "attncli."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    # A module and a function of one name would take each other's place.
    assert not any(inspect.ismodule(getattr(attncli, name)) for name in attncli.__all__)
    known, rest = set[type[Record]](), [*Record.__subclasses__()]
    while rest:
        known.add(cls := rest.pop())
        rest += cls.__subclasses__()
    holders = {cls for cls in known if any(map(re.compile(ARRAY).search, cls.annotated.values()))}
    assert holders >= {Step, attncli.Judged}
    by_value = {cls for cls in known if cls.__eq__ is Record.__eq__}
    assert not holders & by_value
    assert {attncli.Place, attncli.Fault, attncli.Finding, attncli.Source} <= by_value


def test_records_of_plain_values_compare_by_value() -> None:
    assert Marking() == Marking() != Marking(decimals=2)
    assert (
        Marking(points={"Q": 1.0}) == attncli.Problem(X=[[1]], marking={"points": "Q: 1"}).marking
    )
    assert Work(0, 1, 2, 3) == Work(0, 1, 2, 3) != Work(0, 1, 2, 4)
    assert attncli.Place("a", 1) == attncli.Place("a", 1) != attncli.Place("a", 2)
    assert len({attncli.Fault("x", ("W_q", 1)), attncli.Fault("x", ("W_q", 1))}) == 1
    assert attncli.Place("a") != Bound(1, "a", "", "")
    one, other = (attncli.compute(attncli.Problem(X=[[1]])) for _ in range(2))
    assert one != other
    assert one["Q"] != other["Q"]
    assert len({one["Q"], one["Q"], other["Q"], one, other}) == 4


def test_unknown_step_names_those_there_are() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1.0]]))
    with pytest.raises(KeyError, match="no step wieghts; there are Q, K, V"):
        trace["wieghts"]


def test_several_problems_need_load_all(tmp_path: Any) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("X: [[1]]\n---\nX: [[2]]\n")
    assert len(attncli.load_all(path)) == 2
    with pytest.raises(attncli.InputError, match="holds 2 problems"):
        attncli.load(path)


OF_FLOAT32 = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
SELF: dict[str, Any] = {"X": OF_FLOAT32, "W_q": OF_FLOAT32.T, "W_v": OF_FLOAT32}
ROWS = [[0.1, 0.2, 0.3, 1]] * 4

KEYS_THAT_DO_NOT_WIDEN: dict[str, dict[str, Any]] = {
    **table("float32", "keys_that_do_not_widen"),
    "temperature of NumPy": {"normalize": {"name": "sparsemax", "temperature": np.float64(1.7)}},
    "soft cap": {"softcap": np.float64(5), "scale": "1/sqrt(3)"},
    "bias of float64": {"bias": np.eye(4)},
    "bias of whole numbers": {"bias": np.eye(4, dtype=int)},
    "mask of float64": {"mask": np.eye(4), "normalize": "hardmax"},
    "float16": {"X": OF_FLOAT32.astype(np.float16), "normalize": {"sink": 0.1}},
}


def with_matrices(part: Any) -> Any:
    """Return a part of a row of that table with the matrix that `float32` stands for."""
    if isinstance(part, dict):
        return {key: with_matrices(inner) for key, inner in part.items()}
    if isinstance(part, list):
        return [with_matrices(inner) for inner in part]
    return OF_FLOAT32 if isinstance(part, str) and part == "float32" else part


@pytest.mark.parametrize("name", KEYS_THAT_DO_NOT_WIDEN)
def test_numbers_that_have_no_type_do_not_widen_float32(name: str) -> None:
    """Neither in the calculation nor in that of what is written as NPZ."""
    trace = attncli.compute(attncli.Problem(**SELF | with_matrices(KEYS_THAT_DO_NOT_WIDEN[name])))
    steps = (*trace.inputs.values(), *trace)
    assert {step.name: step.array.dtype for step in steps if step.array.dtype != np.float32} == {}


def test_tokens_of_float64_are_not_narrowed_by_weights_of_float32() -> None:
    cross = {**SELF, "kind": "cross", "memory": np.array(ROWS)}
    for keys in ({**SELF, "X": ROWS}, cross):
        assert attncli.compute(attncli.Problem(**keys)).output.dtype == np.float64


def test_answers_keep_their_digits_beside_float32() -> None:
    answers = attncli.Problem(X=OF_FLOAT32, answers={"weights": np.full((4, 4), 0.1)}).answers
    assert answers is not None
    assert answers["weights"].dtype == np.float64


def test_a_number_beyond_float32_is_named() -> None:
    with pytest.raises(attncli.InputError, match="bias holds a number beyond float32"):
        attncli.Problem(**SELF, bias=-1e39)
    assert attncli.Problem(**{**SELF, "X": ROWS}, bias=-1e39).rules.bias is not None


def test_float16_is_calculated_in_float32_and_written_in_float16(tmp_path: Any) -> None:
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float16)
    path = tmp_path / "half.npz"
    np.savez(path, X=x, W_q=x.T @ x)
    problem = attncli.load(path)
    assert (problem.X.dtype, problem.is_half) == (np.float16, True)  # type: ignore[union-attr]
    trace = attncli.compute(problem)
    assert {step.value.dtype for step in trace} == {np.dtype(np.float32)}
    single = attncli.Problem(X=x.astype("f4"), W_q=(x.T @ x).astype("f4"))
    np.testing.assert_array_equal(trace.output, attncli.compute(single).output)

    written = as_npz(trace)
    assert {written[name].dtype for name in ("X", "W_q", "output")} == {np.dtype(np.float16)}
    np.testing.assert_array_equal(written["output"], trace.output.astype(np.float16))
    np.savez(path, **written)
    assert attncli.compute(attncli.load(path)).output.tolist() == trace.output.tolist()
    assert json.loads(attncli.render(trace, "json"))["inputs"]["X"][0][0] == float(str(x[0, 0]))


def as_npz(trace: attncli.Trace) -> Any:
    return np.load(io.BytesIO(b"".join(FORMATS["npz"].traces([trace], Selection()))))


def test_what_float16_cannot_hold_is_written_in_float32() -> None:
    x = np.array([[4, 0], [0, 1]], np.float16)
    trace = attncli.compute(attncli.Problem(X=x, score="dot"))
    written = as_npz(trace)
    assert written["exp"].dtype == np.float32  # e^16 is 8.9 million, and float16 ends at 65504
    assert written["scores"].dtype == np.float16


def test_one_matrix_of_another_type_tells_that_float16_is_not_meant() -> None:
    x = np.eye(2, dtype=np.float16)
    assert not attncli.Problem(X=x, W_q=x.astype(np.float32)).is_half
    assert attncli.Problem(X=x, mask=[[1, 0], [1, 1]]).is_half
    assert not attncli.Problem(X=[[1, 0], [0, 1]]).is_half


class Foreign:
    """An array of another library: nothing of it is known but that NumPy can read it."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numbers, dtype=dtype)


class Unreadable(Foreign):
    """A tensor that stands on another device, say."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("use Tensor.cpu() first")


# What the package shows of itself.


def test_every_public_name_is_shown_and_can_be_had() -> None:
    assert {*attncli.__all__} <= {*dir(attncli)}
    assert attncli.__all__ == sorted(attncli.__all__)
    homes = [name for names in attncli._HOMES.values() for name in names]
    assert sorted(attncli.__all__) == sorted(homes)
    assert all(getattr(attncli, name).__doc__ for name in attncli.__all__)
    assert not [name for name in dir(attncli) if not hasattr(attncli, name)]


def test_arguments_and_attributes_of_a_problem_are_the_keys() -> None:
    assert list(attncli.ProblemKeys.__annotations__) == list(KEYS)
    script = runpy.run_path(str(ROOT / "docs" / "types_of_keys.py"))
    assert script["STUB"].read_text() == script["stub"](), "run python docs/types_of_keys.py"
    assert KEYS.keys() <= vars(attncli.Problem(X=[[1.0]])).keys()


def test_an_attribute_that_is_no_key_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'W_x'"):
        attncli.Problem(X=[[1.0]]).W_x  # type: ignore[attr-defined]  # noqa: B018


def test_none_leaves_a_key_out() -> None:
    problem = attncli.Problem(X=[[1.0]], W_q=None, score=None, heads=None)
    assert (problem.given, problem.heads, problem.W_q) == (("X",), 1, None)


@pytest.mark.parametrize("value", [None, 1])
def test_an_unknown_key_is_refused_whatever_its_value(value: object) -> None:
    with pytest.raises(attncli.InputError, match="unknown key foo"):
        attncli.Problem(X=[[1.0]], foo=value)  # type: ignore[call-arg]


# Arrays of other libraries.

NUMBERS = [[1, 3, 2], [1, 1, 3]]
W = [[1, 0, 2], [0, 1, 1], [1, 1, 0]]


@pytest.mark.parametrize("make", [np.array, Foreign, lambda rows: [Foreign(row) for row in rows]])
def test_arrays_of_other_libraries_stand_for_lists(make: Any) -> None:
    keep = [[1, 0], [1, 1]]
    keys: dict[str, Any] = {"X": NUMBERS, "W_v": W, "b_v": [1, 2, 3], "bias": [[0, 1], [2, 0]]}
    listed = attncli.Problem(**keys, score={"name": "general", "W": W}, mask={"keep": keep})
    made: dict[str, Any] = {key: make(rows) for key, rows in keys.items() if key != "b_v"}
    arrays = attncli.Problem(
        **made,
        b_v=Foreign(keys["b_v"]),
        score={"name": "general", "W": make(W)},
        mask={"keep": make(keep), "lengths": Foreign([2])},
    )
    right, other = attncli.compute(listed), attncli.compute(arrays)
    for step in right:
        np.testing.assert_array_equal(step.value, other[step.name].value)
    answers = {step.name: make(step.value.tolist()) for step in right if step.value.ndim == 2}
    assert attncli.check(arrays, answers).verdict == "correct"


def test_small_things_may_be_arrays_too() -> None:
    words = np.array(["a", "b"])
    small: dict[str, Any] = {"softcap": Foreign(2.0), "heads": np.int64(1), "tokens": words}
    problem = attncli.Problem(X=NUMBERS, **small)
    assert (problem.softcap, problem.tokens, problem.heads) == (2.0, ("a", "b"), 1)
    window = attncli.Problem(X=NUMBERS, mask={"window": np.array([1, 0])})
    assert window.mask == {"window": (1, 0)}


def test_what_cannot_be_read_is_told_by_key() -> None:
    with pytest.raises(attncli.InputError) as caught:
        attncli.Problem(X=[[1, 2]], score={"name": "general", "W": Unreadable(1)})
    (fault,) = caught.value.faults
    assert fault.path == ("score", "W")
    assert fault.message == "score.W cannot be read as an array: use Tensor.cpu() first"


# Steps as arrays, and their cells by label.


def test_a_step_is_an_array() -> None:
    weights = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))["weights"]
    np.testing.assert_array_equal(np.asarray(weights), weights.value)
    assert np.asarray(weights, dtype=np.float32).dtype == np.float32
    assert np.shares_memory(np.asarray(weights), weights.array)
    assert not np.shares_memory(np.array(weights, copy=True), weights.array)
    np.testing.assert_allclose(np.sum(weights, axis=1), 1)


def test_a_step_is_calculated_with_as_an_array() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot"))
    q, k, scores, other = trace["Q"], trace["K"], trace["scores"], np.full((3, 3), 2.0)
    x = q.value
    for found, expected in (
        (q - other, x - other),
        (other - q, other - x),
        (2 * q, 2 * x),
        (q / 2, x / 2),
        (-q, -x),
        (q**2, x**2),
        (q + k, x + x),
        (q @ np.transpose(k), scores.value),
        (other @ q, other @ x),
        (abs(q - 2), abs(x - 2)),
        (q > 1, x > 1),
        (np.exp(q), np.exp(x)),
        (np.maximum(other, q), np.maximum(other, x)),
        (np.add.reduce(q), x.sum(axis=0)),
        (np.add(q, 1, out=other), x + 1),
    ):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)
    assert np.allclose(q @ np.transpose(k), scores)
    np.testing.assert_array_equal(other, x + 1)
    with pytest.raises(TypeError):
        q += 1
    np.testing.assert_array_equal(q.value, x)
    assert q != k
    assert {q: 1, k: 2}[k] == 2
    assert k in [q, k]


def test_a_step_is_handed_to_other_libraries_as_a_copy() -> None:
    """By the protocol that `torch.as_tensor` asks for before all others."""
    for columns in ("rows", "columns"):
        step = attncli.compute(attncli.Problem(X=[[1, 2, 3], [4, 5, 6]], tokens_as=columns))["Q"]
        array = np.from_dlpack(step)
        np.testing.assert_array_equal(array, step.value)
        assert not np.shares_memory(array, step.array)


def test_one_name_of_a_step_needs_no_list() -> None:
    problem = attncli.Problem(X=np.ones((600, 2)))
    trace = attncli.compute(problem, only="output")
    assert [*trace.steps] == [*attncli.compute(problem, only=["output"]).steps]
    small = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1]]), only="A")
    assert attncli.render(small, only="weights") == attncli.render(small, only=["weights"])
    assert attncli.worksheet(small, "yaml", blank="scores") == attncli.worksheet(
        small, "yaml", blank=["scores"]
    )
    with pytest.raises(attncli.InputError, match="there is no step weighs"):
        attncli.compute(small.problem, only="weighs")


@pytest.mark.parametrize("number", [Fraction, Decimal])
def test_fractions_and_decimals_are_numbers(number: Any) -> None:
    half, one = number("0.5"), number(1)
    given = [[half, 1], [0, one]]
    for matrix in (given, [[1, half], [half, 0]], tuple(map(tuple, given)), np.array(given)):
        problem = attncli.Problem(X=matrix, W_q=[matrix], b_k=[1, half], bias=matrix)
        plain = np.array(matrix, float)
        for array in (problem.X, problem.W_q[0], problem.bias):  # type: ignore[index]
            np.testing.assert_array_equal(array, plain)
        np.testing.assert_array_equal(problem.b_k, [1, 0.5])
    small = attncli.Problem(
        X=[[1, 2]],
        scale=half,
        softcap=half,
        bias=half,
        heads=number(2),
        normalize={"temperature": half},
        marking={"tolerance": half},
        gradient="sum",
        learning_rate=half,
    )
    found = small.softcap, small.heads, small.normalize["temperature"], small.marking.tolerance
    assert (*found, small.learning_rate) == (0.5, 2, 0.5, 0.5, 0.5)
    assert small.bias.item() == 0.5  # type: ignore[union-attr]
    assert small.scale in ("1/2", "0.5")


def test_fractions_and_decimals_keep_their_digits() -> None:
    problem = attncli.Problem(X=[[Fraction(1, 3)]], score="dot")
    as_text = attncli.Problem(X=[["1/3"]], score="dot")
    traces = [attncli.compute(one) for one in (problem, as_text)]
    lines = [attncli.explain(trace, "scores[1, 1]").line for trace in traces]
    assert lines[0] == lines[1]
    given = [[Decimal("0.1")]], [[Decimal("0.11")]]
    verdicts = [attncli.check(problem, {"scores": matrix}).verdict for matrix in given]
    assert verdicts == ["correct", "correct"]
    report = attncli.check(problem, {"scores": [[Decimal("0.15")]]})
    assert report.verdict == "wrong"


def test_a_number_alone_is_a_matrix_as_in_a_file() -> None:
    for number in (-1, -1.0, "-1", np.float32(-1)):
        assert attncli.Problem(X=[[1, 2], [3, 4]], bias=number).bias.tolist() == [[-1]]  # type: ignore[union-attr]


def test_cells_by_label_and_by_place() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    scores, value = trace["scores"], trace["scores"].value
    assert scores["am", "I"] == scores[1, 0] == value[1, 0] == 10
    np.testing.assert_array_equal(scores["good"], value[2])
    np.testing.assert_array_equal(scores[:, "am"], value[:, 1])
    np.testing.assert_array_equal(scores[..., "am"], value[..., 1])
    assert scores[-1, "I"] == value[-1, 0]
    np.testing.assert_array_equal(trace["output"]["am", 1:], trace.output[1, 1:])


def test_heads_come_before_rows() -> None:
    trace = attncli.compute(attncli.Problem(X=np.eye(2), heads=2, tokens=["a", "b"]))
    weights = trace["weights"]
    assert weights[1, "a", "b"] == weights[..., "a", "b"][1] == weights.value[1, 0, 1]


def test_columns_are_indexed_as_they_stand() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "integers_columns.yaml"))
    scores = trace["scores"]
    first, second = (scores.labels[axis] for axis in scores.axes)
    assert scores[first[0], second[1]] == scores.value[0, 1]


def test_a_label_that_names_no_place_is_told_with_those_there_are() -> None:
    problem = attncli.Problem(
        kind="cross", X=[[1], [2]], memory=[[1], [2], [3]], tokens="I am", memory_tokens="I am am"
    )
    trace = attncli.compute(problem)
    for step, place, message in (
        ("scores", ("am", "you"), "no you along the axis key of scores; there are I, am, am"),
        ("scores", ("I", "am"), "more than one am along the axis key of scores; there are I, am"),
        ("Q", ("I", "x"), "no x along the axis feature of Q; it has no labels"),
    ):
        with pytest.raises(KeyError, match=message):
            trace[step][place]


# Problems, traces and reports go to other processes and to files.


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda path: path.name)
def test_problems_traces_and_reports_are_pickled(path: Path) -> None:
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        report = attncli.check(problem, {step.name: step.value for step in trace})
        again = pickle.loads(pickle.dumps(report))
        assert (again.verdict, again.counts) == (report.verdict, report.counts)
        assert again.trace.problem.options() == problem.options()
        assert [step.formula for step in again.trace] == [step.formula for step in trace]
        for step, other in zip(trace, again.trace, strict=True):
            np.testing.assert_array_equal(step.value, other.value)
        recomputed = attncli.compute(pickle.loads(pickle.dumps(problem)))
        np.testing.assert_array_equal(recomputed.last.value, trace.last.value)
        assert again.trace.last in [*again.trace]  # steps are shared, not copied


def test_a_long_chain_of_steps_is_pickled() -> None:
    problem = attncli.Problem(kind="recurrent", X=np.ones((300, 1)), A=[[0.1, 0.2]])
    trace = attncli.compute(problem)
    again = pickle.loads(pickle.dumps(trace))
    np.testing.assert_array_equal(again.output, trace.output)


def test_traces_and_reports_show_themselves_in_a_notebook() -> None:
    """In a frame, as the page's own style and script must not change the notebook's."""
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    report = attncli.check(trace.problem, {"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 7]]})
    for shown, text in ((trace, "2.0113"), (report, "1·1 was counted twice")):
        frame = shown._repr_html_()
        (page,) = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>', frame).groups()  # type: ignore[union-attr]
        assert unescape(page) == attncli.render(shown, "html")
        assert text in unescape(page)


def test_render_writes_what_the_command_writes(attn: Attn) -> None:
    path = SAMPLES / "heads_cut.yaml"
    trace = attncli.compute(attncli.load(path))
    for form in ("table", "json", "yaml", "csv", "markdown", "latex", "html"):
        assert attncli.render(trace, form) == attn("compute", path, "-f", form).out
    with pytest.raises(attncli.InputError, match="unknown format npz"):
        attncli.render(trace, "npz")
    with pytest.raises(attncli.InputError, match="did you mean json"):
        attncli.render([trace, trace], "jsn")
    problems = attncli.load_all("-", stdin=io.BytesIO(b'{"X": [[1]]}\n' * 2))
    numbered = attncli.render([attncli.compute(problem) for problem in problems], "json")
    assert numbered.count('"problem": 2') == 1


def test_no_public_function_takes_or_gives_just_anything() -> None:
    """NumPy's arrays of any dtype apart."""
    functions = []
    for name in attncli.__all__:
        public = getattr(attncli, name)
        members = [public] if inspect.isfunction(public) else vars(public).values()
        functions += [one for one in members if inspect.isfunction(one)]
    loose = [
        f"{one.__qualname__}: {hint}"
        for one in functions
        if not one.__name__.startswith("_")
        for hint in one.__annotations__.values()
        if re.search(r"\bAny\b", str(hint))
    ]
    assert len(functions) > 30
    assert loose == []


def test_numbers_of_numpy_and_plain_ones_have_reports_of_their_own() -> None:
    problem = attncli.Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot")
    written = attncli.compute(problem)["weights"].value.round(2).tolist()
    arrays = [[np.float64(number) for number in row] for row in written]
    key = attncli.AnswerKey(problem)
    found = [key.check({"weights": one}).steps["weights"] for one in (written, arrays, written)]
    given = [one.written.dtype for one in found if isinstance(one, attncli.Given)]
    assert given == ["", "float64", ""]


@pytest.mark.parametrize("shown", [None, 3, attncli.Problem(X=[[1]]), [attncli.Problem(X=[[1]])]])
@pytest.mark.parametrize("form", ["table", "json", "html"])
def test_render_tells_what_it_takes(shown: Any, form: str) -> None:
    with pytest.raises(attncli.InputError, match=r"nothing to render in a .*\n  render a trace"):
        attncli.render(shown, form)

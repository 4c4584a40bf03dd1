"""The section on operations in docs/extending.md: its example, and the functions that it offers."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import attncli
from attncli.core.arithmetic.elements import Call, filled
from attncli.core.arithmetic.intervals import Interval
from attncli.core.attention.masks import Masked
from attncli.core.attention.weights import normalize
from attncli.core.declare import DECLARED
from attncli.core.explaining.terms import Constant, Made
from attncli.core.problem.keys import KINDS
from attncli.core.tape.backward_operations import Pointwise
from attncli.core.tape.by_hand import Digits
from attncli.core.tape.evaluation import array_of, evaluate
from attncli.core.tape.operations import Divide, MatMul, Transposed, dot
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention import SelfAttention
from attncli.mechanisms.attention import lines as attention
from attncli.pages.cell_formulas import key_of
from attncli.pages.live_tape import Programs
from tests.conftest import ROOT
from tests.support.readers import tried

SECTION = (ROOT / "docs" / "extending.md").read_text().partition("## An operation")[2]
NAMES: dict[str, Any] = {}
exec(re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[0], NAMES)

KEYS: dict[str, Any] = {"kind": "near", "X": [[1, 0.5], [0.24, 1.04], [1.75, -0.5]]}
MOST = 1.0


def near(tape: Tape, problem: attncli.Problem) -> None:
    """Z = softmax(squash(X) Xᵀ, where that is near 0) X."""
    attention.label(tape, query=problem.tokens)
    x = attention.put(tape, problem, "X", ("query", "model"))
    squashed = tape.record("squashed", NAMES["Squash"](x))
    scores = tape.record("scores", dot(squashed, x))
    mask = tape.record("near", NAMES["Near"](scores, MOST))
    masked = tape.record("masked", Masked(scores, mask))
    tape.record("output", MatMul(normalize(tape, masked, problem.rules), x))


@pytest.fixture(autouse=True)
def _has_the_kind() -> Iterator[None]:
    with mock.patch.dict(KINDS), mock.patch.dict(DECLARED):

        class Near(SelfAttention):
            """Attention to what is near."""

            name = "near"
            requires = ("X",)
            step_names = "squashed near"

            def steps(self) -> Any:
                return SimpleNamespace(steps=near)

        assert KINDS["near"].name == Near.name
        yield


def test_every_reader_takes_the_example() -> None:
    """An operation from outside the package, of which no reader knows."""
    problem = attncli.Problem(**KEYS)
    failed = {name: said for name, said in tried(problem) if said}
    assert failed == {}
    trace = attncli.compute(problem)
    assert attncli.explain(trace, "near[3, 3]").line == "near[3, 3] = 0, as scores[3, 3] = 1.2803"
    assert attncli.explain(trace, "near[3, 1]").line == "near[3, 1] = 1"


def test_an_honest_student_at_the_edge_of_a_mask_is_right() -> None:
    """A score that is wrong, and written as 1.0, is above 1 with every digit: it was blocked."""
    problem = attncli.Problem(**KEYS)
    trace = attncli.compute(problem)
    scores = trace["scores"].value.copy()
    assert scores[0, 1] < MOST
    scores[0, 1] = 1.04
    blocked = np.where(np.abs(scores) > MOST, -np.inf, trace["scores"].value)
    weights = np.exp(blocked) / np.exp(blocked).sum(-1, keepdims=True)
    answers = {"scores": texts(scores, 1), "weights": texts(weights, 2)}
    assert statuses(problem, answers) == {"scores": "wrong", "weights": "follows"}
    answers = {"scores": texts(scores, 1), "masked": texts(blocked, 2)}
    assert statuses(problem, answers)["masked"] == "follows"
    unmasked = np.exp(trace["scores"].value)
    shares = texts(unmasked / unmasked.sum(-1, keepdims=True), 2)
    report = attncli.check(problem, {"scores": answers["scores"], "weights": shares})
    assert "masked" in report.findings, "nothing was blocked at all"


def texts(numbers: Any, digits: int) -> list[list[str]]:
    return [[f"{x:.{digits}f}" for x in row] for row in numbers]


def statuses(problem: attncli.Problem, answers: dict[str, Any]) -> dict[str, str]:
    steps = attncli.check(problem, answers).steps.items()
    return {name: step.status for name, step in steps if step.status != "missing"}


def rows_below(heading: str) -> list[list[str]]:
    """Return the cells of a table of the section, as they are read."""
    table = SECTION.partition(heading)[2].partition("\n\n")[0].replace(r"\|", "¦")
    rows = [line.strip("| ").split("|") for line in table.splitlines()[2:]]
    return [[cell.strip().replace("¦", "|") for cell in row] for row in rows]


OFFERED = [
    code
    for what, _ in rows_below("| in `apply`")
    for code in re.findall("`([^`]*)`", what)
    if code != "@"
]


@pytest.mark.parametrize("code", OFFERED)
def test_what_apply_may_do_is_the_same_on_every_kind_of_array(code: str) -> None:
    x, y = np.array([[1, 2.5, 0.5], [3, 1, 2], [4, 0.25, 1]]), np.array([[2.0, 1, 0.5]] * 3)
    wanted = eval(code, {"np": np, "x": x, "y": y})
    for kind in (terms_of, digits_of, Call, lambda a: Interval(a, a)):
        found = eval(code, {"np": np, "x": kind(x), "y": kind(y)})
        ends = (found.low, found.high) if isinstance(found, Interval) else (found,)
        for end in ends:
            numbers = end.array if isinstance(end, Call) else np.vectorize(number_of)(end)
            np.testing.assert_allclose(numbers, wanted, rtol=1e-14)


def terms_of(array: Any) -> Any:
    return filled(array.shape, lambda at: Constant(float(array[at])))


def digits_of(array: Any) -> Any:
    return filled(array.shape, lambda at: Digits(Decimal(str(array[at]))))


def number_of(element: Any) -> float:
    return element.value if isinstance(element, Constant | Made) else float(element)


def test_helpers_are_where_the_table_says() -> None:
    for call, place, _ in rows_below("| helper |"):
        module = importlib.import_module(f"attncli.core.{place.strip('`').replace('/', '.')}")
        assert callable(getattr(module, call.strip("`").partition("(")[0]))


def test_a_function_that_only_floats_have_is_named() -> None:
    step = Tape().put("x", np.full((1, 1, 1, 1), 2.0), ("row", "column"))
    bent = Bent(step)
    np.testing.assert_allclose(array_of(bent), np.arctan(2.0))
    said = (
        r"Bent needs floats: \w+ have no np\.arctan(.|\n)*, lists the functions that apply may use"
    )
    for value in (terms_of(step.array), Interval(step.array, step.array)):
        with pytest.raises(attncli.InputError, match=said):
            evaluate(bent, lambda _, value=value: value)  # type: ignore[misc]
    with pytest.raises(attncli.InputError, match="a live page cannot calculate arctan"):
        Programs().add(Programs().recorded(bent), {key_of(step): 0})


class Bent(Pointwise):
    """An operation that calls what only floats have."""

    def apply(self, x: Any) -> Any:
        return np.arctan(x)


def test_a_division_by_0_is_told() -> None:
    tape = Tape()
    x = tape.put("x", np.array([[[[1.0, 2.0]]]]), ("row", "column"))
    zero = tape.put("zero", np.zeros((1, 1, 1, 1)), ("row", "sum"))
    assert tape.record("shares", Divide(x, zero)).value.tolist() == [[0, 0]]
    tape.record("again", MatMul(x, Transposed(x)))
    assert tape.warnings == ["shares divides by zero, which is 0 somewhere: it is 0 there"]

"""Problems of a stream that are calculated together come out as each does by itself."""

from __future__ import annotations

import json
import pickle
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.arithmetic import floats
from attncli.core.calculation.compute_together import StepsOfOne, compute_each
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.problem.problem import Problem
from attncli.core.tape.step import Step
from attncli.reading.load import load_each
from attncli.reading.read import read
from tests.conftest import SAMPLE_FILES, in_process
from tests.mechanisms.table import Keys

MATRICES = re.compile(r"[WbA](_\w+)?|X|Q|K|V|memory|scores|u|h_0|c_0")
BAD = ({"X": [["1", "2"], ["3"]]}, {"X": [["1"]], "W_q": [["1", "2"], ["3", "4"]]})


def varied(raw: Any, draw: random.Random) -> Any:
    if isinstance(raw, list):
        return [varied(item, draw) for item in raw]
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", str(raw))
    choices = [f"{draw.uniform(-3, 3):.1f}", str(draw.randint(-3, 3)), raw]
    return ("1e200" if draw.random() < 0.001 else draw.choice(choices)) if is_number else raw


def stream(count: int, seed: int, files: int = 100) -> list[str]:
    """Return samples as lines of JSON, then with other numbers, in any order, some that are bad."""
    draw = random.Random(seed)
    samples = [file for file in SAMPLE_FILES[:files] if file.suffix == ".yaml"]
    first = [
        {key: raw for key, raw in document.values.items() if key != "answers"}
        for file in samples
        for document in read(file)
    ]
    lines = [json.dumps(bad) for bad in BAD]
    for keys in first * count:
        texts = {"title": f"no. {draw.random()}"} if draw.random() < 0.2 else {}
        others = {k: varied(raw, draw) if MATRICES.fullmatch(k) else raw for k, raw in keys.items()}
        lines.append(json.dumps(others | texts))
    draw.shuffle(lines)
    return [*map(json.dumps, first), *lines]


def results(lines: list[str], tmp_path: Path) -> list[Trace | InputError]:
    file = tmp_path / "stream.jsonl"
    file.write_text("\n".join(lines))
    return list(compute_each(load_each(file)))


def alone(line: str, tmp_path: Path) -> Trace | InputError:
    file = tmp_path / "one.json"
    file.write_text(line)
    try:
        return attncli.compute(attncli.load(file))
    except InputError as error:
        return error


def told(step: Step) -> tuple[Any, ...]:
    return step.name, step.formula, step.axes, step.labels, step.why, step.value.tobytes()


@pytest.mark.parametrize(
    ("files", "count"), [(30, 2), pytest.param(100, 4, marks=pytest.mark.whole)]
)
def test_a_stream_has_the_numbers_formulas_and_warnings_of_each_problem(
    files: int, count: int, tmp_path: Path
) -> None:
    lines = stream(count, 1, files)
    joined = 0
    for line, one in zip(lines, results(lines, tmp_path), strict=True):
        other = alone(line, tmp_path)
        if isinstance(other, InputError):
            assert isinstance(one, InputError), line
            assert [f.message for f in one.faults] == [f.message for f in other.faults]
            continue
        assert isinstance(one, Trace), line
        joined += isinstance(one.steps, StepsOfOne)
        assert one.warnings == other.warnings
        steps = [*one.inputs.values(), *one]
        others = [*other.inputs.values(), *other]
        assert [told(step) for step in steps] == [told(step) for step in others], line
        assert not any(step.value.flags.writeable for step in steps)
    assert joined > len(lines) // 20  # a problem that waits for no other ends a group


FORMATS = ["json", "csv", "tidy", "yaml", "table", "markdown", "latex", "html", "numpy"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("options", [(), ("--only", "weights,output")])
def test_every_format_has_the_bytes_of_one_by_one(
    form: str, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(stream(2, seed=2, files=6 if form == "json" else 3)).encode()
    command = ("compute", "-", "-f", form, "--keep-going", *options)
    several = in_process(*command, stdin=text)
    monkeypatch.setattr("attncli.core.calculation.compute_together.MAX_PROBLEMS", 1)
    assert in_process(*command, stdin=text) == several
    assert several.status == 2


def test_gradients_are_those_of_each_problem_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(7)

    def whole(**shapes: tuple[int, ...]) -> Keys:
        return {key: draw.integers(-1, 2, shape).tolist() for key, shape in shapes.items()}

    def weights(width: int) -> Keys:
        return whole(X=(3, 2), W_q=(2, width), W_k=(2, width), W_v=(2, width))

    forms: list[Callable[[], Keys]] = [
        lambda: {"gradient": "sum", "learning_rate": 0.1, **weights(2)},
        lambda: {"gradient": {"loss": "mean_squared_error", **whole(target=(3, 2))}, **weights(2)},
        lambda: {"heads": 2, **whole(W_o=(4, 2), gradient=(3, 2)), **weights(4)},
        lambda: {"positions": "rope", "gradient": "sum", **weights(2)},
    ]
    problems = [form() for form in forms for _ in range(12)]
    lines = [json.dumps(one) for one in problems]
    joined = [one for one in results(lines, tmp_path) if isinstance(one, Trace)]
    assert sum(isinstance(one.steps, StepsOfOne) for one in joined) == 10 * len(forms)
    assert len({one["d_scores"].formula for one in joined}) > 1  # some vanish
    command, text = ("compute", "-", "-f", "json"), "\n".join(lines).encode()
    several = in_process(*command, stdin=text)
    monkeypatch.setattr("attncli.core.calculation.compute_together.MAX_PROBLEMS", 1)
    assert in_process(*command, stdin=text) == several


def test_what_comes_before_a_bad_problem_is_written() -> None:
    good = '{"X": [[1, 0], [0, 2]]}\n'
    for bad in ('{"X": [[1, 0], [0, 1e200]], "score": "dot"}\n', '{"X": [[1, 0], [0]]}\n'):
        for text in (good * 3 + bad + good * 3, good * 3 + bad + good):
            stopped = in_process("compute", "-", "-f", "json", stdin=text.encode())
            whole = in_process("compute", "-", "-f", "json", "--keep-going", stdin=text.encode())
            numbers = [json.loads(line)["problem"] for line in whole.out.splitlines()]
            assert numbers == [n for n in range(1, text.count("\n") + 1) if n != 4]
            assert stopped.out.splitlines() == whole.out.splitlines()[:3]
            assert stopped.err == whole.err
            assert stopped.err.endswith("in problem 4\n")


def test_one_with_other_warnings_or_cells_of_minus_infinity_is_calculated_by_itself() -> None:
    lines = [
        *('{"scores": [[1, 2]], "V": [[1], [2]], "normalize": "sum"}',) * 3,
        '{"scores": [[1, "-inf"]], "V": [[1], [2]], "normalize": "sum"}',
        *('{"X": [[1, 2], [3, 5]], "normalize": "hardmax"}',) * 2,
        '{"X": [[1, 1], [1, 1]], "normalize": "hardmax"}',
        *('{"X": [[9, 2], [3, 5]], "score": "dot"}',) * 3,
        '{"X": [[90, 2], [3, 5]], "score": "dot"}',
    ]
    result = in_process("compute", "-", "-f", "json", stdin="\n".join(lines).encode())
    records = [json.loads(line) for line in result.out.splitlines()]
    assert [len(record["warnings"]) for record in records] == [0] * 6 + [1, 0, 0, 0, 1]
    assert "where blocked" in records[3]["steps"]["sum"]["formula"]
    assert "where blocked" not in records[2]["steps"]["sum"]["formula"]
    assert "largest" in records[10]["steps"]["exp"]["formula"]


def test_problems_that_are_not_from_text_and_errors_go_through() -> None:
    problems = [Problem(X=[[1, number]]) for number in range(3)]
    error = attncli.InputError()
    every = [*compute_each([problems[0], None, error, *problems[1:]])]
    assert every[1] is error
    outputs = [one.output.tolist() for one in every if isinstance(one, Trace)]
    assert outputs == [attncli.compute(one).output.tolist() for one in problems]


def test_a_copy_of_a_trace_holds_no_other_problem(tmp_path: Path) -> None:
    trace = results(['{"X": [[1, 2], [3, 4]]}', *['{"X": [[4, 2], [3, 4]]}'] * 50], tmp_path)[40]
    assert isinstance(trace, Trace)
    assert isinstance(trace.steps, StepsOfOne)
    assert len(pickle.dumps(trace)) < 2 * len(pickle.dumps(attncli.compute(trace.problem)))
    assert pickle.loads(pickle.dumps(trace)).output.tolist() == trace.output.tolist()


@pytest.mark.parametrize("along", [-1, -2])
def test_a_total_does_not_depend_on_the_others_of_a_batch(along: int) -> None:
    draw = np.random.default_rng(3)
    for shape in ((1, 3, 4), (2, 20, 30), (1, 1, 300)):
        numbers = draw.normal(size=(9, *shape)) * 10.0 ** draw.integers(-9, 9, (9, *shape))
        numbers[4] = 1.5e308
        with np.errstate(all="ignore"):
            each = [floats.total(part, along) for part in np.split(numbers, 9)]
            all_ = floats.total(numbers, along)
        assert all_.tobytes() == np.concatenate(each).tobytes()

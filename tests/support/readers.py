"""Every reader of a calculation, tried on one problem file.

    python -m tests.support.readers FILE

prints a line for each: `ok`, or what failed. It is what a new operation or mechanism needs first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import attncli
from attncli.core.problem.keys import KINDS
from attncli.formats import FormatKind, formats_of
from attncli.pages.live_tape import LiveCells, Programs
from attncli.printing.selection import Selection, WorksheetSelection
from tests.mechanisms.table import Keys, with_array
from tests.printing.test_live_pages import interpreter
from tests.support.explained import assert_explained_truly
from tests.support.numpy_programs import assert_same_steps, run
from tests.support.workbooks import differences, opened, own_values, workbook

Reader = Callable[[attncli.Problem, attncli.Trace], object]

SCRIPT = """((tape, programs) => {
    const arrays = [], setting = (key) => attnNumpy.scalar(tape.settings[key][0]);
    tape.steps.forEach(([name, shape, about, numbers]) => {
        const isInput = Array.isArray(numbers);
        const data = isInput && numbers.map((x) => x ?? -Infinity);
        attnNumpy.noise.level = numbers && !isInput ? 2 ** -46 : 0;
        const operand = (x) => (typeof x === "number" ? arrays[x] : setting(x));
        const run = ([place, ...parts]) => attnNumpy.run(programs[place], parts.map(operand));
        arrays.push(isInput ? { shape, data } : run(about));
    });
    return JSON.stringify(arrays.map((array) => Array.from(array.data, String)));
})"""
"""What a live page does with its tape when a number changes: it works every step anew."""


def result(problem: attncli.Problem, trace: attncli.Trace) -> None:
    """Some step has the name by which results are asked for."""
    names = KINDS[problem.kind].results
    assert not names or any(name in trace for name in names), f"no step {' or '.join(names)}"


def only(problem: attncli.Problem, trace: attncli.Trace) -> None:
    """Each step can be asked for by its name."""
    attncli.compute(problem, only=[step.name for step in trace])


def explain(problem: attncli.Problem, trace: attncli.Trace) -> None:
    assert_explained_truly(trace.unrounded or trace, 4)


def rounded(problem: attncli.Problem, trace: attncli.Trace) -> None:
    """With so many digits that rounding changes nothing; and a page with few."""
    keys: Keys = dict(problem.written)
    whole = attncli.compute(attncli.Problem(**keys | {"round": "15sf"}))
    for step in whole.unrounded or whole:
        off = 5e-14 if step.backward else 1e-14
        np.testing.assert_allclose(
            whole[step.name].value, step.value, 1e-13, off, err_msg=step.name
        )
    attncli.render(attncli.compute(attncli.Problem(**keys | {"round": 2})))


def live_page(problem: attncli.Problem, trace: attncli.Trace) -> None:
    attncli.render(trace, "html", live=True)
    exact = trace.unrounded or trace
    cells = LiveCells(exact, 0, programs := Programs())
    tape = json.dumps(cells.tape(4), default=str)
    found = json.loads(str(interpreter().eval(f"{SCRIPT}({tape}, {json.dumps(programs.all)})")))
    largest = max(np.abs(part.array[np.isfinite(part.array)]).max(initial=1) for part in exact)
    for step, numbers in zip(cells.steps, found, strict=True):
        own = np.reshape([*map(float, numbers)], step.array.shape)
        np.testing.assert_allclose(own, step.array, 1e-9, 1e-12 * largest, err_msg=step.name)


def workbook_formulas(problem: attncli.Problem, trace: attncli.Trace) -> None:
    data = workbook([trace])
    assert not differences(opened(data), opened(data, values=True), own_values())


def numpy_program(problem: attncli.Problem, trace: attncli.Trace) -> None:
    assert_same_steps(trace.unrounded or trace, run(attncli.render(trace, "numpy")))


def gradient(problem: attncli.Problem, trace: attncli.Trace) -> str:
    """The derivative of each matrix says how much the loss grows with it, by default the sum."""
    keys: Keys = {k: x for k, x in problem.written.items() if k not in ("round", "learning_rate")}
    of_sum = keys | {"gradient": "sum"}
    try:
        derivatives = attncli.compute(attncli.Problem(**of_sum))
    except attncli.InputError as error:
        if not problem.target:
            return f"not tried: {str(error).splitlines()[0]}"
        of_sum, derivatives = keys, attncli.compute(attncli.Problem(**keys))
    for key, matrix in problem.matrices().items():
        if f"d_{key}" not in derivatives or matrix.dtype != np.float64:
            continue
        along = np.random.default_rng(1).uniform(-1e-5, 1e-5, matrix.shape)
        ends = [with_array(of_sum, key, matrix + by * along) for by in (1, -1)]
        one, two = (attncli.compute(attncli.Problem(**end))["loss"].array.item() for end in ends)
        slope = derivatives[f"d_{key}"].array
        parts = slope * problem.laid_out(key, along).reshape(slope.shape)
        near = 1e-4 * max(1e-6, float(np.abs(parts).sum()))
        assert abs(parts.sum() - (one - two) / 2) <= near, f"d_{key} is not the slope"
    return ""


def check(digits: int, problem: attncli.Problem, trace: attncli.Trace) -> None:
    """The right numbers, rounded, are right."""
    rounded_off = np.vectorize(f"{{:.{digits}f}}".format)
    report = attncli.check(problem, {step.name: rounded_off(step.value).tolist() for step in trace})
    statuses = {name: one.status for name, one in report.steps.items()}
    assert {*statuses.values()} <= {"correct"}, statuses


def written(kind: FormatKind, name: str, problem: attncli.Problem, trace: attncli.Trace) -> None:
    selection = WorksheetSelection() if kind == "worksheets" else Selection()
    assert b"".join(formats_of(kind)[name].writer(kind)([trace], selection))


READERS: dict[str, Reader] = {
    "result": result,
    "--only each step": only,
    "explain": explain,
    "round": rounded,
    **{f"-f {name}": partial(written, "traces", name) for name in formats_of("traces")},
    **{f"worksheet -f {n}": partial(written, "worksheets", n) for n in formats_of("worksheets")},
    "live page": live_page,
    "workbook": workbook_formulas,
    "numpy program": numpy_program,
    "count": lambda problem, trace: attncli.count(problem),
    "gradient": gradient,
    "check, 4 digits": partial(check, 4),
    "check, 2 digits": partial(check, 2),
}
"""What is tried, in this order."""


def tried(problem: attncli.Problem) -> Iterator[tuple[str, str]]:
    """Yield the name of each reader, and what failed; "" where nothing did."""
    try:
        trace = attncli.compute(problem)
    except Exception as error:
        yield "compute", said(error)
        return
    yield "compute", ""
    for name, reader in READERS.items():
        try:
            note = reader(problem, trace)
        except Exception as error:
            yield name, said(error)
        else:
            yield name, note if isinstance(note, str) else ""


def said(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:3])}"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        for one in attncli.load_all(path):
            for name, failure in tried(one):
                print(f"{name:22} {failure or 'ok'}")

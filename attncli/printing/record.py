"""Traces for programs: plain mappings, as JSON and YAML, or arrays of NumPy."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import all_finite
from attncli.core.calculation.compute_together import Group, StepsOfOne
from attncli.core.calculation.trace import Trace, furthest
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.problem.keys import TEXT_KEYS
from attncli.core.records import Record, replace
from attncli.core.tape.step import Step
from attncli.core.text.numbers import every_digit, floats, rounded
from attncli.core.text.strings import regex
from attncli.printing.selection import Selection, in_parts, some_rows

if TYPE_CHECKING:
    from attncli.core.explaining.explain import Explanation
    from attncli.printing.explanations import Request

HOLE = f"rows{os.urandom(16).hex()}"
"""Text in the place of a matrix until its rows are written; nothing else holds it."""


class Held(Record, eq=False):
    """A matrix that is written some rows at a time, as its numbers as lists take much memory."""

    array: Array
    decimals: int | None


def as_json(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    return in_parts(_lines(traces, selection), "")


def _lines(traces: Iterable[Trace], selection: Selection) -> Iterator[Iterable[str]]:
    group: Group | None = None
    lines: list[str] = []
    for trace in traces:
        steps = trace.steps
        if not isinstance(steps, StepsOfOne) or selection.exact:
            yield _json(record(trace, selection, Held))
            continue
        if group is not steps.group:
            group, lines = steps.group, [*_lines_of(steps.group, selection)]
        yield [lines[steps.place]]


def _lines_of(group: Group, selection: Selection) -> Iterator[str]:
    """Yield the line of each problem of a group: one text, with holes for numbers and titles."""
    sample, count = group.sample, len(group.problems)
    about = record(sample, selection, lambda *_: HOLE)
    texts = [key for key in about if key in TEXT_KEYS]
    pieces = {group.vanishing(0): _around_holes(about, texts)}  # formulas say what vanishes
    is_numbered = sample.problem.number is not None
    names = ["number" if key == "problem" and is_numbered else key for key in texts]
    values = [[getattr(problem, name) for problem in group.problems] for name in names]
    matrices = {} if selection.only else sample.problem.matrices()
    for key, array in matrices.items():
        every = group.matrices.get(key)
        values.append([numbers(array, None)] * count if every is None else numbers(every, None))
    for step in selection.steps(sample):
        together = (group.inputs if step.operation is None else group.steps)[step.name]
        if len(together.array) == 1:
            values.append([numbers(together.value, selection.decimals)] * count)
        else:
            stacked = replace(together, leading=("batch", *step.leading))
            values.append(numbers(stacked.value, selection.decimals))
    # The text of all is made at once, which takes a third of the time.
    cells = [cell for row in zip(*values, strict=True) for one in row for cell in (one, HOLE)]
    written = iter(_written(cells[:-1])[1:-1].split(f', "{HOLE}", '))
    for place in range(count):
        if (vanishing := group.vanishing(place)) not in pieces:
            about = record(group.trace(place), selection, lambda *_: HOLE)
            pieces[vanishing] = _around_holes(about, texts)
        in_holes = [*islice(written, len(values)), ""]
        yield "".join(chain.from_iterable(zip(pieces[vanishing], in_holes, strict=True)))


def _around_holes(about: Mapping[str, Any], texts: Iterable[str]) -> list[str]:
    return f"{_written({**about, **dict.fromkeys(texts, HOLE)})}\n".split(f'"{HOLE}"')


def explanations(requests: Iterable[Request], selection: Selection) -> Iterator[bytes]:
    """Yield a line of JSON for the explained cells of each step."""

    def record_of(request: Request) -> dict[str, Any]:
        step = request.step
        return {
            "title": request.trace.problem.title,
            "step": step.name,
            "formula": step.formula,
            **({"why": step.why} if selection.why else {}),
            "axes": list(step.axes),
            "cells": [_explained(one) for _, one in request.found(selection.digits, full=True)],
        }

    return json_lines(map(record_of, requests))


def _explained(explanation: Explanation) -> dict[str, Any]:
    from attncli.core.explaining.explain import CHAIN_PARTS  # which traces do not need

    texts = {name: explanation.part(name) for name in CHAIN_PARTS} | {"reason": explanation.reason}
    return {
        **{name: text for name, text in texts.items() if text},
        "value": every_digit(explanation.value) if isinf(explanation.value) else explanation.value,
        "sources": [{"step": x.step, "index": list(x.index)} for x in explanation.sources],
    }


def json_lines(records: Iterable[Any]) -> Iterator[bytes]:
    return in_parts(map(_json, records), "")


def _json(value: Any) -> Iterator[str]:
    held: list[Held] = []

    def hole(matrix: Held) -> str:
        held.append(matrix)
        return HOLE

    text = _written(value, hole)
    yield from _with_rows(f"{text}\n", f'"{HOLE}"', held, lambda matrix, _: _nested(matrix))


def _written(value: Any, other: Callable[[Any], object] | None = None) -> str:
    text = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=other).encode(value)
    return text if text.isprintable() else OBEYED.sub(_escaped, text)  # to search takes longer


def _with_rows(
    text: str, hole: str, held: Iterable[Held], rows: Callable[[Held, str], Iterator[str]]
) -> Iterator[str]:
    """Yield a text with the rows of a matrix in each hole; `rows` takes the indent of its line."""
    before, *others = text.split(hole)
    yield before
    for matrix, after in zip(held, others, strict=True):
        start = before.rpartition("\n")[2]
        yield from rows(matrix, start[: len(start) - len(start.lstrip())])
        yield after
        before = after


def _escaped(sign: re.Match[str]) -> str:
    """Return a sign as JSON escapes it, and half a character, which JSON lacks, as messages do."""
    code = ord(sign[0])
    return rf"\\u{code:x}" if 0xD800 <= code < 0xE000 else rf"\u{code:04x}"


OBEYED = regex("[\x80-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, ends of lines and turns of direction, which mean something to a terminal.

Halves of characters, as in names of files that are not in UTF-8, cannot be written either.
"""


def _nested(matrix: Held) -> Iterator[str]:
    array, decimals = matrix.array, matrix.decimals
    yield "["
    if array.ndim < 3:
        for number, rows in enumerate(some_rows(array) if array.ndim == 2 else [array]):
            yield ", " * (number > 0) + json.dumps(numbers(rows, decimals))[1:-1]
    else:
        for number, part in enumerate(array):
            yield ", " * (number > 0)
            yield from _nested(Held(part, decimals))
    yield "]"


def as_yaml(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:

    def document(trace: Trace) -> Iterator[str]:
        mapping = record(trace, selection, Held)
        held, text = _dumped(mapping, is_unicode=True)
        if OBEYED.search(text):
            held, text = _dumped(mapping, is_unicode=False)
        return _with_rows(text, f"[{HOLE}]\n", held, _items)

    return in_parts(map(document, traces), "---\n", selection.follows)


def _dumped(mapping: Mapping[str, Any], is_unicode: bool) -> tuple[list[Held], str]:
    """Return the matrices, and the YAML with a hole in the place of each one's rows."""
    import yaml

    held: list[Held] = []

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes a number that knows how it was written as a float."""

    def hole(dumper: Any, matrix: Held) -> Any:
        held.append(matrix)
        rows: list[Any] = [HOLE]
        for _ in range(matrix.array.ndim - 1):
            rows = [rows]
        return dumper.represent_list(rows)

    Dumper.add_multi_representer(float, Dumper.represent_float)
    Dumper.add_representer(Held, hole)
    text: str = yaml.dump(
        mapping,
        Dumper=Dumper,
        default_flow_style=None,
        sort_keys=False,
        allow_unicode=is_unicode,
        width=10**9,
    )
    return held, text


def _items(matrix: Held, indent: str, start: str = "") -> Iterator[str]:
    """Yield the lines of nested lists, the first behind `start`; they are those of PyYAML."""
    array, decimals = matrix.array, matrix.decimals
    if array.ndim > 2:
        for part in array:
            yield from _items(Held(part, decimals), f"{indent}  ", start)
            start = indent + "- " * (array.ndim - 1)
        return
    for rows in some_rows(np.atleast_2d(array)):
        for row in numbers(rows, decimals, infinite=float):
            text = ", ".join(map(repr, row)).replace("inf", ".inf")
            if "e" in text:
                text = re.sub(r"(?<![.\d])(\d+)e", r"\1.0e", text)
            yield f"{start}[{text}]\n"
            start = f"{indent}- "


def as_npz(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield one array per step and matrix, and `options`, which tells matrices from steps.

    A problem in float16 has steps in float16.

    Raises:
        InputError: for several problems.
    """
    trace, *others = traces
    if others:
        raise fail("an npz file holds one problem", hint="use json, yaml or csv for several")
    problem = trace.problem
    arrays: dict[str, Any] = {step.name: step.value for step in selection.steps(trace)}
    if (digits := selection.decimals) is not None:
        arrays = {name: rounded(a, digits).astype(a.dtype) for name, a in arrays.items()}
    if problem.is_half:
        arrays = {name: _halved(array) for name, array in arrays.items()}
    if not selection.only:
        about: dict[str, Any] = dict(problem.texts)
        about |= {"options": problem.options(), "inputs": list(problem.matrices())}
        arrays |= problem.matrices()
        arrays["options"] = np.array(json.dumps(about, ensure_ascii=False))
    yield from _zipped(arrays)


def _zipped(arrays: Mapping[str, Array]) -> Iterator[bytes]:
    """Yield what `numpy.savez` writes, one array at a time."""
    from zipfile import ZipFile

    from numpy.lib import format as npy

    written = _Written()
    with ZipFile(written, "w") as archive:  # type: ignore[call-overload]  # it only writes
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                npy.write_array(file, np.asarray(array, order="C"))
            yield b"".join(written.parts)
            written.parts.clear()
    yield b"".join(written.parts)


class _Written:
    """A file that keeps the parts that are written."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass


def _halved(array: Array) -> Array:
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if (np.isinf(half) == np.isinf(array)).all() else array


def _public_formula(step: Step, trace: Trace) -> str:
    """Return the formula of a step with public names, whatever its course calls the steps."""
    public = {one.called: tree.named(one.name) for one in trace if one.called}

    def rule(node: tree.Formula) -> tree.Formula | None:
        return public.get(text(node)) if isinstance(node, tree.Name) else None

    return text(tree.substituted(step.notation, rule) if public else step.notation)


def record(
    trace: Trace, selection: Selection, matrix: Callable[[Array, int | None], Any]
) -> dict[str, Any]:
    """Return title, options, inputs, steps and warnings, which can be read back as a problem.

    `matrix` makes the value of an array with a number of decimals.
    """
    problem = trace.problem
    values: dict[str, Any] = {} if problem.number is None else {"problem": problem.number}
    values["title"] = problem.title
    values |= {key: text for key, text in problem.texts.items() if key not in values}
    values["options"] = problem.options()
    if not selection.only:
        values["inputs"] = {key: matrix(a, None) for key, a in problem.matrices().items()}
    steps: dict[str, Any] = {}
    for step in selection.steps(trace):
        value = step.value
        steps[step.name] = {
            "symbol": step.symbol,
            "formula": _public_formula(step, trace),
            **({"why": step.why} if selection.why else {}),
            "axes": list(step.axes),
            "labels": {axis: list(words) for axis, words in step.labels.items()},
            "shape": list(value.shape),
            "value": matrix(value, selection.decimals),
        }
    values["steps"] = steps
    warnings = list(trace.warnings)
    if selection.exact:
        from attncli.core.explaining.exact import Exact

        exact = Exact(trace)
        for step in selection.steps(trace):
            values["steps"][step.name]["exact"] = exact.texts(step)
        warnings += exact.warnings()
    if trace.unrounded is not None and trace.last.name in values["steps"]:
        distance, place = furthest(trace)
        values["rounding"] = {"step": trace.last.name, "off_by": distance, "at": list(place)}
    values["warnings"] = warnings
    return values


def numbers(
    array: Array, decimals: int | None, infinite: Callable[[float], object] = every_digit
) -> Any:
    """Return an array as nested lists, rounded to the decimals if there are any.

    `infinite` writes an infinite number: as "Infinity", or as a float where a format has those.
    """

    def written(item: Any) -> Any:
        if isinstance(item, list):
            return list(map(written, item))
        return infinite(item) if isinf(item) else item

    values = floats(array) if decimals is None else rounded(array, decimals).tolist()
    return values if all_finite(array) else written(values)

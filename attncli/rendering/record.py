"""A trace for programs: one plain mapping, which JSON and YAML write, or NumPy's own arrays."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import fail
from attncli.mechanisms.trace import Trace, furthest
from attncli.rendering.selection import Selection


def as_json(traces: Sequence[Trace], selection: Selection) -> bytes:
    """Return one object a problem, one a line."""
    import json

    records = (record(trace, selection) for trace in traces)
    lines = (json.dumps(one, ensure_ascii=False, allow_nan=False) for one in records)
    return ("\n".join(lines) + "\n").encode()


def as_yaml(traces: Sequence[Trace], selection: Selection) -> bytes:
    """Return one document a problem; each row of a matrix on its own line."""
    import yaml

    text: str = yaml.dump_all(
        [record(trace, selection, np.inf) for trace in traces],
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        default_flow_style=None,
        sort_keys=False,
        allow_unicode=True,
        width=10**9,
    )
    return text.encode()


def as_npz(traces: Sequence[Trace], selection: Selection) -> bytes:
    """Return one array a step and a matrix, and `options`, which tells matrices from steps.

    Raises:
        InputError: for several problems.
    """
    if len(traces) > 1:
        raise fail("an npz file holds one problem", hint="use json, yaml or csv for several")
    trace = traces[0]
    digits = selection.decimals
    arrays: dict[str, Any] = {
        step.name: step.value if digits is None else np.round(step.value, digits)
        for step in selection.steps(trace)
    }
    if not selection.only:
        import json

        problem = trace.problem
        about = {
            "title": problem.title,
            "notes": problem.notes,
            "options": problem.options(),
            "inputs": list(problem.matrices()),
        }
        arrays |= problem.matrices()
        arrays["options"] = np.array(json.dumps(about, ensure_ascii=False))
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def record(trace: Trace, selection: Selection, infinity: object = "Infinity") -> dict[str, Any]:
    """Return title, options, inputs, steps and warnings; it can be read back as a problem.

    Args:
        trace: what to write.
        selection: which steps, and how many decimals.
        infinity: what stands for an infinite number: "Infinity", or a float where the format
            has infinities.
    """
    problem = trace.problem
    whole = not selection.only
    found: dict[str, Any] = {"title": problem.title}
    if problem.notes:
        found["notes"] = problem.notes
    found["options"] = problem.options()
    if whole:
        found["inputs"] = {key: numbers(a, None, infinity) for key, a in problem.matrices().items()}
    found["steps"] = {
        step.name: {
            "symbol": step.symbol,
            "formula": step.formula,
            "axes": list(step.axes),
            "labels": {axis: list(words) for axis, words in step.labels.items()},
            "shape": list(step.value.shape),
            "value": numbers(step.value, selection.decimals, infinity),
        }
        for step in selection.steps(trace)
    }
    warnings = list(trace.warnings)
    if selection.exact:
        from attncli.explaining.exact import Exact

        exact = Exact(trace)
        for step in selection.steps(trace):
            found["steps"][step.name]["exact"] = exact.texts(step)
        warnings += exact.warnings()
    if trace.unrounded is not None and trace.last.name in found["steps"]:
        distance, place = furthest(trace)
        found["rounding"] = {"step": trace.last.name, "off_by": distance, "at": list(place)}
    found["warnings"] = warnings
    return found


def numbers(array: Array, decimals: int | None, infinity: object) -> Any:
    """Return an array as nested lists of floats, rounded half to even if asked.

    Float32 numbers are written with the digits that a float32 has.
    """
    if decimals is None and array.dtype == np.float32:
        # repr of the float64 would show digits that were never there.
        return _mapped(array.tolist(), array.ndim, lambda x: float(str(np.float32(x))), infinity)
    if decimals is not None:
        return _mapped(array.tolist(), array.ndim, lambda x: float(f"{x:.{decimals}f}"), infinity)
    if np.isinf(array).any():
        return _mapped(array.tolist(), array.ndim, float, infinity)
    return array.tolist()


def _mapped(items: Any, axes: int, write: Any, infinity: object) -> Any:
    if axes:
        return [_mapped(item, axes - 1, write, infinity) for item in items]
    if items in (np.inf, -np.inf):
        if isinstance(infinity, str):
            return infinity if items > 0 else f"-{infinity}"
        return items
    return write(items)

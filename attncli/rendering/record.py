"""A trace as one plain mapping: what JSON and YAML write, and scripts read."""

from __future__ import annotations

from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.mechanisms.trace import Trace, furthest
from attncli.records import Record
from attncli.tape.step import Step


class Selection(Record):
    """What of a trace goes into a file.

    Attributes:
        only: the names of the steps, all by default.
        decimals: digits after the point; None for every digit.
        full: whether tables show large matrices whole.
        quiet: whether tables leave out the title.
        exact: whether closed forms stand beside the numbers.
        standalone: whether LaTeX is a complete document.
    """

    only: tuple[str, ...] = ()
    decimals: int | None = None
    full: bool = False
    quiet: bool = False
    exact: bool = False
    standalone: bool = False

    def steps(self, trace: Trace) -> list[Step]:
        """Return the steps in the order of computation."""
        return [step for step in trace if not self.only or step.name in self.only]


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

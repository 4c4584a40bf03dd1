"""A calculator that shows every number of an attention calculation.

>>> import attncli
>>> problem = attncli.Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot")
>>> trace = attncli.compute(problem)
>>> trace["weights"].value.round(2)
array([[0.98, 0.02, 0.01],
       [0.27, 0.73, 0.  ],
       [0.91, 0.05, 0.05]])
>>> trace.output.shape
(3, 3)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attncli.errors import Fault, InputError, Place

if TYPE_CHECKING:
    from attncli.calculation import compute
    from attncli.checking import Report, check
    from attncli.explaining import explain
    from attncli.loading import load, load_all, load_answers
    from attncli.problem import Problem
    from attncli.trace import Step, Trace

__version__ = "0.1.0"

__all__ = [
    "Fault",
    "InputError",
    "Place",
    "Problem",
    "Report",
    "Step",
    "Trace",
    "check",
    "compute",
    "explain",
    "load",
    "load_all",
    "load_answers",
]

_HOMES = {
    "Problem": "problem",
    "Report": "checking",
    "Step": "trace",
    "Trace": "trace",
    "check": "checking",
    "compute": "calculation",
    "explain": "explaining",
    "load": "loading",
    "load_all": "loading",
    "load_answers": "loading",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: NumPy alone takes longer than `--help`."""
    if name not in _HOMES:
        raise AttributeError(f"module attncli has no attribute {name}")
    from importlib import import_module

    value = getattr(import_module(f"attncli.{_HOMES[name]}"), name)
    globals()[name] = value
    return value

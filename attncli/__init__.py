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
    from attncli.checking.check import Report, check
    from attncli.explaining.explain import explain
    from attncli.files.load import load, load_all, load_answers
    from attncli.mechanisms.compute import compute
    from attncli.mechanisms.trace import Trace
    from attncli.problem.problem import Problem
    from attncli.tape.step import Step

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
    "Problem": "problem.problem",
    "Report": "checking.check",
    "Step": "tape.step",
    "Trace": "mechanisms.trace",
    "check": "checking.check",
    "compute": "mechanisms.compute",
    "explain": "explaining.explain",
    "load": "files.load",
    "load_all": "files.load",
    "load_answers": "files.load",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: NumPy alone takes longer than `--help`."""
    if name not in _HOMES:
        raise AttributeError(f"module attncli has no attribute {name}")
    from importlib import import_module

    value = getattr(import_module(f"attncli.{_HOMES[name]}"), name)
    globals()[name] = value
    return value

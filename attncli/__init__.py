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

# This file imports nothing, not even `typing`: it runs before `__main__` can replace Python's
# traceback for an interrupt.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from attncli.checking.check import AnswerKey as AnswerKey
    from attncli.checking.check import Report as Report
    from attncli.checking.check import check as check
    from attncli.checking.judging.judged_steps import Compared as Compared
    from attncli.checking.judging.judged_steps import Difference as Difference
    from attncli.checking.judging.judged_steps import Finding as Finding
    from attncli.checking.judging.judged_steps import Given as Given
    from attncli.checking.judging.judged_steps import Judged as Judged
    from attncli.checking.judging.judged_steps import Misshapen as Misshapen
    from attncli.checking.judging.judged_steps import NotGiven as NotGiven
    from attncli.checking.many import check_many as check_many
    from attncli.checking.many import compute_many as compute_many
    from attncli.classroom.assignment import Assignment as Assignment
    from attncli.classroom.assignment import load_assignment as load_assignment
    from attncli.classroom.grading import grade_all as grade_all
    from attncli.classroom.name_index import read_roster as read_roster
    from attncli.classroom.variants import Variant as Variant
    from attncli.classroom.variants import vary as vary
    from attncli.core.calculation.compute import compute as compute
    from attncli.core.calculation.counts import Work as Work
    from attncli.core.calculation.counts import count as count
    from attncli.core.calculation.trace import Trace as Trace
    from attncli.core.errors import Fault as Fault
    from attncli.core.errors import InputError as InputError
    from attncli.core.errors import Place as Place
    from attncli.core.explaining.explain import Explanation as Explanation
    from attncli.core.explaining.explain import Source as Source
    from attncli.core.explaining.explain import explain as explain
    from attncli.core.explaining.explain import explain_all as explain_all
    from attncli.core.problem.fields import ProblemKeys as ProblemKeys
    from attncli.core.problem.misfits import schema as schema
    from attncli.core.problem.problem import Problem as Problem
    from attncli.core.tape.step import Step as Step
    from attncli.formats import render as render
    from attncli.formats import worksheet as worksheet
    from attncli.reading.document import Submission as Submission
    from attncli.reading.document import Unread as Unread
    from attncli.reading.load import load as load
    from attncli.reading.load import load_all as load_all
    from attncli.reading.submissions import load_answers as load_answers
    from attncli.reading.torch_modules import from_torch as from_torch

__version__ = "0.2.0"

_HOMES = {
    "checking.check": ("AnswerKey", "Report", "check"),
    "checking.many": ("check_many", "compute_many"),
    "checking.judging.judged_steps": (
        *("Compared", "Difference", "Finding", "Given", "Judged", "Misshapen", "NotGiven"),
    ),
    "reading.document": ("Submission", "Unread"),
    "core.errors": ("Fault", "InputError", "Place"),
    "core.explaining.explain": ("Explanation", "Source", "explain", "explain_all"),
    "classroom.assignment": ("Assignment", "load_assignment"),
    "classroom.grading": ("grade_all",),
    "reading.load": ("load", "load_all"),
    "classroom.name_index": ("read_roster",),
    "reading.submissions": ("load_answers",),
    "reading.torch_modules": ("from_torch",),
    "core.calculation.compute": ("compute",),
    "core.calculation.counts": ("Work", "count"),
    "core.calculation.trace": ("Trace",),
    "core.problem.problem": ("Problem",),
    "core.problem.fields": ("ProblemKeys",),
    "core.problem.misfits": ("schema",),
    "formats": ("render", "worksheet"),
    "core.tape.step": ("Step",),
    "classroom.variants": ("Variant", "vary"),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)  # noqa: PLE0605 - checkers of types read the imports


def __getattr__(name: str) -> object:
    """Import a public name at its first use: NumPy alone takes longer than `--help`."""
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module attncli has no attribute {name}")
    from importlib import import_module

    value: object = getattr(import_module(f"attncli.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported yet or not."""
    return [*__all__, "__doc__", "__version__"]

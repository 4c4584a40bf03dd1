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

from attncli.text.notebook import Shown

# This file imports nothing else, not even `typing`: it runs before `__main__` can replace Python's
# traceback for an interrupt.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from attncli.checking.check import AnswerKey, Report, check
    from attncli.checking.judged import (
        Compared,
        Difference,
        Finding,
        Given,
        Judged,
        Misshapen,
        NotGiven,
    )
    from attncli.checking.submission import Submission
    from attncli.errors import Fault, InputError, Place
    from attncli.explaining.explain import Explanation, Source, explain, explain_all
    from attncli.files.assignment import Assignment, load_assignment
    from attncli.files.grading import Unread, grade_all
    from attncli.files.load import load, load_all
    from attncli.files.roster import read_roster
    from attncli.files.submissions import load_answers
    from attncli.frameworks.torch_modules import from_torch
    from attncli.mechanisms.compute import compute
    from attncli.mechanisms.trace import Trace
    from attncli.problem.keywords import ProblemKeys
    from attncli.problem.problem import Problem
    from attncli.problem.schema import schema
    from attncli.rendering.formats import render
    from attncli.rendering.worksheet import worksheet
    from attncli.tape.step import Step
    from attncli.teaching.variants import Variant, vary

__version__ = "0.1.0"

__all__ = [
    "AnswerKey",
    "Assignment",
    "Compared",
    "Difference",
    "Explanation",
    "Fault",
    "Finding",
    "Given",
    "InputError",
    "Judged",
    "Misshapen",
    "NotGiven",
    "Place",
    "Problem",
    "ProblemKeys",
    "Report",
    "Source",
    "Step",
    "Submission",
    "Trace",
    "Unread",
    "Variant",
    "check",
    "compute",
    "explain",
    "explain_all",
    "from_torch",
    "grade_all",
    "load",
    "load_all",
    "load_answers",
    "load_assignment",
    "read_roster",
    "render",
    "schema",
    "vary",
    "worksheet",
]

_HOMES = {
    "checking.check": ("AnswerKey", "Report", "check"),
    "checking.judged": (
        *("Compared", "Difference", "Finding", "Given", "Judged", "Misshapen", "NotGiven"),
    ),
    "checking.submission": ("Submission",),
    "errors": ("Fault", "InputError", "Place"),
    "explaining.explain": ("Explanation", "Source", "explain", "explain_all"),
    "files.assignment": ("Assignment", "load_assignment"),
    "files.grading": ("Unread", "grade_all"),
    "files.load": ("load", "load_all"),
    "files.roster": ("read_roster",),
    "files.submissions": ("load_answers",),
    "frameworks.torch_modules": ("from_torch",),
    "mechanisms.compute": ("compute",),
    "mechanisms.trace": ("Trace",),
    "problem.keywords": ("ProblemKeys",),
    "problem.problem": ("Problem",),
    "problem.schema": ("schema",),
    "rendering.formats": ("render",),
    "rendering.worksheet": ("worksheet",),
    "tape.step": ("Step",),
    "teaching.variants": ("Variant", "vary"),
}


def __getattr__(name: str) -> object:
    """Import a public name at its first use: NumPy alone takes longer than `--help`."""
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module attncli has no attribute {name}")
    from importlib import import_module

    value: object = getattr(import_module(f"attncli.{home}"), name)
    globals()[name] = value
    return value


def _page(shown: Trace | Report) -> str:
    from attncli.rendering.formats import render

    return render(shown, "html")


Shown.page = _page


def __dir__() -> list[str]:
    """Return the public names, imported yet or not."""
    return [*__all__, "__doc__", "__version__"]

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
    from attncli.checking.check import AnswerKey as AnswerKey
    from attncli.checking.check import Report as Report
    from attncli.checking.check import check as check
    from attncli.checking.judged import Compared as Compared
    from attncli.checking.judged import Difference as Difference
    from attncli.checking.judged import Finding as Finding
    from attncli.checking.judged import Given as Given
    from attncli.checking.judged import Judged as Judged
    from attncli.checking.judged import Misshapen as Misshapen
    from attncli.checking.judged import NotGiven as NotGiven
    from attncli.checking.submission import Submission as Submission
    from attncli.errors import Fault as Fault
    from attncli.errors import InputError as InputError
    from attncli.errors import Place as Place
    from attncli.explaining.explain import Explanation as Explanation
    from attncli.explaining.explain import Source as Source
    from attncli.explaining.explain import explain as explain
    from attncli.explaining.explain import explain_all as explain_all
    from attncli.files.assignment import Assignment as Assignment
    from attncli.files.assignment import load_assignment as load_assignment
    from attncli.files.grading import Unread as Unread
    from attncli.files.grading import grade_all as grade_all
    from attncli.files.load import load as load
    from attncli.files.load import load_all as load_all
    from attncli.files.roster import read_roster as read_roster
    from attncli.files.submissions import load_answers as load_answers
    from attncli.frameworks.torch_modules import from_torch as from_torch
    from attncli.mechanisms.compute import compute as compute
    from attncli.mechanisms.trace import Trace as Trace
    from attncli.problem.keywords import ProblemKeys as ProblemKeys
    from attncli.problem.problem import Problem as Problem
    from attncli.problem.schema import schema as schema
    from attncli.rendering.formats import render as render
    from attncli.rendering.worksheet import worksheet as worksheet
    from attncli.tape.step import Step as Step
    from attncli.teaching.variants import Variant as Variant
    from attncli.teaching.variants import vary as vary

__version__ = "0.1.0"

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


def _page(shown: Trace | Report) -> str:
    from attncli.rendering.formats import render

    return render(shown, "html")


Shown.page = _page


def __dir__() -> list[str]:
    """Return the public names, imported yet or not."""
    return [*__all__, "__doc__", "__version__"]

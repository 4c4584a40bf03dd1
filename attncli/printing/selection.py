"""The parts of traces, explanations and reports that are written, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attncli.core.records import Record
from attncli.core.text.numbers import DEFAULT_DECIMALS

if TYPE_CHECKING:
    from attncli.classroom.name_index import Roster
    from attncli.core.mechanisms.trace import Trace
    from attncli.core.tape.step import Step


class PageSelection(Record):
    """The settings that every kind of page has."""

    decimals: int | None = None  # digits after the point; None for the default of the format
    full: bool = False  # whether pages show large matrices whole

    @property
    def digits(self) -> int:
        """The maximum number of digits after the point on a page."""
        return DEFAULT_DECIMALS if self.decimals is None else self.decimals


class ExplanationSelection(PageSelection):
    """The parts of explanations that are written."""

    why: bool = False  # whether each step says in a sentence why it is done


class Selection(PageSelection):
    """The parts of a trace that are written."""

    only: tuple[str, ...] = ()  # names or symbols of steps, or patterns such as `d_*`; () for all
    quiet: bool = False  # whether pages leave out the title and the warnings
    why: bool = False  # whether each step says why it is done; pages of HTML always do
    exact: bool = False  # whether closed forms are written beside the numbers
    standalone: bool = False  # whether LaTeX is a complete document
    reveal: bool = False  # whether the steps of an HTML page are folded until they are opened
    heads: str = ""  # the heads that pages show, such as `1,3-5`; "" for all
    rows: str = ""  # the rows of queries that pages show, by labels or numbers; "" for all
    live: bool = False  # whether the numbers of an HTML page can be changed

    is_worksheet = False

    def steps(self, trace: Trace) -> list[Step]:
        """Return the steps in the order of computation."""
        return steps_named(self.only, trace) if self.only else [*trace]


class WorksheetSelection(Selection):
    """A selection with room in place of the numbers of some steps."""

    blank: tuple[str, ...] = ()  # names or symbols of these steps; () for all that are worked out
    give: tuple[str, ...] = ()  # those that are shown solved nevertheless

    is_worksheet = True


class ReportSelection(PageSelection):
    """The parts of reports that are written."""

    quiet: bool = False  # whether only the verdict is
    solution: bool = False  # whether what students read may hold the right numbers
    points: tuple[str, ...] = ()  # the steps that have points, each a column of a grade book
    only: tuple[str, ...] = ()  # the steps that a page of HTML shows; () for all
    totals: bool = False  # whether a grade book has one row per student
    roster: Roster | None = None  # the class, whose columns the grade book keeps


def steps_named(words: Sequence[str], trace: Trace) -> list[Step]:
    """Return the steps that words mean, names, symbols or patterns, in the order of computation.

    Raises:
        InputError: for a word that people use for several of the steps.
    """
    names = set(words)
    if others := [word for word in words if word not in trace]:
        from attncli.core.tape.find import find_steps  # they may be symbols, such as A

        found = (find_steps(word, trace.steps, trace.inputs, trace.added) for word in others)
        names |= {step.name for steps in found for step in steps}
    return [step for step in trace if step.name in names]

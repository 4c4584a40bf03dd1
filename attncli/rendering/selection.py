"""What of a trace or a report is written, whatever the format: a record for each kind of page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attncli.records import Record
from attncli.text.numbers import DEFAULT_DECIMALS

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace
    from attncli.tape.step import Step


class PageSelection(Record):
    """What every kind of page asks.

    Attributes:
        decimals: digits after the point; None for every digit in files for programs, and for
            `DEFAULT_DECIMALS` on pages.
        full: True if pages show large matrices whole.
    """

    decimals: int | None = None
    full: bool = False

    @property
    def digits(self) -> int:
        """The maximum number of digits after the point on a page."""
        return DEFAULT_DECIMALS if self.decimals is None else self.decimals


class ExplanationSelection(PageSelection):
    """What of explanations is written; with `why`, the sentence why a step is done."""

    why: bool = False


class Selection(PageSelection):
    """What of a trace is written.

    Attributes:
        only: the names or symbols of the steps, or patterns such as `d_*`; all by default.
        quiet: True if pages leave out the title and the warnings.
        why: True if each step says in a sentence why it is done; pages of HTML always do.
        exact: True if closed forms are written beside the numbers.
        standalone: True if LaTeX is a complete document.
        reveal: True if the steps of an HTML page are folded until they are opened.
        heads: the heads that pages show, such as `1,3-5`; "" for all.
        rows: the rows of queries that pages show, by labels or numbers; "" for all.
    """

    only: tuple[str, ...] = ()
    quiet: bool = False
    why: bool = False
    exact: bool = False
    standalone: bool = False
    reveal: bool = False
    heads: str = ""
    rows: str = ""

    is_worksheet = False

    def steps(self, trace: Trace) -> list[Step]:
        """Return the steps in the order of computation.

        Raises:
            InputError: for a word that people use for several of the steps.
        """
        return steps_named(self.only, trace) if self.only else [*trace]


class WorksheetSelection(Selection):
    """What of a trace is written with room in the place of the numbers of some steps.

    Attributes:
        blank: the names or symbols of these steps; by default all that are worked by hand.
        give: those that are shown solved nevertheless.
    """

    blank: tuple[str, ...] = ()
    give: tuple[str, ...] = ()

    is_worksheet = True


class ReportSelection(PageSelection):
    """What of reports is written.

    Attributes:
        quiet: True if only the verdict is.
        solution: True if what students read may hold the right numbers.
        points: the steps that have points in some problem, each a column of a grade book.
        only: the steps that the page of HTML shows; all by default.
    """

    quiet: bool = False
    solution: bool = False
    points: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    @property
    def of_trace(self) -> Selection:
        """What is written of the right calculation."""
        return Selection(self.decimals, self.full, self.only, self.quiet)


def steps_named(words: Sequence[str], trace: Trace) -> list[Step]:
    """Return the steps that words mean, names, symbols or patterns, in the order of computation.

    Raises:
        InputError: for a word that people use for several of the steps.
    """
    names = set(words)
    if others := [word for word in words if word not in trace]:
        from attncli.tape.find import find_steps  # they may be symbols, such as A

        found = (find_steps(word, trace.steps, trace.inputs, trace.added) for word in others)
        names |= {step.name for steps in found for step in steps}
    return [step for step in trace if step.name in names]

"""What of a trace or a report is written, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attncli.records import Record, replace
from attncli.text.numbers import DEFAULT_DECIMALS

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace
    from attncli.tape.step import Step


class Selection(Record):
    """What is written.

    Attributes:
        only: the names or symbols of the steps, or patterns such as `d_*`; all by default.
        decimals: digits after the point; None for every digit in files for programs, and for
            `DEFAULT_DECIMALS` on pages.
        full: whether pages show large matrices whole.
        quiet: whether pages leave out the title and the warnings.
        why: whether each step says in a sentence why it is done; pages of HTML always do.
        exact: whether closed forms stand beside the numbers.
        standalone: whether LaTeX is a complete document.
        reveal: whether the steps of an HTML page are folded until they are asked for.
        points: the steps that have points in some problem, each a column of a grade book.
        solution: whether what students are told has the right numbers.
        heads: the heads that pages show, such as `1,3-5`; all where it is empty.
        rows: the rows of queries that pages show, by labels or numbers; all where it is empty.
        blank: the names or symbols of the steps that a worksheet leaves open; by default all that
            a hand writes.
        give: those that a worksheet shows solved nevertheless.
        is_worksheet: whether a page has room in the place of the numbers of open steps.
    """

    only: tuple[str, ...] = ()
    decimals: int | None = None
    full: bool = False
    quiet: bool = False
    why: bool = False
    exact: bool = False
    standalone: bool = False
    reveal: bool = False
    points: tuple[str, ...] = ()
    solution: bool = False
    heads: str = ""
    rows: str = ""
    blank: tuple[str, ...] = ()
    give: tuple[str, ...] = ()
    is_worksheet: bool = False

    def with_blanks(self, blank: tuple[str, ...], give: tuple[str, ...]) -> Selection:
        """Return it with the steps that are left open, and those that are not."""
        return replace(self, blank=blank, give=give)

    @property
    def digits(self) -> int:
        """The most digits after the point on a page."""
        return DEFAULT_DECIMALS if self.decimals is None else self.decimals

    def steps(self, trace: Trace) -> list[Step]:
        """Return the steps in the order of computation.

        Raises:
            InputError: for a word that people use for several of the steps.
        """
        return steps_named(self.only, trace) if self.only else [*trace]


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

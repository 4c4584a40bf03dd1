"""What the user chose to be shown, a record for each kind of page; and output in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from attncli.core.records import EMPTY, Record

if TYPE_CHECKING:
    from attncli.core.arithmetic.elements import Array
    from attncli.core.calculation.trace import Trace
    from attncli.core.tape.step import Step
    from attncli.reading.people import Person


class PageSelection(Record):
    """The settings that every kind of page has."""

    decimals: int | None = None  # digits after the point; None for the default of the format
    full: bool = False  # whether pages show large matrices whole
    quiet: bool = False  # whether there is no title and no warning, and of reports only the verdict
    follows: bool = False  # whether others are written before these, with the heading

    @property
    def digits(self) -> int:
        """The maximum number of digits after the point on a page."""
        from attncli.core.text.numbers import DEFAULT_DECIMALS  # with NumPy

        return DEFAULT_DECIMALS if self.decimals is None else self.decimals


class Selection(PageSelection):
    """The parts of a trace, or of explanations, that are written."""

    only: tuple[str, ...] = ()  # names or symbols of steps, or patterns such as `d_*`; () for all
    why: bool = False  # whether each step says why it is done; pages of HTML always do
    exact: bool = False  # whether closed forms are written beside the numbers
    standalone: bool = False  # whether LaTeX is a complete document
    reveal: bool = False  # whether the steps of an HTML page are folded until they are opened
    heads: str = ""  # the heads that pages show, such as `1,3-5`; "" for all
    rows: str = ""  # the rows of queries that pages show, by labels or numbers; "" for all
    live: bool = False  # whether the numbers of an HTML page can be changed
    reloads: bool = False  # whether such a page loads itself anew when it was written again

    is_worksheet = False

    def steps(self, trace: Trace) -> list[Step]:
        """Return the steps in the order of computation."""
        return steps_named(self.only, trace) if self.only else [*trace]


class WorksheetSelection(Selection):
    """A selection with room in place of the numbers of some steps."""

    blank: tuple[str, ...] = ()  # names or symbols of these steps; () for all that are worked out
    give: tuple[str, ...] = ()  # those that are shown solved nevertheless

    is_worksheet = True


class Room(Record, eq=False):
    """What a page leaves to its reader: nothing, unless it is a worksheet."""

    blank: Mapping[str, Step] = EMPTY  # the steps whose numbers are not printed, by name
    asked: Mapping[str, Array] = EMPTY  # which of their numbers, as on paper, are to be written

    def shows(self, name: str) -> bool:
        """Return whether the numbers of a step are printed, or are to be written."""
        return name in self.asked or name not in self.blank


NO_ROOM = Room()


class ReportSelection(PageSelection):
    """The parts of reports that are written."""

    solution: bool = False  # whether what students read may hold the right numbers
    verbose: bool = False  # whether wrong cells of arrays from programs are shown
    points: tuple[str, ...] = ()  # the steps that have points, each a column of a grade book
    only: tuple[str, ...] = ()  # the steps that a page of HTML shows; () for all
    totals: bool = False  # whether a grade book has one row per student
    people: Sequence[Person] = ()  # the class, whose rows and columns the grade book keeps
    heads: Sequence[str] = ()  # the headings of these columns


def steps_named(words: Sequence[str], trace: Trace) -> list[Step]:
    """Return the steps and inputs that words mean, in the order of computation.

    Words are names, symbols, headings of pages, or patterns.

    Raises:
        InputError: for a word that people use for several of the steps.
    """
    names = set(words)
    if others := [word for word in words if word not in trace]:
        from attncli.core.tape.find_cells import find_steps

        meant = (find_steps(word, trace.steps, trace.inputs, trace.added) for word in others)
        names |= {step.name for steps in meant for step in steps}
    inputs = (one for one in trace.inputs.values() if one.name not in trace)
    return [step for step in (*inputs, *trace) if step.name in names]


WRITE_SIZE = 2**16
"""Number of characters, or of numbers, that are written at a time: about what a pipe holds."""


def pieces(texts: Iterable[str], between: str, follows: bool = False) -> Iterator[bytes]:
    """Yield texts as they come, with `between` before each but the first, or if it follows one."""
    return in_parts(([text] for text in texts), between, follows)


def in_parts(
    texts: Iterable[Iterable[str]], between: str, follows: bool = False
) -> Iterator[bytes]:
    """Yield texts as `pieces` does; each comes in parts, and small parts are joined.

    Halves of characters, as in names of files that are not in UTF-8, become question marks.
    """
    for number, parts in enumerate(texts):
        waiting = [between] if number or follows else []
        size = 0
        for part in parts:
            waiting.append(part)
            size += len(part)
            if size >= WRITE_SIZE:
                yield "".join(waiting).encode(errors="replace")
                waiting, size = [], 0
        if waiting:
            yield "".join(waiting).encode(errors="replace")


def some_rows(matrix: Array) -> Iterator[Array]:
    """Yield a matrix (rows, columns) in parts of some rows."""
    count = max(1, WRITE_SIZE // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), count):
        yield matrix[start : start + count]

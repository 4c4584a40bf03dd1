"""The parts of a page; each format has a writer with one function for each of them.

`page` builds the page of a trace, which is a tree down to one matrix. Other pages are groups of
headings, sentences, formulas, tables and comparisons. A record says what is shown; how that looks,
and what of it is side by side, is known to the writer of a format only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.formulas.tree import Formula
from attncli.core.records import EMPTY, Record
from attncli.core.tape.step import Expression, Step
from attncli.core.text.numbers import NumberStyle

if TYPE_CHECKING:
    from attncli.core.explaining.explain import Explanation

ROOM = 8
"""Width, in characters, of an empty cell in which a number is to be written."""

EMPTY_CELL = ("", "faint")
"""The text and the style of a cell that has no number."""

TO_WRITE = ("", "")
"""The text and the style of a cell in which a number is to be written."""

SIGN_STYLES = {"✓": "right", "→": "right", "✗": "wrong"} | dict.fromkeys("≈–…?", "near")
"""The style of a sign."""

LineIndex = int | None
"""The index of a row or a column; None stands for those that are left out."""


class Matrix(Record, eq=False):
    """A matrix (rows, columns) as a page shows it, with a name above and labels beside it."""

    values: Array
    rows: Sequence[LineIndex]  # those that are shown
    columns: Sequence[LineIndex]
    name: str = ""
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    write: NumberStyle = NumberStyle()
    bars: Sequence[int] = ()  # the columns with a bar before them, which parts heads
    shaded: bool = False  # whether the background shows the size of a number
    cells: Mapping[tuple[LineIndex, LineIndex], tuple[str, str]] = EMPTY  # other texts, with styles
    is_open: bool = False  # whether the cells have room for numbers that the reader writes

    @property
    def shown(self) -> tuple[list[int], list[int]]:
        """The indices of the rows and of the columns that are shown."""
        rows = [row for row in self.rows if row is not None]
        return rows, [column for column in self.columns if column is not None]

    @property
    def is_cut(self) -> bool:
        return None in (*self.rows, *self.columns)

    @property
    def has_labels(self) -> bool:
        return bool(self.row_labels or self.column_labels)

    def text(self, row: LineIndex, column: LineIndex) -> str:
        return self.texts(row, [column])[0]

    def texts(self, row: LineIndex, columns: Sequence[LineIndex]) -> list[str]:
        """Return the texts of some cells of a row; dots for what is left out."""
        if row is None:
            return ["⋱" if column is None else "⋮" for column in columns]
        numbers = self.values[row].tolist()
        written = iter(self.write.texts([numbers[c] for c in columns if c is not None]))
        texts = ["…" if column is None else next(written) for column in columns]
        if not self.cells:
            return texts
        pairs = zip(columns, texts, strict=True)
        return [self.cells.get((row, column), (text, ""))[0] for column, text in pairs]

    def widths(self, size_of: Callable[[str], int]) -> list[int]:
        """Return the size of the longest text of each column that is shown."""
        if self.cells:
            lines = [self.texts(row, self.columns) for row in self.rows]
            return [max(map(size_of, texts)) for texts in zip(*lines, strict=True)]
        sizes = iter(self.write.widths(self.values[np.ix_(*self.shown)]))
        return [1 if column is None else next(sizes) for column in self.columns]

    @property
    def width(self) -> int:
        """About how many characters wide the matrix is in a document."""
        widths = self.widths(len)
        if self.is_open:
            rooms = [any(self.has_room(row, c) for row in self.rows) for c in self.columns]
            widths = [max(w, ROOM * room) for w, room in zip(widths, rooms, strict=True)]
        return sum(2 + width for width in widths)

    def shade(self, row: int, column: int) -> float | None:
        """Return how strong the background of a number is, from 0 to 1; None for no background."""
        value = float(self.values[row, column])
        if not self.shaded or np.isinf(value) or (row, column) in self.cells:
            return None
        return min(1.0, abs(value))

    def is_empty(self, row: LineIndex, column: LineIndex) -> bool:
        """Return whether a cell has no number, or is left out."""
        return row is None or column is None or self.cells.get((row, column)) == EMPTY_CELL

    def has_room(self, row: LineIndex, column: LineIndex) -> bool:
        """Return whether a number is to be written in a cell."""
        return self.is_open and not self.is_empty(row, column)


class Panel(Record, eq=False):
    """One matrix of a page."""

    part: Expression  # the step, or the operand of one, whose numbers it shows
    matrix: Matrix
    name: Formula  # such as Kᵀ
    on_page: Callable[[Array], Array]  # cuts the matrix out of an array in the layout of `part`
    words: str = ""  # which head or batch it is, where that is not said otherwise
    key: str = ""  # of a matrix of a step, its name as a key of answers

    @property
    def answer(self) -> str:
        """The key of a matrix that is open on a worksheet; else nothing."""
        return self.key if self.matrix.is_open else ""


class WeightedTerm(Record):
    """Part of a weighted sum, such as 0.9·v_am; one with no weight is for those left out."""

    is_negative: bool = False
    weight: str = ""  # without its sign
    letter: str = ""
    word: str = ""
    at: tuple[int, ...] = ()  # the place of the weight in the array of the weights


def subscripted(letter: str, word: str) -> str:
    """Return z_I for a letter and a label; only one of them where the other is missing."""
    return f"{letter}{'_' if letter and word else ''}{word}"


class WeightedSum(Record):
    """An output such as z_I = 0.9·v_I + 0.1·v_am; one with no letter is for those left out."""

    letter: str = ""
    word: str = ""
    parts: tuple[WeightedTerm, ...] = ()

    def texts(
        self,
        cell: Callable[[str, str], str] = subscripted,
        times: Callable[[str, str], str] = "{}·{}".format,
        minus: str = "−",
        dots: tuple[str, str] = ("⋮", "…"),
    ) -> list[str]:
        """Return `z_I`, `= 0.9·v_I`, `+ 0.1·v_am`: a line may break before each but the second.

        `cell` writes a letter with a label, `times` a weight times a value; `minus` is the sign of
        a negative weight; `dots` are the texts for a sum, and for a term, that is left out.
        """
        if not self.letter:
            return [dots[0]]
        texts = [cell(self.letter, self.word)]
        for part in self.parts:
            term = times(part.weight, cell(part.letter, part.word)) if part.weight else dots[1]
            sign = minus if part.is_negative else "+"
            texts.append(f"{sign} {term}" if texts[1:] else f"= {sign.strip('+')}{term}")
        return texts if self.parts else [*texts, "= 0"]


class Figure(Record, eq=False):
    """Operands and results of a step that are shown together."""

    name: str  # which head, batch or query it is, or ""
    operands: tuple[Panel | str, ...]  # with the signs between; () for none
    results: tuple[Panel, ...]  # the step's matrix, and its sums if they are shown with it
    sums: Callable[[], Sequence[WeightedSum]]  # returns each output as a sum of values

    @property
    def panels(self) -> list[Panel]:
        return [part for part in self.operands if isinstance(part, Panel)]


class Entry(Record):
    """A step, or several that are shown together: renamed values, or a step with its sums."""

    group: str  # the title over this entry and those that follow, such as a time step; or ""
    steps: tuple[Step, ...]
    shapes: tuple[str, ...]  # of the operands and result of each: `(3, 2) × (2, 3) → (3, 3)`
    inputs: tuple[Panel, ...]  # the inputs of the steps that were not shown before
    figures: tuple[Figure, ...]  # for each head or batch; () for renamed values, which are known
    reasons: tuple[str, ...]  # why the steps are done, a sentence each


class Page(Record):
    """The page of a trace; a text is "" where there is none."""

    title: str
    notes: str
    entries: tuple[Entry, ...]
    closing: Sequence[str]  # sentences on the effect of rounding, and on what was left out
    warnings: Sequence[str]
    decimals: int
    asked: str  # what to do with a worksheet
    student: str  # whose worksheet it is


def axis_labels(step: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a step's rows and columns on paper."""
    row, column = ("", *step.axes)[-2:]
    return step.labels.get(row, ()), step.labels.get(column, ())


class Heading(Record):
    """A title: words, or the formula of a step."""

    text: str  # of a step, its word
    aside: str = ""  # what is said beside it
    step: Step | None = None
    sign: str = ""  # how a report judges the step
    level: int = 1  # 1 for the title of a page


class Sentence(Record):
    """A sentence, perhaps after the sign of what it judges; styles are those of a terminal."""

    text: str
    style: str = ""
    sign: str = ""


class Formulas(Record):
    """How cells are calculated, such as `scores[1, 2] = 1·1 + 3·1 = 4`."""

    every: Iterable[tuple[int, Explanation]]  # each after how many others it is below


class Table(Record):
    """Rows of texts, each with a style."""

    heads: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    sides: str  # of each column: l flush left, r flush right, m marks, s sentences of any length
    narrower: Table | None = None  # the same with less, for where this one is too wide


class ComparedMatrix(Record, eq=False):
    """A student's matrix with a number that is not right, beside those that it should equal."""

    name: str  # which head or batch it is, or ""
    yours: Matrix  # with a mark at each number that is not right
    others: Sequence[Matrix]  # what follows from the student's, if it differs; the right one
    is_wrong: bool  # whether a number is wrong, and not only carried forward or rounded early


class ComparedMatrices(Record):
    """A student's wrong numbers: in their matrices, and by the names of their cells."""

    matrices: Sequence[ComparedMatrix]  # of each head or batch; () for arrays from a program
    cells: Table | None


Block = Heading | Sentence | Formulas | Table | ComparedMatrices

Group = Iterable[Block]
"""Blocks that belong together; a page is groups, with a blank line between on a terminal."""

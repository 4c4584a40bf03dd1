"""Workbooks for spreadsheets: a sheet for each problem, whose calculated numbers are formulas."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, count, product
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, filled
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.errors import fail, not_installed
from attncli.core.formulas import tree
from attncli.core.formulas.printers import BLOCKED, Reference, spreadsheet_text
from attncli.core.formulas.text import text
from attncli.core.numbers.grid import is_word
from attncli.core.problem.keys import TEXT_KEYS
from attncli.core.problem.shapes import is_transposed
from attncli.core.records import Record, replace
from attncli.core.tape.step import Expression, Step
from attncli.core.text.strings import all_of, label_text, of_cell
from attncli.pages.live import with_tagged_numbers
from attncli.pages.spreadsheet import SheetFormulas
from attncli.printing import layout
from attncli.printing.blocks import Entry, Matrix, Panel
from attncli.printing.csv import PLAIN_NUMBER, option_rows, slices
from attncli.printing.page import page_of
from attncli.printing.selection import Selection
from attncli.printing.worksheet import OPEN

MAX_NUMBERS = 100_000
"""Maximum count of numbers in the steps of a workbook, which take about 15 seconds. Chosen."""

MAX_FORMULA = 8_192
"""Maximum number of characters of a formula in Excel (Microsoft, Excel specifications)."""

MAX_COLUMNS = 26
"""Number of columns from which the next matrix of a problem is below the others. Chosen."""

THIN = 5
"""Height in pixels of the row that parts a sentence from the matrices below it."""

MIN_WIDTH = 8
"""Minimum width of a column in characters."""

SHOWN_BLOCKED = '[<-1E+290]"−∞";'
"""The beginning of a number format that shows −∞ for the number that stands for it."""

CELL_STYLES: Mapping[str, Mapping[str, Any]] = {
    "title": {"bold": True, "font_size": 14},
    "group": {"bold": True, "font_size": 12, "font_color": "#1D5FD1"},
    "formula": {"bold": True},
    "faint": {"font_color": "#6A6B72"},
    "name": {"italic": True, "font_color": "#6A6B72"},
    "label": {"font_color": "#6A6B72", "align": "right"},
    "sign": {"align": "center"},
    "option": {"font_color": "#6A6B72", "align": "left", "indent": 1},
    "number": {"align": "right"},
    "input": {"bg_color": "#E3EDFD", "locked": False, "align": "right"},
    "open": {"bg_color": "#FFF3CF", "locked": False, "align": "right"},
}
SHADES = {"type": "2_color_scale", "min_type": "num", "min_value": 0, "min_color": "#FFFFFF"} | {
    "max_type": "num", "max_value": 1, "max_color": "#72A9F5"
}  # fmt: skip


class SheetMatrix(Record, eq=False):
    """A matrix of a sheet, with its name above it and its labels beside it."""

    name: str
    matrix: Matrix
    panel: Panel | None = None  # that shows the matrix; None for one of the problem
    is_result: bool = False  # whether its numbers are made here, not shown again
    row: int = 0  # of its first number
    column: int = 0  # of its labels

    @property
    def rows(self) -> list[int]:
        return self.matrix.shown[0]

    @property
    def columns(self) -> list[int]:
        return self.matrix.shown[1]

    @property
    def left(self) -> int:
        """The column of its first number."""
        return self.column + bool(self.matrix.row_labels)

    @property
    def cells(self) -> Array:
        """The references of its numbers."""
        shape = len(self.rows), len(self.columns)
        return filled(shape, lambda at: Reference(self.row + at[0], self.left + at[1]))

    @property
    def number_format(self) -> str:
        style, numbers = self.matrix.write, self.matrix.values
        is_whole = style.decimals == 0 or self.panel is None
        exponent = "E+00" if style.form == "e" else ""
        shown = "General" if is_whole else f"0.{'0' * style.decimals}{exponent}"
        return SHOWN_BLOCKED + shown if (numbers == -np.inf).any() else shown


def traces(shown: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield a workbook with a sheet for each problem.

    Raises:
        InputError: as `workbook_class` does, or for more than `MAX_NUMBERS` cells.
    """
    buffer = io.BytesIO()
    book = workbook_class()(buffer, {"in_memory": True})
    book.set_properties({"created": datetime(2000, 1, 1)})  # the same at any time
    size = 0
    for trace in shown:
        size += sum(step.array.size for step in selection.steps(trace))
        if size > MAX_NUMBERS:
            message = f"a workbook of {size:,} numbers and more is too large to work with"
            raise fail(message, hint="choose steps with --only, or write -o FILE.npz")
        tagged = replace(compute(with_tagged_numbers(trace.problem)), problem=trace.problem)
        _Sheet(book, tagged, replace(selection, full=True)).write()
    book.close()
    yield buffer.getvalue()


def workbook_class(*_: object) -> Any:
    """Return the class of the library for workbooks.

    Raises:
        InputError: if XlsxWriter is not installed.
    """
    try:
        from xlsxwriter import Workbook
    except ImportError:
        what, instead = "a workbook needs XlsxWriter", "-o FILE.csv"
        raise not_installed(what, "openpyxl XlsxWriter", instead) from None
    return Workbook


def sheet_name(title: str, others: Iterable[str]) -> str:
    """Return a name for a sheet that programs accept, and that no other sheet has.

    >>> sheet_name("Question 1/2: masks", ["question 1 2  masks"])
    'Question 1 2  masks 2'
    """
    plain = re.sub(r"[\[\]:*?/\\]", " ", title).strip(" '") or "Attention"
    known = {other.lower() for other in others}
    names = (plain[: 31 - len(end)] + end for end in chain([""], map(" {}".format, count(2))))
    return next(name for name in names if name.lower() not in known)


class _Sheet:
    """The sheet of one problem; `row` is the next free one."""

    def __init__(self, book: Any, trace: Trace, selection: Selection) -> None:
        self.book, self.trace, self.selection = book, trace, selection
        self.page = page_of(trace, selection, lambda figures: True)
        others = [sheet.name for sheet in book.worksheets()]
        self.sheet = book.add_worksheet(sheet_name(self.page.title, others))
        self.row = 0
        self.formulas = SheetFormulas(trace)
        self.is_plain = selection.is_worksheet  # whether there are no formulas, which would tell
        self.widths: dict[int, int] = {}  # of the longest number or label of each column
        self.formats: dict[object, Any] = {}

    def write(self) -> None:
        self.sheet.protect("", {"format_columns": True, "format_rows": True})
        self.sheet.hide_gridlines(2)
        self.sheet.set_landscape()
        self.sheet.fit_to_pages(1, 0)
        self.line(self.page.title, "title")
        for words in (*self.page.notes.splitlines(), self.page.asked):
            self.line(words, "faint")
        self.options()
        self.inputs()
        for entry in self.page.entries:
            self.entry(entry)
        self.row += 1
        for words in (*self.page.closing, *self.page.warnings):
            self.line(words, "faint")
        for column, width in self.widths.items():
            self.sheet.set_column(column, column, max(MIN_WIDTH, width + 2))
        for key in self.formulas.read:
            value, cell = self.formulas.settings[key]
            self.put(cell.row, cell.column, value, "input")
        if fixed := [*self.formulas.fixed]:
            words = f"No formula of a spreadsheet makes {all_of(fixed)}."
            self.line(f"{words} The numbers stay as they are.", "faint")

    def line(self, words: str, style: str) -> None:
        if words:
            self.put(self.row, 0, words, style)
            self.row += 1

    def put(self, row: int, column: int, value: str | float, style: str, **more: Any) -> None:
        """Write a text, which no program takes for a formula, or a number."""
        if isinstance(value, str):
            self.sheet.write_string(row, column, value, self.format(style, **more))
        else:
            self.sheet.write_number(row, column, max(value, BLOCKED), self.format(style, **more))

    def widen(self, column: int, width: int) -> None:
        self.widths[column] = max(self.widths.get(column, 0), width)

    def format(self, style: str, **more: Any) -> Any:
        key = style, *more.items()
        if key not in self.formats:
            self.formats[key] = self.book.add_format({**CELL_STYLES[style], **more})
        return self.formats[key]

    def options(self) -> None:
        """Write the keys that hold no matrix; formulas read those that are one number."""
        self.row += 1
        rows = [*option_rows(self.trace.problem)]
        said = {*TEXT_KEYS}  # by the lines above, or by a matrix
        if any(step.key == "mask" for step in self.trace.inputs.values()):
            said |= {"mask"} if any(row[0] == "bias" for row in rows) else {"mask", "document"}
        if self.selection.is_worksheet:
            self.put(self.row, 0, "student", "label")
            self.put(self.row, 1, self.page.student, "open")
            self.row += 1
        for key, *values in rows:
            if key.partition(".")[0] in said:
                continue
            is_number = len(values) == 1 and PLAIN_NUMBER.fullmatch(values[0]) is not None
            if is_number:
                self.formulas.settings[key] = float(values[0]), Reference(self.row, 1)
            self.put(self.row, 0, key, "label")
            self.widen(0, len(key))
            for column, word in enumerate(values, 1):
                value = float(word) if PLAIN_NUMBER.fullmatch(word) else of_cell(word)
                self.put(self.row, column, value, "option")
            self.row += 1
        self.row += 1

    def inputs(self) -> None:
        problem, blocks = self.trace.problem, list[SheetMatrix]()
        matrices = problem.matrices()
        layouts: list[tuple[Step, Array]] = []
        for step in self.trace.inputs.values():
            written, flips = matrices.get(step.key), step.columns
            if written is not None and written.size == step.array.size and step.key != "mask":
                flips = is_transposed(step.key, problem.tokens_as, problem.weights_as)
            elif step.key:
                written = step.value
            else:  # zeros, which no key gives
                continue
            places = np.arange(written.size).reshape(written.shape)
            is_flipped = flips and written.ndim > 1
            layouts.append((step, places.swapaxes(-1, -2) if is_flipped else places))
            labels = [step.labels.get(axis, ()) for axis in ("", *step.trailing)[-2:]]
            rows, columns = reversed(labels) if is_flipped else labels
            for index, values in slices(written):
                n, m = map(range, values.shape)
                matrix = Matrix(values, n, m, row_labels=rows, column_labels=columns)
                blocks.append(SheetMatrix(f"{step.key}{index}", _labelled(matrix)))
        arranged = self.arranged(blocks)
        for block in arranged:
            self.write_block(block, {})
        cells = np.concatenate([block.cells.ravel() for block in arranged])
        for step, places in layouts:
            self.formulas.cells[step] = cells[places].reshape(step.array.shape)
            cells = cells[places.size :]

    def entry(self, entry: Entry) -> None:
        self.line(label_text(entry.group), "group")
        for step, shapes in zip(entry.steps, entry.shapes, strict=True):
            self.line(layout.plain_text(layout.heading_line(step, shapes)), "formula")
        for reason in entry.reasons:
            self.line(reason, "faint")
        self.sheet.set_row_pixels(self.row, THIN)
        self.row += 1
        inner = [panel for panel in entry.inputs if not isinstance(panel.part, Step)]
        blocks = self.arranged([_block(panel, panel.words or text(panel.name)) for panel in inner])
        for figure in entry.figures:
            operands = [
                p if isinstance(p, str) else _block(p, text(p.name)) for p in figure.operands
            ]
            results = [_block(panel, panel.key, is_result=True) for panel in figure.results]
            blocks += self.arranged([*operands, *(["="] if operands else []), *results])
        made: dict[Expression, Array] = {}
        for step in () if self.is_plain else entry.steps:
            made[step] = self.formulas.of(step)
            places = np.arange(step.array.size).reshape(step.array.shape)
            for block in blocks:
                if block.panel is not None and block.is_result and block.panel.part is step:
                    at = block.panel.on_page(places)[np.ix_(*block.matrix.shown)]
                    self.formulas.place(step, at, block.cells)
        for block in blocks:
            self.write_block(block, made)

    def items_in(self, block: SheetMatrix, made: Mapping[Expression, Array]) -> Array:
        """Return the items of a matrix: of a result what makes it, of others their cells."""
        if block.panel is None or self.is_plain:
            return block.matrix.values
        part = block.panel.part
        return block.panel.on_page(made[part] if block.is_result else self.formulas.of(part))

    def arranged(self, parts: Sequence[SheetMatrix | str]) -> list[SheetMatrix]:
        """Return blocks with their places side by side, below each other if there are many.

        The signs between them are written.
        """
        blocks = [part for part in parts if isinstance(part, SheetMatrix)]
        height = max((len(block.rows) for block in blocks), default=0)
        row = self.row + 1 + any(block.matrix.column_labels for block in blocks)
        column, done = 0, list[SheetMatrix]()
        for part, after in zip(parts, (*parts[1:], ""), strict=False):
            if isinstance(part, str):
                self.put(row + (height - 1) // 2, column, part.strip(), "sign")
                column += 1
                continue
            done.append(replace(part, row=row, column=column))
            column = done[-1].left + len(part.columns) + isinstance(after, SheetMatrix)
            if column > MAX_COLUMNS and len(blocks) == len(parts):
                break
        self.row = row + height + 1 if parts else self.row
        rest = blocks[len(done) :]
        return done + self.arranged(rest) if rest else done

    def write_block(self, block: SheetMatrix, made: Mapping[Expression, Array]) -> None:
        """Write a matrix; `made` has the items of the steps whose results are written."""
        matrix, row, left, items = block.matrix, block.row, block.left, self.items_in(block, made)
        self.put(row - 1 - bool(matrix.column_labels), block.column, block.name, "name")
        for at, width in enumerate(matrix.widths(len)):
            self.widen(left + at, width)
        for at, j in enumerate(block.columns if matrix.column_labels else ()):
            self.put(row - 1, left + at, label_text(matrix.column_labels[j]), "label")
        for at, i in enumerate(block.rows if matrix.row_labels else ()):
            self.put(row + at, block.column, label_text(matrix.row_labels[i]), "label")
        is_input, last = block.panel is None and not self.is_plain, block.columns[-1]
        style = "input" if is_input else "number"
        shown: dict[str, Any] = {"num_format": block.number_format}
        for (at, i), (place, j) in product(enumerate(block.rows), enumerate(block.columns)):
            sides = {"left": int(place == 0 or j in matrix.bars), "right": int(j == last)}
            if matrix.has_room(i, j):
                self.put(row + at, left + place, OPEN, "open", **sides)
            elif not matrix.is_empty(i, j):
                value, item = float(matrix.values[i, j]), items[i, j]
                self.put(row + at, left + place, value, style, **sides, **shown)
                formula = spreadsheet_text(item) if isinstance(item, tree.Formula) else ""
                if len(formula) > MAX_FORMULA:
                    self.formulas.fixed[block.name] = None
                elif formula:  # with the number, for programs that do not calculate
                    form = self.format(style, **sides, **shown)
                    number = max(value, BLOCKED)
                    self.sheet.write_formula(row + at, left + place, formula, form, number)
        if matrix.shaded:
            end = row + len(block.rows) - 1, left + len(block.columns) - 1
            self.sheet.conditional_format(row, left, *end, SHADES)


def _block(panel: Panel, name: str, is_result: bool = False) -> SheetMatrix:
    return SheetMatrix(name, _labelled(panel.matrix), panel, is_result)


def _labelled(matrix: Matrix) -> Matrix:
    """Return a matrix with labels also above it if those beside it may be taken for numbers."""
    if not matrix.row_labels or matrix.column_labels or any(map(is_word, matrix.row_labels)):
        return matrix
    return replace(matrix, column_labels=[str(at + 1) for at in range(matrix.values.shape[1])])

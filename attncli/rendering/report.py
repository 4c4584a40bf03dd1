"""One student's answers as a report: step by step, the wrong cells beside the right numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.check import Report
from attncli.checking.judged import (
    CORRECT,
    FOLLOWS,
    LAST_DIGIT,
    MISSING,
    WRONG,
    Compared,
    Finding,
    Given,
    Judged,
)
from attncli.records import Record
from attncli.rendering.blocks import Line, Matrix, beside, matrix_blocks
from attncli.tape.cells import cell_name
from attncli.tape.step import Operation, Step
from attncli.text.elision import kept
from attncli.text.escapes import label_text, visible
from attncli.text.numbers import DEFAULT_DECIMALS, style_of

MARKS = {CORRECT: "", FOLLOWS: "", LAST_DIGIT: "≈", WRONG: "✗", MISSING: ""}
STYLES = {CORRECT: "", FOLLOWS: "", LAST_DIGIT: "near", WRONG: "wrong", MISSING: "faint"}
MOST_CELLS = 12
"""How many cells are told one by one before the rest is only counted."""

PAPER_WIDTH = 100


class ReportTable(Record):
    """How a report is laid out.

    Attributes:
        decimals: the most digits after the point of the right numbers.
        full: whether large matrices are shown whole.
        width: columns of the terminal; None where there is none.
    """

    decimals: int = DEFAULT_DECIMALS
    full: bool = False
    width: int | None = None

    def lines(self, report: Report) -> Iterator[Line]:
        """Yield the lines of a report."""
        title = report.trace.problem.title
        yield [(visible(report.name), "title"), (f"   {visible(title)}" if title else "", "faint")]
        yield []
        fine: list[str] = []
        following: list[str] = []
        for judged in report.steps.values():
            status = judged.status
            if report.is_wrong(judged) or status == "last_digit":
                yield from _fine_steps(fine, following, report)
                fine, following = [], []
                yield from self._step(report, judged)
            elif status == "follows":
                following.append(judged.step.name)
            elif status == "correct":
                fine.append(judged.step.name)
        yield from _fine_steps(fine, following, report)
        if missing := missing_cells(report):
            yield [(f"_ left out: {missing}", "faint")]
            yield []
        yield [(verdict(report), "right" if report.verdict == "correct" else "wrong")]

    def _step(self, report: Report, judged: Judged) -> Iterator[Line]:
        """Yield a step with its marked cells."""
        wrong = report.is_wrong(judged)
        sign, style = ("✗", "wrong") if wrong else ("≈", "near")
        title: Line = [(f"{sign} ", style), (judged.step.formula, "title")]
        operation = judged.step.operation
        if isinstance(operation, Operation) and operation.note:
            title.append((f"   {operation.note}", "faint"))
        yield title
        if isinstance(judged, Compared) and judged.has(WRONG):
            yield from self._matrices(judged)
        finding = report.findings.get(judged.step.name)
        if finding is not None:
            yield from sentences(finding)
        elif judged.has(WRONG):
            yield [(f"  {unexplained(judged)}", "")]
        if isinstance(judged, Given) and judged.has(LAST_DIGIT):
            for text in last_digits(judged):
                yield [(f"  {text}", "")]
        yield []

    def _matrices(self, judged: Compared) -> Iterator[Line]:
        """Yield the student's matrix and the right one side by side, for each head with a slip."""
        step = judged.step
        if any(None in kept(size, self.full) for size in step.value.shape[-2:]):
            for text in wrong_cells(judged, self.decimals):
                yield [(f"  {text}", "")]
            return
        codes = step.on_paper(judged.codes)
        texts = written_texts(judged)
        right, yours = step.value, step.on_paper(judged.yours)
        shape = (1, *codes.shape) if codes.ndim == 1 else codes.shape
        for place in np.ndindex(shape[:-2]):
            part = codes.reshape(shape)[place]
            if not (part == WRONG).any():
                continue
            if words := slice_words(step, place):
                yield [(f"  {words}", "name")]
            given = marked_matrix(step, texts.reshape(shape)[place], part)
            blocks = [given, self._numbers(step, right.reshape(shape)[place], "right", right)]
            if not same_numbers(right, yours, self.decimals):
                own = self._numbers(step, yours.reshape(shape)[place], "from your numbers", yours)
                blocks.insert(1, own)
            yield from self._side_by_side(blocks)

    def _numbers(self, step: Step, values: Array, name: str, together: Array) -> Matrix:
        rows, columns = axis_labels(step)
        return Matrix(values, name, rows, columns, style_of(together, self.decimals))

    def _side_by_side(self, matrices: Sequence[Matrix]) -> Iterator[Line]:
        room = (self.width or PAPER_WIDTH) - 2
        parts = [matrix_blocks(matrix, self.full, None)[0] for matrix in matrices]
        row = beside([piece for part in parts for piece in (part, " ")][:-1])
        if row.width <= room:
            yield from ([("  ", ""), *line] for line in row.lines)
            return
        for matrix in matrices:
            for block in matrix_blocks(matrix, self.full, self.width and room):
                yield from ([("  ", ""), *line] for line in block.lines)


def marked_matrix(step: Step, texts: Array, codes: Array) -> Matrix:
    """Return what a student wrote, with a mark at each number that is not right."""
    marked = {}
    for i, j in np.ndindex(codes.shape):
        code = int(codes[i, j])
        marked[i, j] = (f"{label_text(str(texts[i, j]))} {MARKS[code] or ' '}", STYLES[code])
    rows, columns = axis_labels(step)
    return Matrix(np.zeros(codes.shape), "yours", rows, columns, cells=marked)


def _fine_steps(fine: list[str], following: list[str], report: Report) -> Iterator[Line]:
    if fine:
        yield [("✓ ", "right"), (", ".join(fine), "")]
    if following:
        own = following_words(report, following[0])
        verb = "follows" if len(following) == 1 else "follow"
        yield [("→ ", "right"), (f"{', '.join(following)} {verb} from {own}", "")]
    if fine or following:
        yield []


def following_words(report: Report, name: str) -> str:
    """Return from what the numbers of a step follow: slips, or only rounding."""
    names = list(report.steps)
    first = report.first_wrong_step
    after = first is not None and names.index(first) < names.index(name)
    return "your numbers" if after else "your rounded numbers"


def sentences(finding: Finding) -> Iterator[Line]:
    """Yield what went wrong, what to do, and what else gives the same numbers."""
    yield [("  ", ""), (visible(finding.message), "name"), (f" ({finding.id})", "faint")]
    yield [(f"  {finding.advice}", "")]
    if finding.also:
        others = "; or ".join(f"{_open(o.message)} ({o.id})" for o in finding.also)
        yield [(f"  These numbers cannot tell it from: {visible(others)}", "faint")]


def _open(sentence: str) -> str:
    return sentence.rstrip(".")


def unexplained(judged: Judged) -> str:
    """Return the sentence for a wrong step that no known mistake explains."""
    count = int((judged.codes == WRONG).sum())
    cells = "1 number is" if count == 1 else f"{count} numbers are"
    return f"{cells} wrong; no usual mistake gives them."


def verdict(report: Report) -> str:
    """Return the one line that says it all."""
    counts = report.counts
    if report.verdict == "wrong":
        first = report.first_wrong_step
        assert first is not None  # by the verdict
        finding = report.findings.get(first)
        what = f" ({finding.id})" if finding else ""
        if not report.steps[first].has(WRONG) and finding is None:
            what = " (off in the last digit)"
        return f"wrong, first at {first}{what}"
    given = sum(counts[status] for status in ("correct", "last_digit", "follows"))
    near = counts["last_digit"]
    note = f", {near} of them off in the last digit" if near else ""
    return f"correct: {given} number{'s' if given != 1 else ''}{note}"


def missing_cells(report: Report) -> str:
    """Return which cells were left out of steps that were given."""
    parts = []
    for name, judged in report.steps.items():
        missing = judged.counts["missing"]
        if isinstance(judged, Given) and missing:
            parts.append(f"{missing} of {judged.codes.size} cells of {name}")
    return ", ".join(parts)


def written_texts(judged: Given) -> Array:
    """Return what was written, as it stands on paper; `_` for a cell that was left out."""
    texts = np.where(judged.written.missing, "_", judged.written.texts)
    return judged.step.on_paper(texts)


def same_numbers(right: Array, yours: Array, decimals: int) -> bool:
    """Whether two arrays look the same when they are written."""
    with np.errstate(invalid="ignore"):
        near = np.abs(right - yours) <= 0.5 * 10.0**-decimals
    return bool((near | (right == yours)).all())


def axis_labels(step: Step) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words of a step's rows and columns on paper."""
    row, column = ("", *step.axes)[-2:]
    return step.labels.get(row, ()), step.labels.get(column, ())


def slice_words(step: Step, place: Sequence[int]) -> str:
    """Return which matrix of a stack this is, such as `head 2`; "" where there is one."""
    names = step.axes[: len(place)]
    words = []
    for axis, index in zip(names, place, strict=True):
        labels = step.labels.get(axis, ())
        words.append(f"{axis} {label_text(labels[index]) if index < len(labels) else index + 1}")
    return ", ".join(words)


def wrong_cells(judged: Given, decimals: int) -> Iterator[str]:
    """Yield `scaled[am, I] is 4.67, should be 8.0829` for each wrong cell, the first of many."""
    texts, right = written_texts(judged), judged.step.value
    write = style_of(right, decimals)
    places = np.argwhere(judged.step.on_paper(judged.codes) == WRONG)
    for place in places[:MOST_CELLS]:
        at = tuple(int(i) for i in place)
        name = cell_name(judged.step, at)
        yield f"{name} is {label_text(texts[at])}, should be {write(float(right[at]))}"
    if len(places) > MOST_CELLS:
        yield f"… and {len(places) - MOST_CELLS} more; --full shows all"


def last_digits(judged: Given) -> Iterator[str]:
    """Yield the cells that are off in their last digit, and how they came about."""
    step = judged.step
    codes, texts = step.on_paper(judged.codes), written_texts(judged)
    units, values = step.on_paper(judged.written.unit), step.on_paper(judged.written.values)
    places = [tuple(int(i) for i in p) for p in np.argwhere(codes == LAST_DIGIT)]
    right = step.value
    count = "1 number is" if len(places) == 1 else f"{len(places)} numbers are"
    cut_off = all(np.trunc(right[at] / units[at]) * units[at] - values[at] < 1e-9 for at in places)
    cut_off &= all(abs(values[at]) <= abs(right[at]) for at in places)
    yield f"{count} off in the last digit{' (cut off, not rounded)' if cut_off else ''}:"
    for at in places[:MOST_CELLS]:
        should_be = rounded_like(float(right[at]), float(units[at]))
        yield f"{cell_name(step, at)} is {label_text(texts[at])}, should be {should_be}"
    if len(places) > MOST_CELLS:
        yield f"… and {len(places) - MOST_CELLS} more"


def rounded_like(value: float, unit: float) -> str:
    """Return a number rounded to a unit as people round.

    >>> rounded_like(0.975559, 0.01)
    '0.98'
    """
    if not np.isfinite(value):
        return str(value)
    exponent = Decimal(1).scaleb(round(float(np.log10(unit))))
    rounded = Decimal(repr(value)).quantize(exponent, rounding=ROUND_HALF_UP)
    return f"{rounded:f}"

"""Reports: what is said of each step that a student gave, in order, and of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice

import numpy as np

from attncli.checking.check import Graded, Report
from attncli.checking.judging import judged_steps
from attncli.checking.judging.judged_steps import Compared, Difference, Given, Judged
from attncli.core.arithmetic.elements import Array
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import cell_name, told_apart
from attncli.core.tape.step import Step
from attncli.core.text.numbers import style_of
from attncli.core.text.strings import count_of, kept, label_text, visible
from attncli.printing import blocks, prose, verdicts
from attncli.printing.blocks import SIGN_STYLES, Block, Group, Matrix, Sentence, axis_labels
from attncli.printing.class_report import ClassRow, class_report, row_of
from attncli.printing.selection import ReportSelection
from attncli.reading.document import Unread

MARK_OF_CELL = {
    judged_steps.LAST_DIGIT: ("≈", "near"),
    judged_steps.ROUNDED_EARLY: ("≈", "near"),
    judged_steps.WRONG: ("✗", "wrong"),
    judged_steps.MISSING: (" ", "faint"),
}
"""The mark after a written number that is not right, and its style, by the number's status."""

MOST_OF_ARRAY = 5
"""Maximum number of wrong cells of an array from a program that are shown. Chosen."""

MOST_ARRAYS, ARRAYS_BEFORE = 12, 4
"""Maximum number of arrays of a program that are shown, and of those before a wrong one. Chosen."""

SIGN_OF_STATUS = {"last_digit": "≈", "rounded_early": "≈", "follows": "→"}
"""The sign of a step by its status: ✓ for a right one, and ✗ for a wrong one."""


class Remark(Record):
    """The part of a report on a step that the student gave."""

    step: Step
    sign: str  # ✗ wrong, ≈ right but for rounding, → follows from earlier numbers, ✓ right
    status: str  # of the worst cell
    aside: str  # "not asked" for a wrong step that does not count; how far an array is off, where
    follows: str  # what the numbers follow from: "your numbers" or "your rounded numbers"
    first_wrong: str  # the name of the first wrong cell; "" where none is, or the shape is wrong
    blocks: tuple[Block, ...]  # what is wrong, or was rounded

    @property
    def outcome(self) -> str:
        """Whether the numbers are right, or follow from earlier ones; or ""."""
        return {
            "correct": "your numbers are right",
            "follows": f"not the right numbers, but worked out correctly from {self.follows}",
        }.get(self.status, "")

    @property
    def said(self) -> list[str]:
        return [block.text for block in self.blocks if isinstance(block, Sentence)]

    @property
    def sentences(self) -> Iterator[str]:
        """The sentences on the step, after its sign."""
        for number, text in enumerate(filter(None, [self.outcome, *self.said])):
            yield text if number else f"{self.sign} {text}"


def groups(
    graded: Iterable[Graded], selection: ReportSelection, is_document: bool = False
) -> Iterator[Group]:
    """Yield the report of one student, or the table of several; or only verdicts, as they come.

    A document begins with the verdict, a terminal ends with it; and it shows nothing of a lone
    submission that could not be read, as its error is shown.
    """
    every = iter(graded)
    first = list(islice(every, 2))
    if selection.quiet:
        has_titles = len({one.title for one in first}) > 1
        rows = map(row_of, chain(first, every))
        yield (Sentence(_verdict(row, first[1:] != [], has_titles)) for row in rows)
    elif first[1:] or (is_document and any(isinstance(one, Unread) for one in first)):
        yield from class_report(chain(first, every), is_document)
    else:
        for one in first:
            if isinstance(one, Report):
                yield from filter(None, _report(one, selection, is_document))


def as_table(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    return prose.written(groups, [graded], selection)


def as_markdown(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    from attncli.printing import markdown  # which others do not need

    return markdown.written(partial(groups, is_document=True), [graded], selection)


def _verdict(row: ClassRow, several: bool, has_titles: bool) -> str:
    """Return only the verdict, after the name and the problem if there are several."""
    names = (row.name, row.title if has_titles else "")
    name = ", ".join(visible(word) for word in names if word)
    return f"{name}: {row.words}" if several else row.words


def _report(report: Report, selection: ReportSelection, is_document: bool) -> Iterator[Group]:
    title = blocks.Heading(visible(report.name), visible(report.title))
    shown = remarks(report, selection)
    verdict, comment, said, others = about(report, shown)
    if is_document:
        yield [title, *verdict, *comment, *said, *others]
    else:
        yield [title, *comment]
        yield said
    for is_fine, some in groupby(shown.values(), lambda one: one.sign in "✓→"):
        if is_fine:
            yield [*_fine([*some])]
        else:
            for one in some:
                aside = f"({one.aside})" if one.aside else ""
                heading = blocks.Heading(one.step.word, aside, one.step, one.sign, 2)
                yield [heading, *one.blocks]
    if not is_document:
        yield others
        yield verdict


def about(report: Report, shown: Mapping[str, Remark]) -> tuple[list[Sentence], ...]:
    """Return the verdict, what the student said, how they worked, and what was left out."""
    verdict = Sentence(
        verdicts.verdict(report), SIGN_STYLES[verdicts.VERDICT_SIGNS[report.verdict]]
    )
    points = [Sentence(line) for line in [verdicts.points_by_step(report)] if line]
    comment = [Sentence(f"“{line}”", "faint") for line in verdicts.comment_lines(report)]
    others = [Sentence(line, "faint") for line in _left_out(report, shown)]
    return [verdict, *points], comment, [*map(Sentence, report.said)], others


def _fine(remarks: Sequence[Remark]) -> Iterator[Block]:
    """Yield one line for successive steps that are right, and one for those that follow."""
    if known := [one for one in remarks if one.aside]:
        rows = [((one.sign, "right"), (one.step.word, ""), (one.aside, "faint")) for one in known]
        yield blocks.Table((), rows, "mls")
    for sign in "✓→":
        if some := [one for one in remarks if one.sign == sign and not one.aside]:
            verb = "follows" if len(some) == 1 else "follow"
            follow = f" {verb} from {some[0].follows}" if sign == "→" else ""
            yield Sentence(f"{', '.join(one.step.word for one in some)}{follow}", sign=sign)
            yield from (Sentence(f"{one.step.word}: {x}") for one in some for x in one.said)


def remarks(report: Report, selection: ReportSelection, solution: bool = True) -> dict[str, Remark]:
    """Return what is said of each step, by its name; without the solution, it is not given away."""
    every = [judged for judged in report.steps.values() if judged.status != "missing"]
    shown = _near_first_wrong(report, every) if report.dtype and not selection.full else every
    return {one.step.name: _remark(report, one, selection, solution) for one in shown}


def _left_out(report: Report, shown: Mapping[str, Remark]) -> Iterator[str]:
    """Yield sentences on what was left out, and on skipped keys and arrays that are not shown."""
    yield from verdicts.missing(report)
    every = (one for one in report.steps.values() if one.status != "missing")
    if hidden := [one for one in every if one.step.name not in shown]:
        wrong, count = sum(map(report.is_wrong, hidden)), count_of(len(hidden), "array")
        yield f"… and {count} more, {wrong} of them wrong; --full shows all"


def _near_first_wrong(report: Report, every: Sequence[Judged]) -> Sequence[Judged]:
    """Return the arrays of a program that are shown: the first wrong one, and those around it."""
    names = [judged.step.name for judged in every]
    first = report.first_wrong_step
    start = max(names.index(first) - ARRAYS_BEFORE, 0) if first in names else 0
    return every[start : start + MOST_ARRAYS]


def sign_of(report: Report, judged: Judged) -> str:
    return "✗" if report.is_wrong(judged) else SIGN_OF_STATUS.get(judged.status, "✓")


def _remark(report: Report, judged: Judged, selection: ReportSelection, solution: bool) -> Remark:
    name, sign = judged.step.name, sign_of(report, judged)
    names = list(report.steps)
    is_after = report.first_wrong_step in names[: names.index(name)]
    cells = [*_wrong_cells(judged, selection, solution)]
    compared = tuple(_compared(judged, selection, report.strict, solution))
    parts = list[Block]()
    if cells or compared:
        parts.append(blocks.ComparedMatrices(compared, _table(cells, selection, solution)))
    parts += _sentences(report, judged, solution)
    return Remark(
        step=judged.step,
        sign=sign,
        status=judged.status,
        aside=_aside(report, judged, sign),
        follows="your numbers" if is_after else "your rounded numbers",
        first_wrong=cells[0][0] if cells else "",
        blocks=tuple(parts),
    )


def _sentences(report: Report, judged: Judged, solution: bool) -> Iterator[Sentence]:
    finding = report.findings.get(judged.step.name)
    if finding and not solution:
        hint = finding.what if finding.hint is None else finding.hint
        finding = replace(finding, what=hint, worked=(), also=())
    if finding:
        yield Sentence(visible(finding.message), "name")
        yield from map(Sentence, filter(None, (*map(visible, finding.worked), finding.advice)))
        yield from (Sentence(visible(line), "faint") for line in finding.others)
    yield from map(Sentence, verdicts.unexplained(report, judged, solution))
    # Numbers that a mistake gives are not praised for their rounding.
    if isinstance(judged, Compared) and not (finding and finding.gives_all):
        yield from map(Sentence, filter(None, [verdicts.early_words(judged, report.strict)]))
    # Where a mistake is named, last digits do not matter.
    is_named = finding is not None and judged.has(judged_steps.WRONG)
    if isinstance(judged, Given) and judged.has(judged_steps.LAST_DIGIT) and not is_named:
        yield from map(Sentence, verdicts.last_digits(judged, solution))


def _aside(report: Report, judged: Judged, sign: str) -> str:
    said = ["not asked"] if sign == "✗" and judged.step.name not in report.wrong_steps else []
    if isinstance(judged, Difference) and not judged.fault:
        if judged.nan_count:
            said.append(f"{judged.nan_count:,} of {count_of(judged.codes.size, 'cell')} are nan")
        if judged.nan_count < judged.codes.size:
            at = f" at {cell_name(judged.step, judged.farthest)}" if judged.farthest else ""
            said.append(f"max |Δ| {judged.largest:.2g}{at}".replace("inf", "∞"))
        if 0 < judged.errors < np.inf:
            said.append(f"{judged.errors:.2g} × the error of {report.dtype}")
    return ", ".join(said)


def _compared(
    judged: Judged, selection: ReportSelection, strict: bool, solution: bool
) -> Iterator[blocks.ComparedMatrix]:
    """Yield the student's matrix and the right one for each head or batch."""
    if not isinstance(judged, Compared):
        return
    step, digits = judged.step, selection.digits
    codes, texts = step.on_paper(judged.codes), judged.texts
    differs = step.on_paper(_differs(judged, judged.step.array, digits))
    goes_on = step.on_paper(_differs(judged, judged.written.values, digits))
    numbers = {"from your numbers": step.on_paper(judged.yours), "right": step.value}
    rows, columns = (kept(size, selection.full) for size in np.atleast_2d(codes).shape[-2:])
    row_labels, column_labels = map(told_apart, axis_labels(step))
    like = Matrix(np.zeros((0, 0)), rows, columns, "", row_labels, column_labels)
    for place in np.ndindex(codes.shape[:-2]):
        part = np.atleast_2d(codes[place])
        if np.isin(part, (judged_steps.CORRECT, judged_steps.MISSING)).all():
            continue
        is_wrong, is_given = part == judged_steps.WRONG, part != judged_steps.MISSING
        # A matrix that is written like the right one, or like the student's, is not shown.
        compared = is_wrong if is_wrong.any() else is_given
        is_other = (differs[place] & compared).any() and (goes_on[place] & is_given).any()
        others = []
        for name, of_all in numbers.items():
            if solution and (is_other or name == "right"):
                values, write = np.atleast_2d(of_all[place]), style_of(of_all, digits)
                others.append(replace(like, name=name, values=values, write=write))
        cells = {}
        for at, text in np.ndenumerate(np.atleast_2d(texts[place])):
            mark, style = MARK_OF_CELL.get(int(part[at]), (" ", ""))
            cells[at] = f"{label_text(str(text))} {mark}", style
        yours = replace(like, name="yours", values=np.zeros_like(part), cells=cells)
        counts = is_wrong | ((part == judged_steps.ROUNDED_EARLY) & strict)
        words = [
            f"{axis} {label_text(label_at(step, axis, i))}"
            for axis, i in zip(step.axes, place, strict=False)
        ]
        yield blocks.ComparedMatrix(", ".join(words), yours, others, bool(counts.any()))


def _differs(judged: Compared, numbers: Array, digits: int) -> Array:
    """Return where what follows from the student's numbers is written unlike other numbers."""
    unit = np.maximum(judged.unit, 10.0**-digits)
    with np.errstate(invalid="ignore", over="ignore"):  # −∞ / unit, 1e308 / unit
        differs: Array = np.round(judged.yours / unit) != np.round(numbers / unit)
    return differs


def label_at(step: Step, axis: str, place: int) -> str:
    """Return the label of a place along an axis; its number from 1 where there is none."""
    labels = step.labels.get(axis, ())
    return labels[place] if place < len(labels) else str(place + 1)


def _wrong_cells(
    judged: Judged, selection: ReportSelection, solution: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each wrong cell, what was written, and the right number or ""."""
    step = judged.step
    right = step.value
    write = style_of(right, selection.digits)
    is_wrong = step.on_paper(judged.codes) == judged_steps.WRONG
    if isinstance(judged, Difference):
        for at in some_places(is_wrong) if selection.verbose and not judged.fault else ():
            yield cell_name(step, at), f"{judged.values[at]:.9g}", f"{right[at]:.9g}" * solution
    elif isinstance(judged, Given):
        for at in verdicts.places(is_wrong):
            shown = write(float(right[at])) if solution else ""
            yield cell_name(step, at), label_text(str(judged.texts[at])), shown


def _table(
    cells: Sequence[tuple[str, str, str]], selection: ReportSelection, solution: bool
) -> blocks.Table | None:
    """Return a table of the wrong cells, or of the first of many."""
    count = len(cells) if selection.full else verdicts.MOST_CELLS
    rows = [((name, "label"), (f"{given} ✗", "wrong"), (right, "")) for name, given, right in cells]
    more = f"… and {len(cells) - count} more; --full shows all"
    rows[count:] = [((more, "faint"), ("", ""), ("", ""))] * (len(cells) > count)
    heads, size = ("cell", "yours", "right"), 2 + solution
    return blocks.Table(heads[:size], [row[:size] for row in rows], "lrr"[:size]) if rows else None


def some_places(chosen: Array) -> Iterator[tuple[int, ...]]:
    """Yield the places of the first chosen cells of an array from a program."""
    for flat in np.flatnonzero(chosen)[:MOST_OF_ARRAY]:
        yield tuple(int(i) for i in np.unravel_index(flat, chosen.shape))

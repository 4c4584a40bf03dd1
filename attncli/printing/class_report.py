"""The report on a class: a row per answer, what all have in common, and doubts about the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from attncli.checking.check import Graded
from attncli.checking.judging import judged_steps
from attncli.checking.judging.judged_steps import Given
from attncli.core.arithmetic.elements import Array
from attncli.core.records import Record
from attncli.core.tape.cell_names import Index, cell_name
from attncli.core.text.numbers import every_digit
from attncli.core.text.strings import count_of, shortened, small, visible
from attncli.printing import verdicts
from attncli.printing.blocks import SIGN_STYLES, Group, Sentence, Table
from attncli.printing.verdicts import places, points_text, rounded_like, some_of
from attncli.reading.document import Unread

UNREADABLE = "unreadable"
"""The verdict on answers that could not be read."""

MIN_AGREEING = 3
"""Minimum number of students whose equal wrong numbers put the key in doubt: two may have worked
together. Chosen."""

MIN_PART_OF_RIGHT = 0.5
"""Minimum number of such students, as a part of those with the key's number: fewer share a
common mistake. Chosen."""

LARGEST_COUNTED = 1_000
"""Maximum number of cells of a step whose numbers are counted, to save memory. Chosen."""


class ClassRow(Record):
    """What a report on a class says of one answer; a text is "" where there is none."""

    sign: str
    name: str  # of the student
    title: str  # of the problem
    verdict: str  # one word
    words: str  # the verdict with the first wrong step, or with what is missing
    first_wrong_step: str
    mistake: str  # its id, where one is known
    message: str  # of the mistake, or else why the answer is not right
    points: str


def class_report(graded: Iterable[Graded], is_document: bool) -> Iterator[Group]:
    """Yield a table of a class, then its summary; none of the reports on its students is kept.

    Only a document says why answers could not be read: a terminal shows these errors beside it.
    """
    tally, rows, notes = Tally(), list[ClassRow](), list[str]()
    for one in graded:
        tally.add(one)
        rows.append(row_of(one))
        notes += verdicts.notes(one)
    several = len({row.title for row in rows}) > 1  # a title that all share says nothing of any
    cells = list[tuple[tuple[str, str], ...]]()
    for row in rows:
        style, title = SIGN_STYLES[row.sign], visible(shortened(row.title)) * several
        who = (row.sign, style), (visible(shortened(row.name)), ""), (title, ""), (row.points, "")
        is_known = row.message in row.words or (row.sign == "?" and not is_document)
        why = "" if is_known else visible(row.message)
        cells.append((*who, (row.words, style), (why, "")))
    heads = ("", "student", "problem", "points", "verdict", "why")
    shown = [n for n, column in enumerate(zip(*cells, strict=True)) if any(x for x, _ in column)]
    table = [[row[n] for n in shown] for row in cells]
    yield [Table([heads[n] for n in shown], table, "".join("mlllss"[n] for n in shown))]
    faint = [Sentence(line, "faint") for line in notes]
    yield [*map(Sentence, tally.lines()), *faint]


def row_of(one: Graded) -> ClassRow:
    if isinstance(one, Unread):
        about = (UNREADABLE, "could not be read", "", "", verdicts.reason(one))
        return ClassRow("?", one.name, one.title, *about, points="")
    first = one.first_wrong_step or ""
    finding = one.findings.get(first)
    return ClassRow(
        sign=verdicts.VERDICT_SIGNS[one.verdict],
        name=one.name,
        title=one.title,
        verdict=one.verdict,
        words=verdicts.verdict(one),
        first_wrong_step=first,
        mistake=finding.id if finding else "",
        message=finding.message if finding else verdicts.why(one),
        points=verdicts.points_of(one),
    )


class WrongNumber(NamedTuple):  # as tuples are counted in a tenth of the time of records
    """A wrong number that students wrote in a cell, and the mistake in its step."""

    mistake: str  # a sentence; "" where no mistake is known
    value: float
    unit: float
    right: float

    def is_same(self, other: WrongNumber) -> bool:
        """Return True for numbers that are equal in the digits that both were written with."""
        half = max(self.unit, other.unit) / 2 * (1 + 1e-9)  # which floats may exceed a little
        return self.value == other.value or abs(self.value - other.value) <= half

    def text(self, number: float) -> str:
        return rounded_like(number, self.unit) if self.unit else every_digit(number)


class Tally:
    """Counts of a class: how many were right, their points, their mistakes and wrong numbers.

    It keeps no report, so its memory does not grow with the class. Wrong numbers are counted only
    if it is to doubt the key.
    """

    def __init__(self, graded: Iterable[Graded] = (), doubts_key: bool = False) -> None:
        self._doubts_key = doubts_key
        self.verdicts: Counter[str] = Counter()
        self.mistakes: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.points = np.zeros(3)  # the answers that have points, the earned and possible ones
        self.right: dict[tuple[str, bytes], Array] = {}
        self.wrong: dict[tuple[str, bytes], dict[Index, tuple[str, Counter[WrongNumber]]]] = {}
        for one in graded:
            self.add(one)

    def add(self, one: Graded) -> None:
        if isinstance(one, Unread):
            self.verdicts[UNREADABLE] += 1
            return
        self.verdicts[one.verdict] += 1
        if one.marking.points:
            self.points += (1, one.total, one.marking.possible)
        if first := one.first_wrong_step:
            self.steps[first] += 1
            if finding := one.findings.get(first):
                self.mistakes[finding.id] += 1
        for name, judged in one.steps.items() if self._doubts_key else ():
            if isinstance(judged, Given) and judged.codes.size <= LARGEST_COUNTED:
                finding = one.findings.get(name)
                self._add_numbers(judged, one.title, finding.message if finding else "")

    def merge(self, other: Tally) -> None:
        """Add the counts of other students, who come later in the class."""
        self.verdicts.update(other.verdicts)
        self.mistakes.update(other.mistakes)
        self.steps.update(other.steps)
        self.points += other.points
        for key, right in other.right.items():
            self.right[key] = self.right.get(key, 0) + right
        for key, cells in other.wrong.items():
            counted = self.wrong.setdefault(key, {})
            for at, (cell, numbers) in cells.items():
                counted.setdefault(at, (cell, Counter()))[1].update(numbers)

    def _add_numbers(self, judged: Given, title: str, mistake: str) -> None:
        step, written = judged.step, judged.written
        # Variants have the same title, but not the same numbers in a whole step.
        key = f"{title}: " if title else "", step.name.encode() + step.array.tobytes()
        self.right[key] = self.right.get(key, 0) + (
            step.on_paper(judged.codes) < judged_steps.FOLLOWS
        )
        wrong = judged.wrong_numbers
        if not wrong.any():
            return
        counted = self.wrong.setdefault(key, {})
        values, units = step.on_paper(written.values), step.on_paper(written.unit)
        for at in places(step.on_paper(wrong)):
            numbers = float(values[at]), float(units[at]), float(step.value[at])
            if at not in counted:
                counted[at] = cell_name(step, at), Counter()
            counted[at][1][WrongNumber(mistake, *numbers)] += 1

    def lines(self) -> Iterator[str]:
        words = ["correct", "wrong", *(x for x in ("incomplete", "empty") if self.verdicts[x])]
        count = sum(self.verdicts[word] for word in words)
        parts = ", ".join(f"{self.verdicts[word]} {word}" for word in words)
        unread = self.verdicts[UNREADABLE]
        more = f"; {unread} could not be read" if unread else ""
        yield f"{count_of(count, 'answer')}: {parts}{more}"
        if count := self.points[0]:
            mean, possible = map(points_text, self.points[1:] / count)
            yield f"points: {mean} of {possible} on average"
        named = (("commonest mistakes", self.mistakes), ("first wrong step", self.steps))
        for name, counted in named:
            if counted:
                most = ", ".join(f"{count} × {what}" for what, count in counted.most_common(5))
                yield f"{name}: {most}"

    def doubts(self) -> Iterator[str]:
        """Yield for each step in which most wrong numbers are equal that the key may be wrong."""
        for key, right in self.right.items():
            clauses, mistakes = list[str](), set[str]()
            for at, (cell, counted) in sorted(self.wrong.get(key, {}).items()):
                number = counted.most_common(1)[0][0]
                same = {one: n for one, n in counted.items() if number.is_same(one)}
                count, wrong = sum(same.values()), counted.total()
                agree = int(right[at])
                least = max(MIN_AGREEING, MIN_PART_OF_RIGHT * agree)
                if count >= least and 2 * count > wrong:
                    mistakes |= {one.mistake for one in same}
                    yours, keys = map(number.text, (number.value, number.right))
                    others = f" and {count_of(agree, 'other')} have" if agree else " has"
                    first = f"wrong answers have {yours} in {cell}, where the key{others}"
                    again = f"have {yours} in {cell}, not"
                    clauses.append(f"{count} of {wrong} {again if clauses else first} {keys}")
            if clauses:
                one = mistakes.pop() if len(mistakes) == 1 else ""
                compare = "Compare the problem with the one that was handed out."
                more = f"They make one mistake: {small(one)}" if one else compare
                yield f"{key[0]}the key may be wrong: {'; '.join(some_of(clauses))}. {more}"

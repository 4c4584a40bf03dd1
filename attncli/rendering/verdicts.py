"""What is said of a student in one line, and of a class in a few: verdicts, points, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from attncli.checking.check import Report
from attncli.checking.judged import STATUSES, WRONG, Compared, Judged
from attncli.files.grading import Graded, Unread
from attncli.rendering.remarks import MOST_CELLS, unexplained
from attncli.text.elision import shortened
from attncli.text.escapes import visible

NEAR = {"last_digit": "off in the last digit", "rounded_early": "rounded early"}
"""What is said of numbers that are right, but not quite."""


def verdict(report: Report) -> str:
    """Return the one line that says it all."""
    if first := report.first_wrong_step:
        finding = report.findings.get(first)
        what = finding.id if finding else reason(report.steps[first])
        return f"wrong, first at {first}{f' ({what})' if what else ''}"
    if report.verdict == "empty":
        what = "none of the steps that are asked" if report.marking.ask else "nothing"
        return f"empty: {what} was given"
    return "; ".join([f"{report.verdict}: {_numbers(report)}", *left_out(report)])


def left_out(report: Report) -> Iterator[str]:
    """Yield what is missing of the steps and cells that are asked, or have points."""
    counts, names = report.left_out, report.not_given
    cells = [cells_of(name, *count) for name, count in counts.items() if name not in names]
    if cells:
        yield f"left out: {', '.join(cells)}"
    if names:
        yield f"not given: {', '.join(names)}"


def cells_of(name: str, count: int, size: int) -> str:
    """Return how many cells of a step."""
    return f"{count} of {size} cell{'' if size == 1 else 's'} of {name}"


def skipped(keys: Sequence[tuple[str, str]]) -> str:
    """Return which keys mean no step, or hold no numbers."""
    return f"skipped: {', '.join(skipped_words(keys))}"


def with_hint(keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the skipped keys that may have been meant for a step."""
    return [(key, hint) for key, hint in keys if hint]


def skipped_words(keys: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the keys that mean no step, those with a hint after the others."""
    plain = [visible(shortened(key)) for key, hint in keys if not hint]
    if plain:
        more = f" and {len(plain) - MOST_CELLS} more" if len(plain) > MOST_CELLS else ""
        yield f"{', '.join(plain[:MOST_CELLS])}{more} (no steps of this problem)"
    for key, hint in keys:
        if hint:
            yield f"{visible(shortened(key))} ({visible(hint)})"


def _numbers(report: Report) -> str:
    """Return how many numbers are right, of the steps that count, and how many not quite."""
    every = [
        np.bincount(codes.ravel(), minlength=len(STATUSES)) for codes in report.counting.values()
    ]
    counts = dict(zip(STATUSES, np.sum(every, axis=0).tolist(), strict=True))
    near = {status: counts[status] for status in NEAR}
    exact = counts["correct"] + counts["follows"]
    given = exact + sum(near.values())
    notes: list[str] = []
    for status, count in near.items():
        of_them = "" if notes else " of them"
        how_many = "all of them" if count == given else f"{count}{of_them}"
        if count:
            notes.append(f", {NEAR[status]}" if given == 1 else f", {how_many} {NEAR[status]}")
    return f"{given} number{'' if given == 1 else 's'}{''.join(notes)}"


def reason(judged: Judged) -> str:
    """Return why a step without a wrong number is wrong, as one is by `--strict`; or nothing."""
    if judged.has(WRONG) or judged.status not in NEAR:
        return ""
    rounding = judged.rounding if isinstance(judged, Compared) else ""
    is_early = judged.status == "rounded_early" and rounding
    return f"{NEAR[judged.status]}{f': {rounding}' if is_early else ''}"


def why(report: Report) -> str:
    """Return why an answer is not right, where no mistake says it; or nothing."""
    first = report.first_wrong_step
    if first is None:
        is_empty = report.verdict == "empty"
        parts = [verdict(report).removeprefix("empty: ")] if is_empty else [*left_out(report)]
        if parts and (keys := with_hint(report.skipped)):
            parts.append(skipped(keys))
        return "; ".join(parts)
    judged = report.steps[first]
    return reason(judged) or next(unexplained(report, judged), "")


def points_of(report: Graded) -> str:
    """Return the points of a student, such as `7.5 of 10`; nothing where there are none."""
    if isinstance(report, Unread) or not report.marking.points:
        return ""
    return f"{short(report.total)} of {short(report.marking.possible)}"


def points_by_step(report: Report) -> str:
    """Return the points of a student as a sentence, with those of each step."""
    if not report.marking.points:
        return ""
    possible = report.marking.points
    steps = (f"{n} {short(x)} of {short(possible[n])}" for n, x in report.points.items())
    return f"points: {points_of(report)} ({', '.join(steps)})"


def short(number: float) -> str:
    """Return a number of points, with as many as two decimals as it needs.

    >>> short(7.5), short(10.0), short(0.1 + 0.2)
    ('7.5', '10', '0.3')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")


class Tally:
    """How many of a class were right, their points, and the commonest mistakes.

    It keeps no report, so that a class may be of any size.
    """

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.mistakes: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.points: list[float] = []
        self.possible: list[float] = []

    def add(self, one: Graded) -> None:
        """Count a student's sheet."""
        if isinstance(one, Unread):
            self.verdicts["could not be read"] += 1
            return
        self.verdicts[one.verdict] += 1
        if one.marking.points:
            self.points.append(one.total)
            self.possible.append(one.marking.possible)
        if first := one.first_wrong_step:
            self.steps[first] += 1
            if finding := one.findings.get(first):
                self.mistakes[finding.id] += 1

    def lines(self) -> Iterator[str]:
        """Yield what is to be said of the class."""
        always, otherwise = ("correct", "wrong"), ("incomplete", "empty", "could not be read")
        parts = [f"{self.verdicts[word]} {word}" for word in always]
        parts += [f"{self.verdicts[word]} {word}" for word in otherwise if self.verdicts[word]]
        count = self.verdicts.total()
        yield f"{count} answer{'' if count == 1 else 's'}: {', '.join(parts)}"
        if many := len(self.points):
            mean, possible = sum(self.points) / many, sum(self.possible) / many
            yield f"points: {short(mean)} of {short(possible)} on average"
        named = (("commonest mistakes", self.mistakes), ("first wrong step", self.steps))
        for name, counted in named:
            if counted:
                told = ", ".join(f"{count} × {what}" for what, count in counted.most_common(5))
                yield f"{name}: {told}"

"""A student's answers in one line, and those of a class in a few: verdicts, points, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from attncli.checking.check import Report
from attncli.checking.judged import STATUSES, WRONG, Compared, Judged
from attncli.files.grading import Graded, Unread
from attncli.rendering.remarks import MOST_CELLS, unexplained
from attncli.text.elision import shortened
from attncli.text.escapes import lines_of, visible

VERDICT_SIGNS = {"correct": "✓", "incomplete": "…", "wrong": "✗", "empty": "–"}

NEAR = {"last_digit": "off in the last digit", "rounded_early": "rounded early"}
"""The words for numbers that are right except for rounding, by their status."""


def verdict(report: Report) -> str:
    """Return the whole report in one line."""
    if first := report.first_wrong_step:
        finding = report.findings.get(first)
        what = finding.id if finding else _rounding(report.steps[first])
        return f"wrong, first at {first}{f' ({what})' if what else ''}"
    if report.verdict == "empty":
        what = "none of the steps that are asked" if report.marking.ask else "nothing"
        return f"empty: {what} was given"
    return "; ".join([f"{report.verdict}: {_numbers(report)}", *_left_out(report)])


def _left_out(report: Report) -> Iterator[str]:
    """Yield what is missing of the steps and cells that are asked, or have points."""
    counts, names = report.left_out, report.not_given
    cells = [cells_of(name, *count) for name, count in counts.items() if name not in names]
    if cells:
        yield f"left out: {', '.join(cells)}"
    if names:
        yield f"not given: {', '.join(names)}"


def cells_of(name: str, count: int, size: int) -> str:
    return f"{count} of {size} cell{'s'[: size != 1]} of {name}"


def skipped(keys: Sequence[tuple[str, str]]) -> str:
    """Return which keys mean no step, or hold no numbers; those with a hint after the others."""
    plain = [visible(shortened(key)) for key, hint in keys if not hint]
    parts = [f"{visible(shortened(key))} ({visible(hint)})" for key, hint in keys if hint]
    if plain:
        more = f" and {len(plain) - MOST_CELLS} more" if len(plain) > MOST_CELLS else ""
        names = ", ".join(plain[:MOST_CELLS])
        parts.insert(0, f"{names}{more} (no steps of this problem)")
    return f"skipped: {', '.join(parts)}"


def _skipped_with_hint(report: Report) -> str:
    """Return which skipped keys may have been meant for a step; or ""."""
    keys = [(key, hint) for key, hint in report.skipped if hint]
    return skipped(keys) if keys else ""


def notes(graded: Graded) -> Iterator[str]:
    """Yield what a teacher should know of a student beside the verdict, after the name."""
    if isinstance(graded, Unread):
        return
    name = visible(shortened(graded.name))
    if keys := _skipped_with_hint(graded):
        yield f"{name}: {keys}"
    if graded.comment:
        yield f"{name} says: “{' '.join(comment_lines(graded))}”"


def comment_lines(report: Report) -> tuple[str, ...]:
    return tuple(visible(line) for line in lines_of(report.comment) if line.strip())


def _numbers(report: Report) -> str:
    """Return how many numbers of the steps that count are right, and how many almost."""
    every = [
        np.bincount(codes.ravel(), minlength=len(STATUSES)) for codes in report.counting.values()
    ]
    counts = dict(zip(STATUSES, np.sum(every, axis=0).tolist(), strict=True))
    near = {words: counts[status] for status, words in NEAR.items() if counts[status]}
    given = counts["correct"] + counts["follows"] + sum(near.values())
    found = f"{given} number{'s'[: given != 1]}"
    for number, (words, count) in enumerate(near.items()):
        of_them = "" if number else " of them"
        how_many = "all of them " if count == given else f"{count}{of_them} "
        found += f", {'' if given == 1 else how_many}{words}"
    return found


def _rounding(judged: Judged) -> str:
    """Return why a step without a wrong number is wrong, as `--strict` judges; or ""."""
    if judged.has(WRONG) or judged.status not in NEAR:
        return ""
    rounding = judged.rounding if isinstance(judged, Compared) else ""
    is_early = judged.status == "rounded_early" and rounding
    return f"{NEAR[judged.status]}{f': {rounding}' if is_early else ''}"


def why(report: Report) -> str:
    """Return why an answer is not right, where no mistake explains it; or ""."""
    if first := report.first_wrong_step:
        judged = report.steps[first]
        return _rounding(judged) or next(unexplained(report, judged), "")
    if report.verdict == "empty":
        parts = [verdict(report).removeprefix("empty: ")]
    else:
        parts = [*_left_out(report)]
    return "; ".join(filter(None, [*parts, _skipped_with_hint(report)])) if parts else ""


def points_of(graded: Graded) -> str:
    """Return the points of a student, such as `7.5 of 10`; "" where there are none."""
    if isinstance(graded, Unread) or not graded.marking.points:
        return ""
    return f"{short(graded.total)} of {short(graded.marking.possible)}"


def points_by_step(report: Report) -> str:
    """Return the points of a student as a sentence, with those of each step."""
    if not report.marking.points:
        return ""
    possible = report.marking.points
    steps = (f"{n} {short(x)} of {short(possible[n])}" for n, x in report.points.items())
    return f"points: {points_of(report)} ({', '.join(steps)})"


def short(number: float) -> str:
    """Return a number of points, with up to two decimals.

    >>> short(7.5), short(10.0), short(0.1 + 0.2)
    ('7.5', '10', '0.3')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")


class Tally:
    """Counts how many of a class were right, their points, and the commonest mistakes.

    It keeps no report, so that a class may be of any size.
    """

    def __init__(self, graded: Iterable[Graded] = ()) -> None:
        self.verdicts: Counter[str] = Counter()
        self.mistakes: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.points: list[tuple[float, float]] = []  # what was earned, and was possible
        for one in graded:
            self.add(one)

    def add(self, one: Graded) -> None:
        if isinstance(one, Unread):
            self.verdicts["could not be read"] += 1
            return
        self.verdicts[one.verdict] += 1
        if one.marking.points:
            self.points.append((one.total, one.marking.possible))
        if first := one.first_wrong_step:
            self.steps[first] += 1
            if finding := one.findings.get(first):
                self.mistakes[finding.id] += 1

    def lines(self) -> Iterator[str]:
        """Yield the summary of the class."""
        always, otherwise = ("correct", "wrong"), ("incomplete", "empty", "could not be read")
        words = [*always, *(word for word in otherwise if self.verdicts[word])]
        count = self.verdicts.total()
        parts = ", ".join(f"{self.verdicts[word]} {word}" for word in words)
        yield f"{count} answer{'s'[: count != 1]}: {parts}"
        if self.points:
            mean, possible = (
                sum(some) / len(self.points) for some in zip(*self.points, strict=True)
            )
            yield f"points: {short(mean)} of {short(possible)} on average"
        named = (("commonest mistakes", self.mistakes), ("first wrong step", self.steps))
        for name, counted in named:
            if counted:
                most = ", ".join(f"{count} × {what}" for what, count in counted.most_common(5))
                yield f"{name}: {most}"

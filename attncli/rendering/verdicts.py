"""What is said of a student in one line, and of a class in a few: verdicts, points, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attncli.checking.check import Report
from attncli.checking.judged import WRONG, Compared, Judged
from attncli.files.grading import Graded

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
    left_out = f"; not given: {', '.join(report.not_given)}" if report.not_given else ""
    return f"correct: {_numbers(report)}{left_out}"


def _numbers(report: Report) -> str:
    """Return how many numbers are right, of the steps that count, and how many not quite."""
    every = [report.steps[name].counts for name in report.asked]
    near = {status: sum(counts[status] for counts in every) for status in NEAR}
    exact = sum(counts["correct"] + counts["follows"] for counts in every)
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


def points_of(report: Report) -> str:
    """Return the points of a student, such as `7.5 of 10`; nothing where there are none."""
    if not report.marking.points:
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


def summary(graded: Sequence[Graded]) -> Iterator[str]:
    """Yield how many of a class were right, their points, and the commonest mistakes."""
    reports = [one for one in graded if isinstance(one, Report)]
    verdicts = Counter(one.verdict for one in reports)
    parts = [f"{verdicts[word]} {word}" for word in ("correct", "wrong")]
    if verdicts["empty"]:
        parts.append(f"{verdicts['empty']} empty")
    if unread := len(graded) - len(reports):
        parts.append(f"{unread} could not be read")
    yield f"{len(graded)} answer{'' if len(graded) == 1 else 's'}: {', '.join(parts)}"
    if marked := [one for one in reports if one.marking.points]:
        mean = sum(one.total for one in marked) / len(marked)
        possible = sum(one.marking.possible for one in marked) / len(marked)
        yield f"points: {short(mean)} of {short(possible)} on average"
    wrong = {one: one.first_wrong_step for one in reports if one.first_wrong_step}
    mistakes = Counter(one.findings[s].id for one, s in wrong.items() if s in one.findings)
    steps = Counter(wrong.values())
    for name, counted in (("commonest mistakes", mistakes), ("first wrong step", steps)):
        if counted:
            told = ", ".join(f"{count} × {what}" for what, count in counted.most_common(5))
            yield f"{name}: {told}"

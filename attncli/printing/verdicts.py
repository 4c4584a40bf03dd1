"""Sentences on a student's answers: the verdict, the points, and what is wrong in a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

import numpy as np

from attncli.checking.check import Graded, Report
from attncli.checking.judging import judged_steps
from attncli.checking.judging.agreement import only_unit
from attncli.checking.judging.judged_steps import Compared, Difference, Given, Judged
from attncli.checking.naming.diagnosis import too_few_digits
from attncli.core.arithmetic.elements import Array
from attncli.core.numbers.last_place import number_of
from attncli.core.numbers.parser import NumberError
from attncli.core.problem.marking import as_points
from attncli.core.tape.by_hand import Rounding
from attncli.core.tape.cell_names import Index, cell_name
from attncli.core.tape.evaluation import sources
from attncli.core.tape.step import Step
from attncli.core.text.numbers import every_digit
from attncli.core.text.strings import all_of, count_of, label_text, lines_of, shortened, visible
from attncli.reading.document import Unread

MOST_CELLS = 12
"""Maximum number of cells that are named one by one; the others are counted. Chosen."""

MOST_STEPS = 4
"""Maximum number of hidden steps that are named, the last before a wrong one. Chosen."""

MANY_CUT_OFF = 4
"""Minimum number of cells that were cut off to be reported in one line. Chosen."""

VERDICT_SIGNS = {"correct": "✓", "incomplete": "…", "wrong": "✗", "empty": "–"}

RIGHT_BUT = {"last_digit": "off in the last digit", "rounded_early": "rounded early"}
"""The words for numbers that are right except for rounding, by their status."""


def verdict(report: Report) -> str:
    """Return the whole report in one line, without the mistake's id, as students read it."""
    if first := report.first_wrong_step:
        what = "" if first in report.findings else _rounding(report.steps[first])
        where = f"first at {_word(report, first)}{f' ({what})' if what else ''}"
        return f"wrong: {_how_many_wrong(report)}, {where}"
    if report.verdict == "empty":
        what = "none of the steps that are asked" if report.marking.ask else "nothing"
        return f"empty: {what} was given"
    return "; ".join([f"{report.verdict}: {_numbers(report)}", *missing(report, briefly=True)])


def _how_many_wrong(report: Report) -> str:
    """Return how many of the given numbers are wrong, of those that count or lead to these."""
    steps = {name: report.steps[name].on_paper for name in report.wrong_steps} | report.counting
    counts = _counts(report, steps)
    wrong = sum(counts[judged_steps.STATUSES[code]] for code in report.codes_of_wrong)
    return f"{wrong:,} of {count_of(sum(counts.values()), 'number')}"


def _counts(report: Report, codes_by_step: Mapping[str, Array]) -> dict[str, int]:
    """Return how many of the given numbers have each status, without those not compared."""
    none = np.zeros(len(judged_steps.STATUSES), dtype=int)
    each = (np.bincount(x.ravel(), minlength=none.size) for x in codes_by_step.values())
    counts = dict(zip(judged_steps.STATUSES, sum(each, none).tolist(), strict=True))
    counts["correct"] -= sum(report.apart.get(name, 0) for name in codes_by_step)
    return counts | {"missing": 0}


def _numbers(report: Report) -> str:
    """Return how many numbers of the steps that count were given, and how many are near."""
    counts = _counts(report, report.counting)
    near = {words: counts[name] for name, words in RIGHT_BUT.items() if counts[name]}
    written = sum(counts.values())
    said = count_of(written, "number")
    for number, (words, count) in enumerate(near.items()):
        of_them = "" if number else " of them"
        how_many = "all of them " if count == written else f"{count}{of_them} "
        said += f", {'' if written == 1 else how_many}{words}"
    return said


def _word(report: Report, name: str) -> str:
    return report.trace[name].word if name in report.trace else name


def missing(report: Report, briefly: bool = False) -> Iterator[str]:
    """Yield sentences on what is left out of what is wanted, or of the written steps, and skipped.

    Briefly, keys without a hint are not named, nor are, without a marking, steps of which more than
    half is missing.
    """
    counts = {name: n for name, n in report.left_out.items() if name not in report.not_given}
    if not report.marking.expected:
        written = {name: one for name, one in report.steps.items() if isinstance(one, Given)}
        every = {name: (one.counts["missing"], one.codes.size) for name, one in written.items()}
        counts = {name: n for name, n in every.items() if not briefly or 2 * n[0] <= n[1]}
    if cells := [cell_count(_word(report, name), *n) for name, n in counts.items() if n[0]]:
        yield f"{'' if briefly else '_ '}left out: {', '.join(cells)}"
    if report.not_given:
        yield f"not given: {', '.join(_word(report, name) for name in report.not_given)}"
    told = report.verdict == "incomplete"  # the verdict, which is near, has those with a hint
    others = [(key, hint) for key, hint in report.skipped if not (hint and told)]
    if keys := _skipped_with_hint(report) if briefly else skipped(others):
        yield keys


def numbers_right(report: Report, codes: Iterable[Array]) -> str:
    """Return how many of some cells are right, such as `8 of 9 numbers right`; "" for no cells."""
    every = [code for part in codes for code in part.ravel().tolist()]
    near = () if report.strict else (judged_steps.LAST_DIGIT, judged_steps.ROUNDED_EARLY)
    right = sum(map(every.count, (judged_steps.CORRECT, *near)))
    carried = every.count(judged_steps.FOLLOWS)
    follow = f", {carried} worked out correctly from earlier ones" if carried else ""
    return f"{right} of {count_of(len(every), 'number')} right{follow}" if every else ""


def cell_count(name: str, count: int, size: int) -> str:
    """Return how many cells of a step are missing, or its name alone if all are."""
    return name if count == size else f"{count} of {count_of(size, 'cell')} of {name}"


def skipped(keys: Sequence[tuple[str, str]]) -> str:
    """Return which keys mean no step, or hold no numbers; "" for no keys.

    Each has a hint, or ""; those with a hint come after the others.
    """
    plain = [visible(shortened(key)) for key, hint in keys if not hint]
    hinted = [f"{visible(shortened(key))} ({visible(hint)})" for key, hint in keys if hint]
    others = f"{len(hinted) - MOST_CELLS} more that may be steps"
    parts = [*hinted[:MOST_CELLS], *([others] if len(hinted) > MOST_CELLS else [])]
    if plain:
        more = f" and {len(plain) - MOST_CELLS} more" if len(plain) > MOST_CELLS else ""
        names = ", ".join(plain[:MOST_CELLS])
        parts.insert(0, f"{names}{more} (no steps of this problem)")
    return f"skipped: {', '.join(parts)}" if parts else ""


def _skipped_with_hint(report: Report) -> str:
    return skipped([(key, hint) for key, hint in report.skipped if hint])


def notes(graded: Graded) -> Iterator[str]:
    """Yield lines for a teacher beside the verdict: the student's comment, and skipped keys.

    The verdict on answers without a wrong number, or why they are empty, has these.
    """
    if isinstance(graded, Unread):
        return
    name = visible(shortened(graded.name))
    if graded.first_wrong_step and (keys := _skipped_with_hint(graded)):
        yield f"{name}: {keys}"
    if graded.comment:
        yield f"{name} says: “{' '.join(comment_lines(graded))}”"


def comment_lines(report: Report) -> tuple[str, ...]:
    return tuple(visible(line) for line in lines_of(report.comment) if line.strip())


def _rounding(judged: Judged) -> str:
    """Return why `--strict` calls a step wrong in which no number is wrong; or ""."""
    if judged.has(judged_steps.WRONG) or judged.status not in RIGHT_BUT:
        return ""
    rounding = judged.rounding if isinstance(judged, Compared) else ""
    is_early = judged.status == "rounded_early" and rounding
    return f"{RIGHT_BUT[judged.status]}{f': {rounding}' if is_early else ''}"


def why(report: Report) -> str:
    """Return why an answer is not right, where no mistake explains it; or ""."""
    if first := report.first_wrong_step:
        judged = report.steps[first]
        return _rounding(judged) or next(unexplained(report, judged), "")
    if report.verdict == "empty":
        parts = [verdict(report).removeprefix("empty: "), _skipped_with_hint(report)]
        return "; ".join(filter(None, parts))
    return "; ".join(missing(report, briefly=True)) if report.verdict == "incomplete" else ""


def points_of(*graded: Graded) -> str:
    """Return the points of a student, such as `7.5 of 10`; "" where there are none."""
    reports = [one for one in graded if isinstance(one, Report) and one.marking.points]
    said = _of([one.total for one in reports], [one.marking.possible for one in reports])
    return said if reports else ""


def points_by_step(report: Report) -> str:
    """Return the points of a student as a sentence, with those of each step."""
    possible = report.marking.points
    earned = report.points.items()
    steps = (f"{_word(report, name)} {_of([got], [possible[name]])}" for name, got in earned)
    return f"points: {points_of(report)} ({', '.join(steps)})" if possible else ""


def points_of_step(report: Report, step: str) -> str:
    """Return the points of a step and its cells, such as `3.5 of 4 points`; "" for none."""
    earned = {name: x for name, x in report.points.items() if report.answers[name] == step}
    said = _of(earned.values(), [report.marking.points[name] for name in earned])
    return f"{said} point{'s'[: not said.endswith(' 1')]}" if earned else ""


def _of(earned: Iterable[float], possible: Iterable[float]) -> str:
    return f"{points_text(sum(earned))} of {points_text(sum(possible))}"


def points_text(number: float) -> str:
    return every_digit(as_points(number))


def reason(unread: Unread) -> str:
    """Return in one line why a submission could not be read, with the place in its file."""
    return str(unread.error).partition("\n")[0]


def places(chosen: Array) -> list[Index]:
    return [tuple(place) for place in np.argwhere(chosen).tolist()]


def _count(cells: Array) -> str:
    count = int(cells.sum())
    return "1 number is" if count == 1 else f"{count} numbers are"


def unexplained(report: Report, judged: Judged, solution: bool = True) -> Iterator[str]:
    """Yield sentences on the wrong numbers that the finding does not explain."""
    step = judged.step
    finding = report.findings.get(step.name)
    few = too_few_digits(judged, report.marking.decimals or 0)
    wrong = judged.wrong_numbers
    if isinstance(judged, Difference):
        if wrong.any() and finding is None and step.name == report.first_wrong_step:
            count = int(wrong.sum())
            differ, them = ("differs", "it") if count == 1 else ("differ", "them")
            said = f"{count:,} of {wrong.size:,} numbers {differ}"
            why = report.no_cause or f"no known convention or mistake gives {them}"
            yield f"{said}; {why}."
        return
    if wrong.any() and _is_unexplained(report, step):
        hint = _what_to_compare(report, step, solution)
        if finding is None:
            them = "it" if wrong.sum() == 1 else "them"
            first = cell_name(step, places(step.on_paper(wrong))[0])
            hint = hint or f"Work {first} again first."
            yield f"{_count(wrong)} wrong; no single usual mistake gives {them}. {hint}"
        elif hint:
            yield hint
    if few is not None and (finding is None or finding.id != few.id):
        yield few.message
    no_numbers = [f"{cell_name(step, at)}: {why}" for at, why in unreadable_cells(judged).items()]
    yield from some_of(no_numbers, " that are no numbers")


def some_of(lines: Sequence[str], which: str = "") -> Iterator[str]:
    """Yield the first lines of many, one for each cell, and how many others there are."""
    yield from lines[:MOST_CELLS]
    if len(lines) > MOST_CELLS:
        yield f"… and {len(lines) - MOST_CELLS} more{which}"


def _is_unexplained(report: Report, step: Step) -> bool:
    finding = report.findings.get(step.name)
    return report.steps[step.name].has(judged_steps.WRONG) and (finding is None or not finding.what)


def _what_to_compare(report: Report, step: Step, solution: bool) -> str:
    """Return a hint to compare a hidden step, or to hand hidden steps in; or ""."""
    hidden = _hidden_before(report, step)
    hidden_before = {
        other.step.name: _hidden_before(report, other.step)
        for other in report.steps.values()
        if _is_unexplained(report, other.step)
    }
    related = {name: before for name, before in hidden_before.items() if {*before} & {*hidden}}
    common = [one for one in hidden if all(one in before for before in related.values())]
    if len(related) > 1 and common:
        if step.name != next(iter(related)):
            return ""  # the first of them has the hint
        both = "both" if len(related) == 2 else "all"
        where = f"{common[-1].word}, which was not handed in"
        steps = all_of([_word(report, name) for name in related])
        return f"{steps} {both} depend on {where}: compare it next."
    if not hidden or report.findings.get(step.name):
        return ""
    *others, last = [one.word for one in hidden[-MOST_STEPS:]]
    names = f"{', '.join(others)} or {last}" if others else last
    or_compare = ", or compare yours with the right numbers" if solution else ""
    return f"Hand in {names} too{or_compare}."


def _hidden_before(report: Report, step: Step) -> list[Step]:
    """Return the steps, in the order of computation, that were not handed in and lead to a step.

    Steps without operands, such as h_0 = 0, and other names of an input are left out.
    """
    hidden, wanted = list[Step](), {source.name for source in sources(step)}
    before = [*takewhile(lambda other: other is not step, report.trace)]
    for other in reversed(before):
        if other.name in wanted and report.steps[other.name].status == "missing":
            if sources(other) and not isinstance(other.operation, Step):
                hidden.insert(0, other)
            wanted |= {source.name for source in sources(other)}
    return hidden


def unreadable_cells(judged: Judged) -> dict[Index, str]:
    """Return the cells on paper that are no numbers, each with the reason."""
    if not isinstance(judged, Given) or judged.written.unreadable is None:
        return {}
    texts, reasons = judged.step.on_paper(judged.written.texts), dict[Index, str]()
    for at in places(judged.step.on_paper(judged.written.unreadable)):
        try:
            number_of(texts[at])
        except NumberError as error:
            reasons[at] = str(error)
    return reasons


def early_words(judged: Compared, strict: bool) -> str:
    """Return a sentence on numbers that are right but for rounding earlier steps; or ""."""
    early, right = judged.codes == judged_steps.ROUNDED_EARLY, judged.codes == judged_steps.CORRECT
    if not early.any():
        return ""
    what = judged.rounding or "something on the way rounded"
    if strict:
        return f"rounded early: {what}"
    every = (early | right | (judged.codes == judged_steps.MISSING)).all()
    return f"right, with {what}" if every else f"{_count(early)} right, with {what}"


def last_digits(judged: Given, solution: bool = True) -> Iterator[str]:
    """Yield the cells that are off in their last digit, with the numbers if `solution` is set."""
    step, off = judged.step, judged.codes == judged_steps.LAST_DIGIT
    texts, values = judged.texts, step.on_paper(judged.written.values)
    units, expected = step.on_paper(judged.unit), step.on_paper(judged.expected)
    cells = places(step.on_paper(off))
    cut_off = all(
        np.trunc(expected[at] / units[at]) * units[at] - values[at] < 1e-9
        and abs(values[at]) <= abs(expected[at])
        for at in cells
    )
    if cut_off and len(cells) >= MANY_CUT_OFF:
        at, unit = cells[0], only_unit(judged.unit)
        decimals = round(-np.log10(unit)) if unit and unit < 1 else 0
        after = f" after {count_of(decimals, 'decimal')}" if decimals else ""
        finer = rounded_like(float(expected[at]), float(units[at]) / 10)
        example = f", such as {cell_name(step, at)}: {label_text(texts[at])} for {finer}"
        cut = f"{len(cells)} numbers were cut off{after}, not rounded"
        yield f"{cut}{example if solution else ''}"
        return
    note = " (cut off, not rounded)" if cut_off else ""
    said = f"{_count(off)} off in the last digit{note}:"
    if not solution:
        yield f"{said} {', '.join(cell_name(step, at) for at in cells)}"
        return
    yield said
    lines = []
    for at in cells:
        should_be = rounded_like(float(expected[at]), float(units[at]))
        lines.append(f"{cell_name(step, at)} is {label_text(texts[at])}, should be {should_be}")
    yield from some_of(lines)


def rounded_like(value: float, unit: float) -> str:
    """Return a number rounded to a unit as people round: 0.975559 to 0.01 is 0.98."""
    decimals = round(-np.log10(unit))
    return f"{Rounding(decimals=decimals).number(value):.{max(decimals, 0)}f}"

"""Slips in a line or in a whole matrix: hypotheses of how several cells became wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import numpy as np

from attncli.checking.judging.agreement import MAX_ABOUT, NEARLY_ONE, ROUNDED, float_error, is_exact
from attncli.checking.judging.judged_steps import ALL_THE_SAME, Finding
from attncli.checking.judging.operands import axis_of_shares
from attncli.checking.naming.hypotheses import MAX_WORKED_SIZE, Hypothesis, WrongStep, short_number
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, hull
from attncli.core.attention.masks import Masked
from attncli.core.attention.softmax import Exp, Shares, Sum
from attncli.core.calculation.mistake import made_by
from attncli.core.explaining.terms import Leaf, Term
from attncli.core.tape.cell_names import cell_name, place_of
from attncli.core.tape.evaluation import evaluate, sources
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import Step
from attncli.core.text.strings import all_of


def other_divisor(wrong: WrongStep) -> Iterator[Hypothesis]:
    """The numbers of the line were divided by the sum of another line, or by a third number."""
    division, judge = wrong.step.operation, wrong.judge
    if wrong.axis is None or not isinstance(division, Divide):
        return
    parts = (
        evaluate(part, judge.operands.written) for part in (division.dividend, division.divisor)
    )
    dividend, divisor = (np.broadcast_to(part, wrong.values.shape) for part in parts)
    line = wrong.in_line & wrong.shown
    at = max(map(tuple, np.argwhere(line).tolist()), key=lambda place: abs(float(dividend[place])))
    if not wrong.values[at]:
        return
    right, fitted = float(divisor[at]), float(dividend[at] / wrong.values[at])
    subject = f"All {line.sum()} numbers were" if wrong.is_only_line else "It was"
    id_ = "wrong_divisor" if wrong.is_only_line else f"{wrong.noun(wrong.axis)}_slip"
    hint = "The numbers were divided by a wrong one." if wrong.is_only_line else ""
    for total in dict.fromkeys((*np.unique(divisor).tolist(), fitted)):
        by = f"about {total:.3g}" if total == fitted else short_number(total)
        what = f"{subject} divided by {by}, not by {short_number(right)}."
        finding = Finding(id_, what, wrong.again, wrong.place, hint=hint)
        if total * right <= 0:
            continue
        fitted_to = int(total == fitted)
        hypothesis = wrong.of_numbers(finding, dividend / total, line, fitted_to)
        yield hypothesis
        if wrong.holds(hypothesis):
            return  # the third number would be the same one, but for the digits


def like_another_line(wrong: WrongStep) -> Iterator[Hypothesis]:
    axis, values, yours = wrong.axis, wrong.values, wrong.judged.yours
    if axis is None or wrong.is_only_line:
        return
    noun, line = wrong.noun(axis), wrong.cells[0][axis]
    others = {i: np.take(yours, [i], axis) for i in range(values.shape[axis]) if i != line}

    def off(other: int) -> float:
        differences = np.abs(values - others[other])[wrong.in_line & wrong.shown]
        return float(np.nan_to_num(differences, nan=0.0, posinf=0.0).sum())

    for other in sorted(others, key=off):
        what = f"It holds the numbers of {noun} {wrong.line(axis, other)}."
        finding = Finding(f"{noun}_slip", what, wrong.again, wrong.place)
        yield wrong.of_numbers(finding, others[other], wrong.in_line)


def misread_factor(wrong: WrongStep) -> Iterator[Hypothesis]:
    """A misread number puts each cell of a line off by the same multiple of the other factors."""
    if wrong.axis is None or not np.isfinite(wrong.off[wrong.in_line & wrong.shown]).all():
        return
    cells = [tuple(at) for at in np.argwhere(wrong.in_line & wrong.shown).tolist()]
    if len(cells) > MAX_WORKED_SIZE:
        return
    terms = [[factors for factors in wrong.terms(at) if len(factors) == 2] for at in cells]
    off = np.array([wrong.values[at] - wrong.judged.yours[at] for at in cells])
    hidden = wrong.judge.operands.hidden_before(wrong.step)
    for leaf in dict.fromkeys(leaf for factors in terms[0] for leaf in factors):
        others = [_beside(leaf, cell) for cell in terms]
        slopes = np.array([sum(other.value for other in cell) for cell in others])
        if not isinstance(leaf, Leaf) or not all(others) or np.count_nonzero(slopes) < 2:
            continue
        name, right = cell_name(leaf.step, place_of(leaf.step, leaf.at)), leaf.value
        is_written = leaf.step not in hidden or isinstance(leaf.step.operation, Step)
        # What was read has no more decimals than what is written there.
        decimals = next((d for d in range(4) if round(right, d) == right), 4)
        by = float(off @ slopes / (slopes @ slopes))
        for change in dict.fromkeys(round(by, digits) for digits in range(decimals + 1)):
            read, wanted = short_number(right + change), short_number(right)
            what = f"{name} was read as {read}, not as {wanted}."
            advice, hint = f"Copy {name} again.", f"{name} was misread."
            if not is_written:
                what = f"{name} was {read}, not {wanted}."
                advice, hint = f"Calculate {name} again.", f"{name} was wrong."
            finding = Finding("miscopied_number", what, advice, wrong.place, hint=hint)
            numbers = wrong.judged.yours.copy()
            numbers[tuple(zip(*cells, strict=True))] += change * slopes
            hypothesis = wrong.of_numbers(finding, numbers, wrong.in_line, fitted=1)
            yield hypothesis
            if wrong.holds(hypothesis):
                break  # more digits are the same number


def other_score(wrong: WrongStep) -> Iterator[Hypothesis]:
    """One hidden score of the row was another number: all other weights have the right ratios.

    Of weights w and powers e, w_k / (1 − w_k) is e_k divided by the sum of the other powers.
    """
    shares, judge = wrong.step.operation, wrong.judge
    if not isinstance(shares, Shares) or wrong.axis != -2:
        return
    power, total = made_by(Exp, shares.dividend), made_by(Sum, shares.divisor)
    if power is None or total is None or total.along != -1:
        return
    scores, (batch, head, row, _) = power.operand, wrong.cells[0]
    hidden = judge.operands.hidden_before(wrong.step)
    if not isinstance(scores, Step) or not {scores, shares.dividend} <= {*hidden}:
        return
    e = evaluate(shares.dividend, judge.operands.written)[batch, head, row]
    values, unit = (x[batch, head, row] for x in (wrong.values, wrong.judged.unit))
    right = judge.operands.written(scores)[batch, head, row]
    if np.count_nonzero(e) < MIN_EVEN or scores.array.shape != wrong.values.shape:
        return
    for k in np.flatnonzero((e > 0) & (values > unit) & (values < 1 - unit)).tolist():
        low, high = values[k] - ROUNDED * unit[k], values[k] + ROUNDED * unit[k]
        rest = e / (e.sum() - e[k])
        ends = [wrong.judged.yours.copy() for _ in range(2)]
        for end, share, other in zip(ends, (low, high), (high, low), strict=True):
            end[batch, head, row] = rest * (1 - other)
            end[batch, head, row, k] = share
        per_power = power.temperature / np.log(power.base)
        least, most = (right[k] + per_power * np.log(x / (1 - x) / rest[k]) for x in (low, high))
        about = float(least + most) / 2
        about = next((x for d in range(9) if least <= (x := round(about, d)) <= most), about)
        name = cell_name(scores, place_of(scores, (batch, head, row, k)))
        shown, wanted = short_number(about), short_number(float(right[k]))
        what = f"It is as if {name} had been {shown}, not {wanted}."
        advice, hint = f"Calculate {name} again.", f"It is as if {name} had been another number."
        finding = Finding("row_slip", what, advice, wrong.place, hint=hint)
        yield Hypothesis(finding, Interval(*ends), fitted=1)


def _beside(leaf: Term, terms: Sequence[Sequence[Term]]) -> list[Term]:
    return [(b if a is leaf else a) for a, b in terms if a is leaf or b is leaf]


MAX_NAMED = 3
"""Maximum number of cells that are named; the others are only counted."""

MAX_TEXT = 12
"""Maximum length of a written number that a sentence quotes, in characters."""

MIN_EVEN = 3
"""Minimum count of numbers whose common factor, or value, is no coincidence. Chosen."""


def mask_slip(wrong: WrongStep) -> Iterator[Hypothesis]:
    """A blocked cell holds a number, or an open one holds none; no sign or digit explains that."""
    blocked = _blocked(wrong)
    if blocked is None:
        return
    nothing = (wrong.values == -np.inf) | (wrong.values == 0)
    written = np.where(wrong.wrong & (blocked | nothing), wrong.judged.yours, wrong.values)
    sign = "−∞" if isinstance(wrong.step.operation, Masked) else "0"
    is_one = len(wrong.cells) == 1
    them, they_are = ("it", "it is") if is_one else ("them", "they are")
    hint = None
    if blocked[wrong.wrong].all():
        what = f"The mask blocks {them}, so {they_are} {sign}."
        hint = f"The mask blocks {them}." if sign == "0" else None
    elif not blocked[wrong.wrong].any():
        what = f"The mask lets {them} through, so {they_are} not {sign}."
    else:
        what = "The mask blocks some of them, and lets the others through."
    place = f"{_listed(wrong)} {'is' if is_one else 'are'} wrong"
    finding = Finding("mask_slip", what, "Look at the mask again.", place, hint=hint)
    yield Hypothesis(finding, written=written, is_fact=True)


def _blocked(wrong: WrongStep) -> Array | None:
    """Return the cells that the student's mask, or the correct one, blocks; None without one."""
    step, midpoints = wrong.step, wrong.judge.operands.written
    if isinstance(step.operation, Masked):
        return np.asarray(wrong.judged.yours == -np.inf)
    if not step.plain.startswith(("exp", "weights")):
        return None
    for other in wrong.judge.trace:
        is_like = other.trailing == step.trailing and other.array.shape == step.array.shape
        if isinstance(other.operation, Masked) and is_like:
            return np.asarray((midpoints(other) == -np.inf) & (wrong.judged.yours == 0))
    return None


def _listed(wrong: WrongStep) -> str:
    names = [wrong.cell(place) for place in wrong.cells[:MAX_NAMED]]
    if len(wrong.cells) > MAX_NAMED:
        names = [*names[:-1], f"{len(wrong.cells) - MAX_NAMED + 1} more"]
    return all_of(names)


def wrong_signs(wrong: WrongStep) -> Iterator[Hypothesis]:
    if not wrong.values[wrong.wrong].any():
        return
    if len(wrong.cells) == 1:
        finding = Finding("sign_slip", "It has the wrong sign.", "Mind the sign.", wrong.place)
    else:
        is_whole = wrong.wrong[wrong.shown].all()
        some = f"{len(wrong.cells)} of the numbers have"
        has = _every(wrong, "has", "have") if is_whole else some
        finding = Finding("sign_slip", f"{has} the wrong sign.", "Mind the signs.")
    written = np.where(wrong.wrong, -wrong.values, wrong.values)
    yield Hypothesis(finding, written=written, is_fact=len(wrong.cells) > 1)


def _every(wrong: WrongStep, verb: str, of_several: str) -> str:
    if wrong.is_one_line:
        return f"All {wrong.shown.sum()} numbers {of_several}"
    return f"Every number {verb}"


def common_factor(wrong: WrongStep) -> Iterator[Hypothesis]:
    """Yield the factor by which all numbers are off, a simple one if it may be.

    It is a fact if it gives each number as written, and the numbers tell it to within `NEARLY_ONE`.
    Otherwise rounding decides whether it holds, and the sentence says "about".
    """
    judged = wrong.judged
    # The student may have multiplied numbers that were already rounded.
    is_rounded = not is_exact(judged.follows, judged.unit)
    half_unit = judged.unit / 2 if is_rounded else 0.0
    least, most = judged.follows.low - half_unit, judged.follows.high + half_unit
    kept = wrong.shown & (least * most > 0)  # what may be 0 says nothing of a factor
    values, yours = wrong.values[kept], judged.yours[kept]
    if values.size < MIN_EVEN or not np.isfinite([values, yours]).all():
        return
    # Each number allows the factors with which the right one rounds to it.
    is_whole = (values == np.round(values)) & (np.abs(yours - np.round(yours)) < float_error(yours))
    more = np.where(is_whole, 0.0, ROUNDED * judged.unit[kept]) + float_error(values)
    ends = [(values + way * more) / end[kept] for way in (-1, 1) for end in (least, most)]
    low, high = float(np.minimum.reduce(ends).max()), float(np.maximum.reduce(ends).min())
    middle, parts = (low + high) / 2, {1 / n: f"1/{n} of" for n in range(2, 11)}
    parts |= {1 / 2: "half", 1 / 3: "a third of", 1 / 4: "a quarter of"}
    simple = (*parts, *(round(middle, digits) for digits in range(4)), middle)
    factor = next((x for x in simple if low <= x <= high), 1.0)
    if 1 / NEARLY_ONE < factor < NEARLY_ONE or low <= 0 <= high:
        return
    meant = factor * judged.yours
    near = ROUNDED * judged.unit + MAX_ABOUT * np.abs(meant)
    if (np.abs(wrong.values - meant) > near)[wrong.shown].any():
        return
    words = parts.get(factor, "twice" if factor == 2 else f"{factor:.4g} times")
    is_near = max(low / high, high / low) < NEARLY_ONE
    is_fact = is_near and bool((np.abs(values - factor * yours) <= more).all())
    every, they = _every(wrong, "is", "are"), "they" if wrong.is_one_line else "it"
    which = "is one too many" if abs(factor) > 1 else "was left out"
    what = f"{every} {'' if is_fact else 'about '}{words} what {they} should be."
    advice, hint = f"Look for a factor that {which}.", "All numbers are off by the same factor."
    finding = Finding("constant_factor", what, advice, hint=hint)
    ends_of_all = hull(factor * least, factor * most)
    yield Hypothesis(finding, ends_of_all, fitted=1, is_fact=is_fact)


def other_step(wrong: WrongStep) -> Iterator[Hypothesis]:
    step = wrong.step
    for other in takewhile(lambda other: other.name != step.name, wrong.judge.trace):
        if other.array.shape == wrong.values.shape:
            what = f"These are the numbers of {other.name}, not those of {step.name}."
            finding = Finding("another_step", what, f"Calculate {step.formula}.")
            yield Hypothesis(finding, wrong.judge.operands.written(other), is_fact=True)


def exchange(wrong: WrongStep) -> Iterator[Hypothesis]:
    values, places = wrong.values, np.arange(wrong.values.size).reshape(wrong.values.shape)

    def exchanged(id_: str, what: str, advice: str, swapped: Array) -> Hypothesis:
        written, unit = values.ravel()[swapped], wrong.judged.unit.ravel()[swapped]
        return Hypothesis(Finding(id_, what, advice), None, written, unit, is_fact=True)

    heads = wrong.wrong.any(axis=tuple(range(2, values.ndim)), keepdims=True)
    for axis in (-2, -1):
        lines = sorted({place[axis] for place in wrong.cells})
        if len(lines) == 2 and values.shape[-3 - axis] > 1:
            noun, names = wrong.noun(axis), [wrong.line(axis, line) for line in lines]
            order = np.arange(values.shape[axis])
            order[lines] = order[lines[::-1]]
            swapped = np.where(heads, np.take(places, order, axis), places)
            what = f"{noun.capitalize()}s {' and '.join(names)} have changed places."
            yield exchanged(
                f"{noun}s_swapped", what, f"Write each {noun} into its own place.", swapped
            )
    if len(wrong.cells) == 2:
        one, other = wrong.cells
        swapped = places.copy()
        swapped[one], swapped[other] = places[other], places[one]
        what = f"{wrong.cell(one)} and {wrong.cell(other)} have changed places."
        yield exchanged("cells_swapped", what, "Write each number into its own cell.", swapped)


def exchanged_shares(wrong: WrongStep) -> Iterator[Hypothesis]:
    """Two shares of a line have changed places, as 1 − p for p, which many mistakes give."""
    along = axis_of_shares(wrong.step)
    if along is not None and {*wrong.wrong.sum(axis=along).ravel().tolist()} <= {0, 2}:
        yield from exchange(wrong)


def all_the_same(wrong: WrongStep) -> Finding | None:
    """Return that every number is the same where the operands are not; else None."""
    step, values = wrong.step, wrong.values[wrong.shown]
    if values.size < MIN_EVEN or not (values == values[0]).all():
        return None
    if len(wrong.cells) < MIN_EVEN and 2 * len(wrong.cells) <= values.size:
        return None  # nearly all of the right ones are this number
    # One sum over everything may be written in every row; 0 and 1 need no calculation.
    if 1 in step.array.shape[-2:] and abs(values[0]) not in (0.0, 1.0):
        return None
    # From numbers that are all the same follow such numbers.
    if any(map(_is_even, (step.array[wrong.shown], *(one.array for one in sources(step))))):
        return None
    texts = {str(text) for text in wrong.judged.written.texts[wrong.shown].ravel()}
    text = texts.pop() if len(texts) == 1 else ""
    shown = text if 0 < len(text) <= MAX_TEXT else short_number(float(values[0]))
    what = f"Every number of {step.name} is {shown}."
    return Finding(ALL_THE_SAME, what, "Work each number out.")


def _is_even(numbers: Array) -> bool:
    kept = numbers[np.isfinite(numbers)]
    return bool(kept.size == 0 or (numbers.size > 1 and np.ptp(kept) <= 1e-9 * np.abs(kept).max()))

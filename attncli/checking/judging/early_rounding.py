"""Numbers that come from rounding on the way, in hidden steps or of constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

import numpy as np

from attncli.checking.judging import agreement, schedules
from attncli.checking.judging.agreement import RoundingRule, largest
from attncli.checking.judging.judged_steps import (
    CORRECT,
    FOLLOWS,
    LAST_DIGIT,
    ROUNDED_EARLY,
    WRONG,
    Given,
)
from attncli.checking.judging.operands import Operands, axis_of_shares, bounded
from attncli.checking.judging.own_decimals import OwnDecimals, combined
from attncli.checking.judging.trial import Reading, Trial, common_readings, readings
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, hull, interval
from attncli.core.records import Record
from attncli.core.tape.evaluation import Change, Replay, Values
from attncli.core.tape.step import Step


class ExplainedCells(Record, eq=False):
    """The cells that a hypothesis explains, its numbers, and its words for the report."""

    cells: Array
    numbers: Array
    words: str = ""
    fits: Array | None = None


def by_shown_numbers(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    """Yield what follows if some shown steps were used as written, others before rounding."""
    if not (in_reach(operands, answer) | answer.written.blank).all():
        return
    cuts = np.array([_may_cut(operands, answer)])
    for reading in readings(operands, answer.step):
        numbers = Trial(operands, schedules.EXACT, answer.step, reading).numbers
        if _fits(answer, numbers, cuts).all():
            yield ExplainedCells(_unexplained(answer, WRONG), numbers[0])
            return


def by_a_schedule(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    """Yield the numbers of the first schedule that explains the whole step, else of the first."""
    step = answer.step
    if not _may_be_rounded(operands, answer):
        return
    constants = _any_constants(operands)
    if not (operands.ancestors(step) or schedules.long_inputs((step,)) or step.name in constants):
        return
    if not _is_within_reach(operands, answer):
        return
    first: ExplainedCells | None = None
    for reading in common_readings(operands, step):
        likelier: list[Array] = []
        for trial in _trials(operands, step, reading):
            explained = _explained_by(operands, answer, trial, likelier)
            if explained and explained.cells[_unexplained(answer, WRONG)].all():
                yield explained
                return
            first = first or explained
            likelier.append(trial.numbers[trial.is_valid])
    if first:
        yield first


def _trials(operands: Operands, step: Step, reading: Reading) -> Iterator[Trial]:
    index, is_first = count(), operands.is_first(step)

    def trial(part: schedules.Schedules) -> Trial:
        make = partial(Trial, operands, part, step, reading)
        # Those of one student take much memory, and are tried once.
        return operands.kept(("trial", next(index)), step, make) if is_first else make()

    size = sum(one.array.size for one in (step, *reading.worked))
    for tried in schedules.schedules_for(operands, step, reading.worked):
        for part in tried.chunks(agreement.MAX_TRIED_NUMBERS // size or 1):
            yield (one := trial(part))
            if one.has_ties:
                yield trial(part.to_even)


def by_finer_steps(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    """Yield the cells that follow if hidden steps are rounded one digit finer than shown ones."""
    step = answer.step
    if not operands.hidden_before(step) or not operands.roundings:
        return
    near = answer.agrees(operands.written.result(step), agreement.MAX_FINER)
    near |= answer.agrees(interval(operands.meant.result(step)), agreement.MAX_FINER)
    near &= (answer.codes == WRONG) & ~answer.is_whole
    if not near.any():
        return
    units = agreement.CUT_OFF if _may_cut(operands, answer) else agreement.ROUNDED
    finer = operands.roundings[0].finer
    for shown in (operands.written, operands.meant):
        ends = bounded(operands.replay(shown, finer.interval).result(step))
        cells = (
            near & answer.agrees(ends, units) & agreement.is_informative(ends, largest(step.array))
        )
        middle = np.clip(answer.written.values, ends.low, ends.high)
        words = "the steps that are not shown rounded one digit finer (within rounding)"
        yield ExplainedCells(cells, middle, words)


def by_own_decimals(operands: Operands, answer: Given) -> Iterator[ExplainedCells]:
    """Yield what follows if each step has its own decimals, or only some are used as written."""
    before = operands.ancestors(answer.step)
    if not (
        _may_be_rounded(operands, answer)
        and all(len(one.array) == 1 for one in (*before, answer.step))
        and _is_within_reach(operands, answer)
        and _may_be_evident(operands, answer)
    ):
        return
    for trial in combined(operands, answer.step):
        is_open = _unexplained(answer, WRONG).any()
        if is_open and (explained := _explained_by(operands, answer, trial)):
            yield explained


def _may_be_rounded(operands: Operands, answer: Given) -> bool:
    """Return True if the wrong numbers are decimals with all wanted digits."""
    wrong = _unexplained(answer, WRONG)
    units, written = answer.unit[wrong], answer.written.unit[wrong]
    if answer.written.dtype or not (agreement.are_decimals(units) | (units == 0)).all():
        return False
    # Coarsely rounded steps would explain the digits that are missing.
    return not (operands.trace.problem.marking.decimals and (units < written).any())


def _unexplained(answer: Given, *codes: int) -> Array:
    cells: Array = np.any([answer.codes == code for code in codes], axis=0)
    return cells & ~answer.written.blank


def _may_cut(operands: Operands, answer: Given) -> bool:
    before = operands.judged.values()
    return LAST_DIGIT in answer.codes or any(one.has(LAST_DIGIT) for one in before)


def _is_within_reach(operands: Operands, answer: Given) -> bool:
    """Return True if a schedule may give nearly every wrong number."""
    wrong = _unexplained(answer, WRONG)
    within = wrong & in_reach(operands, answer)
    count = (~answer.written.blank).sum()
    left = count - (wrong & ~within).sum()
    return bool(within.any() and left >= agreement.MIN_SHARE_GIVEN * count)


def in_reach(operands: Operands, answer: Given) -> Array:
    """Return which numbers are possible with the coarsest roundings that people use."""
    step = answer.step
    ends = operands.kept("coarsest", step, lambda: bounded(reach(operands).result(step)))
    if axis_of_shares(step) is not None:  # the largest may be adjusted by the whole error
        spare = answer.unit * answer.codes.shape[-1]
        ends = Interval(ends.low - spare, ends.high + spare)
    return answer.agrees(ends, agreement.CUT_OFF)


def reach(operands: Operands) -> Replay[Values]:
    """Return the calculation on intervals that hold whatever roundings may make of it.

    Shown numbers are those of `Operands.numbers`, or any within a unit of the written ones; hidden
    steps and constants are rounded as people do, or not.
    """

    def around(step: Step) -> Interval:
        numbers, shown = operands.numbers(step), operands.shown(step)
        more = agreement.CUT_OFF * shown.unit if shown else 0.0
        return hull(*numbers, numbers[0] - more, numbers[0] + more)

    def coarser(numbers: Values) -> Values:
        ends, rules = bounded(numbers), (*agreement.COARSEST_ROUNDINGS, *operands.roundings)
        return hull(ends, *(one.any_finer(ends) for one in rules))

    make = partial(operands.replay, around, coarser, _any_constants(operands))
    return operands.once("reach", make)


def _any_constants(operands: Operands) -> Change:
    """Return operations with intervals that hold their constants and what people take them as."""
    trace = operands.trace

    def ends(factors: Array) -> Interval:
        return Interval(factors.min(keepdims=True), factors.max(keepdims=True))

    def make() -> Change:
        constants = schedules.constants_of(trace)
        return schedules.with_constants([None, *constants], trace, ends)

    return operands.reference.kept(("constants",), make)


def _explained_by(
    operands: Operands, answer: Given, trial: Trial | OwnDecimals, likelier: Sequence[Array] = ()
) -> ExplainedCells | None:
    """Return what the first schedule explains that gives nearly all numbers and is evident."""
    results, valid = trial.numbers, trial.is_valid
    # A schedule of hidden steps leaves open whether its student cuts off what is shown.
    cuts = trial.cuts | _may_cut(operands, answer)
    fits = _fits(answer, results, cuts, operands.roundings) & valid[:, None]
    unrounded = operands.unrounded(answer.step)
    for index in _likeliest(answer, fits):
        tried = slice(index + 1) if trial.is_ordered else slice(None)
        gives = np.zeros(answer.codes.shape, bool)
        gives[~answer.written.blank] = fits[index]
        every = np.concatenate([*likelier, results[tried][valid[tried]]])
        is_proven = fits[index].all() or gives.sum() >= agreement.MIN_GIVEN
        plausible = trial.plausible if is_proven else 0.0
        if _is_evident(answer, unrounded, every, results[index], gives, plausible):
            cells = _unexplained(answer, WRONG, LAST_DIGIT, ROUNDED_EARLY) & gives
            return ExplainedCells(cells, results[index], trial.words(index))
        if not trial.is_ordered:
            break
    return None


def _likeliest(answer: Given, fits: Array) -> list[int]:
    """Return the results that give all numbers, or nearly all; those that give the most first.

    They must give every number that is right or follows, and one that is wrong; one that is
    tolerated, as it is off by a unit or little, may be a slip beside it.
    """
    codes = answer.codes[~answer.written.blank]
    known = (codes == CORRECT) | (codes == FOLLOWS)
    nearly = fits[:, known].all(axis=1) & fits[:, codes == WRONG].any(axis=1)
    given = np.where(nearly, fits.sum(axis=1), 0)
    order = np.argsort(-given, kind="stable")
    indices: list[int] = order[given[order] >= agreement.MIN_SHARE_GIVEN * len(codes)].tolist()
    return indices


def _fits(
    answer: Given, results: Array, cuts: Array, roundings: Sequence[RoundingRule] = ()
) -> Array:
    """Return which written numbers each result gives exactly, as (results, written numbers)."""
    cells = ~answer.written.blank
    values, unit = answer.written.values[cells], answer.unit[cells]
    numbers, more = results[:, cells], agreement.float_error(values)
    over = np.where(numbers == values, 0.0, (numbers - values) * np.where(values < 0, -1.0, 1.0))
    most = unit - np.minimum(more, unit / 1000)  # a whole unit more would be another number
    cut = (over < most) & np.where(values == 0, -over < most, over >= -more)
    cut &= ~answer.is_whole[cells] | (np.abs(over) <= more)
    rounded = np.abs(over) <= agreement.ROUNDED * unit + more
    # Whoever cuts off does so everywhere.
    are_cut = cuts[:, None] & (cut.sum(axis=1) > rounded.sum(axis=1))[:, None]
    fits: Array = np.where(are_cut, cut, rounded)
    along = axis_of_shares(answer.step)
    for rounding in roundings:
        if along is not None and rounding.writes(unit):
            fits = fits | _sum_to_1(answer, rounding(results), along)[:, cells]
    return fits


def _sum_to_1(answer: Given, rounded: Array, along: int) -> Array:
    """Return the cells of lines that sum to 1 because one number at most was adjusted for it.

    The roundings of a line, of half a unit at most each, add up to what is adjusted.
    """
    written = answer.written.values
    off, total = np.abs(written - rounded), written.sum(axis=along, keepdims=True)
    unit = answer.unit.min(axis=along, keepdims=True)
    most = agreement.ROUNDED * written.shape[along] * unit + agreement.FLOAT_ERROR
    is_one = (off > agreement.FLOAT_ERROR).sum(axis=along, keepdims=True) <= 1
    is_one &= np.abs(total - 1) <= agreement.FLOAT_ERROR
    return np.broadcast_to(is_one & (off <= most).all(axis=along, keepdims=True), rounded.shape)


def _units_off(answer: Given, usual: Sequence[Array]) -> list[Array]:
    """Return how far, in units in the last place, written numbers are from some right ones."""
    unit = np.where(answer.unit > 0, answer.unit, 1.0)
    return [np.nan_to_num(np.abs(answer.written.values - one) / unit) for one in usual]


def _may_be_evident(operands: Operands, answer: Given) -> bool:
    """Return True if enough numbers are off to show one of many schedules."""
    most = np.max(_units_off(answer, operands.unrounded(answer.step)), axis=0)
    far = most[in_reach(operands, answer) & ~answer.written.blank & (most > agreement.CUT_OFF)]
    is_small = far.max(initial=0.0) <= agreement.PLAUSIBLE_UNITS
    return is_small or bool(np.log(2 * far + 1).sum() >= -np.log(agreement.MAX_CHANCE))


def _is_evident(
    answer: Given,
    usual: Sequence[Array],
    results: Array,
    chosen: Array,
    gives: Array,
    plausible: float,
) -> bool:
    """Return True if it is hardly by chance that one of some schedules `gives` its numbers.

    Among many schedules, one gives nearly any single number. So the schedules that give the numbers
    which are not off are counted by what they give for the others. A number that is off by as much
    for no reason, to either side, would be one of these with the calculated probability. `usual` is
    without rounding; errors up to `plausible`, in units in the last place, need no evidence.
    """
    unit = np.where(answer.unit > 0, answer.unit, 1.0)
    apart = _units_off(answer, usual)
    nearest = min(apart, key=lambda one: float(one[gives].max(initial=0.0)))
    if not (gives & (nearest > plausible)).any():
        return True
    far = gives & (nearest > agreement.CUT_OFF)
    near = gives & ~far
    same = (np.abs(results[:, near] - chosen[near]) <= unit[near]).all(axis=1)
    off = np.abs(results[:, far] - chosen[far])
    same &= (off <= 2 * (nearest * unit)[far]).all(axis=1)  # no farther off to the other side
    seen = ((nearest - agreement.CUT_OFF) * unit)[far]
    same &= (off < seen).any(axis=1)  # and rounded to be seen
    different = len(np.unique(np.round(results[same][:, far] / unit[far]), axis=0))
    chance = np.log(different) - np.log(2 * nearest[far] + 1).sum()
    return bool(chance <= np.log(agreement.MAX_CHANCE))

"""Numbers that come from rounding on the way, in hidden steps or of constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

import numpy as np

from attncli.checking.judging import agreement, schedules
from attncli.checking.judging.agreement import CUT, RoundingRule, largest
from attncli.checking.judging.judged import LAST_DIGIT, WRONG, Given
from attncli.checking.judging.operands import Operands, axis_of_shares, bounded
from attncli.checking.judging.trial import Trial, common_readings, readings
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, hull, interval
from attncli.core.records import Record
from attncli.core.tape.step import Step
from attncli.core.tape.walk import Values

COARSEST_ROUNDINGS = (RoundingRule(1), RoundingRule(2, is_significant=True))
"""Coarsest roundings of a schedule, by decimals or by digits: they bound the numbers of all."""


class ExplainedCells(Record, eq=False):
    """The cells that a hypothesis explains, its numbers, and its words for the report."""

    cells: Array
    numbers: Array
    words: str = ""
    fits: Array | None = None


def by_shown_numbers(operands: Operands, given: Given) -> Iterator[ExplainedCells]:
    """Yield what follows if some shown steps were used as written, others before rounding."""
    cuts = np.array([_may_cut(operands, given)])
    for reading in readings(operands, given.step):
        found = Trial(operands, schedules.EXACT, given.step, reading).numbers
        if _fits(given, found, cuts).all():
            yield ExplainedCells(_unexplained(given, WRONG), found[0])
            return


def by_a_schedule(operands: Operands, given: Given) -> Iterator[ExplainedCells]:
    """Yield the numbers of the first schedule that explains the whole step, else of the first."""
    step = given.step
    if not _may_be_rounded(operands, given):
        return
    every = (*operands.ancestors(step), step)
    constants = operands.reference.kept(("constants", step), partial(schedules.constants_of, every))
    if not (every[:-1] or schedules.long_inputs((step,)) or constants):
        return
    if not _is_within_reach(operands, given, constants):
        return
    first: ExplainedCells | None = None
    for trial in _trials(operands, step):
        found = _explained_by(operands, given, trial)
        if found and found.cells[_unexplained(given, WRONG)].all():
            yield found
            return
        first = first or found
    if first:
        yield first


def _trials(operands: Operands, step: Step) -> Iterator[Trial]:
    index = count()
    for reading in common_readings(operands, step):
        size = sum(one.array.size for one in (step, *reading.worked))
        for tried in schedules.schedules_for(operands, step, reading.worked):
            for part in tried.chunks(agreement.MAX_TRIED_NUMBERS // size or 1):
                make = partial(Trial, operands, part, step, reading)
                trial = operands.kept(("trial", next(index)), step, make)
                yield trial
                if trial.has_ties:
                    make = partial(Trial, operands, part.to_even, step, reading)
                    yield operands.kept(("trial", next(index)), step, make)


def by_finer_steps(operands: Operands, given: Given) -> Iterator[ExplainedCells]:
    """Yield the cells that follow if hidden steps are rounded one digit finer than shown ones."""
    step = given.step
    if not operands.hidden_before(step) or not operands.roundings:
        return
    near = given.agrees(operands.written.result(step), agreement.MAX_FINER)
    near |= given.agrees(interval(operands.meant.result(step)), agreement.MAX_FINER)
    near &= given.codes == WRONG
    if not near.any():
        return
    units = agreement.CUT_OFF if _may_cut(operands, given) else agreement.ROUNDED
    finer = operands.roundings[0].finer
    for shown in (operands.written, operands.meant):
        found = bounded(operands.replay(shown, finer.interval).result(step))
        cells = (
            near & given.agrees(found, units) & agreement.is_informative(found, largest(step.array))
        )
        middle = np.clip(given.written.values, found.low, found.high)
        words = "the steps that are not shown rounded one digit finer (within rounding)"
        yield ExplainedCells(cells, middle, words)


def _may_be_rounded(operands: Operands, given: Given) -> bool:
    """Return True if the wrong numbers are decimals with all wanted digits."""
    wrong = _unexplained(given, WRONG)
    units, written = given.unit[wrong], given.written.unit[wrong]
    if given.written.dtype or not (agreement.are_decimals(units) | (units == 0)).all():
        return False
    # Coarsely rounded steps would explain the digits that are missing.
    return not (operands.trace.problem.marking.decimals and (units < written).any())


def _unexplained(given: Given, *codes: int) -> Array:
    found: Array = np.isin(given.codes, codes) & ~given.written.blank
    return found


def _may_cut(operands: Operands, given: Given) -> bool:
    before = operands.judged.values()
    return LAST_DIGIT in given.codes or any(one.has(LAST_DIGIT) for one in before)


def _is_within_reach(
    operands: Operands, given: Given, constants: Sequence[schedules.RoundedConstant]
) -> bool:
    """Return True if the coarsest roundings that people use may give nearly every wrong number."""
    roundings = (*COARSEST_ROUNDINGS, *operands.roundings)

    def around(source: Step) -> Interval:
        numbers, shown = operands.numbers(source), operands.shown(source)
        more = agreement.CUT_OFF * shown.unit if shown else 0.0
        return hull(*numbers, numbers[0] - more, numbers[0] + more)

    def coarser(made: Values) -> Values:
        ends = bounded(made)
        return hull(ends, *(one.any_finer(ends) for one in roundings))

    def coarsest() -> Interval:
        change = schedules.with_constants([None, *constants], operands.trace, _any_of)
        return bounded(operands.replay(around, coarser, change).result(given.step))

    found = operands.kept("coarsest", given.step, coarsest)
    if axis_of_shares(given.step) is not None:  # the largest may be adjusted by the whole error
        spare = given.unit * given.codes.shape[-1]
        found = Interval(found.low - spare, found.high + spare)
    wrong = _unexplained(given, WRONG)
    within = wrong & given.agrees(found, agreement.CUT_OFF)
    count = (~given.written.blank).sum()
    return bool((within == wrong).all() or count - (wrong & ~within).sum() >= _fewest(count))


def _any_of(factors: Array) -> Interval:
    return Interval(factors.min(keepdims=True), factors.max(keepdims=True))


def _explained_by(operands: Operands, given: Given, trial: Trial) -> ExplainedCells | None:
    """Return what the first schedule explains that gives all, or nearly all, numbers."""
    part, found, valid = trial.schedules, trial.numbers, trial.is_valid
    # A schedule that keeps every digit leaves open whether its student cuts numbers off.
    of_others = _may_cut(operands, given)
    cuts = [one.rounding.mode == CUT if one.rounding else of_others for one in part.each]
    fits = _fits(given, found, np.array(cuts), operands.roundings) & valid[:, None]
    for index in _likeliest(given, fits):
        tried = found[: index + 1][valid[: index + 1]]
        gives = np.zeros(given.codes.shape, bool)
        gives[~given.written.blank] = fits[index]
        if part.is_usual or _is_evident(given, operands.unrounded(given.step), tried, gives):
            cells = _unexplained(given, WRONG, LAST_DIGIT) & gives
            words = part.each[index].words(operands.trace)
            return ExplainedCells(cells, found[index], words)
    return None


def _likeliest(given: Given, fits: Array) -> list[int]:
    """Return the results that give every number; else those that give nearly all numbers.

    The latter must give every number that is not wrong, and one that is.
    """
    if fits.all(axis=1).any():
        return np.flatnonzero(fits.all(axis=1)).tolist()
    wrong = given.codes[~given.written.blank] == WRONG
    nearly = fits[:, ~wrong].all(axis=1) & fits[:, wrong].any(axis=1)
    return np.flatnonzero(nearly & (fits.sum(axis=1) >= _fewest(len(wrong)))).tolist()


def _fewest(count: int) -> float:
    return max(agreement.MIN_GIVEN, agreement.MIN_SHARE_GIVEN * count)


def _fits(given: Given, found: Array, cuts: Array, roundings: Sequence[RoundingRule] = ()) -> Array:
    """Return which written numbers each result gives exactly, as (results, written numbers)."""
    cells = ~given.written.blank
    values, unit = given.written.values[cells], given.unit[cells]
    made, more = found[:, cells], agreement.float_error(values)
    over = np.where(made == values, 0.0, (made - values) * np.where(values < 0, -1.0, 1.0))
    most = unit - np.minimum(more, unit / 1000)  # a whole unit more would be another number
    cut = (over < most) & np.where(values == 0, -over < most, over >= -more)
    cut &= ~given.is_whole[cells] | (np.abs(over) <= more)
    rounded = np.abs(over) <= agreement.ROUNDED * unit + more
    # Whoever cuts off does so everywhere.
    are_cut = cuts[:, None] & (cut.sum(axis=1) > rounded.sum(axis=1))[:, None]
    fits: Array = np.where(are_cut, cut, rounded)
    along = axis_of_shares(given.step)
    for rounding in roundings:
        if along is not None and rounding.writes(unit):
            fits = fits | _sum_to_1(given, rounding(found), along)[:, cells]
    return fits


def _sum_to_1(given: Given, rounded: Array, along: int) -> Array:
    """Return the cells of lines that sum to 1 because one number at most was adjusted for it.

    The roundings of a line, of half a unit at most each, add up to what is adjusted.
    """
    written = given.written.values
    off, total = np.abs(written - rounded), written.sum(axis=along, keepdims=True)
    unit = given.unit.min(axis=along, keepdims=True)
    most = agreement.ROUNDED * written.shape[along] * unit + agreement.FLOAT_ERROR
    is_one = (off > agreement.FLOAT_ERROR).sum(axis=along, keepdims=True) <= 1
    is_one &= np.abs(total - 1) <= agreement.FLOAT_ERROR
    return np.broadcast_to(is_one & (off <= most).all(axis=along, keepdims=True), rounded.shape)


def _is_evident(given: Given, usual: Sequence[Array], results: Array, gives: Array) -> bool:
    """Return True if it is hardly by chance that the last of some schedules `gives` its numbers.

    Among many schedules, one gives nearly any single number. So the schedules that give the numbers
    which are not off are counted by what they give for the others. A number that is off by as much
    for no reason, to either side, would be one of these with the calculated probability. `usual` is
    without rounding.
    """
    chosen = results[-1]
    unit = np.where(given.unit > 0, given.unit, 1.0)
    apart = [np.nan_to_num(np.abs(given.written.values - one) / unit) for one in usual]
    nearest = min(apart, key=lambda one: float(one[gives].max(initial=0.0)))
    if not (gives & (nearest > agreement.PLAUSIBLE_UNITS)).any():
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

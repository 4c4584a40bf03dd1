"""What people round on the way: constants such as √3, and steps that they do not show.

A number that is neither right nor follows from what is shown may be right but for such a rounding.
Each is tried as a calculation of its own, and named: "√3 taken as 1.73".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain, takewhile

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.checking import judged as status
from attncli.checking.agreement import CUT_OFF, is_known, known_cells, largest, tells
from attncli.checking.digits import Habit, are_decimals, to_unit
from attncli.checking.judged import Compared, Given
from attncli.checking.meanings import bounded
from attncli.checking.mixtures import may_be_mixed
from attncli.checking.ranged import Mixture, axis_of_shares
from attncli.checking.roundings import EarlyRounding, constants_of, long_inputs, roundings
from attncli.checking.standing import Settle, Standing
from attncli.records import Record, replace
from attncli.tape.replay import Change, Replay, Values
from attncli.tape.step import Operation, Step
from attncli.tape.walk import evaluate, sources

COARSER = (Habit(0.001, cuts=True), Habit(0.01, cuts=True))
"""To so few digits people round what they do not show, where they show more."""

COARSEST = Habit(0.01, cuts=True)
"""The fewest digits to which people round what they do not show."""

COARSEST_SHARE, COARSEST_UNIT = 0.05, 0.1
"""The coarsest units of weights, and of other numbers, that tell of a rounding.

Fewer digits, such as those of a weight of 0.5, would be explained by one rounding or another.
"""

MOST_UNITS = 2.5
"""So many units of its last digit a number may be off by several roundings on the way."""

MOST_UNMOVED = 5
"""At most so many rows may be right, for each that is off, where a rounding moves all of them."""


class Early(Record, eq=False):
    """Which cells of a step come from a rounding on the way, and from which, in words."""

    cells: Array
    words: str


def rounded_on_the_way(standing: Standing, judged: Compared, forgives: Array) -> Early:
    """Return which numbers are those of a calculation with something rounded on the way.

    Asked is what is still wrong, and with it what is right but for its last digit; for that alone,
    only a constant is an explanation. The numbers that are right must be those of the calculation.
    What is written as an expression shows what it was made from.

    Args:
        standing: what the student's numbers stand for.
        judged: the step, with the statuses that it has so far.
        forgives: where a number may be off in its last digit.
    """
    step, codes = judged.step, judged.codes
    off, near = (codes == code for code in (status.WRONG, status.LAST_DIGIT))
    telling = are_decimals(judged.unit)
    finest = judged.unit[telling].min(initial=np.inf)  # 0.5 among 0.48 and 0.02 is 0.50
    telling &= finest <= (COARSEST_SHARE if axis_of_shares(step) else COARSEST_UNIT)
    off, near = off & telling, near & telling
    nothing = Early(np.zeros(codes.shape, bool), "")
    if not off.any() and (not near.any() or _is_cut_off(judged)):
        return nothing
    hidden = standing.not_shown_before(step)
    constants = list(constants_of(_used((step, *hidden))))
    names = [*long_inputs((step, *hidden)), *(one.name for one in hidden)] if off.any() else []
    if not (constants or names or standing.has_blanks):
        return nothing
    coarsest = _coarsest(standing, judged, constants)
    if not (within := _rows_within(judged, hull(*coarsest), off | near)).any():
        return nothing
    ways = [_of_several_ways(standing, judged, bool(names), forgives)]
    if (constants or names) and _is_likely(judged, within, coarsest[0]):
        ways.insert(0, _of_one_way(standing, judged, constants, names, forgives))
    best = nothing
    for early in chain(*ways):
        asked = early.cells & (off | near) & ~best.cells
        if asked.any():
            best = Early(best.cells | asked, best.words or early.words)
        if best.cells[off | near].all():
            break
    return best


def _used(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps, each with what it is made of: what is shown, and what that masks.

    What is shown rounded may have been used with all its digits, and those are a constant's, too.
    """
    for step in steps:
        yield step
        for source in sources(step):
            yield source
            if isinstance(source.operation, Operation) and source.operation.blocks:
                yield from sources(source)


def _of_one_way(
    standing: Standing,
    judged: Compared,
    constants: list[EarlyRounding],
    names: list[str],
    forgives: Array,
) -> Iterator[Early]:
    """Yield the numbers of calculations in which all that was rounded was rounded alike."""
    asked = (judged.codes == status.WRONG) | (judged.codes == status.LAST_DIGIT)
    carried = interval(standing.carried.result(judged.step))
    may_be_halves = forgives & ~known_cells(carried, judged.unit, judged.written.share)
    off = judged.codes == status.WRONG
    may_be_halves &= off.any()  # else every last digit is explained
    best = Early(np.zeros(asked.shape, bool), "")
    for way in roundings(constants, names, standing.meanings.habit):
        replay = _replay(standing, judged.step, way)
        if not _is_as_shown(standing, replay, way):
            continue
        found = replay.result(judged.step)
        fits = _fits(judged, found, way.habit.cuts, forgives)
        fits |= _mostly(fits) & judged.agrees(found, CUT_OFF) & may_be_halves
        explained = fits & asked & _whole_rows(fits | ~asked)
        if fits[judged.codes == status.CORRECT].all() and explained.sum() > best.cells.sum():
            best = Early(explained, way.words)
            if best.cells[asked].all():
                break
    if off.any() or best.cells[asked].all():  # of last digits, a constant explains all or none
        yield best


def _of_several_ways(
    standing: Standing, judged: Compared, is_hidden: bool, forgives: Array
) -> Iterator[Early]:
    """Yield the numbers that roundings to the student's own digits may give, each step or not.

    No single way explains them, so they must be nearly what follows without any rounding, or as
    many in their row as those that are right: a rounding on the way moves a whole row, and one
    number that is off among exact ones is a slip.
    """
    off, right = (judged.codes == code for code in (status.WRONG, status.CORRECT))
    if not (is_hidden or standing.has_blanks):
        return
    step = judged.step
    near = judged.agrees(standing.carried.result(step), MOST_UNITS)
    coarser = (standing.wide(_perhaps(habit)) for habit in COARSER)
    for replay, cuts in chain(
        ((standing.rounded, standing.meanings.cuts), (standing.cut_off, True)),
        ((replay, True) for replay in coarser),
    ):
        found = interval(replay.result(step))
        fits = _fits(judged, found, cuts, forgives) & off
        if fits.any():
            fits &= _can_be_mixed(standing, judged, replay, fits)
        moved = right & _is_moved(judged, found)
        counts = (cells.sum(axis=-1, keepdims=True) for cells in (fits, moved))
        is_row = np.greater_equal(*counts) & _whole_rows(fits | ~off)
        yield Early(fits & (near | is_row), "some of the steps that are not shown rounded")


def _perhaps(habit: Habit) -> Settle:
    """Return what rounds a step that is not shown, or does not."""
    return lambda _, found: habit.perhaps_rounded(found)


def _fits(judged: Compared, found: Values, cuts: bool, forgives: Array) -> Array:
    """Return which numbers agree with a calculation, perhaps cut off, that tells them."""
    ends, most = interval(found), max(largest(judged.step.array), largest(judged.yours))
    fits = judged.agrees(found)
    if cuts and not is_known(ends, judged.unit, judged.written.share):
        fits |= judged.agrees(found, CUT_OFF) & forgives
    return fits & tells(ends, most)


def _can_be_mixed(
    standing: Standing, judged: Compared, replay: Replay[Values], asked: Array
) -> Array:
    """Return in which rows some weights give all numbers, of those in which numbers are asked for.

    A number may be off as if it was cut off, and so may each weight. Where nothing is mixed, all
    rows are returned.
    """
    mixture = standing.together.get(judged.step.name)
    if not isinstance(mixture, Mixture):
        return np.ones(judged.codes.shape, bool)
    weights, values = (interval(evaluate(part, replay)) for part in mixture.operands)
    off_sum = max(COARSEST.finest, standing.meanings.habit.finest) * weights.shape[-1]
    off = CUT_OFF * judged.unit
    return may_be_mixed(judged.written.values, off, weights, values, off_sum, asked)


def _mostly(fits: Array) -> Array:
    """Return which rows fit for the most part; the others may be halves, rounded the other way."""
    found: Array = np.less_equal(fits.shape[-1], 2 * fits.sum(axis=-1, keepdims=True))
    return found


def _is_moved(judged: Compared, found: Interval) -> Array:
    """Return which numbers a rounding on the way moves by more than a digit; none that is −∞."""
    with np.errstate(invalid="ignore"):
        moved: Array = found.high - found.low > judged.unit
    return moved


def _whole_rows(fits: Array) -> Array:
    """Return which rows fit as a whole: who rounds on the way does it for a row, not for a cell."""
    found: Array = np.logical_and.reduce(fits, axis=-1, keepdims=True)
    return found


def _is_cut_off(judged: Compared) -> bool:
    """Return whether all numbers that are right, or nearly, are the right ones cut off."""
    near = judged.codes == status.LAST_DIGIT
    right, unit, given = judged.step.array, judged.unit, judged.written.values
    known = (near | (judged.codes == status.CORRECT)) & np.isfinite(right)
    is_cut = np.abs(given - np.where(known, to_unit(np.where(known, right, 0.0), unit, True), 0.0))
    return bool((is_cut < 0.01 * unit + 1e-9)[known].all())


def _coarsest(
    standing: Standing, judged: Compared, constants: list[EarlyRounding]
) -> list[Interval]:
    """Return the ranges of the coarsest roundings that people use, all at once.

    They hold all that other ways give. The first are those without the constants'.
    """
    own = standing.meanings.habit
    habit = Habit(max(COARSEST.finest, own.finest), own.digits, cuts=True)
    finer, step = replace(habit, finest=habit.finest / 10), judged.step

    def settle(_: Step, found: Values) -> Values:
        return hull(habit.perhaps_rounded(found), finer.perhaps_finer(found))

    mean = standing.perhaps_cut
    plain = standing.wide(settle, mean)
    found = [interval(bounded(plain.result(step)))]
    for change in _extremes(constants):
        worked = _worked_before(standing, step, change.keys(), plain)
        replay = standing.wide(settle, mean, {**standing.together, **change}, worked)
        found.append(interval(bounded(replay.result(step))))
    return found


def _rows_within(judged: Compared, found: Interval, asked: Array) -> Array:
    """Return which of the numbers asked are in a row that lies in ranges as a whole."""
    return _whole_rows(judged.agrees(found, CUT_OFF) | ~asked) & asked


def _is_likely(judged: Compared, within: Array, coarsest: Interval) -> bool:
    """Return whether one rounding on the way may be the reason for which rows are off.

    It moves many rows: where it would move numbers in many more than are off, those are off for
    another reason. What follows only from what was rounded before is off, too.
    """
    moved = _is_moved(judged, coarsest) & ~judged.written.missing
    off = within | (judged.codes == status.FOLLOWS)
    few, many = (cells.any(axis=-1).sum() for cells in (off, moved))
    return bool(MOST_UNMOVED * few >= many)


def _extremes(constants: list[EarlyRounding]) -> list[Change]:
    """Return the changes that take every constant as what makes least, and most, of the scores."""
    by_step: dict[tuple[str, ...], list[EarlyRounding]] = {}
    for way in sorted(constants, key=lambda way: way.factor):
        by_step.setdefault(tuple(way.change), []).append(way)
    ends = [(ways[0].change, ways[-1].change) for ways in by_step.values()]
    return [dict(chain.from_iterable(c.items() for c in end)) for end in zip(*ends, strict=True)]


def _replay(standing: Standing, step: Step, way: EarlyRounding) -> Replay[Values]:
    """Return the calculation up to a step by a way to round."""

    def settled(source: Step, found: Values) -> Values:
        return way.habit.rounded(found) if source.name in way.names else found

    worked = _worked_before(standing, step, way.names | way.change.keys(), standing.carried)
    change = {**standing.together, **way.change}
    return standing.wide(settled, change=change, worked=worked)


def _is_as_shown(standing: Standing, replay: Replay[Values], way: EarlyRounding) -> bool:
    """Return whether a constant that was rounded in a step that is shown gives what is shown."""
    shown = (standing.judged.get(name) for name in way.change)
    return all(
        (one.agrees(replay.result(one.step)) | one.written.missing).all()
        for one in shown
        if isinstance(one, Given)
    )


def _worked_before(
    standing: Standing, step: Step, touched: Set[str], replay: Replay[Values]
) -> dict[str, Values]:
    """Return what a replay has for the steps, not shown, that come before all that is touched."""
    if not touched <= standing.trace.steps.keys():  # an input comes before all of them
        return {}
    hidden = {source.name for source in standing.not_shown_before(step)}
    before = takewhile(lambda source: source.name not in touched, standing.trace)
    return {source.name: replay(source) for source in before if source.name in hidden}

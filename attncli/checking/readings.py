"""How a student may have gone on from the shown steps, and what a step becomes then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product

from attncli.arithmetic.elements import Array
from attncli.checking.operands import Operands
from attncli.records import EMPTY, Record
from attncli.tape.replay import Change, Replay
from attncli.tape.step import Step
from attncli.tape.walk import sources

MAX_COMBINATIONS = 64
"""Maximum number of combinations of the numbers of the shown steps of which a step is made."""

MAX_STARTS = 40
"""Maximum number of steps of which each is tried as the first that kept every digit."""


class Reading(Record, eq=False):
    """One way in which a student may have gone on from the shown steps.

    Attributes:
        worked: the steps that are worked again on the way, in the order of computation.
        numbers: the numbers of other steps; by default as they were written.
        is_kept: True if a shown step that is worked again keeps the worked numbers, with every
            digit, where they are written so; else it has the numbers as written.
    """

    worked: Sequence[Step]
    numbers: Mapping[str, Array] = EMPTY
    is_kept: bool = False


def readings(operands: Operands, step: Step) -> Iterator[Reading]:
    """Yield the readings of the shown steps of which a step is made.

    Either each has some of its `numbers`, or the student kept every digit from some step on.
    """
    hidden, shown = operands.hidden_before(step), _shown_before(operands, step)
    numbers = [operands.numbers(source) for source in shown]
    if not any(len(found) > 1 for found in numbers):
        return
    for choice in islice(product(*numbers), MAX_COMBINATIONS):
        chosen = zip(shown, choice, strict=True)
        yield Reading(hidden, {source.name: found for source, found in chosen})
    every = operands.ancestors(step)
    for start in range(len(every) if len(every) <= MAX_STARTS else 0):
        yield Reading(every[start:], is_kept=True)


def common_readings(operands: Operands, step: Step) -> list[Reading]:
    """Return the readings in which all shown steps are read alike."""
    hidden, shown = operands.hidden_before(step), _shown_before(operands, step)
    numbers = {source.name: operands.numbers(source) for source in shown}
    count = max((len(found) for found in numbers.values()), default=1)
    alike = [
        Reading(hidden, {name: found[min(i, len(found) - 1)] for name, found in numbers.items()})
        for i in range(count)
    ]
    every = operands.ancestors(step)
    return alike if len(every) == len(hidden) else [*alike, Reading(every, is_kept=True)]


def _shown_before(operands: Operands, step: Step) -> list[Step]:
    """Return the shown steps of which a step is made, directly or through hidden ones."""
    every = [source for one in (*operands.hidden_before(step), step) for source in sources(one)]
    shown = (source for source in every if source.operation is not None and operands.shown(source))
    return list({source.name: source for source in shown}.values())


def result_of(
    operands: Operands,
    step: Step,
    reading: Reading,
    settle: Callable[[Step, Array], Array] = lambda source, made: made,
    of_others: Callable[[Step, Array], Array] = lambda source, numbers: numbers,
    instead: Change = EMPTY,
) -> Array:
    """Return what a step becomes by a reading of the shown steps.

    Args:
        operands: what the submission shows.
        step: the step.
        reading: the reading.
        settle: gives the value that later steps use of a step that is worked on the way.
        of_others: gives the value that later steps use of an input, or of a shown step.
        instead: operations that take the place of others.
    """
    again = {source.name for source in reading.worked}

    def known(source: Step) -> Array | None:
        if source.name in again:
            return None
        numbers = reading.numbers.get(source.name)
        return of_others(source, operands.written(source) if numbers is None else numbers)

    def settled(source: Step, made: Array) -> Array:
        found: Array = operands.completed(source, settle(source, made), is_kept=reading.is_kept)
        return found

    def of_input(source: Step) -> Array:
        return of_others(source, source.array)

    every = operands.ancestors(step)
    replay: Replay[Array] = Replay(every, known, settled, instead=instead, of_input=of_input)
    return replay.result(step)

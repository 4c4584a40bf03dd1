"""From a problem to its trace, if the calculation fits into the memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import Outline, outline
from attncli.core.arithmetic.machine import free_memory, of_bytes
from attncli.core.attention.scores import SCORES
from attncli.core.attention.weights import steps_of_scores
from attncli.core.calculation.trace import Trace, with_meant_steps
from attncli.core.errors import InputError, fail, located
from attncli.core.problem.key_values import keys_of
from attncli.core.problem.keys import KEYS, KINDS, OPTIONS
from attncli.core.problem.problem import Problem
from attncli.core.problem.tour import check_tour
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import TakeRows, Tape
from attncli.core.text.strings import did_you_mean, visible

SURELY_FITS = 2**28
"""Size in bytes up to which a calculation is begun without a look at the free memory. Chosen."""

BYTES_OF_NUMBER = 24
"""Maximum number of bytes that attention takes for each of `numbers_of_steps`. Measured: 1 to 24;
more for a backward pass, and for small steps of many times, each of which has a record."""


def compute(
    problem: Problem,
    only: str | Collection[str] | None = None,
    rounded: bool = True,
    alone: bool = False,
    settle: Callable[[str, Array], Array] | None = None,
    take_rows: TakeRows | None = None,
) -> Trace:
    """Calculate a problem, step by step.

    Args:
        problem: what to calculate.
        only: the names of the steps that will be read, or patterns of them, all by default; large
            steps of n × m numbers that need not be read are then not kept.
        rounded: whether steps are rounded where the problem asks for it.
        alone: whether these steps will be read without those that they are made from, which are
            then nan where all together are large.
        settle: takes a step's name and numbers, and returns those that later steps use; where the
            problem itself asks for rounded steps, they are rounded instead.
        take_rows: takes the weights of many tokens, if `only` names them, some rows (batch, head,
            slice of queries, weights) at a time and in order; they are then no step of the trace.
            A number that floats cannot hold may be found after the first rows.

    Returns:
        The trace, with the steps in the order of computation.

    Raises:
        InputError: for a step that does not exist, or numbers that cannot be calculated with.

    >>> trace = compute(Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot"))
    >>> trace["scores"].value
    array([[14., 10.,  9.],
           [10., 11.,  6.],
           [ 9.,  6.,  6.]])
    """
    _check_problem(problem)
    names = keys_of(only, problem.names)
    with located(problem.source):
        _check_names(names)
        unrounded: Trace | None = None
        work: Callable[[Expression], Array] = array_of
        if rounded and problem.round is not None:
            from attncli.core.tape.by_hand import Rounding, by_hand

            settle, work = Rounding(**problem.round), by_hand
            unrounded = compute(problem, rounded=False)
        is_alone = alone or take_rows is not None or "weights" not in names
        beside = () if is_alone else ("exp", "sum")  # shown with them
        is_all = only is None or problem.gradient  # a backward pass needs every step
        wanted = None if is_all else frozenset((*names, *beside))
        tape = Tape({}, problem.columns, settle, wanted, work)
        tape.take_rows, tape.called = take_rows, problem.called
        tape.alone = frozenset(names) if alone and wanted else None
        _refuse_too_large(problem, tape)
        trace = _recorded(tape, problem, unrounded)
        is_whole = tape.has_weights_taken or all(name in trace for name in names)
        if tape.has_skipped_times and not is_whole:  # as a pattern or another word means one
            return compute(problem, only, rounded, False, settle, take_rows)
        return trace if is_whole else with_meant_steps(trace, names)


def _check_problem(problem: Problem) -> None:
    """Raise an InputError for what is no problem, or has shapes without numbers."""
    if not isinstance(problem, Problem):
        hint = "load reads one from a file, and attncli.Problem(X=[[1, 0], [0, 1]]) makes one"
        raise fail(f"a problem is taken here, not {type(problem).__name__}", hint=hint)
    for key, array in problem.matrices().items():
        if isinstance(array, Outline):
            message = f"{key} is a shape without numbers, which only attn count takes"
            hint = "run attn count, or write the numbers, such as [[1, 0], [0, 1]]"
            with located(problem.source):
                raise fail(message, *key.split("."), hint=hint)


def _check_names(names: Collection[str]) -> None:
    """Raise an InputError for a plain name that no calculation has a step of."""
    if not names:
        return
    from attncli.core.tape.cell_names import PLAIN_WORD
    from attncli.core.tape.step_words import ALIASES, may_mean_step

    plain = (name for name in names if name.isascii() and PLAIN_WORD.fullmatch(name))
    for name in (name for name in plain if not may_mean_step(name, KEYS)):
        message = f"there is no step {visible(name)} in any calculation"
        raise fail(message, hint=did_you_mean(name, ALIASES, "attn explain INPUT"))


def _check_course_names(tape: Tape, problem: Problem) -> None:
    """Raise an InputError for a name of a step that is another step's, or for no step at all."""
    from attncli.core.tape.step_words import ALIASES

    plain = dict.fromkeys(step.plain for step in tape.steps.values())
    for word, name in problem.names.items():
        if name not in plain and name not in ALIASES:
            message = f"names: there is no step {visible(name)}"
            raise fail(message, "names", word, hint=did_you_mean(name, plain))
        if word in plain and word != name:
            message = f"names: {visible(word)} is the name of another step"
            raise fail(message, "names", word, hint="take another name")
        if word in problem.given:
            tape.warn(f"names: {word} is a key of this problem, so it does not mean {name}")


def _recorded(tape: Tape, problem: Problem, unrounded: Trace | None) -> Trace:
    """Record the steps, and return the trace of them, whose arrays are read-only."""
    method = KINDS[problem.kind].steps().steps
    for option in OPTIONS:
        if option.is_around and problem.__dict__[option.name]:
            method = partial(option.steps().steps, method)
    method(tape, problem)
    if problem.names:
        _check_course_names(tape, problem)
    if tape.wanted is None and tape.take_rows is None:  # else there may be steps that are not made
        check_tour(problem.tour, tape.steps, tape.inputs)
    for step in (*tape.inputs.values(), *tape.steps.values()):
        step.array.flags.writeable = False
    warnings = (*problem.warnings, *tape.warnings)
    return Trace(problem, tape.inputs, tape.steps, tape.labels, warnings, unrounded)


def _refuse_too_large(problem: Problem, tape: Tape) -> None:
    """Raise an InputError if a calculation takes more memory than is free.

    Of a large one, only the steps that will be read are kept, where their names are known.
    """
    if (most := numbers_of_steps(problem) * BYTES_OF_NUMBER) < SURELY_FITS:
        return
    tape.kept = tape.alone
    # Attention that takes far less than what is free needs no estimate, which takes 0.5 ms.
    if tape.wanted and not tape.kept and KINDS[problem.kind].last and 4 * most < free_memory():
        return
    needed, room = memory_of(problem, tape), free_memory()
    if needed > room:
        message = f"the calculation takes about {of_bytes(needed)} of memory"
        hint = "take fewer tokens"
        if tape.wanted is None and not problem.gradient:
            hint = "attn compute --only output keeps no step of n × m numbers"
        raise fail(f"{message}, and {of_bytes(room)} are free", hint=hint)


def numbers_of_steps(problem: Problem) -> int:
    """Return about how many numbers the inputs and the steps forward have."""
    sizes, score = problem.sizes, problem.rules.score
    n, batch = (sizes.size(letter) or 1 for letter in ("n", "batch"))
    keys = problem.keys if "m" in sizes else n
    widths = sum(one.size for letter, one in sizes.bound.items() if letter not in ("n", "m", "p"))
    of_pair = steps_of_scores(problem.rules) * sizes.halves + (sizes.size("hidden") or 0)
    of_pair += (sizes.size("d_q") or 0) * SCORES[score].by_feature
    of_pair += -(-widths // problem.rules.tile) if problem.rules.tile else 0  # the output so far
    of_query = keys * of_pair
    if state := KINDS[problem.kind].state:
        # What has faded, what is added, and the sum.
        of_query = 3 * prod(sizes.size(letter) or 1 for letter in state)
    of_layer = batch * (problem.heads * n * of_query + max(n, keys) * widths)
    inputs = sum(array.size for array in problem.matrices().values())
    return of_layer * max(len(problem.layers), 1) + inputs


def memory_of(problem: Problem, tape: Tape) -> int:
    """Return the largest number of bytes that a calculation on such a tape takes at a time.

    That is found from a run of the same lines on arrays without numbers. The tape keeps every step
    if one that it should keep is none of them: the name may mean one that is put back later.
    """
    settle = None if tape.settle is None else (lambda name, array: array)
    outlined = OutlinedTape({}, tape.columns, settle, tape.wanted)
    outlined.take_rows, outlined.kept, outlined.alone = tape.take_rows, tape.kept, tape.alone
    outlined.is_estimate = True
    before = Outline.peak = Outline.in_use
    with suppress(InputError):  # which the calculation will raise, too
        _recorded(outlined, problem, None)
    if tape.kept is not None and not tape.kept <= outlined.steps.keys():
        tape.kept = None
        return memory_of(problem, tape)
    return Outline.peak - before


def outlined(problem: Problem) -> Trace:
    """Return the trace of a problem without numbers: each array is an outline, with its shape."""
    return _recorded(OutlinedTape({}, problem.columns), problem, None)


class OutlinedTape(Tape):
    """A tape whose inputs, and so all of its steps, are outlines."""

    uniform = staticmethod(lambda low, high, shape: outline(shape, float))

    def put(self, name: str, array: Array, *about: Any, **named: Any) -> Step:
        is_of_problem = not array.flags.owndata
        shape_of = array.view(Outline) if is_of_problem else outline(array.shape, array.dtype)
        return super().put(name, shape_of, *about, **named)

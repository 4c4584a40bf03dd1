"""From a problem to its trace."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module

from attncli.arithmetic.elements import Array
from attncli.arithmetic.rounding import Rounding
from attncli.errors import fail, located
from attncli.mechanisms.trace import Trace
from attncli.problem.key_names import keys_of
from attncli.problem.keys import KEYS
from attncli.problem.problem import Problem
from attncli.tape.step import Expression
from attncli.tape.tape import Tape
from attncli.tape.walk import array_of
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

METHODS = {
    "self": "attention",
    "cross": "attention",
    "pooling": "pooling",
    "co_attention": "co_attention",
    "recurrent": "recurrent",
}
"""The file of each kind, and the function of the same name in it; only that one is imported.

Each is short and reads like its textbook: it takes the tape and the problem, and records steps.
"""


def compute(
    problem: Problem,
    only: str | Collection[str] | None = None,
    rounded: bool = True,
    alone: bool = False,
    foresee: Callable[[int], None] | None = None,
    settle: Callable[[str, Array], Array] | None = None,
) -> Trace:
    """Calculate a problem, step by step.

    Args:
        problem: what to calculate.
        only: the name of the step that will be read, or names, or patterns of them, all by default;
            large steps that nobody asks for are not kept.
        rounded: whether steps are rounded where the problem asks for it.
        alone: whether the steps of `only` will be read without those that they are made from, of
            which large ones then are not kept either.
        foresee: called with about how many numbers all steps will have, where they are many,
            before most of them are calculated; an error that it raises ends the calculation.
        settle: takes a step's name and numbers, and returns those that later steps use; where the
            problem itself asks for rounded steps, they are rounded so.

    Returns:
        The trace, with the steps in the order of computation.

    Raises:
        InputError: for a step that does not exist, or numbers that cannot be calculated with.

    >>> trace = compute(Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot"))
    >>> trace["scores"].value
    array([[14., 10.,  9.],
           [10., 11.,  6.],
           [ 9.,  6.,  6.]])
    >>> trace["scores"].formula
    'scores = Q Kᵀ'
    """
    if not isinstance(problem, Problem):
        hint = "load reads one from a file, and attncli.Problem(X=[[1, 0], [0, 1]]) makes one"
        raise fail(f"a problem is taken here, not {type(problem).__name__}", hint=hint)
    names = keys_of(only)
    if names:
        from attncli.tape.words import ALIASES, may_mean_step

        with located(problem.source):
            for name in (name for name in names if not may_mean_step(name, KEYS)):
                message = f"there is no step {visible(name)} in any calculation"
                raise fail(message, hint=did_you_mean(name, ALIASES))
    # A backward pass needs every step, whichever of them will be read.
    wanted = None if only is None or problem.gradient else frozenset(names)
    unrounded: Trace | None = None
    work: Callable[[Expression], Array] = array_of
    if rounded and problem.round is not None:
        from attncli.tape.by_hand import by_hand

        settle, work = Rounding(**problem.round), by_hand
        unrounded = compute(problem, rounded=False)
    tape = Tape({}, problem.columns, settle, wanted, work, alone, foresee)
    with located(problem.source):
        name = METHODS[problem.kind]
        method = getattr(import_module(f"attncli.mechanisms.{name}"), name)
        if problem.gradient:
            from attncli.mechanisms.gradient import gradient

            method = partial(gradient, method=method)
        method(tape, problem)
        told = (*problem.warnings, *tape.warnings), unrounded, (), tape.path
        trace = Trace(problem, tape.inputs, tape.steps, tape.labels, *told)
        for step in (*tape.inputs.values(), *tape.steps.values()):
            step.array.flags.writeable = False
        if all(name in trace for name in names):
            return trace
        from attncli.mechanisms.named import ADJUSTED, with_meant_steps

        if alone and not {*ADJUSTED, "weights"}.isdisjoint(names):  # what it equals was not kept
            return compute(problem, only, rounded, foresee=foresee, settle=settle)
        return with_meant_steps(trace, names)

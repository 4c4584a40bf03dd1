"""The memory that a calculation takes, from a run of the same lines on arrays without numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from attncli.arithmetic.elements import Array
from attncli.arithmetic.memory import free_memory, of_bytes
from attncli.arithmetic.outlines import Outline, outline
from attncli.attention.scores import SCORES
from attncli.attention.weights import steps_of_scores
from attncli.errors import InputError, fail
from attncli.problem.problem import Problem
from attncli.tape.step import Step
from attncli.tape.tape import Tape

SURELY_FITS = 2**28
"""Size in bytes up to which a calculation is begun without a look at the free memory. Chosen."""

BYTES_OF_NUMBER = 24
"""Maximum number of bytes that a calculation takes for each of `_numbers`. Measured: 14 to 18."""


def refuse_too_large(problem: Problem, tape: Tape, record: Callable[[Tape], object]) -> None:
    """Raise an InputError if what `record` does with a tape takes more memory than is free."""
    if _numbers(problem) * BYTES_OF_NUMBER < SURELY_FITS:
        return
    needed, room = memory_of(tape, record), free_memory()
    if needed > room:
        message = f"the calculation takes about {of_bytes(needed)} of memory"
        is_whole = tape.wanted is None and not problem.gradient
        hint = "--only output keeps no step of n × m numbers" if is_whole else "take fewer tokens"
        raise fail(f"{message}, and {of_bytes(room)} are free", hint=hint)


def _numbers(problem: Problem) -> int:
    """Return about how many numbers the inputs and the steps forward have."""
    sizes, score = problem.sizes, problem.rules.score
    n, batch = (sizes.size(letter) or 1 for letter in ("n", "batch"))
    keys = problem.keys if "m" in sizes else n
    widths = sum(one.size for letter, one in sizes.bound.items() if letter not in ("n", "m", "p"))
    of_pair = steps_of_scores(problem.rules) + (sizes.size("hidden") or 0)
    of_pair += (sizes.size("d_q") or 0) * SCORES[score].by_feature
    of_layer = batch * (problem.heads * n * keys * of_pair + max(n, keys) * widths)
    inputs = sum(array.size for array in problem.matrices().values())
    return of_layer * max(len(problem.layers), 1) + inputs


def memory_of(tape: Tape, record: Callable[[Tape], object]) -> int:
    """Return the largest number of bytes that what `record` does with a tape takes at a time."""
    settle = None if tape.settle is None else (lambda name, array: array)
    outlined = OutlinedTape({}, tape.columns, settle, tape.wanted)
    outlined.take_rows = tape.take_rows
    outlined.uniform = lambda low, high, shape: outline(shape, float)
    before = Outline.peak = Outline.taken
    with suppress(InputError):  # which the calculation will raise, too
        record(outlined)
    return Outline.peak - before


class OutlinedTape(Tape):
    """A tape whose inputs, and so all of its steps, are outlines."""

    def given(self, name: str, array: Array, *about: Any, **named: Any) -> Step:
        is_of_problem = not array.flags.owndata
        shape_of = array.view(Outline) if is_of_problem else outline(array.shape, array.dtype)
        return super().given(name, shape_of, *about, **named)

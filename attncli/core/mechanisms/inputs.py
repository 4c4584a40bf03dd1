"""The matrices and words of a problem, put on the tape."""

from __future__ import annotations

from attncli.core.problem.keys import KEYS
from attncli.core.problem.problem import Problem
from attncli.core.tape.step import Step
from attncli.core.tape.tape import Tape


def label(tape: Tape, **words: tuple[str, ...]) -> None:
    """Name the places along axes, where there are words for them."""
    tape.labels.update({axis: found for axis, found in words.items() if found})


def given(
    tape: Tape, problem: Problem, key: str, trailing: tuple[str, ...], name: str = ""
) -> Step:
    """Put a matrix of the problem on the tape, once; by default it is called as its key is."""
    if (known := tape.input_of(key)) is not None:
        return known
    head, _, part = key.partition(".")
    leading, as_written = problem.leading(key), KEYS[head].as_written
    return tape.given(name or part or key, problem.array(key), trailing, leading, as_written, key)

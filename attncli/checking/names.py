"""Of which step, and which of its cells, an answer is: the names of `tape/find.py`, as keys."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from attncli.errors import InputError, fail
from attncli.mechanisms.named import with_named_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.aliases import key_of, with_key
from attncli.problem.keys import KEYS
from attncli.records import replace
from attncli.tape.find import find_cells, several_meant
from attncli.tape.step import Step
from attncli.tape.words import meant
from attncli.text.escapes import visible

LONGEST = 500
"""No key that means something is longer, and no message quotes one that is."""


At: TypeAlias = tuple[Any, ...]
"""An index of NumPy: all cells of a step's value, where it is (), or one head, row or cell."""


def find_answer(word: str, trace: Trace) -> tuple[Step, At, bool]:
    """Return which step the key of an answer means, which of its cells, and whether transposed.

    A key is the name of a step or what people call it, a row, a cell, or whatever else
    `attn explain` reads; also as a heading, such as `Weights:` or `weights (softmax)`.

    Raises:
        InputError: for a word that means no step, or one of several.
    """
    if word in trace:  # as nearly all are
        return trace[word], (), False
    try:
        return _found(word, trace)
    except InputError:
        from attncli.notation.grid import undecorated  # most sheets have no headings for keys

        name = undecorated(word) if len(word) <= LONGEST else word
        if name not in ("", word):
            with suppress(InputError):
                return find_answer(name, trace)
        raise


@lru_cache(maxsize=4096)  # the rows of a class's table have the same headings
def _found(word: str, trace: Trace) -> tuple[Step, At, bool]:
    """Return what a word means that is not the name of a step."""
    if len(word) > LONGEST:
        raise fail(f"a key of {len(word)} characters is no name of a step or of a cell", word)
    base = word.partition("[")[0].strip()
    try:
        _refuse_several(base, trace)
        found = find_cells(with_key(word), trace.steps, trace.inputs, trace.added)
    except InputError as error:
        key = key_of(base)
        if key in trace.inputs or (key in KEYS and not meant(base, trace.steps)):
            raise _input(key, word, trace) from None
        raise InputError(*(replace(fault, path=(word,)) for fault in error.faults)) from None
    if found.step.name not in trace:
        raise _input(found.step.name, word, trace)
    lead, rest = found.along[: len(found.step.leading)], found.along[len(found.step.leading) :]
    is_one = [isinstance(places, int) for places in rest]
    if all(is_one) or (any(is_one) and any(isinstance(places, range) for places in lead)):
        return found.step, tuple(np.transpose(found.places)), False  # one after the other
    return found.step, found.at, found.is_turned


def _refuse_several(base: str, trace: Trace) -> None:
    """Refuse a word that people use for several of the steps, of which each may have been worked.

    Raises:
        InputError: for such a word; it lists the steps.
    """
    if base in trace or base in trace.inputs:
        return
    called = [step.name for step in trace if step.symbol.lower() == base.lower()]
    names = meant(base, trace.steps, trace.added)
    names = names or [name for name in called if name not in trace.added]
    if len(names) > 1:
        raise several_meant(base, names)


_wide = lru_cache(maxsize=8)(with_named_steps)  # many sheets have keys that mean nothing


def named_steps(words: Iterable[str], trace: Trace) -> tuple[str, ...]:
    """Return the names of steps that keys of answers mean, and that are left out of a trace.

    Each changes nothing here, and equals another step; `with_named_steps` puts it in.
    """
    wide: Trace | None = None
    found: dict[str, None] = {}
    for word in words:
        try:
            find_answer(word, trace)
        except InputError:
            wide = wide or _wide(trace)
            with suppress(InputError):
                found[find_answer(word, wide)[0].name] = None
    return tuple(name for name in found if wide and name in wide.added)


def _input(name: str, word: str, trace: Trace) -> InputError:
    """Return the error for an answer that is an input; the key that it stands in is a word."""
    way_out = "leave it out; the steps are"
    if name == "X":
        way_out = "write the step's name over its numbers, one of"
    message = f"{visible(name)} is an input of the problem, not a step"
    return fail(message, word, hint=f"{way_out} {', '.join(trace.steps)}")

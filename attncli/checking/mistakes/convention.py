"""A row of the table of conventions: a way in which programs differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.mistake import Ways
from attncli.core.calculation.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.records import Record
from attncli.core.tape.evaluation import Change
from attncli.core.tape.step import Step

Keys: TypeAlias = Mapping[str, object]
"""Keys of a problem with other values; None for one that is left out."""

Arrays: TypeAlias = Mapping[str, Array]
"""The numbers of a program by the names of their steps, in the layout of the steps' arrays."""

Search: TypeAlias = Callable[[Step, Trace], Ways]
"""A function that yields what may be calculated instead in a step; the first is what counts."""

Whole: TypeAlias = Callable[[Trace, Arrays], Ways]
"""A function that yields what may be calculated instead in all steps together."""

Line: TypeAlias = Callable[[Trace, Change, Arrays], str]
"""A function that returns the line of NumPy with which both agree, or ""."""


class Convention(Record):
    """One row of the table: what is said, and what is calculated instead, the likeliest first.

    The texts may have the blanks {heads}, {d_k}, {d_v} and {d_model}, and those of a search.
    """

    message: str
    advice: str
    searches: tuple[Search, ...] = ()  # in the steps of the problem, one at a time
    whole: Whole | None = None  # or in all of them, perhaps as the numbers of the program tell
    keys: Callable[[Problem], Iterator[Keys]] | None = None  # or as another problem
    line: Line | None = None  # where arrays are laid out in another way
    out_in: tuple[str, str] | None = None  # message and advice where weights are (out, in)

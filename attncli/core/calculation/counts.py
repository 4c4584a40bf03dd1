"""The work in a calculation: its operations, its parameters, and its cache of keys and values.

The operation of each step is applied to arrays of which only the shapes are known, and the calls
of NumPy that it makes are counted: those of the program that `-f numpy` writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import ERF, Array, CallRecorder, each
from attncli.core.arithmetic.floats import MAX_ARRAY_SIZE
from attncli.core.calculation.compute import outlined
from attncli.core.calculation.trace import Trace, with_meant_steps
from attncli.core.errors import fail, located
from attncli.core.problem.key_values import keys_of
from attncli.core.problem.keys import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.problem.shapes import is_learned
from attncli.core.records import Record
from attncli.core.tape.evaluation import evaluate, sources
from attncli.core.tape.step import Step

COUNTED: Mapping[Callable[..., Any], str] = {
    np.matmul: "multiply_adds",
    **dict.fromkeys((np.add, np.subtract, np.sum, np.cumsum), "additions"),
    np.multiply: "multiplications",
    np.divide: "divisions",
    **dict.fromkeys((np.exp, np.power), "exponentials"),
    **dict.fromkeys((np.sqrt, np.log, np.tanh, np.sin, np.cos, ERF), "functions"),
}
"""The column in which each number is counted that a function of NumPy makes.

Other functions choose, compare, change signs or move numbers, which is not counted."""

COLUMNS = (*dict.fromkeys(COUNTED.values()), "parameters", "cache_bytes")
"""The counts of each step."""


class Work(Record, eq=False):
    """The counts of a calculation.

    Attributes:
        trace: the calculation, without numbers.
        counts: the counts of each step, by its name and those in `COLUMNS`, without zeros.
        per_token: how many numbers a cache keeps of each token, by the step that they are of.
        number_bytes: the size of such a number.
    """

    trace: Trace
    counts: Mapping[str, Mapping[str, int]]
    per_token: Counter[str]
    number_bytes: int

    @property
    def problem(self) -> Problem:
        return self.trace.problem

    @property
    def bytes_per_token(self) -> int:
        return self.per_token.total() * self.number_bytes

    def total(self, steps: Iterable[Step] = ()) -> dict[str, int]:
        """Return the sum of each count over some steps, or over all."""
        rows = [self.counts[step.name] for step in steps or self.trace]
        return {name: sum(row.get(name, 0) for row in rows) for name in COLUMNS}


def count(
    problem: Problem, only: str | Collection[str] = (), number_bytes: int | None = None
) -> Work:
    """Count the operations of each step, its parameters, and its part of the cache.

    A product of matrices (n, d) and (d, m) is n·d·m multiply–adds; so is a product of numbers that
    is summed at once. Everything else is counted number by number, also in blocked cells, and of a
    choice both sides. A parameter is counted in the first step that uses it. The cache holds the
    first rows of keys and values that are made from the tokens: K and V.

    Args:
        problem: what to count; nothing is calculated, so it may be large.
        only: names of steps, or patterns of them; those that change nothing are put back.
        number_bytes: the size of a number in the cache, by default that of the problem's floats.

    Raises:
        InputError: for a step that does not exist, or a calculation that cannot be made.

    >>> work = count(Problem(X=[[1, 3, 2], [1, 1, 3]], W_q=[[1], [2], [0]], W_k=[[1], [0], [1]]))
    >>> work.counts["Q"], work.per_token
    ({'multiply_adds': 6, 'parameters': 3}, Counter({'V': 3, 'K': 1}))
    """
    with located(problem.source):
        try:
            trace = outlined(problem)
        except OverflowError:
            message = f"a step has more than {MAX_ARRAY_SIZE:,} numbers"
            raise fail(message, hint="take smaller sizes") from None
        if names := keys_of(only, problem.names):
            trace = with_meant_steps(trace, names)
    number_bytes = number_bytes or (2 if problem.is_half else trace.last.array.itemsize)
    has_cache = KINDS[problem.kind].by_position
    counts: dict[str, Mapping[str, int]] = {}
    per_token: Counter[str] = Counter()
    used: set[Step] = set()
    for step in trace:
        row = _operations(step)
        new = {*sources(step)} - used
        used |= new
        row["parameters"] = sum(one.array.size for one in new if is_learned(one.key))
        if has_cache and _has_keys(step):
            _, heads, rows, features = step.array.shape
            before = [one.array.shape[-2] for one in sources(step) if _has_keys(one)]
            new_rows = max(rows - max(before, default=0), 0)  # some of them are kept already
            row["cache_bytes"] = step.array.size // rows * new_rows * number_bytes
            per_token[step.stem] += 0 if before else heads * features
        counts[step.name] = {name: row[name] for name in COLUMNS if row[name]}
    return Work(trace, counts, +per_token, number_bytes)


def _has_keys(step: Step) -> bool:
    """Return whether a step has a row of features for each key, and is not the input itself."""
    is_forward = step.operation is not None and not step.backward
    row, column = step.trailing if len(step.trailing) == 2 else ("", "")
    return is_forward and row == "key" and column != "model"


def _operations(step: Step) -> Counter[str]:
    counts: Counter[str] = Counter()
    if step.operation is not None:
        evaluate(step.operation, lambda operand: CountedArray(operand.array, counts))
    return counts


class CountedArray(CallRecorder):
    """An array of which only the shape is known; the calls that are made with it are counted."""

    dtype = np.dtype(np.uint64)  # neither of floats nor of objects, so that formulas are plain

    def __init__(self, array: Array, counts: Counter[str], is_product: bool = False) -> None:
        self.array, self.counts, self.is_product = array, counts, is_product
        self.shape = array.shape

    def called(self, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
        if function is np.result_type:
            return self.dtype
        result = function(*each(args, CountedArray, lambda one: one.array), **options)
        if not isinstance(result, np.ndarray):  # such as whether any number is 0
            return result
        if function in COUNTED:
            self._count(function, args[0], result, options)
        return CountedArray(result, self.counts, function is np.multiply)

    def _count(
        self, function: Callable[..., Any], first: Any, result: Array, options: dict[str, Any]
    ) -> None:
        """Count what a function does, whose first operand and result are known."""
        kind, number = COUNTED[function], result.size
        if function is np.matmul:
            number *= first.shape[-1]
        elif function in (np.sum, np.cumsum):
            if first.array.dtype == bool:  # it counts, too
                return
            is_sum = function is np.sum
            number = first.size - (number if is_sum else number // first.shape[options["axis"]])
            if first.is_product and options.get("axis") != ():
                self.counts["multiplications"] -= first.size
                kind, number, first.is_product = "multiply_adds", first.size, False
        self.counts[kind] += number

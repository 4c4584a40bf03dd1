"""Arrays of a program as they are compared with a calculation, and the causes of wrong ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from attncli.checking.answers.written_cells import LIKE_BLOCKED, Matrices, Written
from attncli.checking.causes import Cause, CauseSearch
from attncli.checking.comparison import Comparison
from attncli.checking.judging import equivalent_forms
from attncli.checking.judging.judged_steps import Finding
from attncli.checking.judging.operands import Reference
from attncli.checking.right_ways import right_ways
from attncli.checking.some_times import some_times
from attncli.core.arithmetic.machine import free_memory, of_bytes
from attncli.core.calculation.compute import compute
from attncli.core.calculation.trace import Trace
from attncli.core.problem.marking import Marking
from attncli.core.records import EMPTY, replace

MEMORY_OF_SEARCH = 5
"""Memory that the search takes, in multiples of that of all steps. Measured: 3.8 to 4.4."""


class WithCauses(NamedTuple):
    """Arrays as they are compared, sentences on that, and the causes of wrong ones."""

    comparison: Comparison
    said: tuple[str, ...]
    causes: Mapping[str, Finding]
    no_cause: str  # why none is known, where that is known; else nothing


def explained(
    reference: Reference, arrays: Matrices, marking: Marking, dtype: str, asked: Collection[str]
) -> WithCauses:
    """Compare arrays of a program, and search for what it calculated instead.

    Of a large calculation, every step is worked only if one of the arrays is wrong. Numbers
    of float64 may be no better than float32: that divided by `np.sqrt(d_k)` is float64. So the
    cause is sought within the error of float32, if anything is wrong by more than that.
    """
    steps = reference.trace
    if not (reference.has_numbers or steps.added):
        best, said = compared(compute(steps.problem, {*arrays, *asked}), arrays, marking, dtype)
        size = sum(step.array.nbytes for step in (*steps, *steps.inputs.values()))
        needed, room = MEMORY_OF_SEARCH * size, free_memory()
        if not best.wrong:
            return WithCauses(best, said, EMPTY, "")
        if needed > room:
            words = f"that takes about {of_bytes(needed)} of memory, and {of_bytes(room)} are free"
            return WithCauses(best, said, EMPTY, f"the cause is not sought: {words}")
    trace = reference.whole.trace.unrounded or reference.whole.trace
    best, said = compared(trace, arrays, marking, dtype)
    if not best.wrong:
        return WithCauses(best, said, EMPTY, "")
    searched, of_searched = best, said
    if may_be_coarse := dtype == "float64" and not marking.dtype:
        coarse, of_coarse = compared(trace, arrays, marking, "float32")
        if coarse.wrong:
            searched, of_searched = coarse, of_coarse
    masked = [(words, one, _causes(one)) for words, one in _masked_alike(searched)]
    if found := [way for way in masked if way[2]]:
        words, way, causes = min(found, key=lambda way: len(way[2]))
        return WithCauses(way, (*of_searched, words), causes, "")
    causes, why = _causes(searched), ""
    if causes and searched.wrong[0] != best.wrong[0]:
        best, said = searched, of_searched
    elif not causes and searched is best and may_be_coarse:
        why = "none by more than the error of float32: if it was used, add --dtype float32"
    return WithCauses(best, said, causes, why)


def _causes(comparison: Comparison) -> dict[str, Finding]:
    """Return the cause of the first wrong array, and those of later ones that it does not give.

    These are calculated from the wrong arrays before them as the program has them.
    """
    found: dict[str, Finding] = {}
    while comparison.wrong:
        search = CauseSearch(comparison)
        if not (cause := _cause_of(search, is_first=not found)):
            break
        found[comparison.wrong[0]] = cause[0]
        rest = [name for name in comparison.wrong[1:] if search.misfit([name], cause[1]) > 1]
        trace, order = comparison.trace, [*comparison.trace.steps]
        before = order[: order.index(rest[0])] if rest else []
        arrays = {name: comparison.matrices[name] for name in before if search.is_off(name)}
        known = {
            name: replace(trace[name], operation=None, array=one.values)
            for name, one in arrays.items()
            if isinstance(one, Written) and not one.blank.any()
        }
        if not rest or known.keys() != arrays.keys():
            break
        trace = equivalent_forms.with_change(trace, known)
        trace = replace(trace, inputs={**trace.inputs, **known})
        comparison = Comparison(trace, comparison.matrices, comparison.marking, comparison.dtype)
    return found


def _masked_alike(comparison: Comparison) -> Iterator[tuple[str, Comparison]]:
    """Yield right ways of calculating that block scores where arrays hold −∞, and say it."""
    trace, matrices = comparison.trace, comparison.matrices
    arrays = {name: one.values for name, one in matrices.items() if isinstance(one, Written)}
    blocked = {name: array <= LIKE_BLOCKED for name, array in arrays.items()}
    plain = [name for name in blocked if not np.isneginf(trace[name].array).any()]
    early = [name for name in plain if blocked[name].any()]
    for words, change in right_ways(trace, matrices) if early else ():
        other = equivalent_forms.with_change(trace, change)
        if all(np.array_equal(other[name].array == -np.inf, blocked[name]) for name in early):
            yield words, Comparison(other, matrices, comparison.marking, comparison.dtype)


def _cause_of(search: CauseSearch, is_first: bool) -> Cause | None:
    """Return the cause of wrong arrays; of a long recurrence, one that gives a few times first."""
    if few := some_times(search.comparison):
        found = CauseSearch(few).cause(is_first)
        return found and search.confirmed(found[0])
    return search.cause(is_first)


def compared(
    trace: Trace, arrays: Matrices, marking: Marking, dtype: str
) -> tuple[Comparison, tuple[str, ...]]:
    """Return arrays compared with the right way of calculating that fits most of them.

    Also sentences on that way, and on numbers that are not compared.
    """
    best, said = Comparison(trace, arrays, marking, dtype), list[str]()
    search = CauseSearch(best) if best.wrong else None
    for words, change in right_ways(trace, arrays) if search else ():
        if search and search.gives_first(change):
            again = Comparison(equivalent_forms.with_change(trace, change), arrays, marking, dtype)
            if len(again.wrong) < len(best.wrong):
                best, search = again, CauseSearch(again) if again.wrong else None
                said.append(words)
    if count := sum(best.apart.values()):
        cells = f"{count} {'cell' if count == 1 else 'cells'} of queries that see no key"
        programs = "PyTorch's softmax gives nan there, a fill of −1e9 the mean, FlashAttention 0"
        said.append(f"{cells} {'is' if count == 1 else 'are'} not compared: {programs}.")
    return best, tuple(said)

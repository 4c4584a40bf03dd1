"""Many problems calculated, and many submissions judged, by the workers of an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import tee
from typing import TYPE_CHECKING, Any, TypeVar, overload

from attncli.checking.check import AnswerKey, Report
from attncli.core.errors import InputError
from attncli.core.jobs import Pool, batches, in_order
from attncli.core.mechanisms.compute import compute
from attncli.core.mechanisms.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.reading.document import Submission

if TYPE_CHECKING:
    from concurrent.futures import Executor

Item = TypeVar("Item")
Result = TypeVar("Result")

@overload
def compute_many(
    problems: Iterable[Problem], executor: Executor | None = None, collect: None = None
) -> Iterator[Trace]: ...
@overload
def compute_many(
    problems: Iterable[Problem], executor: Executor | None, collect: Callable[[Trace], Result]
) -> Iterator[Result]: ...
def compute_many(
    problems: Iterable[Problem],
    executor: Executor | None = None,
    collect: Callable[[Trace], Any] | None = None,
) -> Iterator[Any]:
    """Yield the calculation of each problem, in order; problems are read as they are needed.

    Args:
        problems: what to calculate.
        executor: any of `concurrent.futures`, such as a `ProcessPoolExecutor`, or that of a
            cluster; by default this process calculates.
        collect: makes of a trace what is yielded; the workers call it, so that only its results
            travel. A function of a module, as it is pickled.

    Raises:
        InputError: when the first problem is reached that cannot be calculated.

    >>> problems = [Problem(Q=[[1]], K=[[1], [number]], V=[[0], [1]]) for number in (1, 2)]
    >>> [trace.output.round(2).tolist() for trace in compute_many(problems)]
    [[[0.5]], [[0.73]]]
    """
    return _each(partial(_computed, collect), problems, executor)


def check_many(
    problem: Problem,
    submissions: Iterable[Mapping[str, object] | Submission],
    executor: Executor | None = None,
    strict: bool = False,
) -> Iterator[Report]:
    """Yield the report on each submission to a problem, in order, as `check` does.

    Args:
        problem: what was worked.
        submissions: matrices by step name, or submissions that were read (`load_answers`); they
            are read as they are needed.
        executor: as for `compute_many`.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.

    Raises:
        InputError: for a problem that cannot be calculated; when the first submission is reached
            that cannot be read.

    >>> problem = Problem(Q=[[1]], K=[[1], [2]], V=[[0], [1]])
    >>> [one.verdict for one in check_many(problem, [{"output": [[0.73]]}, {"scores": [[2, 1]]}])]
    ['correct', 'wrong']
    """
    work = partial(_judged, AnswerKey(problem), strict)
    return _each(work, submissions, executor)


def _each(
    work: Callable[[Item], Result], items: Iterable[Item], executor: Executor | None
) -> Iterator[Result]:
    """Yield the result of each item, or raise its error."""
    if executor is None:
        yield from map(work, items)
        return
    pool = Pool(executor)
    chunks, sent = tee(batches(items, pool.batch))
    done = in_order(partial(_until_error, work), chunks, pool, lambda _: [])
    for some, results in zip(sent, done, strict=True):
        yield from results
        if len(results) < len(some):
            work(some[len(results)])  # raises the error with its place, which is not sent along


def _until_error(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the results of the items before the first that is wrong."""
    results = list[Result]()
    with suppress(InputError):
        results.extend(map(work, items))
    return results


def _computed(collect: Callable[[Trace], Any] | None, problem: Problem) -> Any:
    trace = compute(problem)
    return trace if collect is None else collect(trace)


def _judged(key: AnswerKey, strict: bool, one: Mapping[str, object] | Submission) -> Report:
    return key.check(one, strict)

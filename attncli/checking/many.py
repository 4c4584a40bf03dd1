"""Many problems calculated, and many submissions judged, by the workers of an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from attncli.checking.check import AnswerKey, Report
from attncli.core.calculation.compute_together import compute_each
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError
from attncli.core.jobs import Pool
from attncli.core.problem.problem import Problem
from attncli.reading.document import Submission

if TYPE_CHECKING:
    from concurrent.futures import Executor

Item = TypeVar("Item")
Result = TypeVar("Result")


@overload
def compute_many(
    problems: Iterable[Problem], executor: Executor | None = None
) -> Iterator[Trace]: ...
@overload
def compute_many(
    problems: Iterable[Problem], executor: Executor | None, collect: Callable[[Trace], Result]
) -> Iterator[Result]: ...
def compute_many(
    problems: Iterable[Problem],
    executor: Executor | None = None,
    collect: Callable[[Trace], Result] | None = None,
) -> Iterator[Trace] | Iterator[Result]:
    """Yield the calculation of each problem, in order; problems are read as they are needed.

    Small ones of a file that differ in numbers alone are calculated together, some at a time.

    Args:
        problems: what to calculate.
        executor: any of `concurrent.futures`, such as a `ProcessPoolExecutor`, or that of a
            cluster; by default this process calculates.
        collect: a function of a module that makes of each trace what is yielded. The workers call
            it, so that only its results travel.

    Raises:
        InputError: when a problem is reached that cannot be calculated.

    >>> problems = [Problem(Q=[[1]], K=[[1], [number]], V=[[0], [1]]) for number in (1, 2)]
    >>> [trace.output.round(2).tolist() for trace in compute_many(problems)]
    [[[0.5]], [[0.73]]]
    """
    return _each(partial(_collected, collect), problems, executor)


def _collected(
    collect: Callable[[Trace], Any] | None, problems: Iterable[Problem]
) -> Iterator[Any]:
    for trace in compute_each(problems):
        yield trace if collect is None or isinstance(trace, InputError) else collect(trace)


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
            are taken as they are needed.
        executor: as for `compute_many`.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.

    Raises:
        InputError: for a problem that cannot be calculated; when a submission is reached that
            cannot be read.

    >>> problem = Problem(Q=[[1]], K=[[1], [2]], V=[[0], [1]])
    >>> [one.verdict for one in check_many(problem, [{"output": [[0.73]]}, {"scores": [[2, 1]]}])]
    ['correct', 'wrong']
    """
    return _each(partial(_reports, AnswerKey(problem), strict), submissions, executor)


def _reports(
    key: AnswerKey, strict: bool, submissions: Iterable[Mapping[str, object] | Submission]
) -> Iterator[Report | InputError]:
    for one in submissions:
        try:
            yield key.check(one, strict)
        except InputError as error:
            yield error


def _each(
    work: Callable[[Iterable[Item]], Iterator[Result | InputError]],
    items: Iterable[Item],
    executor: Executor | None,
) -> Iterator[Result]:
    if executor is None:
        return map(_right, work(items))

    def here(item: Item) -> Result | InputError:
        return next(work([item]))

    every = Pool(executor).each(partial(_worked, work), items, here)
    # Errors are found again here, as the places in files are not sent along.
    return (_right(here(item) if isinstance(one, InputError) else one) for item, one in every)


def _worked(work: Callable[[Iterable[Item]], Iterator[Result]], items: list[Item]) -> list[Result]:
    return [*work(items)]


def _right(result: Result | InputError) -> Result:
    if isinstance(result, InputError):
        raise result
    return result

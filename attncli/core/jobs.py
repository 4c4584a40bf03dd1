"""Work on lists of items in other processes, on this machine or on many, results in order.

Scheduling is left to `concurrent.futures` and to clusters; here is only a bounded window of
futures, and what becomes of items whose process ended.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice, tee
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Item = TypeVar("Item")
Result = TypeVar("Result")

Work = Callable[[list[Item]], Result]
"""What is done with some items at a time. It and its results are pickled, and so are the items."""

LISTS_PER_PROCESS = 3
"""Number of lists on their way for each process: one that it works on, two that wait. Chosen."""

WINDOW = 64
"""Number of lists on their way to an executor that does not tell its number of processes. Chosen."""


class Pool:
    """An executor of the caller's. `broken` are errors of futures whose process ended, after which
    `start` makes the executor anew; `size` is the number of items that are sent together."""

    broken: tuple[type[BaseException], ...] = ()
    size = 100

    def __init__(self, executor: Executor, processes: int = 0) -> None:
        self.executor = executor
        self.window = LISTS_PER_PROCESS * (processes or getattr(executor, "_max_workers", 0))

    def start(self, work: Work[Item, Result]) -> Callable[[list[Item]], Future[Result]]:
        """Return what submits a list of items to be worked."""
        return lambda items: self.executor.submit(work, items)

    def stop(self) -> None:
        """Leave the executor as it is."""


class Processes(Pool):
    """Processes on this machine, one for each processor if their number is 0; they end with this
    one. Their work is sent only once, so that its items may come in smaller lists."""

    size = 20

    def __init__(self, count: int) -> None:
        from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
        from multiprocessing import get_context

        has_affinity = hasattr(os, "sched_getaffinity")  # as Linux has
        every = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        # A copy of this process, which has no other thread yet, starts in 10 ms, a new one in 200.
        context = get_context("fork" if sys.platform == "linux" else None)
        self.broken = (BrokenExecutor,)
        self._make = lambda work: ProcessPoolExecutor(count or every, context, _begin, (work,))
        self.window = LISTS_PER_PROCESS * (count or every)

    def start(self, work: Work[Item, Result]) -> Callable[[list[Item]], Future[Result]]:
        self.executor = self._make(work)
        return lambda items: self.executor.submit(_do, items)

    def stop(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)


def cluster(address: str) -> Pool:
    """Return the workers of a cluster of dask.distributed, by the address of its scheduler."""
    from distributed import Client, KilledWorker

    client = Client(address, set_as_default=False)
    pool = Pool(client.get_executor(), sum(client.ncores().values()))
    pool.broken = (KilledWorker,)
    return pool


def in_order(
    work: Work[Item, Result],
    lists: Iterable[list[Item] | None],
    pool: Pool,
    lost: Callable[[Item], Result],
) -> Iterator[Result]:
    """Yield the results of lists of items, in order.

    If a process ends, the lists that were on their way are worked again, item by item.

    Args:
        work: returns the result of a list.
        lists: may hold None where the next list may come late: then all others are finished first.
        pool: where the work is done.
        lost: returns what stands for the result of an item whose process ended again.
    """
    submit = pool.start(work)
    waiting: deque[tuple[list[Item], Future[Result]]] = deque()

    def sent(items: list[Item]) -> Future[Result]:
        nonlocal submit
        try:
            return submit(items)
        except pool.broken:
            pool.stop()
            submit = pool.start(work)
            return submit(items)

    def first() -> Iterator[Result]:
        items, future = waiting.popleft()
        try:
            results = [future.result()]
        except pool.broken:
            results = []
        yield from results
        for item in () if results else items:
            try:
                result = sent([item]).result()
            except pool.broken:
                result = lost(item)
            yield result

    try:
        for items in lists:
            # If the pool is broken, all are done: they are worked again before others are sent.
            while waiting and (
                items is None or len(waiting) >= (pool.window or WINDOW) or waiting[0][1].done()
            ):
                yield from first()
            if items is not None:
                waiting.append((items, sent(items)))
        while waiting:
            yield from first()
    finally:
        pool.stop()


def each_in_order(
    work: Callable[[Item], tuple[Result, ...]],
    items: Iterable[Item],
    pool: Pool,
    here: Callable[[Item], Result],
    lost: Callable[[Item], Result],
) -> Iterator[Result]:
    """Yield the result of each item: what `work` returns, or if that is (), what `here` does.

    `here` is called in this process; the other arguments are those of `in_order`.
    """
    rest, kept = tee(items)
    lists = iter(lambda: list(islice(rest, pool.size)), [])
    every = in_order(partial(_each, work), lists, pool, lambda item: [(lost(item),)])
    for item, result in zip(kept, chain.from_iterable(every), strict=False):
        yield result[0] if result else here(item)


def _each(work: Callable[[Item], Result], items: list[Item]) -> list[Result]:
    return [work(item) for item in items]


_work: Work[Any, Any]
"""What a process of a pool does; it is that process's alone."""


def _begin(work: Work[Any, Any]) -> None:
    """Prepare a process of a pool, which is a copy of its parent: it ends with the parent."""
    from multiprocessing import parent_process
    from threading import Thread

    global _work  # noqa: PLW0603 - a process of a pool has no other place that lasts
    _work = work
    gc.freeze()  # what there is now is shared with the parent
    gc.enable()
    for number in (signal.SIGINT, signal.SIGTERM):
        if callable(signal.getsignal(number)):  # which would undo what the parent writes
            signal.signal(number, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None
    Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


def _do(items: list[Any]) -> Any:
    return _work(items)

"""Work on lists of items in other processes, on this machine or on many, results in order.

Scheduling is left to `concurrent.futures` and to clusters; here is only a bounded number of
futures, and what becomes of items whose process ended.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from attncli.core.arithmetic.machine import processors
from attncli.core.errors import InputError, fail, not_installed, reason_of
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Item = TypeVar("Item")
Result = TypeVar("Result")

LISTS_PER_PROCESS = 3
"""Number of lists on their way for each process: one that it works on, two that wait. Chosen."""

MAX_SUBMITTED = 64
"""Number of lists on their way to an executor whose number of processes is not known. Chosen."""

CONNECTING_SECONDS = 10
"""Maximum time in which the scheduler of a cluster is to answer, and then to have a worker."""


class Pool:
    """An executor of the caller's."""

    broken: tuple[type[BaseException], ...] = ()
    """Errors of futures whose process ended; `start` makes the executor anew after them."""

    size = 100
    """Number of items that are sent together, with the work."""

    done = total = 0
    """Number of items with a result, and of all if that is known."""

    def __init__(self, executor: Executor, processes: int = 0) -> None:
        self.executor = executor
        self.most = LISTS_PER_PROCESS * (processes or getattr(executor, "_max_workers", 0))

    def start(self, work: Callable[[list[Item]], Result]) -> Callable[[list[Item]], Future[Result]]:
        """Return what submits a list of items."""
        return lambda items: self.executor.submit(work, items)

    def result(self, future: Future[Result]) -> Result:
        """Return the result of a list, or raise an error, such as one of `broken`."""
        return future.result()

    def stop(self) -> None:
        """Leave the executor as it is."""

    def each(
        self,
        work: Callable[[list[Item]], list[Result]],
        items: Iterable[Item],
        lost: Callable[[Item], Result],
        at_once: int | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """Yield items, which are taken as they are needed, with their results; see `in_order`.

        A list holds `at_once` of them, by default the pool's `size`.
        """
        rest = iter(items)
        lists: Iterator[list[Item]] = iter(lambda: [*islice(rest, at_once or self.size)], [])
        self.total = len(items) if isinstance(items, Sized) else 0
        for some, results in in_order(work, lists, self, lambda item: [lost(item)]):
            yield from zip(some, results, strict=True)
            self.done += len(some)


class Processes(Pool):
    """Processes on this machine, which end with this one; 0 is one for each processor."""

    size = 20  # as the work is sent to each process only once

    def __init__(self, count: int) -> None:
        from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
        from multiprocessing import get_context

        count = count or processors()
        # A copy of this process, which has no other thread yet, starts in 10 ms, a new one in 200.
        context = get_context("fork" if sys.platform == "linux" else None)
        self.broken = (BrokenExecutor,)
        self._new = partial(ProcessPoolExecutor, count, context, _begin)
        self.most = LISTS_PER_PROCESS * count

    def start(self, work: Callable[[list[Item]], Result]) -> Callable[[list[Item]], Future[Result]]:
        self.executor = self._new((work,))

        def submit(items: list[Item]) -> Future[Result]:
            try:
                return self.executor.submit(_do, items)
            except OSError as error:
                raise fail(f"no process can be started: {reason_of(error)}") from None

        return submit

    def stop(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)


class Call(partial[Any]):
    """A call that is made when it is unpickled: a cluster waits without end for what cannot be."""

    def __reduce__(self) -> tuple[Any, ...]:
        return self.func, self.args


def _pickled(work: Callable[[list[Item]], object], items: list[Item]) -> bytes:
    return pickle.dumps(work(items))


NO_SCHEDULER = "its scheduler does not answer any more"
NO_WORKER = "no worker runs, such as `dask worker` starts"


class Cluster(Pool):
    """The workers of a cluster of dask.distributed; an InputError says what they lack, or lose."""

    def __init__(self, address: str) -> None:
        import logging

        try:
            from distributed import Client, KilledWorker
        except ImportError:
            raise not_installed("a cluster needs dask.distributed", "distributed") from None
        self.address = visible(address)
        try:
            self.client = Client(address, set_as_default=False, timeout=CONNECTING_SECONDS)
        except (OSError, ValueError):
            message = f"no scheduler of dask.distributed answers at {self.address}"
            hint = "`dask scheduler` starts one and prints its address, such as tcp://10.0.0.1:8786"
            raise fail(message, hint=hint) from None
        self._wait_for_worker()
        versions = self.client.get_versions(packages=["attncli"])
        own = versions["client"]["packages"]["attncli"]
        for worker, about in versions["workers"].items():
            if (other := about["packages"].get("attncli")) != own:
                raise self._lost(f"{worker} has attn {other or 'not installed'}, not {own}")
        super().__init__(self.client.get_executor(), sum(self.client.ncores().values()))
        self.broken = (KilledWorker,)
        logging.disable()  # the library's tracebacks say no more than the error below

    def start(self, work: Callable[[list[Item]], Result]) -> Callable[[list[Item]], Future[Result]]:
        return lambda items: self.executor.submit(
            pickle.loads, pickle.dumps(Call(_pickled, work, items))
        )

    def result(self, future: Future[Any]) -> Any:
        from concurrent.futures import CancelledError  # few runs need it

        while True:
            try:
                return pickle.loads(future.result(CONNECTING_SECONDS))
            except TimeoutError:
                self._wait_for_worker()
            except CancelledError:
                raise self._lost(NO_SCHEDULER) from None
            except Exception as error:
                if isinstance(error, (InputError, MemoryError, *self.broken)):
                    raise
                raise self._lost(f"{type(error).__name__}: {error}") from None

    def _wait_for_worker(self) -> None:
        try:
            self.client.wait_for_workers(1, CONNECTING_SECONDS)
        except OSError:
            is_there = self.client.status == "running"  # else it tries to connect again
            raise self._lost(NO_WORKER if is_there else NO_SCHEDULER) from None

    def _lost(self, reason: str) -> InputError:
        done = f"{self.done:,} of {self.total:,}" if self.total else f"{self.done:,}"
        hint = "its machines need the version of attn that is here; --jobs 0 needs no others"
        return fail(f"the cluster of {self.address} failed: {reason}; done: {done}", hint=hint)


def in_order(
    work: Callable[[list[Item]], Result],
    lists: Iterable[list[Item] | None],
    pool: Pool,
    lost: Callable[[Item], Result],
    singly: Callable[[list[Item]], Iterable[Item]] = iter,
) -> Iterator[tuple[list[Item], Result]]:
    """Yield lists of items with their results, in order.

    If a process ends, the lists that were on their way are worked again, item by item.

    Args:
        work: returns the result of a list.
        lists: may hold None where the next list may come late: then all others are finished first.
        pool: where the work is done.
        lost: returns what stands for the result of an item whose process ended again.
        singly: returns the items of a list that are then worked by themselves.
    """
    most, submit = pool.most or MAX_SUBMITTED, pool.start(work)
    waiting: deque[tuple[list[Item], Future[Result]]] = deque()

    def sent(items: list[Item]) -> Future[Result]:
        nonlocal submit
        try:
            return submit(items)
        except pool.broken:
            pool.stop()
            submit = pool.start(work)
            return submit(items)

    def alone(item: Item) -> tuple[list[Item], Result]:
        try:
            return [item], pool.result(sent([item]))
        except pool.broken:
            return [item], lost(item)

    def first() -> Iterator[tuple[list[Item], Result]]:
        items, future = waiting.popleft()
        try:
            results = iter([(items, pool.result(future))])
        except pool.broken:
            results = map(alone, singly(items))
        yield from results

    try:
        for items in chain(lists, [None]):
            # If the pool is broken, all are done: they are worked again before others are sent.
            while waiting and (not items or len(waiting) >= most or waiting[0][1].done()):
                yield from first()
            if items:
                waiting.append((items, sent(items)))
    finally:
        pool.stop()


_work: Callable[[Any], Any]
"""The function that this process of a pool applies to lists."""


def _begin(work: Callable[[Any], Any]) -> None:
    """Prepare a process of a pool, which is a copy of its parent: it ends with the parent."""
    from multiprocessing import parent_process
    from threading import Thread

    global _work  # noqa: PLW0603 - a process of a pool has no other place that lasts
    _work = work
    gc.freeze()  # what there is now is shared with the parent
    gc.enable()
    os.environ["OMP_NUM_THREADS"] = "1"  # the other processors are for the other processes
    for number in (signal.SIGINT, signal.SIGTERM):
        if callable(signal.getsignal(number)):  # which would undo what the parent writes
            signal.signal(number, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None
    Thread(target=_end_after, args=(parent.join,), daemon=True).start()


def _end_after(wait: Callable[[], None]) -> None:
    wait()
    os._exit(1)


def _do(items: list[Any]) -> Any:
    return _work(items)

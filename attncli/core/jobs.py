"""Work on chunks in other processes, on this machine or on many, with the results in order.

Scheduling is left to `concurrent.futures` and to clusters; here is only a bounded window of
futures, and what becomes of chunks whose process ended.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Item = TypeVar("Item")
Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

CHUNKS_PER_PROCESS = 3
"""Number of chunks that are on their way for each process: one that it works on, and two that wait,
so that it need not wait for the others. Chosen."""

WINDOW = 64
"""Number of chunks on their way to an executor that does not tell how many workers it has. Chosen."""


BATCH, SMALL_BATCH = 100, 20
"""Number of submissions, or of problems, in a chunk. What they share, such as the right numbers,
travels with each chunk, but to a process on this machine only once. Chosen."""


class Pool:
    """An executor of the caller's, who ends it and starts it again if it breaks."""

    broken: tuple[type[BaseException], ...] = ()
    """The errors by which a future tells that the process with its chunk ended."""

    batch = BATCH

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        workers: int = getattr(executor, "_max_workers", 0)
        self.window = CHUNKS_PER_PROCESS * workers or WINDOW

    def start(self, work: Callable[[Chunk], Result]) -> Callable[[Chunk], Future[Result]]:
        """Return what submits a chunk."""
        return lambda chunk: self.executor.submit(work, chunk)

    def stop(self) -> None:
        """Leave the executor as it is, for it is the caller's."""


class Processes(Pool):
    """Processes on this machine, which end with this one; 0 is one for each processor."""

    batch = SMALL_BATCH

    def __init__(self, count: int) -> None:
        from concurrent.futures import BrokenExecutor

        self.broken = (BrokenExecutor,)
        self.count = count or processors()
        self.window = CHUNKS_PER_PROCESS * self.count

    def start(self, work: Callable[[Chunk], Result]) -> Callable[[Chunk], Future[Result]]:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # A copy of this process, which has one thread here, starts in 10 ms, a new one in 200 ms.
        context = get_context("fork" if sys.platform == "linux" else None)
        self.executor = ProcessPoolExecutor(self.count, context, _begin, (work,))
        return lambda chunk: self.executor.submit(_do, chunk)

    def stop(self) -> None:
        """End the processes when they have done what they work on."""
        self.executor.shutdown(wait=False, cancel_futures=True)


class Cluster(Pool):
    """The workers of a cluster of dask.distributed, by the address of its scheduler."""

    def __init__(self, address: str) -> None:
        from distributed import Client, KilledWorker

        self.broken = (KilledWorker,)
        self.client = Client(address, set_as_default=False)
        super().__init__(self.client.get_executor())
        self.window = CHUNKS_PER_PROCESS * sum(self.client.ncores().values())


def processors() -> int:
    """Return the number of processors that this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")  # as Linux has
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def in_order(
    work: Callable[[list[Item]], Result],
    chunks: Iterable[list[Item] | None],
    pool: Pool,
    lost: Callable[[Item], Result],
) -> Iterator[Result]:
    """Yield the result of each chunk, in the order of the chunks.

    If a process of a pool that can be started again ends, all chunks that were on their way are
    worked again, one by one. The items of a chunk that ends its process again are worked each by
    itself, with a result of its own, to find the one that does.

    Args:
        work: makes a result of a chunk; both can be pickled, and so can the results.
        chunks: None among them says that the next may come late: until then all are finished.
        pool: where the work is done.
        lost: returns what stands for the result of an item that ended its process.
    """
    submit = pool.start(work)
    waiting: deque[tuple[list[Item], Future[Result]]] = deque()

    def again(chunk: list[Item]) -> Iterator[Result]:
        nonlocal submit
        try:
            future = submit(chunk)
        except pool.broken:
            pool.stop()
            submit = pool.start(work)
            future = submit(chunk)
        try:
            result = future.result()
        except pool.broken:
            if len(chunk) > 1:
                for item in chunk:
                    yield from again([item])
                return
            result = lost(chunk[0])
        yield result

    def first() -> Iterator[Result]:
        chunk, future = waiting.popleft()
        try:
            result = future.result()
        except pool.broken:
            yield from again(chunk)
        else:
            yield result

    try:
        for chunk in chunks:
            # If the pool is broken, all futures are done: their chunks are worked before others.
            while waiting and (
                chunk is None or len(waiting) >= pool.window or waiting[0][1].done()
            ):
                yield from first()
            if chunk is not None:
                try:
                    waiting.append((chunk, submit(chunk)))
                except pool.broken:
                    while waiting:
                        yield from first()
                    yield from again(chunk)
        while waiting:
            yield from first()
    finally:
        pool.stop()


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of so many items; the last may have fewer."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


_work: Callable[[Any], Any]
"""What a process of a pool does; it is that process's alone."""


def _begin(work: Callable[[Any], Any]) -> None:
    """Prepare a process of a pool: it does `work`, and ends with the process that started it."""
    from multiprocessing import parent_process
    from threading import Thread

    global _work  # noqa: PLW0603 - a process of a pool has no other place that lasts
    _work = work
    gc.freeze()  # what is there is shared with the parent, and never collected
    gc.enable()
    for number in (signal.SIGINT, signal.SIGTERM):
        if callable(signal.getsignal(number)):  # copied from the parent: it would undo its files
            signal.signal(number, signal.SIG_DFL)
    if (parent := parent_process()) is not None:

        def end_with_parent() -> None:
            parent.join()
            os._exit(1)

        Thread(target=end_with_parent, daemon=True).start()


def _do(chunk: Any) -> Any:
    return _work(chunk)

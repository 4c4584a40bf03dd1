"""Tasks over threads, with the matrix products of NumPy held to one thread each.

The matrix products of a tile are too small for several threads, but NumPy lets other threads run
while it calculates: 8 heads of 4,096 tokens take 0.5 s on two threads, and 1.2 s on one.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import Lock, Thread
from typing import TypeVar

from attncli.core.arithmetic.memory import room_within_limit

Task = TypeVar("Task")

OPENBLAS = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)
"""Names of the functions that get and set the number of threads of OpenBLAS, by its build."""

THREAD_BYTES = 110_000_000
"""Address space of a thread: 64 MB for its objects, 8 MB for its stack, 35 MB for OpenBLAS."""

_BLAS_LOCK = Lock()


def threads_available() -> int:
    """Return the number of threads worth starting: one if those of BLAS cannot be held to one each.

    Otherwise it is the number of processors of this process, or less by OMP_NUM_THREADS or memory.
    """
    if _blas_threads() is None:
        return 1
    has_affinity = hasattr(os, "sched_getaffinity")  # as Linux has
    count = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    count = max(min(count, room_within_limit() // THREAD_BYTES), 1)
    most = os.environ.get("OMP_NUM_THREADS", "")
    return min(count, int(most)) if most.isdecimal() and int(most) else count


def over_threads(work: Callable[[Task], None], tasks: Sequence[Task], threads: int) -> None:
    """Do tasks in order on several threads, where matrix products take one thread each.

    Raises:
        Exception: that of the first task that failed; no other is begun after that.
    """
    numbered, errors = enumerate(tasks), dict[int, BaseException]()

    def run() -> None:
        for number, task in numbered:
            if errors and min(errors) < number:
                return
            try:
                work(task)
            except BaseException as error:
                errors[number] = error

    # This thread is the first: memory that it allocates is used again.
    others = [Thread(target=run) for _ in range(min(threads, len(tasks)) - 1)]
    with one_blas_thread() if others else nullcontext():
        for thread in others:
            thread.start()
        run()
        for thread in others:
            thread.join()
    if errors:
        raise errors[min(errors)]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, in the whole process, as OpenBLAS has no other way.

    Its other threads take as much time as this one while they wait for the next product. A second
    calculation waits, or it would restore the one thread instead of the usual number.
    """
    functions = _blas_threads()
    if functions is None:  # another BLAS
        yield
        return
    read, write = functions
    with _BLAS_LOCK:
        before = read()
        write(1)
        try:
            yield
        finally:
            write(before)


def _blas_threads() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return the functions of the OpenBLAS that NumPy has loaded; None if it uses another BLAS."""
    names = "numpy._core._multiarray_umath", "numpy.core._multiarray_umath"
    module = next((sys.modules[name] for name in names if name in sys.modules), None)
    if module is None or module.__file__ is None:
        return None
    # The names are looked up in the extension and in the libraries that it has loaded.
    library = ctypes.CDLL(module.__file__)
    for name in OPENBLAS:
        if hasattr(library, name.format("set")):
            read, write = getattr(library, name.format("get")), getattr(library, name.format("set"))
            write.argtypes, write.restype = [ctypes.c_int], None
            return read, write
    return None

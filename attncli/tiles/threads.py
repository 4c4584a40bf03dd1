"""Tasks over threads, with NumPy's matrix products held to one thread each.

A matrix product of one tile is too small to be worth two threads, and between two products they
would wait for each other. NumPy lets other threads run while it calculates.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from threading import Lock, Thread
from typing import TypeVar

T = TypeVar("T")

Work = Callable[[T], None]

BLAS_FUNCTIONS = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)
"""Names of the functions that get and set the number of threads of OpenBLAS, by its build."""


def threads_available() -> int:
    """Return the number of threads worth starting: one if those of BLAS cannot be held to one each.

    Otherwise it is the number of processors of this process, or OMP_NUM_THREADS if that is less.
    """
    if _blas_threads() is None:
        return 1
    has_affinity = hasattr(os, "sched_getaffinity")  # as Linux has
    count = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    most = os.environ.get("OMP_NUM_THREADS", "")
    return min(count, int(most)) if most.isdecimal() and int(most) else count


def over_threads(start: Callable[[], Work[T]], tasks: Iterable[T], threads: int) -> None:
    """Do tasks in order on several threads, of which this one is the first.

    Args:
        start: called once in every thread; returns the function that does a task there.
        tasks: what there is to do.
        threads: the number of threads; with several, a matrix product takes one thread.

    Raises:
        Exception: that of the earliest task that failed, when the other threads have stopped.
    """
    rest, errors = deque(enumerate(tasks)), dict[int, BaseException]()

    def run() -> None:
        number = -1
        try:
            work = start()
            while True:
                try:
                    number, task = rest.popleft()
                except IndexError:  # another thread may have taken the last one
                    return
                work(task)
        except BaseException as error:
            rest.clear()
            errors[number] = error

    others = [Thread(target=run) for _ in range(min(threads, len(rest)) - 1)]
    with _one_thread_each() if others else nullcontext():
        for thread in others:
            thread.start()
        run()
        for thread in others:
            thread.join()
    if errors:
        raise errors[min(errors)]


_LOCK = Lock()
_HOLDERS: list[int] = []
"""The number of threads of BLAS before it was held, once for each calculation that holds it."""


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let BLAS take one thread; the last calculation to end sets its earlier number again.

    This holds for the whole process, as OpenBLAS has no other way.
    """
    blas = _blas_threads()
    assert blas is not None  # or there would be one thread, and nothing to hold
    read, write = blas
    with _LOCK:
        _HOLDERS.append(_HOLDERS[0] if _HOLDERS else read())
        write(1)
    try:
        yield
    finally:
        with _LOCK:
            before = _HOLDERS.pop()
            if not _HOLDERS:
                write(before)


@cache
def _blas_threads() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return the functions of the OpenBLAS that NumPy has loaded; None where it uses another."""
    module = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get(
        "numpy.core._multiarray_umath"
    )
    if module is None or module.__file__ is None:
        return None
    # The names are looked up in the extension and in the libraries that it has loaded.
    library = ctypes.CDLL(module.__file__)
    for name in BLAS_FUNCTIONS:
        if hasattr(library, name.format("set")):
            read, write = getattr(library, name.format("get")), getattr(library, name.format("set"))
            write.argtypes, write.restype = [ctypes.c_int], None
            return read, write
    return None

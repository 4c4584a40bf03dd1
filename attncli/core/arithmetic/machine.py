"""The machine: its free memory, its processors, and tasks over threads.

Numbers that do not fit into the memory are an error in plain words. The matrix products of a tile
are too small for several threads of BLAS, but NumPy lets other threads run while it calculates: 8
heads of 4,096 tokens take 0.5 s on two threads, and 1.2 s on one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from threading import RLock, Thread
from typing import TypeVar

UNKNOWN = 2**62
"""A number of bytes that is no bound, where the system does not tell one."""

LIMITS = (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData"))
"""Limits of a process, of its addresses (`ulimit -v`) and of the memory that is its own, and what
Linux calls how much of each is used."""


def free_memory() -> int:
    """Return how many bytes are free within all limits, as far as the system tells."""
    free = _read("/proc/meminfo", "MemAvailable:", 1024)
    limit = _read("/sys/fs/cgroup/memory.max")
    if limit < UNKNOWN:  # of a container
        free = min(free, limit - _read("/sys/fs/cgroup/memory.current"))
    return max(min(free, room_within_limit()), 0)


def room_within_limit() -> int:
    """Return how many more bytes this process may take by its own limits (`ulimit -v`)."""
    room = UNKNOWN
    with suppress(ImportError, OSError):  # Windows has no such limits
        import resource

        for limit, used in LIMITS:
            most, _ = resource.getrlimit(getattr(resource, limit))
            if most != resource.RLIM_INFINITY:
                room = min(room, most - _in_use(used))
    return room


def keep_within_memory() -> None:
    """Let an allocation fail, which raises an error, before the system ends the whole process."""
    free = free_memory()
    with suppress(ImportError, OSError, ValueError):
        import resource

        if free < UNKNOWN:
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (_in_use("VmData") + free, hard))


def _in_use(kind: str) -> int:
    used = _read("/proc/self/status", f"{kind}:", 1024)
    return 0 if used == UNKNOWN else used


def _read(file: str, name: str = "", unit: int = 1) -> int:
    """Return the number behind a name in a file of the system, or its first; UNKNOWN if none is."""
    with suppress(OSError, ValueError, IndexError):
        words = Path(file).read_text().split()
        return int(words[words.index(name) + 1 if name else 0]) * unit
    return UNKNOWN


def of_bytes(count: int) -> str:
    """Return a number of bytes as people say it.

    >>> of_bytes(38_400_000_000)
    '38.4 GB'
    """
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if count >= size:
            return f"{count / size:,.3g} {unit}"
    return f"{count} bytes"


Task = TypeVar("Task")

OPENBLAS = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)
"""Names of the functions that get and set the number of threads of OpenBLAS, by its build."""

THREAD_BYTES = 110_000_000
"""Address space of a thread: 64 MB for its objects, 8 MB for its stack, 35 MB for OpenBLAS."""

_BLAS_LOCK = RLock()


def processors() -> int:
    """Return the number of processors that this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")  # as Linux has
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def threads_available() -> int:
    """Return the number of threads worth starting: one if those of BLAS cannot be held to one each.

    Otherwise it is the number of processors of this process, or less by OMP_NUM_THREADS or memory.
    """
    if _blas_threads() is None:
        return 1
    count = max(min(processors(), room_within_limit() // THREAD_BYTES), 1)
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
    return _openblas_of(module.__file__)


@cache
def _openblas_of(extension: str) -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return the functions of an extension of NumPy: to find them takes 0.1 ms, twice in a layer.

    The names are looked up in the extension and in the libraries that it has loaded.
    """
    import ctypes  # which NumPy has imported

    library = ctypes.CDLL(extension)
    for name in OPENBLAS:
        if hasattr(library, name.format("set")):
            read, write = getattr(library, name.format("get")), getattr(library, name.format("set"))
            write.argtypes, write.restype = [ctypes.c_int], None
            return read, write
    return None

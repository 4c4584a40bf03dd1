"""How much memory is free, so that numbers that do not fit are an error in plain words."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

UNKNOWN = 2**62
"""A number of bytes that is no bound, where the system does not tell one."""

NEVER_USED = 2**30
"""Bytes of the address space that libraries reserve and never use, such as stacks of threads."""


def free_memory() -> int:
    """Return how many bytes are free within all limits, as far as the system tells."""
    found = _read("/proc/meminfo", r"MemAvailable:\s+(\d+) kB", 1024)
    limit = _read("/sys/fs/cgroup/memory.max")
    if limit < UNKNOWN:  # of a container
        found = min(found, limit - _read("/sys/fs/cgroup/memory.current"))
    return max(min(found, room_within_limit()), 0)


def room_within_limit() -> int:
    """Return how many more bytes this process may take by its own limit (`ulimit -v`)."""
    with suppress(ImportError, OSError):  # Windows has no such limits
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            return most - _in_use()
    return UNKNOWN


def keep_within_memory() -> None:
    """Let an allocation fail, which raises an error, before the system ends the whole process."""
    free = free_memory()
    with suppress(ImportError, OSError, ValueError):
        import resource

        most, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = _in_use() + free + NEVER_USED
        if free < UNKNOWN and (most == resource.RLIM_INFINITY or wanted < most):
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _in_use() -> int:
    """Return the bytes of its address space that this process uses."""
    pages = _read("/proc/self/statm")
    return 0 if pages == UNKNOWN else pages * os.sysconf("SC_PAGE_SIZE")


def _read(file: str, pattern: str = r"(\d+)", unit: int = 1) -> int:
    """Return a number in a file of the system; UNKNOWN if it is not there."""
    with suppress(OSError):
        if found := re.search(pattern, Path(file).read_text()):
            return int(found[1]) * unit
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

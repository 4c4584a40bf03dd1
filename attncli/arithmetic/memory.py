"""How much memory there is for numbers, so that what does not fit is told and not tried."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

UNKNOWN = 2**62
"""Stands for memory that nobody tells of: no bound."""

RESERVED = 2**30
"""What libraries reserve of the address space and never use, such as stacks of threads."""


def free_memory() -> int:
    """Return how many bytes can be taken, as far as the system tells: free ones, within limits."""
    found = _told(Path("/proc/meminfo"), r"MemAvailable:\s+(\d+) kB", 1024)
    limit = _told(Path("/sys/fs/cgroup/memory.max"), r"(\d+)", 1)
    if limit < UNKNOWN:  # of a container
        found = min(found, limit - _told(Path("/sys/fs/cgroup/memory.current"), r"(\d+)", 1))
    return max(min(found, room_within_limit()), 0)


def room_within_limit() -> int:
    """Return how many bytes more this process may take, such as `ulimit -v` lets it."""
    with suppress(ImportError, OSError):  # Windows has no such limits
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            return most - _in_use()
    return UNKNOWN


def keep_within_memory() -> None:
    """Let an allocation fail, which can be told, before the system ends the whole process."""
    free = free_memory()
    with suppress(ImportError, OSError, ValueError):
        import resource

        most, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = _in_use() + free + RESERVED
        if free < UNKNOWN and (most == resource.RLIM_INFINITY or wanted < most):
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _in_use() -> int:
    """Return how many bytes of its address space this process has in use."""
    pages = _told(Path("/proc/self/statm"), r"(\d+)", 1)
    return 0 if pages == UNKNOWN else pages * os.sysconf("SC_PAGE_SIZE")


def _told(file: Path, pattern: str, unit: int) -> int:
    """Return a number that the system tells in a file; UNKNOWN where it does not."""
    with suppress(OSError):
        if found := re.search(pattern, file.read_text()):
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

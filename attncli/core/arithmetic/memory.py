"""How much memory is free, so that numbers that do not fit are an error in plain words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

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

"""How much memory this process may still take."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows
    resource = None

# Control groups of version 2 and version 1: folder, limit, and what is taken of it.
_CONTROL_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available_memory() -> float:
    """Bytes that can be allocated: the least of what the machine, a container and ulimit leave.

    Infinite if nobody knows.
    """
    return min(max(0.0, left) for left in (math.inf, *_left()))


def _left() -> Iterator[float]:
    machine = _of_machine()
    if machine is not None:
        yield machine
    for folder, limit, taken in _CONTROL_GROUPS:
        limit, taken = _number_in(f"{folder}/{limit}"), _number_in(f"{folder}/{taken}")
        if limit is not None and taken is not None:
            # Files that were read count as taken, and make room when it is needed.
            yield limit - taken + (_number_in(f"{folder}/memory.stat", "inactive_file") or 0.0)
    if resource is not None:
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = _number_in("/proc/self/statm")
        if limit != resource.RLIM_INFINITY and pages is not None:
            yield limit - pages * resource.getpagesize()


def _of_machine() -> float | None:
    """Bytes of physical memory that are free or can be freed."""
    available = _number_in("/proc/meminfo", "MemAvailable:")
    if available is not None:
        return 1024.0 * available
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def _number_in(path: str, word: str | None = None) -> float | None:
    """The number that a file begins with, or that follows a word at the beginning of a line."""
    try:
        for line in Path(path).read_text().splitlines():
            parts = line.split()
            if word is None or parts[:1] == [word]:
                return float(parts[0 if word is None else 1])
    except (OSError, ValueError, IndexError):
        pass
    return None

"""Threads for native calls, and memory: how much there is, and refusing what would not fit."""

import math
import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

# Arrays of fewer numbers are not worth asking the system whether there is room for them.
_FEW_NUMBERS = 2**21


class CallGroup(NamedTuple):
    """Calls that may be made in any order, and in threads if they are native."""

    calls: list[Callable[[], None]]
    is_native: bool


class Workers:
    """Threads that run groups of short calls, and say how much is done."""

    def __init__(self, n_threads: int, progress: Callable[[float], None] | None) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._window = 4 * n_threads
        self._progress = progress
        self._done = 0.0

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def run(self, group: CallGroup, share: float) -> None:
        """Run all calls; an error or an interrupt drops those that have not begun.

        `share` is the part of the whole work that they make up.
        """
        start, step = self._done, share / max(1, len(group.calls))
        if self._pool is None or not group.is_native:
            for call in group.calls:
                call()
                self._advance(step)
        else:
            pending = set()
            for call in group.calls:
                pending.add(self._pool.submit(call))
                while len(pending) >= self._window:
                    pending = self._collect(pending, step)
            while pending:
                pending = self._collect(pending, step)
        self._done = start + share

    def _collect(self, pending: set, step: float) -> set:
        # With a timeout, so that an interrupt gets through on every platform.
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
            self._advance(step)
        return pending

    def _advance(self, step: float) -> None:
        self._done += step
        if self._progress is not None:
            self._progress(min(1.0, self._done))


class MemoryLimit(float):
    """Bytes that may be taken, and where the limit comes from, as a clause for messages."""

    def __new__(cls, n_bytes: float, origin: str) -> "MemoryLimit":
        limit = super().__new__(cls, n_bytes)
        limit.origin = origin
        return limit


def memory_limit(max_memory: float | None) -> MemoryLimit:
    """The bytes that may be taken: those that are available, if nobody says."""
    if max_memory is None:
        return available_memory()
    return MemoryLimit(max_memory, "which max_memory sets")


def available_memory() -> MemoryLimit:
    """Bytes that this process can still get; infinite if nobody knows.

    The least of the physical memory that is free or can be freed, of what the control group leaves
    (containers and job queues set one), and of the limit of the address space (``ulimit -v``).
    """
    n_bytes, origin = min(
        (_physical(), "all that is free on this machine"),
        (_control_group(), "all that its container or job queue leaves this process"),
        (_address_space(), "all that the limit of the address space leaves (ulimit -v)"),
    )
    return MemoryLimit(max(0.0, n_bytes), origin)


def refuse_if_too_large(needed: int, limit: MemoryLimit, what: str, cure: str) -> None:
    """Raise a MemoryError that says what takes how much, who sets the limit, and what to do."""
    if needed > limit:
        # Whole numbers: the bytes for very many columns are beyond every float.
        raise MemoryError(
            f"{what} about {readable(needed)}, more than the limit of {readable(limit)}, "
            f"{limit.origin}. {cure}"
        )


def refuse_array(n_numbers: int, what: str, cure: str) -> None:
    """Refuse an array of so many floats if it would not fit."""
    if n_numbers > _FEW_NUMBERS:
        refuse_if_too_large(8 * n_numbers, available_memory(), what, cure)


def readable(n_bytes: int | float) -> str:
    """A number of bytes for a message."""
    whole = int(n_bytes)
    if whole < 10**15:
        return f"{whole} bytes ({whole / 1e9:.3g} GB)"
    return f"1e{len(str(whole)) - 1} bytes"


def _physical() -> float:
    available = _field("/proc/meminfo", "MemAvailable:")
    if available is not None:
        return available
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _control_group() -> float:
    for folder, limit, used, cached in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ):
        try:
            # "max" where there is no limit. What is used includes files that can be dropped.
            room = float(Path(folder, limit).read_text()) - float(Path(folder, used).read_text())
            statistics = dict(map(str.split, Path(folder, "memory.stat").read_text().splitlines()))
            return room + float(statistics.get(cached, 0))
        except (OSError, ValueError):
            continue
    return math.inf


def _address_space() -> float:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, OSError, ValueError):
        return math.inf
    if limit == resource.RLIM_INFINITY:
        return math.inf
    return limit - (_field("/proc/self/status", "VmSize:") or 0.0)


def _field(path: str, name: str) -> float | None:
    """Bytes of a field that the system gives in units of 1024."""
    try:
        with open(path) as lines:
            line = next(line for line in lines if line.startswith(name))
        return 1024.0 * int(line.split()[1])
    except (OSError, StopIteration, ValueError):
        return None

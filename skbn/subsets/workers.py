"""Threads for short native calls."""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import NamedTuple


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

"""Run steps on threads: each starts when its upstreams are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Node:
    """A task that runs after others; `after` may name tasks that are not in the schedule.

    A `tolerant` node also runs if those failed: it checks what is missing. Nodes in `later_than`
    are only waited for, with any result.
    """

    name: str
    after: tuple[str, ...]
    tolerant: bool = False
    later_than: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepActions(Generic[Result]):
    """How nodes are processed: `do` on a thread; `skip` at once for one with a failed upstream.

    `failed` returns whether a result stops later nodes.
    """

    do: Callable[[str], Result]
    skip: Callable[[str, str], Result]
    failed: Callable[[Result], bool]


class Schedule(Generic[Result]):
    """Nodes in topological order, run on at most `threads` threads.

    After a failure, dependent nodes are skipped and the others continue; with `fail_fast` no new
    node starts. `bad` are names that failed before.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        work: StepActions[Result],
        threads: int,
        bad: Iterable[str] = (),
    ) -> None:
        """Store the nodes; start no thread yet."""
        self._waiting = {node.name: node for node in nodes}
        self._work = work
        self._threads = max(1, threads)
        self._bad = set(bad)
        self._running: dict[Future[Result], str] = {}
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="step")
        self._stopped = False

    def results(self, *, fail_fast: bool = False) -> Iterator[Result]:
        """Yield results as they arrive."""
        while self._waiting or self._running:
            yield from self._start()
            if self._running:
                ended, _ = wait(self._running, return_when=FIRST_COMPLETED)
                yield from self._take(ended, fail_fast=fail_fast)
        self._pool.shutdown()

    def stop(self) -> Iterator[Result]:
        """Start no more nodes; yield the running ones, then the rest as skipped."""
        self._stopped = True
        yield from self.results()

    def _start(self) -> Iterator[Result]:
        for node in list(self._waiting.values()):
            hangs = () if node.tolerant else node.after
            blocker = next((up for up in hangs if up in self._bad), "")
            if blocker or self._stopped:
                del self._waiting[node.name]
                self._bad.add(node.name)
                yield self._work.skip(node.name, blocker)
            elif len(self._running) < self._threads and not any(
                up in self._waiting or up in self._running.values()
                for up in (*node.after, *node.later_than)
            ):
                del self._waiting[node.name]
                self._running[self._pool.submit(self._work.do, node.name)] = node.name

    def _take(self, ended: Iterable[Future[Result]], *, fail_fast: bool) -> Iterator[Result]:
        for future in ended:
            name = self._running.pop(future)
            result = future.result()
            if self._work.failed(result):
                self._bad.add(name)
                self._stopped = self._stopped or fail_fast
            yield result

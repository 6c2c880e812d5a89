"""Running steps on threads: each starts when its upstreams are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Node:
    """Something to do after others; `after` may name what is not in the schedule."""

    name: str
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Work(Generic[Result]):
    """How nodes are done: `do` on a thread; `skip` at once for one that hangs on a failure.

    `failed` says whether a result stops what comes after it.
    """

    do: Callable[[str], Result]
    skip: Callable[[str, str], Result]
    failed: Callable[[Result], bool]


def scheduled(
    nodes: Sequence[Node], work: Work[Result], threads: int, *, fail_fast: bool
) -> Iterator[Result]:
    """Yield results as they come; nodes are in topological order.

    After a failure the nodes that hang on it are skipped, the others go on; with `fail_fast`
    nothing new starts. An interrupt of the caller waits for nothing: see `app.run`.
    """
    waiting = {node.name: node for node in nodes}
    bad: set[str] = set()
    done: set[str] = set()
    running: dict[Future[Result], str] = {}
    stop = False
    with ThreadPoolExecutor(max_workers=max(1, threads), thread_name_prefix="step") as pool:
        while waiting or running:
            for node in list(waiting.values()):
                blocker = next((up for up in node.after if up in bad), "")
                if blocker or stop:
                    del waiting[node.name]
                    bad.add(node.name)
                    yield work.skip(node.name, blocker)
                elif len(running) < threads and not _open(node, waiting, running):
                    del waiting[node.name]
                    running[pool.submit(work.do, node.name)] = node.name
            if not running:
                continue
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                name = running.pop(future)
                result = future.result()
                if work.failed(result):
                    bad.add(name)
                    stop = stop or fail_fast
                else:
                    done.add(name)
                yield result


def _open(node: Node, waiting: dict[str, Node], running: dict[Future[Result], str]) -> bool:
    return any(up in waiting or up in running.values() for up in node.after)

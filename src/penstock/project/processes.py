"""Work on all cores: plain processes that read a pickle from stdin and write one to stdout.

Parsers and highlighters hold the interpreter's lock, `multiprocessing` imports the user's main
module again, and a fork of a process with threads may hang (decision 27).
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def shared(items: Sequence[Item], least: int) -> list[Sequence[Item]]:
    """Split items into a share for each core, none of them much smaller than `least`.

    >>> shared("abc", 4)
    ['abc']
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    number = min(cores, len(items) // least) or 1
    return [items[start::number] for start in range(number)]


def on_all_cores(
    shares: Sequence[Item],
    work: Callable[[Item], Answer],
    request: Callable[[Item], tuple[str, object]],
) -> list[Answer]:
    """Return the answer for each share; the first is worked on here, others in processes.

    `request` names a module whose `serve` calls `answer`, and what it gets. A share whose process
    fails is worked on here as well.
    """
    own, *others = shares
    with ThreadPoolExecutor(max(1, len(others))) as waiting:
        asked = [waiting.submit(_elsewhere, *request(each)) for each in others]
        found = [work(own)]
        for given, each in zip(asked, others, strict=True):
            there = given.result()
            found.append(work(each) if there is None else there[0])  # type: ignore[arg-type]
    return found


def _elsewhere(module: str, request: object) -> tuple[object] | None:
    """Return the answer of another process; None if it fails."""
    command = [sys.executable, "-P", "-c", f"from {module} import serve; serve()"]
    try:
        done = subprocess.run(command, input=pickle.dumps(request), capture_output=True, check=True)
        return (pickle.loads(done.stdout),)  # noqa: S301  what `answer` wrote
    except (OSError, ValueError, subprocess.SubprocessError, pickle.PickleError, EOFError):
        return None


def answer(work: Callable[..., object]) -> None:
    """Call a function with the arguments in stdin and write what it returns to stdout."""
    given = pickle.load(sys.stdin.buffer)  # noqa: S301  from who started it
    sys.stdout.buffer.write(pickle.dumps(work(*given)))

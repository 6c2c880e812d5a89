"""What Spark's JVM says of itself in a run's log when it is about to die, or has died."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HEAD_BYTES, _TAIL_BYTES = 1 << 20, 3 << 20
_SHOWN = 160
_NEWEST = 5

_MORE_CODE = (
    "give the target more room: conf: {spark.driver.extraJavaOptions: "
    "-XX:ReservedCodeCacheSize=512m}"
)
_MORE_MEMORY = "raise driver_memory of the target's spark, or lower --threads"
_SIGNS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (rb"Out of space in CodeCache[^\r\n]*", _MORE_CODE),
        (rb"Code(?:Cache|Heap '[^'\n]{1,40}') is full\. Compiler has been disabled", _MORE_CODE),
        (rb"java\.lang\.OutOfMemoryError[^\r\n]*", _MORE_MEMORY),
        (rb"There is insufficient memory for the Java Runtime Environment", _MORE_MEMORY),
        (
            rb"A fatal error has been detected by the Java Runtime Environment",
            "the log names the file in which Java describes it; another version of Java may help",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Sign:
    """Something in a log that a healthy JVM does not say, how often, and what helps."""

    says: str
    times: int
    hint: str


def signs_in(log: Path) -> tuple[Sign, ...]:
    """Find the signs in a log; of a large one only its first and its last megabytes are read."""
    told = _ends_of(log)
    return tuple(_found(told))


def _found(told: bytes) -> Iterator[Sign]:
    for pattern, hint in _SIGNS:
        lines = pattern.findall(told)
        if lines:
            says = lines[0].decode("utf-8", "replace").strip()[:_SHOWN]
            yield Sign(says, len(lines), hint)


def _ends_of(log: Path) -> bytes:
    try:
        with log.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            size = file.seek(0, 2)
            file.seek(max(len(head), size - _TAIL_BYTES))
            return head + b"\n" + file.read(_TAIL_BYTES)
    except OSError:
        return b""


def warnings_of(log: Path) -> tuple[str, ...]:
    """Word the signs in a run's log, each with what helps."""
    return tuple(
        f"spark-in-trouble: Spark's log says {_times(sign)}: {log}; {sign.hint}"
        for sign in signs_in(log)
    )


def newest_with_signs(folder: Path) -> tuple[Path, tuple[Sign, ...]] | None:
    """Give the newest of the last five logs that has a sign; logs are named in their order."""
    logs = sorted(folder.glob("*.log"), reverse=True)[:_NEWEST]
    found = ((log, signs_in(log)) for log in logs)
    return next((each for each in found if each[1]), None)


def _times(sign: Sign) -> str:
    return f"'{sign.says}'" + (f" ({sign.times} times)" if sign.times > 1 else "")

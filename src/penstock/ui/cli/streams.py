"""The streams of a command: only the answer goes to stdout, and a lost reader stops nothing."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO, cast

from penstock.core.masking import SECRETS

_STANDARD = ("stdin", "stdout", "stderr")
_USUAL, _NARROWEST = 80, 20
"""Characters of a line where a terminal does not know it, and those that any table needs."""


class MaskedStream:
    """A text stream that hides secret values of all writers.

    A closed pipe or a full disk does not stop the command: later text is dropped, and `lost` has
    the reason.
    """

    def __init__(self, stream: TextIO) -> None:
        """Wrap a stream."""
        self._stream = stream
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write the text without secret values."""
        if self.lost is None:
            try:
                return self._stream.write(SECRETS.hide(text))
            except OSError as error:
                self._lose(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the texts one after another."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Pass on what was written."""
        if self.lost is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._lose(error)

    def _lose(self, error: OSError) -> None:
        self.lost = error
        with suppress(OSError):  # flushing the rest of the buffer must not fail again
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> object:
        """Pass everything else on to the stream."""
        return getattr(self._stream, name)


_ANSWERS: list[TextIO] = []


def answer() -> TextIO:
    """Return the stream for the command's answer; user files print to `sys.stdout`."""
    return _ANSWERS[-1] if _ANSWERS else sys.stdout


def lost_answer() -> OSError | None:
    """Return why the answer could not be written; None if it was, or if the pipe was closed."""
    lost: OSError | None = getattr(answer(), "lost", None)
    return None if lost is None or lost.errno == errno.EPIPE else lost


def is_drawn_on(stream: TextIO) -> bool:
    """Return whether there is a terminal behind a stream that can do more than print lines."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width(stream: TextIO) -> int | None:
    """Return how many characters a line of the terminal has; None where there is no terminal."""
    if not stream.isatty():
        return None
    try:
        found = int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        found = 0
    return max(found, _NARROWEST) if found else _USUAL


@contextmanager
def command_streams(*, own_process: bool) -> Iterator[None]:
    """Mask stdout and stderr, and keep stdout for the answer.

    In our own process this lasts until it ends, so that a bug's traceback is masked too, and output
    of subprocesses and libraries to descriptor 1 goes to stderr.
    """
    SECRETS.add_environment(os.environ)
    if own_process:
        _hold_descriptors()
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):  # a path may hold bytes that are not text
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = cast("TextIO", MaskedStream(sys.stderr))
    sys.stdout = cast("TextIO", MaskedStream(_apart() if own_process else sys.stdout))
    _ANSWERS.append(sys.stdout)
    try:
        yield
    finally:
        sys.stdout.flush()
        answer().flush()
        if not own_process:
            sys.stdout, sys.stderr = before
            _ANSWERS.pop()


def _hold_descriptors() -> None:
    """Open standard descriptors that are closed, so that no file gets their numbers."""
    for number in range(len(_STANDARD)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    for number, name in enumerate(_STANDARD):
        if getattr(sys, name) is None:
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _apart() -> TextIO:
    """Move stdout to another descriptor; descriptor 1 becomes stderr."""
    own = os.dup(1)
    os.dup2(2, 1)
    encoding = sys.stdout.encoding
    return open(own, "w", encoding=encoding, errors="backslashreplace")  # noqa: PTH123


def keep_answer_apart() -> None:
    """Send further prints to stderr; only `answer()` writes to stdout."""
    sys.stdout = sys.stderr

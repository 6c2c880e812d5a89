"""The process that holds a JVM between commands, and its protocol with commands.

A JVM of Spark ends when no process holds the write end of its standard input. A command that is
done passes that end to a keeper, and the next command takes it from there. So a running command
alone holds its JVM, and the JVM ends with it. The keeper imports only the standard library: it runs
as a file, in its own Python (docs/decisions/0029-a-warm-jvm.md).
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import selectors
import signal
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

_ANSWER_SECONDS = 5.0
_END_SECONDS = 10.0
_LOOK_SECONDS = 30.0
_CHUNK = 1 << 16
_ENDING = ".sock"
_LONGEST_FOLDER = 80  # a socket's whole path has 103 bytes where it may have the fewest
_LINE = b"\n"


@dataclass(frozen=True, slots=True)
class JvmCard:
    """Public facts about a waiting JVM: its owner, and until when it waits."""

    root: str
    target: str
    pid: int
    until: float


@dataclass(frozen=True, slots=True)
class JvmAddress:
    """The connection to a JVM, and the key of commands that may use it.

    `key` is a digest of everything that a command must share with the one that started it.
    """

    key: str
    port: int
    secret: str


@dataclass(frozen=True, slots=True)
class WarmJvm:
    """A JVM for a command: its connection, and both of its ends, which are now ours."""

    pid: int
    port: int
    secret: str
    stdin: int
    output: int


def folder(environ: Mapping[str, str], *, make: bool = False) -> Path | None:
    """Return the user's folder of sockets; None if there is none that only the user can access."""
    home = environ.get("XDG_RUNTIME_DIR")
    ours = f"penstock-{_user()}"
    found = Path(home, "penstock") if home else Path(tempfile.gettempdir(), ours)
    if len(os.fsencode(found)) > _LONGEST_FOLDER:
        found = Path("/tmp", ours)  # noqa: S108  as good as any: it is looked at whose it is
    try:
        if make:
            found.mkdir(mode=0o700, exist_ok=True)
        is_ours = _is_ours(found.lstat(), stat.S_ISDIR)
    except OSError:
        return None
    return found if is_ours else None


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1


def _is_ours(entry: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    return is_kind(entry.st_mode) and entry.st_uid == _user() and not entry.st_mode & 0o077


def sockets(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the sockets of the user's keepers."""
    found = folder(environ)
    return tuple(sorted(found.glob(f"*{_ENDING}"))) if found else ()


def socket_path(home: Path, name: str) -> Path:
    """Return the socket path of a keeper by name."""
    return home / f"{name}{_ENDING}"


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[socket.socket]:
    """Connect to a keeper; raise `OSError` if none of ours listens."""
    if not _is_ours(path.lstat(), stat.S_ISSOCK):
        raise PermissionError(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.settimeout(_ANSWER_SECONDS)
        made.connect(str(path))
        yield made


def ask(path: Path, word: str) -> JvmCard | None:
    """Ask a keeper for its `status`, or to `stop`; return None without an answer."""
    try:
        with _connected(path) as made:
            made.sendall(json.dumps({"do": word}).encode() + _LINE)
            made.settimeout(_ANSWER_SECONDS + _END_SECONDS)
            return JvmCard(**json.loads(_line(made)))
    except (OSError, ValueError, TypeError):
        return None


def take(path: Path, key: str) -> WarmJvm | None:
    """Take the JVM of a keeper; return None if none listens or its JVM does not match.

    A keeper whose JVM does not match ends it.
    """
    ends: list[int] = []
    try:
        with _connected(path) as made:
            made.sendall(json.dumps({"do": "take", "key": key}).encode() + _LINE)
            said, ends, _, _ = socket.recv_fds(made, _CHUNK, 2)
            answer = json.loads(said if said.endswith(_LINE) else said + _line(made))
            stdin, output = ends
            for end in ends:
                os.set_inheritable(end, False)  # noqa: FBT003  its only argument
            return WarmJvm(answer["pid"], answer["port"], answer["secret"], stdin, output)
    except (OSError, ValueError, KeyError):
        for end in ends:
            os.close(end)
        return None


def listening(path: Path) -> socket.socket | None:
    """Open the socket of a new keeper; return None if another one listens there."""
    import fcntl

    with path.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists() and ask(path, "status") is not None:
            return None
        path.unlink(missing_ok=True)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.bind(str(path))
            path.chmod(0o600)
            made.listen()
        except OSError:
            made.close()
            raise
        return made


def orders(card: JvmCard, address: JvmAddress, ends: tuple[int, int, int]) -> bytes:
    """Return the input of a new keeper: `ends` are its socket and those of the JVM."""
    return json.dumps([asdict(card), asdict(address), *ends]).encode() + _LINE


def _line(client: socket.socket) -> bytes:
    """Read up to the end of a line; return an empty line if it has no end."""
    text = b""
    while not text.endswith(_LINE):
        more = client.recv(_CHUNK)
        if not more:
            raise ValueError("the line has no end")
        text += more
    return text


class Keeper:
    """Holds one JVM until a command takes it, its time is over, or it ends."""

    def __init__(
        self, card: JvmCard, address: JvmAddress, listener: socket.socket, stdin: int, output: int
    ) -> None:
        """Take over the socket and both ends of the JVM from the command."""
        self._card, self._address, self._listener = card, address, listener
        self._stdin, self._output = stdin, output
        self._path = Path(listener.getsockname())

    def keep(self) -> None:
        """Wait; on return the JVM belongs to another process, or has ended."""
        with selectors.DefaultSelector() as waiting:
            for each in (self._listener, self._output):
                waiting.register(each, selectors.EVENT_READ)
            while (left := self._card.until - time.time()) > 0 and Path(self._card.root).is_dir():
                ready = [key.fileobj for key, _ in waiting.select(min(left, _LOOK_SECONDS))]
                if self._output in ready and not os.read(self._output, _CHUNK):
                    break  # it ended by itself
                if self._listener in ready and self._answer():
                    return
        self._end()

    def _answer(self) -> bool:
        """Answer one command; return True if there is no JVM left to hold."""
        caller, _ = self._listener.accept()
        with caller:
            caller.settimeout(_ANSWER_SECONDS)
            try:
                asked = json.loads(_line(caller))
                return self._carry_out(caller, asked["do"], asked.get("key", ""))
            except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no command of ours
                return False

    def _carry_out(self, caller: socket.socket, word: str, key: str) -> bool:
        card, address = self._card, self._address
        if word == "take" and hmac.compare_digest(key, address.key):
            self._leave()
            said = {"pid": card.pid, "port": address.port, "secret": address.secret}
            with contextlib.suppress(OSError):  # who asked is gone: the JVM ends with us
                ends = [self._stdin, self._output]
                socket.send_fds(caller, [json.dumps(said).encode() + _LINE], ends)
            return True
        if is_over := word in ("take", "stop"):
            self._end()  # before the answer: another JVM may want its ports
        with contextlib.suppress(OSError):
            caller.sendall(json.dumps(asdict(card)).encode() + _LINE)
        return is_over

    def _leave(self) -> None:
        """Remove the name before the socket: a name that exists must have a live listener."""
        self._path.unlink(missing_ok=True)
        self._listener.close()

    def _end(self) -> None:
        """Let the JVM end as at the end of a command; kill it if it does not."""
        self._leave()
        os.close(self._stdin)
        until = time.monotonic() + _END_SECONDS
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._output, selectors.EVENT_READ)
            while waiting.select(max(0.0, until - time.monotonic())):
                if not os.read(self._output, _CHUNK):
                    return
        os.kill(self._card.pid, signal.SIGKILL)  # its end is open: the number is still its own


def main() -> None:
    """Hold the JVM that the parent command describes."""
    card, address, listener, stdin, output = json.loads(sys.stdin.readline())
    heard = socket.socket(fileno=listener)
    Keeper(JvmCard(**card), JvmAddress(**address), heard, stdin, output).keep()


if __name__ == "__main__":
    main()

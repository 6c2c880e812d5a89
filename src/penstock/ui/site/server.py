"""Serve a site on this machine from memory; open pages learn what changed.

It answers GET alone, and only requests for the address that it was started with: foreign pages,
which a browser here may have open, get nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from penstock.core.errors import PenstockError

Contents = Mapping[str, str]
"""Files of data by name."""
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".txt": "text/plain"}
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_LOADING = 60.0
"""Seconds between the moment when a page loads its data and its first question for changes."""
_ALIVE = 15.0
"""Seconds after which a line keeps a connection open to which nothing was sent."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class LiveSite:
    """The data of a site as they are now, and those who wait for a change."""

    def __init__(self, read: Callable[[], Contents]) -> None:
        """Read the data once."""
        self._read = read
        self._changed = threading.Condition()
        self._versions: dict[str, int] = {}
        self._version = 0
        self._times: list[tuple[float, int]] = []
        self.contents: Contents = {}
        self.update()

    def update(self) -> None:
        """Read the data again, and tell who waits which files changed."""
        found = self._read()
        with self._changed:
            names = {n for n in {*found, *self.contents} if found.get(n) != self.contents.get(n)}
            if names:
                self._version += 1
                self._times.append((time.monotonic(), self._version))
                self._versions |= dict.fromkeys(names, self._version)
                self.contents = found
                self._changed.notify_all()

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return self._version

    def version_before(self, seconds: float) -> int:
        """Return the number of changes that are older than this."""
        then = time.monotonic() - seconds
        with self._changed:
            self._times = [each for each in self._times if each[0] > then]
            return self._times[0][1] - 1 if self._times else self._version

    def changes(self, after: int, seconds: float) -> tuple[int, tuple[str, ...]]:
        """Wait for a change after a version; return the version then, and the files' names."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > after, seconds)
            names = sorted(name for name, version in self._versions.items() if version > after)
            return self._version, tuple(names)


class SiteServer(ThreadingHTTPServer):
    """A server of one site; `bundle` is the folder of its pages."""

    daemon_threads = True

    def __init__(self, host: str, port: int, bundle: Path, site: LiveSite) -> None:
        """Listen; raise `OSError` if the port is taken."""
        self.bundle, self.site = bundle, site
        self.is_open, self._host = True, host
        super().__init__((host, port), _Answers)
        port = self.server_address[1]
        names = {host, *(_LOOPBACK if host in _LOOPBACK else ())}
        self.hosts = {f"{name}:{port}" for name in names} | (names if port == 80 else set())  # noqa: PLR2004  HTTP's own

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{self._host}:{self.server_address[1]}/"

    def close(self) -> None:
        """End the waiting of open pages, then the server."""
        self.is_open = False
        self.shutdown()
        self.server_close()


class _Answers(BaseHTTPRequestHandler):
    server: SiteServer
    server_version = "penstock"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with a page, a file of data, or changes as they come."""
        if self.headers.get("Host", "") not in self.server.hosts:
            self._send(HTTPStatus.FORBIDDEN, b"This server answers only for its own address.\n")
            return
        path = self.path.partition("?")[0].lstrip("/") or "index.html"
        if path == "events":
            self._send_events()
            return
        name = path.removeprefix("data/").removesuffix(".js")
        text = self.server.site.contents.get(name) if path.startswith("data/") else None
        if text is not None:
            self._send(HTTPStatus.OK, text.encode(), ".js")
        elif path in {each.name for each in self.server.bundle.iterdir()}:
            self._send(HTTPStatus.OK, (self.server.bundle / path).read_bytes(), Path(path).suffix)
        else:
            self._send(HTTPStatus.NOT_FOUND, b"There is no such page.\n")

    def _send(self, status: HTTPStatus, content: bytes, suffix: str = ".txt") -> None:
        self.send_response(status)
        kind = _TYPES.get(suffix, "application/octet-stream")
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def _send_events(self) -> None:
        """Send the names of changed files until the page or the server goes away."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        version = self.server.site.version_before(_LOADING)
        try:
            while self.server.is_open:
                version, names = self.server.site.changes(version, _ALIVE)
                line = f"data: {json.dumps({'chunks': names})}\n\n" if names else ": alive\n\n"
                self.wfile.write(line.encode())
                self.wfile.flush()
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
        """Write nothing: a page asks all the time."""


def serve(server: SiteServer, every: float) -> None:
    """Serve until the process is interrupted; look for changes again after `every` seconds.

    Looking never takes more than half of a processor: the pause is at least as long as it took.
    While the project cannot be read, for example in the middle of an edit, pages keep what they
    show.
    """
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    took = 0.0
    try:
        while True:
            time.sleep(max(every, took))
            began = time.monotonic()
            with suppress(PenstockError, OSError):
                server.site.update()
            took = time.monotonic() - began
    finally:
        server.close()

"""Programs that are told about runs: one that records requests, one that never answers."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Receiver:
    """A server that records the JSON document of each POST."""

    url: str = ""
    status: int = 200
    documents: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    """Serve until the block ends; each answer has the status."""
    receiver = Receiver(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.documents.append(json.loads(body))
            receiver.paths.append(self.path)
            receiver.headers.append(dict(self.headers))
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()


@contextmanager
def silent_receiver() -> Iterator[str]:
    """Accept connections and never answer; give the URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def receiver_that_is_down() -> str:
    """Give the URL of a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}"

"""A line to a PostgreSQL server that is slow, or cut for a while; it counts round trips."""

import socket
import threading
import time
from contextlib import closing, contextmanager, suppress


class Proxy:
    """Passes bytes between a TCP port of this machine and the socket of a server."""

    def __init__(self, server: str, seconds: float = 0.0) -> None:
        self.connections = 0
        self.round_trips = 0
        self._server, self._pause = server, seconds / 2
        self._is_cut = threading.Event()
        self._open: set[socket.socket] = set()
        self._port = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, name: str, user: str) -> str:
        host, port = self._port.getsockname()
        return f"postgresql+psycopg://{user}@{host}:{port}/{name}"

    def cut(self) -> None:
        """Break every connection, and those to come, until `mend`."""
        self._is_cut.set()
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def mend(self, server: str = "") -> None:
        """Pass bytes again, from now on to another server if one is named."""
        self._server = server or self._server
        self._is_cut.clear()

    def close(self) -> None:
        self.cut()
        self._port.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._port.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        with closing(client), closing(server), suppress(OSError):
            if self._is_cut.is_set():
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.connect(self._server)
            self.connections += 1
            self._open |= {client, server}
            asked = threading.Event()
            back = threading.Thread(target=self._pass, args=(server, client, asked, False))
            back.start()
            self._pass(client, server, asked, True)
            back.join()
        self._open -= {client, server}

    def _pass(self, source, sink, asked, is_question) -> None:
        """Pass bytes one way; a question that follows an answer is a round trip."""
        with suppress(OSError):
            while read := source.recv(1 << 16):
                time.sleep(self._pause)
                if is_question and not asked.is_set():
                    self.round_trips += 1
                asked.set() if is_question else asked.clear()
                sink.sendall(read)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(server: str, seconds: float = 0.0):
    """Open a proxy in front of a server's socket; the block ends it."""
    proxy = Proxy(server, seconds)
    try:
        yield proxy
    finally:
        proxy.close()

"""Buckets for tests: of a server that is started once, and in memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import count
from pathlib import Path

import pytest

from penstock.core.storage import StoreAccess
from penstock.engine.disk.buckets import BUCKETS
from penstock.engine.disk.disks import disk_at

SERVER = Path(__file__).with_name("object_server.py")
KEY, SECRET = "AKIDOFTESTS", "secret-of-tests"


@dataclass
class ObjectServer:
    """A server of S3 on this machine, and what it was asked."""

    endpoint: str
    names: count[int] = field(default_factory=lambda: count(1))

    @property
    def access(self) -> StoreAccess:
        credentials = {"access_key_id": KEY, "secret_access_key": SECRET}
        return StoreAccess(self.endpoint, "us-east-1", **credentials, allow_http=True)

    def bucket(self, begins: str = "lake") -> str:
        """Make a bucket and give its name."""
        name = f"{begins}-{next(self.names)}"
        self.ask("PUT", f"/{name}")
        return name

    def put(self, uri: str) -> None:
        """Put an empty object, whose name may end with a slash."""
        self.ask("PUT", f"/{uri.partition('://')[2]}")

    def requests(self) -> list[str]:
        """Give the requests since the last time that this was asked."""
        return self.ask("GET", "/_requests").splitlines()

    def ask(self, method: str, path: str) -> str:
        connection = HTTPConnection(self.endpoint.partition("://")[2])
        connection.request(method, path, body=b"")
        text = connection.getresponse().read().decode()
        connection.close()
        return text


@pytest.fixture(scope="session")
def object_server():
    # not by its folder, whose modules have names of others
    command = [sys.executable, "-P", str(SERVER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield ObjectServer(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.kill()


@pytest.fixture
def bucket(object_server):
    """Give the location of a new bucket, which the disk of this process reaches."""
    BUCKETS.use({"s3://": object_server.access})
    yield ObjectPath(f"s3://{object_server.bucket()}")
    BUCKETS.use({})


@pytest.fixture
def memory_bucket():
    """Give the location of a bucket in memory."""
    from obstore.store import MemoryStore

    from penstock.engine.disk.objects import ObjectDisk

    BUCKETS.disks["memory"] = ObjectDisk(MemoryStore())
    yield ObjectPath("s3://memory")
    BUCKETS.disks.clear()


@dataclass(frozen=True)
class ObjectPath:
    """A location in a bucket, with the words of `Path` that tests need."""

    uri: str

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(f"{self.uri}/{name}")

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.uri.rpartition("/")[0])

    def mkdir(self, **_: bool) -> None:
        """Make nothing: a folder is there with its first file."""

    def touch(self) -> None:
        self.write_bytes(b"")

    def write_bytes(self, content: bytes) -> None:
        disk_at(self.uri).put(self.uri, content)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        self.write_bytes(text.encode(encoding))

    def read_text(self, encoding: str = "utf-8") -> str:
        with disk_at(self.uri).open(self.uri) as file:
            return file.read().decode(encoding)

    def unlink(self) -> None:
        from obstore import delete

        delete(disk_at(self.uri)._store, self.uri.split("/", 3)[3])

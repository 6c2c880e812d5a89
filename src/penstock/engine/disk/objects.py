"""Buckets as disks, with `obstore`: no JVM, and few requests, because each takes a round trip."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Literal, NoReturn

from penstock.core.errors import TableError
from penstock.core.ports.engine import FileStat, FolderEntry, Newest
from penstock.core.storage import StoreAccess, bucket_and_key

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore import GetOptions, ObjectMeta
    from obstore.store import ObjectStore

_CHUNK = 1 << 20
"""How many bytes one request reads; most files of a log are smaller."""
_FOLDER = FileStat(0, 0, 0, 0, is_folder=True)
_LAST = 10**20 - 1
"""The greatest number that fits into the name of a log file."""
_PAGE = 1000
"""How many files a request lists."""
_DIGIT = re.compile(r"[0-9]")
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REFUSED = ("401", "403")


class ObjectDisk:
    """The `Disk` of a bucket; a folder exists while an object, or its own marker, is below it."""

    def __init__(self, store: ObjectStore, access: StoreAccess | None = None) -> None:
        """Take a store; errors name the place in `penstock.yml` that configures it."""
        self._store, self._access = store, access or StoreAccess()

    def exists(self, uri: str) -> bool:
        """See `Disk.exists`."""
        return self.stat(uri) is not None

    def stat(self, uri: str) -> FileStat | None:
        """See `Disk.stat`; a file takes one request."""
        found = self._head(uri)
        if found is None and any(True for _ in self._below(uri)):
            return _FOLDER
        return found

    def entries(self, uri: str) -> list[FolderEntry]:
        """See `Disk.entries`."""
        from obstore import list_with_delimiter

        path = _path(uri)
        with self._explaining(uri):
            found = list_with_delimiter(self._store, path or None)
        folders, files = found["common_prefixes"], found["objects"]
        if path and not folders and not files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
        names = [(each, True) for each in folders]
        names += [(each["path"], False) for each in files if each["path"] != path]  # its marker
        return [FolderEntry(name.rpartition("/")[2], is_folder) for name, is_folder in names]

    def listed(self, uri: str) -> ObjectTree:
        """See `Disk.listed`: one listing, in pages of a thousand files."""
        return ObjectTree(uri, self._below(uri), self._head)

    def files_after(self, folder: str, name: str) -> list[str]:
        """See `Disk.files_after`."""
        root = f"{_path(folder)}/"
        names = (each["path"].removeprefix(root) for each in self._below(folder, root + name))
        return [each for each in names if "/" not in each and each > name]

    def newest(self, folder: str, name_of: Callable[[int], str], first: int) -> Newest | None:
        """See `Disk.newest`; one request, which lists only what follows."""
        root, files = f"{_path(folder)}/", dict[str, FileStat]()
        above = root + name_of(first).partition(".")[0]  # files beside it may sort before it
        for place, each in enumerate(self._below(folder, above)):
            name = each["path"].removeprefix(root)
            if name <= name_of(_LAST):
                files[name] = _stat(each)
            elif place >= _PAGE:  # the first page is here anyway, and may be in any order
                break
        number = first
        while name_of(number) in files:
            number += 1
        newest, form = name_of(number - 1), _DIGIT.sub("0", name_of(first))
        if number == first or any(e > newest and _DIGIT.sub("0", e) == form for e in files):
            return None
        return Newest(number - 1, files)

    def open(self, uri: str) -> BinaryIO:
        """See `Disk.open`; a file of up to 1 MB takes one request."""
        return io.BufferedReader(ObjectFile(self, uri), _CHUNK)

    def part(self, uri: str, start: int, end: int, etag: str = "") -> tuple[bytes, FileStat]:
        """Return bytes of a file; raise `OSError` if its etag is a different one."""
        from obstore import get

        options: GetOptions = {"range": (start, end)}
        if etag:
            options["if_match"] = etag
        with self._explaining(uri):
            found = get(self._store, _path(uri), options=options)
            content = bytes(found.bytes())
        return content, _stat(found.meta)

    def put(self, uri: str, content: bytes) -> None:
        """See `Disk.put`."""
        self._write(uri, content, is_new=False)

    def put_if_absent(self, uri: str, content: bytes) -> bool:
        """See `Disk.put_if_absent`.

        False can also mean that the answer to an earlier try was lost: read the file to be sure.
        """
        return self._write(uri, content, is_new=True)

    def drop(self, uri: str) -> None:
        """See `Disk.drop`; markers of empty folders stay, because `obstore` cannot name them."""
        from obstore import delete

        paths = [each["path"] for each in self._below(uri)]
        with self._explaining(uri):
            delete(self._store, paths)

    def _write(self, uri: str, content: bytes, *, is_new: bool) -> bool:
        from obstore import put
        from obstore.exceptions import AlreadyExistsError

        mode: Literal["create", "overwrite"] = "create" if is_new else "overwrite"
        try:
            with self._explaining(uri, AlreadyExistsError):
                put(self._store, _path(uri), content, mode=mode, use_multipart=False)
        except AlreadyExistsError:
            return False
        except FileNotFoundError:  # what is not there can only be the bucket
            self._refuse(uri, "404", "NoSuchBucket")
        return True

    def _head(self, uri: str) -> FileStat | None:
        from obstore import head

        if not _path(uri):
            return None
        try:
            with self._explaining(uri):
                return _stat(head(self._store, _path(uri)))
        except FileNotFoundError:
            return None

    def _below(self, uri: str, after: str | None = None) -> Iterator[ObjectMeta]:
        from obstore import list as pages

        with self._explaining(uri):
            for page in pages(self._store, _path(uri) or None, offset=after):
                yield from page

    @contextmanager
    def _explaining(self, uri: str, *others: type[Exception]) -> Iterator[None]:
        """Report a failure in one sentence of our own: the store's text may contain credentials."""
        from obstore.exceptions import BaseError, PreconditionError

        try:
            yield
        except others:
            raise
        except PreconditionError:
            raise OSError(errno.ESTALE, "it changed while it was read", uri) from None
        except ValueError:
            raise OSError(errno.EINVAL, "a name here has a control character", uri) from None
        except (BaseError, OSError) as error:
            status, code = (each.search(str(error)) for each in (_STATUS, _CODE))
            words = (status[1] if status else "", code[1] if code else "")
            if isinstance(error, FileNotFoundError) and words[1] != "NoSuchBucket":
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri) from None
            self._refuse(uri, *words)

    def _refuse(self, uri: str, status: str, code: str) -> NoReturn:
        why = " ".join(filter(None, (status, code)))
        if code == "NoSuchBucket":
            sentence, hint = f"the bucket of {uri} does not exist", "create it, or correct the name"
            raise TableError("bucket-missing", sentence, where=self._access.where, hint=hint)
        if status in _REFUSED:
            sentence = f"the store refuses access to {uri}: {why}"
            hint = "check the keys, the rights of the user, and region"
            raise TableError("store-refused", sentence, where=self._access.where, hint=hint)
        seconds = f"{self._access.timeout.total_seconds():g} s"
        sentence = f"the store of {uri} "
        sentence += f"answers {why}" if why else f"does not answer within {seconds}"
        hint = "check endpoint and the network, then repeat the command; nothing is half-written"
        raise TableError("store-unreachable", sentence, where=self._access.where, hint=hint)


def _path(uri: str) -> str:
    return bucket_and_key(uri)[1]


def _stat(meta: ObjectMeta) -> FileStat:
    time = int(meta["last_modified"].timestamp() * 1_000_000) * 1000
    return FileStat(meta["size"], time, time, 0, is_folder=False, etag=meta["e_tag"] or "")


class ObjectTree:
    """The `FolderTree` of one listing; a file that was deleted later is still in it."""

    def __init__(
        self, uri: str, objects: Iterable[ObjectMeta], head: Callable[[str], FileStat | None]
    ) -> None:
        """Sort the objects into folders; `head` requests one by its location."""
        self._root, self._head = _path(uri), head
        self._files: dict[str, FileStat] = {}
        self._folders: dict[str, set[str]] = {}
        for each in objects:
            self._files[each["path"]] = _stat(each)
            self._enter(each["path"])

    def _enter(self, path: str) -> None:
        while path not in ("", self._root):
            above, _, name = path.rpartition("/")
            names = self._folders.setdefault(above, set())
            if name in names:
                return
            names.add(name)
            path = above

    def stat(self, uri: str) -> FileStat | None:
        """See `FolderTree.stat`."""
        path = _path(uri)
        found = self._files.get(path)
        if path in self._folders:
            return _FOLDER
        if found is not None and not found.size and self._head(uri) is None:
            return _FOLDER  # a marker of an empty folder is listed as an empty file
        return found

    def entries(self, uri: str) -> list[FolderEntry]:
        """See `FolderTree.entries`."""
        path = _path(uri)
        if path not in self._folders:
            if path in self._files and not self._files[path].size:
                return []
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
        below = f"{path}/" if path else ""
        return [
            FolderEntry(name, f"{below}{name}" in self._folders) for name in self._folders[path]
        ]


class ObjectFile(io.RawIOBase):
    """A file of a bucket, read in parts that all belong to the file as first opened."""

    def __init__(self, disk: ObjectDisk, uri: str) -> None:
        """Read the first part; raise `FileNotFoundError` if the file does not exist."""
        self._disk, self._uri, self._place = disk, uri, 0
        try:
            self._first, self._stat = disk.part(uri, 0, _CHUNK)
        except TableError:
            known = disk.stat(uri)  # of an empty file there is no part
            if known is None or known.is_folder or known.size:
                raise
            self._first, self._stat = b"", known

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position of the next read."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._stat.size}[whence]
        self._place = start + offset
        return self._place

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read as much as fits into the buffer, or the rest."""
        view = memoryview(buffer)
        content = self._read(len(view))
        view[: len(content)] = content
        return len(content)

    def readall(self) -> bytes:
        """Read the rest, with one request at most."""
        return self._read(self._stat.size)

    def _read(self, length: int) -> bytes:
        start = self._place
        end = min(start + length, self._stat.size)
        if start >= end:
            return b""
        if end <= len(self._first):
            content = self._first[start:end]
        else:
            content, _ = self._disk.part(self._uri, start, end, self._stat.etag)
        self._place += len(content)
        return content

"""What every Disk promises, and every Folders above one."""

import os
from pathlib import Path

import pytest

from fakes.disk import MemoryDisk
from fakes.folders import FakeFolders
from fakes.object_store import ObjectPath
from penstock.core.ports.engine import FolderEntry
from penstock.engine.disk.disks import DiskFolders, LocalDisk, disk_at


class FakeWorld:
    """Folders in memory."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folders = FakeFolders()
        self.disk = MemoryDisk()
        self.root = "/w/staging"

    def make(self, *paths: str) -> None:
        for path in paths:
            self.folders.make(f"{self.root}/{path}")


class DiskWorld:
    """Folders of this machine, by their paths."""

    disk = LocalDisk()

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folders = DiskFolders()
        self.folder = folder / "a folder"
        self.root = str(self.folder)

    def make(self, *paths: str) -> None:
        for path in paths:
            (self.folder / path).mkdir(parents=True)
            (self.folder / path / "part-0.parquet").touch()


class UriWorld(DiskWorld):
    """Folders of this machine, by URIs."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        super().__init__(folder, monkeypatch)
        self.root = f"file://{self.folder}"


class NoLinksWorld(DiskWorld):
    """A file system of this machine without hard links."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise PermissionError

        super().__init__(folder, monkeypatch)
        monkeypatch.setattr(os, "link", refuse)


class BucketWorld:
    """Folders of a bucket: of a server, or in memory."""

    def __init__(self, bucket: ObjectPath) -> None:
        self.folders = DiskFolders()
        self.root = f"{bucket}/a folder"
        self.disk = disk_at(self.root)

    def make(self, *paths: str) -> None:
        for path in paths:
            self.disk.put(f"{self.root}/{path}/part-0.parquet", b"")


@pytest.fixture(params=[FakeWorld, DiskWorld, UriWorld, NoLinksWorld, "memory_bucket", "bucket"])
def world(request, tmp_path, monkeypatch):
    if isinstance(request.param, str):
        return BucketWorld(request.getfixturevalue(request.param))
    return request.param(tmp_path, monkeypatch)


def test_a_file_is_read_back_and_a_later_one_takes_its_place(world):
    place = f"{world.root}/log/0.json"

    world.disk.put(place, b"first")
    world.disk.put(place, b"second")

    with world.disk.open(place) as file:
        file.seek(2)
        assert file.read() == b"cond"
    assert world.disk.entries(f"{world.root}/log/") == [FolderEntry("0.json", False)]
    assert (world.disk.stat(place).size, world.disk.stat(place).is_folder) == (6, False)


def test_folders_are_told_from_files_and_from_what_is_not_there(world):
    world.disk.put(f"{world.root}/a/b/c", b"")
    world.disk.put(f"{world.root}/a/d", b"")

    entries = world.disk.entries(f"{world.root}/a")
    assert sorted(entries) == [FolderEntry("b", True), FolderEntry("d", False)]
    assert world.disk.stat(f"{world.root}/a").is_folder
    assert world.disk.stat(f"{world.root}/a/d/e") is world.disk.stat(f"{world.root}/b") is None
    assert [world.disk.exists(f"{world.root}/{each}") for each in ("a", "a/d", "b")] == [
        True,
        True,
        False,
    ]
    for read in (world.disk.entries, world.disk.open):
        with pytest.raises(FileNotFoundError):
            read(f"{world.root}/b")


def test_one_of_several_writers_puts_a_file_that_was_absent(world):
    place = f"{world.root}/log/0.json"

    assert [world.disk.put_if_absent(place, each) for each in (b"first", b"second")] == [
        True,
        False,
    ]

    with world.disk.open(place) as file:
        assert file.read() == b"first"
    assert world.disk.entries(f"{world.root}/log") == [FolderEntry("0.json", False)]


def test_the_newest_of_numbered_files_is_found_from_one_that_is_there(world):
    for number in range(5, 18):
        world.disk.put(f"{world.root}/log/{number:020d}.json", b"")
    world.disk.put(f"{world.root}/log/{17:020d}.crc", b"")
    world.disk.put(f"{world.root}/log/_sidecars/1.parquet", b"")

    found = [world.disk.newest(f"{world.root}/log", "{:020d}.json".format, n) for n in (5, 17, 4)]

    assert [each and each.number for each in found] == [17, 17, None]


def test_files_of_a_folder_are_listed_from_a_name_on(world):
    for name in ("1.json", "2.crc", "2.json", "3.json", "_sidecars/4.json", "_last"):
        world.disk.put(f"{world.root}/log/{name}", b"")

    found = world.disk.files_after(f"{world.root}/log", "2.crc")

    assert sorted(each for each in found if each.endswith("json")) == ["2.json", "3.json"]


def test_what_is_below_a_folder_is_listed(world):
    for name in ("a/b/c", "a/d", "e"):
        world.disk.put(f"{world.root}/{name}", name.encode())

    tree = world.disk.listed(f"{world.root}/a")

    assert sorted(tree.entries(f"{world.root}/a/")) == [("b", True), ("d", False)]
    assert tree.stat(f"{world.root}/a/b").is_folder
    assert tree.stat(f"{world.root}/a/b/c").size == 5
    assert tree.stat(f"{world.root}/a/nowhere") is None
    with pytest.raises(FileNotFoundError):
        world.disk.listed(f"{world.root}/nowhere").entries(f"{world.root}/nowhere")


def test_a_file_is_read_from_any_place_on_however_large_it_is(world):
    content = bytes(range(256)) * 12_000  # 3 MB
    world.disk.put(f"{world.root}/large", content)
    world.disk.put(f"{world.root}/empty", b"")

    with world.disk.open(f"{world.root}/large") as file:
        assert file.read(3) == content[:3]
        assert file.seek(-5, os.SEEK_END) == len(content) - 5
        assert file.read() == content[-5:]
        file.seek(1_500_000)
        assert file.read(7) == content[1_500_000:1_500_007]
        file.seek(0)
        assert file.read() == content
    with world.disk.open(f"{world.root}/empty") as file:
        assert file.read() == b""


def test_dropping_takes_a_folder_with_its_files(world):
    world.disk.put(f"{world.root}/a/b/c", b"")

    world.disk.drop(f"{world.root}/a")
    world.disk.drop(f"{world.root}/nowhere")

    assert not world.disk.exists(f"{world.root}/a/b/c")


def test_the_names_of_folders_are_sorted(world):
    world.make("b", "a", "a/below")

    assert world.folders.names(world.root) == ("a", "b")


def test_a_folder_that_is_not_there_has_no_folders(world):
    assert world.folders.names(f"{world.root}/nowhere") == ()


def test_dropping_a_folder_takes_all_in_it_and_nothing_beside(world):
    world.make("s__t__1", "s__t__1/rows", "s__t__12")

    world.folders.drop(f"{world.root}/s__t__1")

    assert world.folders.names(world.root) == ("s__t__12",)


def test_dropping_a_folder_that_is_not_there_is_no_error(world):
    world.folders.drop(f"{world.root}/nowhere")
    world.make("a")
    world.folders.drop(f"{world.root}/a/nowhere/")

    assert world.folders.names(world.root) == ("a",)

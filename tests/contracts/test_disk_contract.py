"""What every Disk promises, and every Folders above one."""

import os
from pathlib import Path

import pytest

from fakes.disk import MemoryDisk
from fakes.folders import FakeFolders
from penstock.core.ports.engine import FolderEntry
from penstock.engine.disk.disks import DiskFolders, LocalDisk


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


@pytest.fixture(params=[FakeWorld, DiskWorld, UriWorld, NoLinksWorld])
def world(request, tmp_path, monkeypatch):
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

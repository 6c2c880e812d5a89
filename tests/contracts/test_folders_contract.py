"""What every Folders promises."""

from pathlib import Path

import pytest

from fakes.folders import FakeFolders
from penstock.engine import staged_files
from penstock.engine.staged_files import DiskFolders


class FakeWorld:
    """Folders in memory."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folders = FakeFolders()
        self.root = "/w/staging"

    def make(self, *paths: str) -> None:
        for path in paths:
            self.folders.make(f"{self.root}/{path}")


class DiskWorld:
    """Folders of this machine, by their paths."""

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


class StoreWorld(DiskWorld):
    """An object store as pyarrow sees it, which is a disk underneath."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        from pyarrow.fs import LocalFileSystem

        super().__init__(folder, monkeypatch)
        self.root = f"s3://{self.folder}"
        disk = LocalFileSystem()
        monkeypatch.setattr(
            staged_files, "filesystem", lambda uri: (disk, uri.removeprefix("s3://").rstrip("/"))
        )


@pytest.fixture(params=[FakeWorld, DiskWorld, UriWorld, StoreWorld])
def world(request, tmp_path, monkeypatch):
    return request.param(tmp_path, monkeypatch)


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

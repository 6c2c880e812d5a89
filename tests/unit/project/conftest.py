"""Projects as dictionaries of files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from fakes.wording import unhelpful
from penstock.core.errors import ProjectError
from penstock.core.findings import HINTS, Finding
from penstock.core.project import Project
from penstock.project.load import load_project

Files = Mapping[str, str | bytes]
NAMED = "name: shop\n"
NOBODY = 65534


def write(root: Path, files: Files) -> None:
    """Write the files; penstock.yml is there unless it is given."""
    for name, content in {"penstock.yml": NAMED, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Project]:
    """Write files and load them."""

    def loaded(files: Files, **how: object) -> Project:
        write(tmp_path, files)
        return load_project(tmp_path, **{"environ": {}, "use_cache": False, **how})

    return loaded


@pytest.fixture
def findings(load: Callable[..., Project]) -> Callable[..., list[str]]:
    """Write files and give every finding, without its hint unless asked for."""

    def found(files: Files, *, hints: bool = False, **how: object) -> list[str]:
        try:
            said = load(files, **how).findings
        except ProjectError as error:
            said = error.findings
        assert [each for f in said for each in unhelpful(f.code, f.sentence, f.hint)] == []
        return [f.render() if hints and is_own(f) else f.render().partition("\n")[0] for f in said]

    return found


def is_own(finding: Finding) -> bool:
    """Whether the hint is one of the place, and not that of the code."""
    return finding.hint != HINTS.get(finding.code, "")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that every user may enter; the folder of a test is open to its user alone."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def closed() -> Iterator[Callable[[Path], None]]:
    """Take all rights from a path, and from this process those of root, which no rights stop."""
    before, paths = os.geteuid(), list[Path]()

    def close(path: Path) -> None:
        path.chmod(0)
        paths.append(path)
        os.seteuid(before or NOBODY)

    yield close
    os.seteuid(before)
    for path in paths:
        path.chmod(0o700)

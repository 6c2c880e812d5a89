"""The use case `clean`: remove caches and artifacts of a project, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.app.artifacts.write import FOLDER
from penstock.app.commands.show import COMPILED
from penstock.app.services.files import NAMES
from penstock.core.errors import UsageError
from penstock.project.files.discovery import project_root

_OF_TABLE = "_delta_log"
_DOCUMENTS = ("*.json", "parse.jsonl", "project*.bin")


@dataclass(frozen=True, slots=True)
class CleanReport:
    """How many files were removed, by folder, and the folders kept because they hold a table."""

    removed: Mapping[str, int]
    kept_folders: tuple[str, ...] = ()


def clean(folder: Path) -> CleanReport:
    """Remove the files of caches and artifacts; links are not followed.

    Only caches, JSON documents and compiled code: a state or a table that a project keeps in these
    folders stays. Raises `no-project`, and `bad-output` for what cannot be removed.
    """
    root, _ = project_root(folder, is_needed=True)
    removed: dict[str, int] = {}
    kept: list[str] = []
    for name in (NAMES.parent, Path(*FOLDER), Path(*COMPILED)):
        path = root / name
        if path.is_symlink() or not path.is_dir():
            continue
        deep = name == Path(*COMPILED)
        if deep and any(path.rglob(_OF_TABLE)):
            kept.append(str(name))
            continue
        files = path.rglob("*") if deep else (f for name in _DOCUMENTS for f in path.glob(name))
        found = [each for each in files if each.is_file() or each.is_symlink()]
        _remove(found)
        if found:
            removed[str(name)] = len(found)
        for each in sorted(path.rglob("*") if deep else (), reverse=True):
            with suppress(OSError):  # a file came in between
                each.rmdir()
    return CleanReport(removed, tuple(kept))


def _remove(files: list[Path]) -> None:
    for each in files:
        try:
            each.unlink(missing_ok=True)
        except OSError as error:
            sentence = f"{each} cannot be removed: {error.strerror or error}"
            hint = "give yourself write access to its folder"
            raise UsageError("bad-output", sentence, hint=hint) from error

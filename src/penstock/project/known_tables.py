"""What templates can know of tables, once every name has one, and the files that ask for it.

A template that asks for the schema or the columns of a table is rendered again here, after its
inputs. What it was given counts as an input of its text: `Dependency` holds a digest of it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.core.findings import Finding, Location
from penstock.core.model import ColumnDoc, Seed, Source
from penstock.core.names import InputKind, TableName
from penstock.core.strategy import strategies
from penstock.project.files.discovery import entry_key
from penstock.project.files.parsed import Branch, Outputs, RefKind, SqlFile, TableRef, fill
from penstock.project.files.render_context import (
    LATER,
    KnownColumns,
    KnownTable,
    table_key,
)
from penstock.project.files.values import Plain
from penstock.project.first_pass import FirstPass, render_again
from penstock.project.models import SNAPSHOTS, Draft
from penstock.project.sql.names import NameResolver

_HEADER_BYTES = 65_536


@dataclass(slots=True)
class ProjectTables:
    """The port `KnownTables` for the models, seeds and sources of one load.

    `sql` are the parsed files by key; a file that is rendered again is replaced there.
    """

    first: FirstPass
    resolver: NameResolver
    sql: dict[str, SqlFile]
    drafts: Mapping[str, Draft]
    """Enabled models by name."""
    seeds: Mapping[str, Seed]
    sources: Mapping[str, Source]
    """Sources by folded table name."""
    catalog: str = ""
    settled: set[str] = field(default_factory=set)
    by_key: dict[str, Draft] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the models by the key of their query."""
        self.by_key.update((key_of(each), each) for each in self.drafts.values())

    def settle(self) -> None:
        """Render every file again that asked for what is known only now."""
        self.first.templates.know(self)
        for each in self.drafts.values():
            self._settle(each)

    def table(self, key: str) -> KnownTable | None:
        """Find a table by its `table_key`."""
        found = self._find(key)
        match found:
            case Draft():
                strategy = strategies().get(found.config.text("materialized") or "view")
                known = self._entry(found.name, found.table, found.file.path)
                return replace(known, is_view=bool(strategy and strategy.is_view))
            case Seed():
                return replace(
                    self._entry(found.name, found.table, found.where.path), resource="seed"
                )
            case Source():
                name = str(found.table)
                return replace(self._entry(name, found.table, found.where.path), resource="source")
        return None

    def columns(self, key: str) -> KnownColumns | None:
        """Return the columns of a table: of its query, its file, or its list in YAML."""
        found = self._find(key)
        match found:
            case Draft():
                names = self._of_query(found)
                return _typed(names, found.config.columns)
            case Seed():
                return _typed(_header_of(found), found.columns)
            case Source():
                held = (e for e in self.seeds.values() if e.table.folded == found.table.folded)
                if (seed := next(held, None)) is not None:
                    return _typed(_header_of(seed), seed.columns)
                names = [each.name for each in found.columns]
                return _typed(names or None, found.columns)
        return None

    def setting(self, key: str, name: str) -> Plain:
        """Return a setting of a model from its header, YAML or defaults."""
        draft = self.by_key.get(key)
        return draft.config.settings.get(name) if draft else None

    def all(self) -> Sequence[KnownTable]:
        """Return all models, seeds and sources."""
        names = [table_key(RefKind.REF, (each,)) for each in (*self.drafts, *self.seeds)]
        names += (
            table_key(RefKind.SOURCE, (each.table.schema, each.table.table))
            for each in self.sources.values()
        )
        return [known for each in sorted(names) if (known := self.table(each)) is not None]

    def _entry(self, name: str, table: TableName, path: str) -> KnownTable:
        return KnownTable(name, table.schema, table.table, self.catalog, path=path)

    def _find(self, key: str) -> Draft | Seed | Source | None:
        kind, *names = key.split("\n")
        if kind == RefKind.THIS:
            return self.by_key.get("\n".join(names))
        if kind == RefKind.SOURCE:
            named = self.resolver.source(*names)
        else:
            named = self.resolver.ref(names[0])
        if named is None:
            return None
        if named.input.kind is InputKind.SOURCE:
            return self.sources.get(named.table.folded)
        return self.drafts.get(named.input.name) or self.seeds.get(named.input.name)

    def _settle(self, draft: Draft) -> None:
        key = key_of(draft)
        file = self.sql.get(key)
        if file is None or key in self.settled:
            return
        self.settled.add(key)
        if not any(each.kind in LATER for each in file.reads):
            return
        fresh = render_again(self.first, key, file)
        if fresh.config != file.config:
            where = Location(file.path, file.config_line)
            sentence = "the config header depends on a table, or on settings outside of it"
            hint = "write config at the top of the file, with values that name no table"
            self.first.findings.append(Finding(where, "bad-value", sentence, hint))
            fresh = replace(fresh, config=file.config)
        self.sql[key] = draft.file = fresh

    def _of_query(self, draft: Draft) -> Sequence[str] | None:
        """Return the columns of a model's query, through `select *` from other models."""
        is_plain = type(draft) is Draft and draft.system_columns is None
        self._settle(draft)
        if not is_plain or draft.file.waits or not draft.file.branches:
            return None
        branch = draft.file.branches[-1]
        if branch.outputs.names is not None or not branch.refs:
            return branch.outputs.names
        return self._starred(branch)

    def _starred(self, branch: Branch) -> Sequence[str] | None:
        from penstock.project.sql.outputs import columns_of_text  # the parser, for few files

        tables: dict[str, Outputs] = {}
        for ref in branch.refs:
            columns = self.columns(_key_of_ref(ref)) if ref.kind in _READ else None
            if columns is not None:
                tables[_stand_in(ref)] = Outputs.of(name for name, _ in columns)
        text = fill(branch.text, lambda number: _stand_in(branch.refs[number]))
        return columns_of_text(text, tables)


_READ = (RefKind.REF, RefKind.SOURCE)


def key_of(draft: Draft) -> str:
    """Return the key of a model's query: its file, or its entry in YAML."""
    if draft.entry is not None and draft.entry.path[0] == SNAPSHOTS:
        return entry_key(draft.entry.file, int(draft.entry.path[1]))
    return draft.file.path


def _key_of_ref(ref: TableRef) -> str:
    return table_key(ref.kind, ref.names)


def _stand_in(ref: TableRef) -> str:
    """Return one word for a table, by which the query can be parsed."""
    return "t_" + "_".join((ref.kind, *ref.names)).encode().hex()


def _typed(names: Iterable[str] | None, docs: Sequence[ColumnDoc]) -> KnownColumns | None:
    """Return columns with the types that YAML declares."""
    types = {each.name.lower(): each.type for each in docs}
    return None if names is None else tuple((each, types.get(each.lower(), "")) for each in names)


def _header_of(seed: Seed) -> Sequence[str] | None:
    """Return the columns of a CSV file."""
    if seed.format != "csv":
        return None
    try:
        with Path(seed.path).open("rb") as file:
            text = file.read(_HEADER_BYTES).decode("utf-8-sig", "replace")
    except OSError:  # reported where the seed is read
        return None
    return next(csv.reader(text.splitlines()[:1]), None)

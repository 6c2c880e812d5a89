"""The SQL of one version, linked and fingerprinted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version

from penstock.core.findings import Finding, Location, Severity
from penstock.core.model import Body, ColumnDoc, Fingerprint
from penstock.core.names import quoted
from penstock.core.query import PARAMETERS, Query, parameters
from penstock.core.strategy import Layout, Strategy
from penstock.project.files.parsed import Branch, RefKind, fill
from penstock.project.files.values import digest
from penstock.project.sql.names import Linked, NameResolver, QueryOwner, link

_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_OF_PARTITIONS = tuple(f"@{name}" for name in PARAMETERS if name != "run_date")


def fingerprint_of_settings(
    strategy: Strategy, layout: Layout, description: str, columns: Sequence[ColumnDoc]
) -> Fingerprint:
    """Return the checksums of everything except SQL."""
    lies = {
        "partition_by": layout.partition_by,
        "cluster_by": layout.cluster_by,
        "properties": dict(layout.properties),
        "description": description,
        "columns": [[c.name, c.description] for c in columns if c.description],
    }
    settings = digest(settings_text(strategy, layout))
    return Fingerprint("", "", settings, digest(_compact(lies)), parser=parser_version())


@cache
def parser_version() -> str:
    """Return the version of sqlglot, which determines canonical SQL."""
    return version("sqlglot")


def _compact(parts: Mapping[str, object]) -> str:
    return _COMPACT.encode(parts)


def settings_text(strategy: Strategy, layout: Layout) -> str:
    """Return the settings that change rows as JSON with sorted keys.

    Descriptions, tags, clustering and properties are not included, because they change no row.
    Partition columns are, if they determine which rows are replaced. Column names are in lower
    case.

    >>> from penstock.strategies.table import Table
    >>> settings_text(Table(), Layout(cluster_by=("a",)))
    '{"strategy":"table"}'
    """
    return _compact({"strategy": strategy.name, **strategy.fingerprint(layout)})


def linked_body(
    body: Body, branch: Branch, reader: QueryOwner, resolver: NameResolver, *, has_partition: bool
) -> tuple[Body, Linked]:
    """Link the text of a body: set its query and the checksums of its SQL.

    `Body.inputs` stays empty: other code determines what a partition reads. The canonical form
    names tables as the text does, so that it equals `canonical_of(text)`.
    """
    linked = link([branch], resolver, reader)
    canonical = canonical_as_written(branch, body.text)
    sql, parser = digest(body.text), parser_version()
    code = replace(body.fingerprint, sql=sql, canonical=digest(canonical), parser=parser)
    query = replace(linked.query, canonical=canonical)
    body = replace(body, query=query, fingerprint=code, is_range=is_range(query))
    linked.findings += parameter_findings([branch], reader.path, has_partition=has_partition)
    if has_partition:
        linked.findings += no_parameter_findings(body)
    return body, linked


def is_range(query: Query) -> bool:
    """Return whether one run over a range equals one run per partition: it uses only the ends."""
    used = parameters(query.text)
    return bool(used & {"start_date", "end_date"}) and "partition_date" not in used


def parameter_findings(
    branches: Sequence[Branch], path: str, *, has_partition: bool
) -> list[Finding]:
    """Report partition parameters in the SQL of an unpartitioned model."""
    if has_partition:
        return []
    code, rest = "parameter-without-partition", "is that of a partition, and the model has none"
    hint = "name a partition field, or write @run_date"
    refs = (ref for branch in branches for ref in branch.refs if ref.kind is RefKind.PARAM)
    used = ((Location(path, ref.line), f"@{ref.names[0]}") for ref in refs)
    found = (Finding(at, code, f"{p} {rest}", hint) for at, p in used if p in _OF_PARTITIONS)
    return list(dict.fromkeys(found))


def no_parameter_findings(body: Body) -> list[Finding]:
    """Warn of SQL that gives the same rows for every partition."""
    if parameters(body.query.text) - {"run_date"}:
        return []
    sentence = f"{body.fingerprint.label}: none of {', '.join(_OF_PARTITIONS)}"
    hint = "filter the query by one of them: each partition gets only its own rows"
    return [Finding(body.where, "no-partition-parameter", sentence, hint, Severity.WARNING)]


def canonical_as_written(branch: Branch, text: str) -> str:
    """Return the same as `canonical_of(text)`, from the text's branch, without a parser."""
    if branch.canonical is None:
        return text

    def name(number: int) -> str:
        kind, names = branch.refs[number].kind, branch.refs[number].names
        return f"@{names[0]}" if kind is RefKind.PARAM else ".".join(map(quoted, names))

    return fill(branch.canonical, name)

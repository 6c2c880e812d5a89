"""Sources and seeds: how fresh they are, and what reads them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast

from penstock.app.artifacts.manifest import Json
from penstock.app.site.documents import Attention, SourceRow
from penstock.app.site.model_documents import ColumnRow
from penstock.app.site.reading import SiteInputs, utc
from penstock.core.errors import PenstockError
from penstock.core.model import ColumnDoc, Model, Source
from penstock.core.steps.inputs import DeltaPin, FilesPin, Pin


def reads(inputs: SiteInputs, model: Model) -> Iterator[str]:
    """Yield the nodes that a model reads; one may come twice."""
    for name in model.inputs:
        if name != model.input_name:
            yield inputs.node_of(name)
    yield from (name for name in model.depends_on if name != model.name)


def source_rows(inputs: SiteInputs) -> tuple[SourceRow, ...]:
    """Return the sources, then the seeds, by name."""
    readers: dict[str, list[str]] = {}
    for name in inputs.names:
        for node in dict.fromkeys(reads(inputs, inputs.model(name))):
            readers.setdefault(node, []).append(name)
    return (*_sources(inputs, readers), *_seeds(inputs, readers))


Readers = Mapping[str, Sequence[str]]
"""The models that read a node."""


def _sources(inputs: SiteInputs, readers: Readers) -> Iterator[SourceRow]:
    now = inputs.state.view.now
    for name, source in sorted(inputs.project.sources.items()):
        node = inputs.node(name)
        pin = str(now.sources[name]) if name in now.sources else ""
        rule = source.freshness
        allowed = (rule.error_after or rule.warn_after) if rule else None
        changed, newest = _times(inputs, source, now.sources.get(name))
        yield SourceRow(
            node=node,
            kind="source",
            table=str(source.table),
            path=source.path,
            format=source.format,
            file=source.where.path,
            line=source.where.line,
            description_html=inputs.markdown(source.description),
            columns=_columns(inputs, source.columns),
            read_by=tuple(readers.get(node, ())),
            version=pin,
            changed_at=changed,
            newest_row_at=newest,
            limit=allowed.total_seconds() if allowed else None,
        )


def _seeds(inputs: SiteInputs, readers: Readers) -> Iterator[SourceRow]:
    root = inputs.project.root
    for name, seed in sorted(inputs.project.seeds.items()):
        path = Path(seed.path).relative_to(root).as_posix()
        yield SourceRow(
            node=name,
            kind="seed",
            table=str(seed.table),
            path=path,
            format="csv",
            file=path,
            line=1,
            description_html="",
            columns=_columns(inputs, seed.columns),
            read_by=tuple(readers.get(name, ())),
            version="",
            changed_at=_log_times(inputs, inputs.project.uri_of(seed.table))[0],
            newest_row_at="",
            limit=None,
        )


_MOST_FILES = 1_000
"""Of more files no time is shown: all of them would be listed again."""


def _times(inputs: SiteInputs, source: Source, pin: Pin | None) -> tuple[str, str]:
    """Return the times of the newest commit or file, and of the newest row; "" if unknown."""
    if source.path and (source.is_delta or isinstance(pin, DeltaPin)):
        return _log_times(inputs, source.path, source.freshness.column if source.freshness else "")
    if not isinstance(pin, FilesPin) or pin.files > _MOST_FILES:
        return "", ""

    def read() -> Json:
        return utc(inputs.services.log.listing(source).changed)

    with suppress(PenstockError, OSError):
        return str(inputs.cache.of(read, "files", source.path, pin.digest)), ""
    return "", ""


def _log_times(inputs: SiteInputs, uri: str, column: str = "") -> tuple[str, str]:
    log = inputs.services.log

    def read(version: int) -> Json:
        (commit,) = log.commits(uri, version - 1)
        files = log.spans(uri, version, column) if column else None
        ends = [end for each in files or () if (end := each.end(column)) is not None]
        return [utc(commit.time), utc(max(ends, default=None))]

    with suppress(PenstockError, OSError, ValueError):
        head = log.head(uri)
        if head is not None:
            make = partial(read, head.version)
            times = inputs.cache.of(make, "times", uri, head.version, column)
            changed, newest = cast("tuple[str, str]", times)
            return changed, newest
    return "", ""


def _columns(inputs: SiteInputs, columns: Iterable[ColumnDoc]) -> tuple[ColumnRow, ...]:
    return tuple(
        ColumnRow(each.name, each.type, inputs.markdown(each.description), each.tests, ())
        for each in columns
    )


def late_sources(inputs: SiteInputs, rows: Iterable[SourceRow]) -> Iterator[Attention]:
    """Yield the sources whose newest row is older than their rule permits."""
    now = inputs.services.clock.now()
    for row in rows:
        if row.limit is None or not row.newest_row_at:
            continue
        age = now - dt.datetime.fromisoformat(row.newest_row_at)
        if age.total_seconds() > row.limit:
            newest = row.newest_row_at[:19].replace("T", " ")
            sentence = f"newest row {newest} UTC, older than its rule permits"
            command = inputs.command("check", "--sources", "--select", row.node)
            yield Attention("late", row.node, sentence, command)

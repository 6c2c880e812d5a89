"""Fingerprints as rows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Row, insert, select, update

from penstock.core.model import Fingerprint
from penstock.state.tables import contents, fingerprints

MARK_COLUMNS = (
    fingerprints.c.version,
    fingerprints.c.revision,
    fingerprints.c.effective_from,
    fingerprints.c.sql_checksum,
    fingerprints.c.canonical_checksum,
    fingerprints.c.settings_checksum,
    fingerprints.c.layout_checksum,
    fingerprints.c.schema_checksum,
    fingerprints.c.yaml_checksum,
    fingerprints.c.parser_version,
)


def find_mark(connection: Connection, model: int, mark: Fingerprint) -> int | None:
    """Give a fingerprint's number; None if the model never had it."""
    same = [
        fingerprints.c[name].is_not_distinct_from(value) for name, value in _cells(mark).items()
    ]
    found = connection.execute(
        select(fingerprints.c.id, fingerprints.c.schema_json).where(
            fingerprints.c.model_id == model, *same
        )
    ).first()
    if found is None:
        return None
    if mark.schema and not found.schema_json:
        _tell_schema(connection, found.id, mark.schema)
    return int(found.id)


def insert_mark(connection: Connection, number: int, model: int, mark: Fingerprint) -> None:
    """Write a fingerprint; its schema is told if the text of it is stored."""
    connection.execute(insert(fingerprints).values(id=number, model_id=model, **_cells(mark)))
    if mark.schema:
        _tell_schema(connection, number, mark.schema)


def mark_of(row: Row[tuple[object, ...]]) -> Fingerprint:
    """Read the columns of a fingerprint."""
    return Fingerprint(
        sql=row.sql_checksum,
        canonical=row.canonical_checksum,
        settings=row.settings_checksum,
        layout=row.layout_checksum,
        version=int(row.version),
        revision=int(row.revision or 0),
        effective_from=row.effective_from,
        schema=row.schema_checksum,
        yaml=row.yaml_checksum,
        parser=row.parser_version,
    )


def _tell_schema(connection: Connection, number: int, checksum: str) -> None:
    text = connection.scalar(select(contents.c.text).where(contents.c.hash == checksum))
    if text is not None:
        row = fingerprints.c.id == number
        connection.execute(update(fingerprints).where(row).values(schema_json=text))


def _cells(mark: Fingerprint) -> Mapping[str, object]:
    return {
        "version": str(mark.version),
        "revision": str(mark.revision) if mark.revision else "",
        "effective_from": mark.effective_from,
        "sql_checksum": mark.sql,
        "canonical_checksum": mark.canonical,
        "settings_checksum": mark.settings,
        "layout_checksum": mark.layout,
        "schema_checksum": mark.schema,
        "yaml_checksum": mark.yaml,
        "parser_version": mark.parser,
    }

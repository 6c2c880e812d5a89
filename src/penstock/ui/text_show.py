"""What `show` prints."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.app.commands.show import ModelDetail
from penstock.core.masking import mask, mask_value
from penstock.core.records import Execution
from penstock.ui.text_table import one_line, table
from penstock.ui.text_values import moment, seconds


def show_text(detail: ModelDetail) -> str:
    """Give the facts, columns, inputs, settings, SQL and last executions of a model."""
    blocks = [
        "\n".join(_head(detail)),
        _columns(detail),
        _section("Versions", [mask(line) for line in detail.versions]),
        _section("Inputs", [f"{name}  ({name.kind})" for name in detail.inputs]),
        _checks(detail),
        _section("Config", [f"{k}: {mask_value(k, v)}" for k, v in sorted(detail.config.items())]),
        _section("Watermarks", _watermarks(detail)),
        _section("SQL", mask(detail.sql).strip().splitlines()),
        _executions(detail.executions),
    ]
    return "\n\n".join(block for block in blocks if block)


def _head(detail: ModelDetail) -> Iterator[str]:
    info = detail.info
    yield f"{info.name}  {info.strategy}  {info.table}"
    if info.description:
        yield f"  {info.description}"
    rows = [("file", detail.place), ("tags", ", ".join(info.tags)), ("path", mask(detail.uri))]
    rows.append(("state", mask(str(detail.drift))))
    rows.append(("version", "" if detail.version is None else str(detail.version)))
    record = detail.record
    rows.append(("last run", moment(record.executed_at) if record and record.executed_at else ""))
    rows.append(
        ("sql", f"{detail.fingerprint.sql[:12]}, meaning {detail.fingerprint.canonical[:12]}")
    )
    for name, value in rows:
        if value:
            yield f"  {name:<9} {value}"


def _columns(detail: ModelDetail) -> str:
    if not detail.columns:
        return ""
    rows = [[c.name, c.type or "-", c.description] for c in detail.columns]
    return _section("Columns", table(["name", "type", "description"], rows).splitlines())


def _checks(detail: ModelDetail) -> str:
    """Give each check in a line; of several versions the version as well."""
    several = len({each.version for each in detail.checks}) > 1
    header = ["version"] * several + ["phase", "name", "type", "severity", "tags", "description"]
    rows = [
        [str(each.version)] * several
        + [str(check.phase), check.name, check.type, str(check.severity)]
        + [", ".join(check.tags), one_line(mask(check.description))]
        for each in detail.checks
        for check in [each.check]
    ]
    return _section("Checks", table(header, rows).splitlines()) if rows else ""


def _watermarks(detail: ModelDetail) -> list[str]:
    marks = detail.record.watermarks if detail.record else ()
    return [f"{mark.key}  {mark.value}" for mark in marks]


def _executions(executions: tuple[Execution, ...]) -> str:
    if not executions:
        return ""
    rows = [
        [
            moment(one.executed_at),
            one.fingerprint.sql[:6],
            str(one.status),
            "" if one.rows_written is None else f"{one.rows_written:,}",
            seconds(one.duration_ms / 1000),
            one.triggered_by,
        ]
        for one in executions
    ]
    header = ["executed_at", "sql_checksum", "status", "rows", "took", "triggered_by"]
    return _section("Last runs", table(header, rows, right=["rows", "took"]).splitlines())


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([f"{title}:", *(f"  {line}".rstrip() for line in lines)]) if lines else ""

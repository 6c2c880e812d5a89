"""What `list` and `show` print of models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.app.commands.show import CheckInfo, ModelDetail, ModelInfo
from penstock.core.masking import mask, mask_value
from penstock.core.records import Execution, ModelRecord
from penstock.ui.render.values import Json, instant, moment, one_line, seconds, table


def list_text(models: Sequence[ModelInfo]) -> str:
    """Give one row per model, in topological order."""
    if not models:
        return "no models"
    rows = [[m.name, str(m.table), m.strategy, ",".join(m.tags) or "-", m.path] for m in models]
    return table(["name", "table", "strategy", "tags", "file"], rows)


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
    watermarks = detail.record.watermarks if detail.record else ()
    return [f"{watermark.key}  {watermark.value}" for watermark in watermarks]


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


def list_document(models: Sequence[ModelInfo]) -> Json:
    """Give the models in topological order."""
    return {"models": [model_document(model) for model in models]}


def model_document(model: ModelInfo) -> dict[str, Json]:
    """Give one model as `list` knows it."""
    return {
        "model": model.name,
        "table": str(model.table),
        "kind": model.kind,
        "strategy": model.strategy,
        "tags": model.tags,
        "path": model.path,
        "description": model.description,
    }


def show_document(detail: ModelDetail) -> Json:
    """Give one model in full."""
    return {
        **model_document(detail.info),
        "where": detail.place,
        "uri": detail.uri or None,
        "version": detail.version,
        "versions": detail.versions,
        "config": dict(detail.config),
        "columns": [
            {"name": c.name, "type": c.type or None, "description": c.description}
            for c in detail.columns
        ],
        "checks": [_check(each) for each in detail.checks],
        "inputs": [{"kind": str(name.kind), "name": name.name} for name in detail.inputs],
        "sql": detail.sql,
        "fingerprint": {
            "sql": detail.fingerprint.sql,
            "canonical": detail.fingerprint.canonical,
            "settings": detail.fingerprint.settings,
            "layout": detail.fingerprint.layout,
        },
        "state": str(detail.drift.state),
        "detail": detail.drift.detail or None,
        "also": [str(state) for state in detail.drift.also],
        "record": _record(detail.record) if detail.record else None,
        "executions": [_execution(one) for one in detail.executions],
    }


def _check(found: CheckInfo) -> Json:
    check = found.check
    return {
        "version": found.version or None,
        "phase": str(check.phase),
        "name": check.name,
        "type": check.type,
        "severity": str(check.severity),
        "description": check.description,
        "tags": check.tags,
        "meta": dict(check.meta),
        "where": str(check.where),
    }


def _record(record: ModelRecord) -> Json:
    return {
        "status": str(record.status),
        "step": record.step or None,
        "commit_version": record.commit_version,
        "settled_version": record.settled_version,
        "inputs": [{"input": name, "version": str(pin)} for name, pin in record.pins.items()],
        "watermarks": {
            m.key: {"type": m.value.type, "value": m.value.text} for m in record.watermarks
        },
        "executed_at": instant(record.executed_at),
        "duration": record.duration_ms / 1000,
        "rows_written": record.rows_written,
        "bytes_written": record.bytes_written,
        "error": record.failure.code if record.failure else None,
    }


def _execution(one: Execution) -> Json:
    return {
        "step": one.step,
        "executed_at": instant(one.executed_at),
        "status": str(one.status),
        "sql_checksum": one.fingerprint.sql,
        "rows_written": one.rows_written,
        "bytes_written": one.bytes_written,
        "duration": one.duration_ms / 1000,
        "triggered_by": one.triggered_by,
        "executed_by": one.executed_by,
        "error": one.failure.code if one.failure else None,
    }

"""The page of one model: columns, code, executions, checks, slices, and its package."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from penstock.app.commands.sessions import sessions_quarantine
from penstock.app.planning.packages import plan_package
from penstock.app.site.markup import grouped
from penstock.app.site.model_documents import (
    BandPoint,
    CheckRow,
    CodeText,
    ColumnOrigin,
    ColumnRow,
    Evaluation,
    ExecutionRow,
    ModelDocument,
    PackagePart,
    SliceRow,
)
from penstock.app.site.partitions import mapping_tasks
from penstock.app.site.reading import MOST_EXECUTIONS, SiteInputs, TableShape, code_task, utc
from penstock.app.site.sources import reads
from penstock.app.site.tasks import Task
from penstock.core.check_results import WHOLE_GROUP, CheckRecord, CheckResult
from penstock.core.checks.check import Check
from penstock.core.errors import PenstockError
from penstock.core.graph import find_cycle, ordered
from penstock.core.model import Body, ColumnDoc, Fingerprint, Model, kind_of
from penstock.core.names import InputName
from penstock.core.partitions.partition import write_ranges
from penstock.core.project import exposures_of
from penstock.core.records import StepRecord
from penstock.core.sessions.manifest import limit_lines
from penstock.core.steps.step import Outcome
from penstock.strategies.entities.metrics import RECORDS

_SHOWN_SESSIONS = 50
_OPENED = ("opened_new", "opened_changed", "opened_late", "reopened")
_CLOSED = ("closed",)
MOST_EVALUATIONS = 100
_LANGUAGES = {
    ".sql": "sql+jinja",
    ".py": "python",
    ".json": "json",
    ".yml": "yaml",
    ".yaml": "yaml",
}
Shapes = Mapping[str, TableShape | None]
"""The shapes of tables by node."""


def model_document(
    inputs: SiteInputs, name: str, shapes: Shapes, checked: tuple[CheckRecord, ...]
) -> ModelDocument:
    """Return the page of a model; `checked` are results of its checks, newest first."""
    model, steps = inputs.model(name), inputs.steps.get(name, ())
    return ModelDocument(
        name=name,
        description_html=inputs.markdown(model.description),
        place="" if model.is_view else inputs.project.uri_of(model.table),
        exposures=exposures_of(inputs.project, name),
        columns=_columns(inputs, model, shapes),
        written=_written(inputs, model),
        codes=tuple(_codes(inputs, model, steps)),
        executions=tuple(_execution(each) for each in [*steps][: -MOST_EXECUTIONS - 1 : -1]),
        checks=tuple(_checks(inputs, model, checked)),
        slices=_slices(inputs, model),
        package=(),
    )


def _columns(inputs: SiteInputs, model: Model, shapes: Shapes) -> tuple[ColumnRow, ...]:
    """Return the columns of the table, or the declared ones before there is a table."""
    documented = {each.name.lower(): each for each in model.columns}
    origins, found = _origins(inputs, model, shapes), shapes.get(model.name)
    shown = model.columns
    if found is not None:
        shown = tuple(
            ColumnDoc(
                name, known.description if known else "", kind or (known.type if known else "")
            )
            for name, kind in found.columns
            for known in [documented.get(name.lower())]
        )
    elif not shown:
        shown = tuple(ColumnDoc(name) for name in origins)
    checks: dict[str, list[str]] = {}
    for check in model.all_checks:
        column = str(getattr(check.rule, "column", None) or "").lower()
        checks.setdefault(column, []).append(check.name)
    return tuple(
        ColumnRow(
            name=each.name,
            type=each.type,
            description_html=inputs.markdown(each.description),
            checks=tuple(dict.fromkeys(checks.get(each.name.lower(), ()))),
            origins=origins.get(each.name.lower()),
        )
        for each in shown
    )


def _origins(
    inputs: SiteInputs, model: Model, shapes: Shapes
) -> dict[str, tuple[ColumnOrigin, ...]]:
    """Return the columns that each column is computed from, as far as that is known."""
    if kind_of(model) != "sql":
        return {}
    nodes = {str(inputs.project.table_of(each, model)): each for each in model.query.inputs}
    found = inputs.cache.computed(*_columns_task(inputs, model, shapes))
    read = cast("Mapping[str, Sequence[tuple[str, str]]]", found)
    return {
        column.lower(): tuple(
            ColumnOrigin(inputs.node_of(nodes[table]), name)
            for table, name in origins
            if table in nodes
        )
        for column, origins in read.items()
        if origins and all(table in nodes for table, _ in origins)
    }


def with_queries(inputs: SiteInputs, shapes: Shapes) -> Shapes:
    """Add the columns of views and of tables that were never built, as far as all are known."""
    found = {**shapes}
    parents = {name: [*reads(inputs, inputs.model(name))] for name in inputs.names}
    for name in inputs.names if find_cycle(parents) else ordered(parents):
        model = inputs.model(name)
        if found.get(name) is None and kind_of(model) == "sql":
            read = inputs.cache.computed(*_columns_task(inputs, model, found))
            columns = [*cast("Mapping[str, object]", read)]
            if columns and "*" not in columns:
                found[name] = TableShape(tuple((each, "") for each in columns), None, None)
    return found


def _columns_task(inputs: SiteInputs, model: Model, shapes: Shapes) -> Task:
    nodes = {str(inputs.project.table_of(each, model)): each for each in model.query.inputs}
    schemas = {
        table: columns
        for table, name in nodes.items()
        if (columns := _schema(inputs, name, shapes)) is not None
    }
    return "columns", inputs.project.shown_sql(model), schemas


def _schema(inputs: SiteInputs, name: InputName, shapes: Shapes) -> dict[str, str] | None:
    found = shapes.get(inputs.node_of(name))
    if found is not None:
        return dict(found.columns)
    source = inputs.project.sources.get(name.name)
    if source is not None and source.columns:
        return {column.name: column.type for column in source.columns}
    return None


def slow_tasks(inputs: SiteInputs, shapes: Shapes) -> Iterator[Task]:
    """Yield what the pages of the models need and takes long to compute."""
    for name in inputs.names:
        model = inputs.model(name)
        written, language = _written_text(inputs, model), _language(model)
        texts = [(language, text) for _, _, text in _current_texts(inputs, model)]
        yield from (code_task(*each) for each in ([written, *texts] if written else texts))
        if kind_of(model) == "sql":
            yield _columns_task(inputs, model, shapes)
        yield from (task for _, task in mapping_tasks(inputs, name))


def _written(inputs: SiteInputs, model: Model) -> CodeText | None:
    """Return the file of a model, or the function; an entity's file holds others too."""
    found = _written_text(inputs, model)
    if found is None:
        return None
    language, text = found
    return CodeText("", model.where.path, "", language, inputs.code_lines(text, language))


def _written_text(inputs: SiteInputs, model: Model) -> tuple[str, str] | None:
    """Return the language and the text of a model's file, or of the function."""
    if model.function is not None:
        return "python", model.function.text
    if kind_of(model) != "sql":
        return None
    path = Path(inputs.project.root, model.where.path)
    with suppress(OSError, UnicodeDecodeError):
        if text := path.read_text(encoding="utf-8"):
            return _LANGUAGES.get(path.suffix, "text"), text
    return None


def _language(model: Model) -> str:
    return "python" if model.function is not None else "sql"


def _current_texts(
    inputs: SiteInputs, model: Model
) -> Iterator[tuple[Fingerprint, Body | None, str]]:
    """Yield each text that is for partitions now; without versions it is for all of them."""
    for version in model.versions:
        yield from ((body.fingerprint, body, body.text) for body in version.bodies)
    if not model.versions:
        text = model.function.text if model.function else inputs.project.shown_sql(model)
        yield model.fingerprint, None, text


def _codes(inputs: SiteInputs, model: Model, steps: tuple[StepRecord, ...]) -> Iterator[CodeText]:
    """Yield the texts that are for partitions now, then those that built some before."""
    known: set[str] = set()
    segments, language = inputs.drift.verdicts[model.name].segments, _language(model)
    for fingerprint, body, text in _current_texts(inputs, model):
        ranges = tuple(s.range for s in segments if s.body is body)
        words = ", ".join(write_ranges(model.grid, ranges)[:3]) if body else "*"
        yield _code(inputs, fingerprint, text, words, language)
        known.add(fingerprint.sql)
    older = {each.intent.fingerprint.sql: each.intent.fingerprint for each in steps}
    gone = older.keys() - known
    texts = inputs.services.reading.records.texts(gone) if gone else {}
    for digest, text in texts.items():
        yield _code(inputs, older[digest], text, "", language)


def _code(
    inputs: SiteInputs, fingerprint: Fingerprint, text: str, partitions: str, language: str
) -> CodeText:
    since = f" from {fingerprint.effective_from}" if fingerprint.effective_from else ""
    label = f"{fingerprint.label}{since}"
    lines = inputs.code_lines(text, language)
    return CodeText(fingerprint.sql, label, partitions, language, lines)


def _execution(step: StepRecord) -> ExecutionRow:
    intent, outcome, failure = step.intent, step.outcome, step.failure
    return ExecutionRow(
        step=intent.step,
        run=intent.run,
        partitions=", ".join(intent.partitions),
        status=str(step.status).lower(),
        started=utc(step.started),
        seconds=(outcome.duration_ms if outcome else 0) / 1000,
        rows=outcome.rows.written if outcome else None,
        bytes=outcome.bytes_written if outcome else None,
        table_version=outcome.version if outcome else None,
        versions_opened=_total(outcome, _OPENED),
        versions_closed=_total(outcome, _CLOSED),
        code=intent.fingerprint.sql,
        reason=intent.reason,
        error=f"{failure.code}: {failure.message}" if failure else "",
        hint=failure.hint if failure else "",
    )


def _total(outcome: Outcome | None, names: tuple[str, ...]) -> int | None:
    """Return the sum of counts of a history table; None for other tables."""
    found = [outcome.metrics[name] for name in names if name in outcome.metrics] if outcome else []
    return sum(found) if found else None


def _checks(
    inputs: SiteInputs, model: Model, checked: tuple[CheckRecord, ...]
) -> Iterator[CheckRow]:
    """Yield the checks of a model with their results, oldest first."""
    for check in {(each.name, each.phase): each for each in model.all_checks}.values():
        results = [
            each
            for each in checked
            if (each.result.name, each.result.phase) == (check.name, check.phase)
        ]
        yield CheckRow(
            name=check.name,
            type=check.type,
            phase=str(check.phase),
            column=str(getattr(check.rule, "column", None) or ""),
            on_failure=str(check.severity),
            description_html=inputs.markdown(check.description),
            evaluations=tuple(
                _evaluation(each, check) for each in reversed(results[:MOST_EVALUATIONS])
            ),
            band=_band(results) if check.rule.own_history else (),
        )


def _band(results: Sequence[CheckRecord]) -> tuple[BandPoint, ...]:
    """Return the newest numbers of each partition in their order, or those of a whole table."""
    points: dict[str, BandPoint] = {}
    for record in results:
        for each in record.result.values:
            at = utc(record.started) if each.group == WHOLE_GROUP else each.group
            value, low, high = (_finite(each.values.get(name)) for name in ("value", "low", "high"))
            if value is not None:
                status = str(each.status).lower()
                points.setdefault(at, BandPoint(at, status, value, low, high))
    keys = sorted(points, key=lambda at: (int(at) if at.lstrip("-").isdecimal() else 0, at))
    return tuple(points[at] for at in keys[-MOST_EVALUATIONS:])


def _finite(text: str | None) -> float | None:
    number = None if text is None else float(text)
    return number if number is not None and math.isfinite(number) else None


def _evaluation(record: CheckRecord, check: Check) -> Evaluation:
    result = record.result
    value = _one_number(result)
    return Evaluation(
        at=utc(record.started),
        status=str(result.status).lower(),
        value=value if value is not None or result.failures is None else float(result.failures),
        limit=None if value is None else _limit(check),
        step=record.step,
        sentence=result.message,
    )


def _one_number(result: CheckResult) -> float | None:
    """Return the one number that a check measured of one group, if that is all it measured."""
    values = [*result.values[0].values.values()] if len(result.values) == 1 else []
    if len(values) == 1 and values[0] is not None:
        with suppress(ValueError):
            return float(values[0])
    return None


def _limit(check: Check) -> float | None:
    """Return the greatest permitted value of a check, else the least."""
    for name in ("maximum", "minimum"):
        bound = getattr(check.rule, name, None)
        if bound is not None:
            with suppress(ValueError):
                return float(bound)
    return None


def _slices(inputs: SiteInputs, model: Model) -> tuple[SliceRow, ...]:
    return tuple(
        SliceRow(
            name=each.id.name,
            status=str(each.status).lower(),
            at=utc(each.moment),
            rows=each.metrics.get(RECORDS),
            why=each.why,
        )
        for each in inputs.slices.get(model.name, ())
    )


def package_parts(inputs: SiteInputs, package: str) -> tuple[PackagePart, ...]:
    """Return the facts of a package; those that cannot be read are left out."""
    found: list[PackagePart] = []
    for part in (_next_run, _last_run, _manifest, _quarantine):
        with suppress(PenstockError, OSError):
            found += part(inputs, package)
    return tuple(found)


def _next_run(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    declared = inputs.project.packages[package]
    planned = plan_package(inputs.services, declared, inputs.state.run_timestamp)
    for each in planned.limits:
        lines = limit_lines(package, each)
        head = f"{lines[0].partition(': ')[0]}: "
        yield PackagePart("Next run", head[:-2], ". ".join(x.removeprefix(head) for x in lines))


def _last_run(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    for each in inputs.services.reading.sessions.passes(package, 1):
        yield PackagePart("Last run", str(each.kind), str(each.status).lower())
        limits = each.limits
        yield PackagePart("Last run", "events", _span(limits.lower_limit, limits.upper_limit))
        yield PackagePart("Last run", "ended", utc(each.ended))
        if each.events is not None:
            counts = each.events.window
            yield PackagePart("Last run", "read", grouped(counts.read))
            yield PackagePart("Last run", "kept", grouped(counts.kept))


def _manifest(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    for row in inputs.services.reading.sessions.manifest(package):
        words = f"last event {utc(row.last_success)}" if row.last_success else "no event yet"
        covered = f", covered to {utc(row.covered_to)}" if row.covered_to else ""
        yield PackagePart("Manifest", row.model, f"{words}{covered}")


def _quarantine(inputs: SiteInputs, package: str) -> Iterator[PackagePart]:
    report = sessions_quarantine(inputs.services, package, _SHOWN_SESSIONS)
    yield PackagePart("Quarantine", "sessions", grouped(report.total))
    for each in report.sessions:
        dropped = f"{grouped(each.events_dropped)} events dropped"
        words = f"{each.reason}, since {utc(each.since)}, {dropped}"
        yield PackagePart("Quarantine", each.session, words)


def _span(first: dt.datetime, last: dt.datetime) -> str:
    return f"{utc(first)} to {utc(last)}"

"""Run the stages of a step, check their rules, and choose its statement."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.app.preparing.pins import tombstone_column
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.step_inputs import StepInputs
from penstock.app.services.services import Services
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import DataError, DuplicateKeysError, QueryError, TableError
from penstock.core.findings import Location
from penstock.core.model import Model
from penstock.core.names import literal, quoted
from penstock.core.partitions.partition import Grain, literal_at
from penstock.core.ports.engine import StepSession
from penstock.core.project import Project
from penstock.core.query import live
from penstock.core.statement import Commit, Row, Scalar, Stage, Work
from penstock.core.steps.step import Intent
from penstock.core.steps.window import Bound, InputWindow, Window
from penstock.core.storage import same_place
from penstock.core.strategy import Build, HistoryRun, PartitionSettings, Writing
from penstock.plan.history import PROPERTY, property_of, retention_of
from penstock.plan.windows import WindowedInput, aligned
from penstock.strategies.overwrite import range_condition

DUPLICATES = "duplicate-keys"


@dataclass(frozen=True, slots=True)
class DecidedStatement:
    """The statement of a step, None if there is nothing to write, and the measured values."""

    work: Work
    statement: Commit | None
    row: Row


def enter_catalog(project: Project, session: StepSession, intent: Intent, *, is_new: bool) -> None:
    """Make the target's catalog contain the schema of a table, and the table if it was created.

    Without the schema, Delta writes the rows but no catalog entry. A process that died in between
    leaves a table that the catalog does not know. Raises `foreign-table` if the name is another
    table's: statements by name would write into that one.
    """
    if not (intent.uri or intent.session):  # views stand beside tables; limits come before theirs
        return
    table = project.sql_of(intent.table)
    schema = f"{quoted(project.target.catalog)}.{quoted(intent.table.schema)}"
    there = _location(session, table) if intent.uri else None
    if intent.uri and there is None and not is_new and intent.base_version is None:
        there = _place_without_table(session, schema, intent.table.table)
        if there and _is_same(there, intent.uri):  # its files were removed, its entry was not
            session.rows(f"DROP TABLE IF EXISTS {table}")
    if there and not _is_same(there, intent.uri):
        raise TableError(
            "foreign-table",
            f"{table} is another table in the catalog, at {there}, and not the one at {intent.uri}",
            hint="rename that table, or give the model another schema or alias",
        )
    if is_new and there is not None:
        return
    session.rows(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    if is_new:
        place = f"USING delta LOCATION {literal(intent.uri)}"
        session.rows(f"CREATE TABLE IF NOT EXISTS {table} {place}")


def _location(session: StepSession, table: str) -> str | None:
    """Return where the catalog locates a table, "" for a view, None for an unknown name."""
    try:
        rows = session.rows(f"DESCRIBE TABLE EXTENDED {table}")
    except QueryError:
        return None
    return next((str(row["data_type"]) for row in rows if row.get("col_name") == "Location"), "")


def _place_without_table(session: StepSession, schema: str, name: str) -> str | None:
    """Return where the catalog expects a table, even if none is there; None for managed tables."""
    try:
        rows = session.rows(f"SHOW TABLE EXTENDED IN {schema} LIKE {literal(name)}")
    except QueryError:  # the schema does not exist, or the catalog has no such statement
        return None
    texts = (str(row["information"]) for row in rows if row.get("tableName") == name.lower())
    found = dict(line.partition(": ")[::2] for text in texts for line in text.splitlines())
    return found.get("Location") if found.get("Type") == "EXTERNAL" else None


def _is_same(location: str, uri: str) -> bool:
    """Return whether two locations are equal; Spark writes the scheme of local files.

    >>> _is_same("file:/w/m/log", "/w/m/log"), _is_same("s3a://lake/log", "s3://lake/log/")
    (True, True)
    """
    place, ours = (same_place(re.sub("^file:/+", "/", each)) for each in (location, uri))
    return place == ours


def decide(session: StepSession, work: Work, where: Location | None) -> DecidedStatement:
    """Run the stages of a step and choose its statement."""
    seen = run_stages(session, work, where)
    return DecidedStatement(work, work.decide(seen), seen)


def run_stages(session: StepSession, work: Work, where: Location | None) -> Row:
    """Run the stages of a step and check their rules; return their measured values as one row."""
    seen: dict[str, Scalar] = {}
    for stage in work.stages:
        if stage.when and not seen.get(stage.when):
            continue
        chosen = stage.chosen(seen) if stage.chosen else stage
        look = session.stage(chosen)
        while chosen.retry and (other := chosen.retry(look)):
            chosen, look = other, session.stage(other)
        require_rules(session, chosen, look, where)
        seen |= look
    return seen


def require_rules(session: StepSession, stage: Stage, row: Row, where: Location | None) -> None:
    """Check a stage's rules on its values; the error names every broken one, with samples."""
    broken, duplicates = [], (0, tuple[str, ...]())
    for rule in stage.rules:
        count = int(row.get(rule.count) or 0)
        if count:
            samples = tuple(session.sample(rule.samples)) if rule.samples else ()
            count = int(session.row(rule.tally)["n"] or 0) if rule.tally else count
            messages = rule.sentence.replace("{count}", str(count))  # names may hold braces
            broken.append((rule, messages.replace("{samples}", ", ".join(samples))))
            if rule.code == DUPLICATES:
                duplicates = (count, samples)
    if broken:
        first, sentence = broken[0]
        others = [f"{rule.code}: {text} ({rule.hint})" for rule, text in broken[1:]]
        kind = DuplicateKeysError if first.code == DUPLICATES else DataError
        error = kind(first.code, "; ".join([sentence, *others]), where=where, hint=first.hint)
        if isinstance(error, DuplicateKeysError):
            error.count, error.samples = duplicates
        raise error


def build_of(services: Services, context: Context, model: Model, step_inputs: StepInputs) -> Build:
    """Return the inputs of the model's strategy; empty for a table that is replaced whole."""
    catalog = bool(services.project.target.catalog)
    view_sql = ""
    if catalog and model.is_view:  # over path tables whoever reads a view reads its query
        flags = {name: tombstone_column(services, name) for name, _ in model.query.deleted_flags}
        marked = {name: live(column) for name, column in flags.items() if column}
        view_sql = services.project.view_sql(model, marked)
    history, options = HistoryRun(context.run_timestamp), context.options
    if model.history is not None:
        retention, messages = retention_of(model, options), {PROPERTY: property_of(model)}
        changed, empty = step_inputs.versions.changed, options.allow_empty
        history = HistoryRun(context.run_timestamp, retention, empty, messages, changed)
    whole = step_inputs.table is None or model.writing is Writing.WHOLE
    return Build(
        replaced=_replaced_rows(context, model, step_inputs),
        model=model,
        target=services.project.sql_of(model.table),
        query=step_inputs.query,
        table=None if whole else step_inputs.table,
        evolves=bool(step_inputs.schema_changes),
        location=services.project.uri_of(model.table) if catalog else "",
        partition_by=None if whole or step_inputs.facts is None else step_inputs.facts.partition_by,
        view_sql=view_sql,
        history=history,
        reruns=context.options.rerun is not None,
        replays=step_inputs.versions.replays,
        rows_before=step_inputs.facts.rows if whole and step_inputs.facts else None,
    )


def _replaced_rows(context: Context, model: Model, step_inputs: StepInputs) -> str:
    """Return the condition of the rows that the step replaces; "" if it adds rows."""
    settings = model.strategy.window
    if settings is None or step_inputs.windows is None:
        return ""
    asked = context.options.rerun
    windows = step_inputs.windows.windows
    if asked is not None:
        low, high = (Bound(each, inclusive=True) for each in asked)
        windows = (InputWindow("", Window(settings.time_column, low, high)),)
    else:  # a window on the run's time ends below its end, and never reads twice
        ends = ((each, each.window.upper) for each in windows)
        inputs = [
            WindowedInput(each.input, each.window.column, end.value.type.lower())
            for each, end in ends
            if end is not None and end.inclusive
        ]
        if not aligned(settings, model, inputs, step_inputs.table).overlaps:
            return ""
    return range_condition(model, step_inputs.table, windows)


Values = Callable[[int], Mapping[str, str]]


def run_date(moment: dt.datetime) -> dict[str, str]:
    """Return the one parameter that every model has."""
    return {"run_date": f"DATE '{moment.astimezone(dt.UTC).date().isoformat()}'"}


def of_partitions(settings: PartitionSettings, moment: dt.datetime) -> Values:
    """Return the parameters of a partition by its number, as in its SQL."""
    return lambda number: of_range(settings, moment, number, number)


def of_range(
    settings: PartitionSettings, moment: dt.datetime, first: int, last: int
) -> dict[str, str]:
    """Return the parameters of the partitions that one run of the SQL builds."""
    grid, kind = settings.grid, parameter_type(settings)
    lower, upper = literal_at(grid.lower(first), kind), literal_at(grid.upper(last), kind)
    return {**run_date(moment), "partition_date": lower, "start_date": lower, "end_date": upper}


def parameter_type(settings: PartitionSettings) -> str:
    """Return the type of the parameters: DATE, for HOUR that of the field, for RANGE an integer."""
    match settings.grid.grain:
        case Grain.HOUR:
            return settings.type
        case Grain.RANGE:
            return "bigint"
        case _:
            return "date"


def of_windows(windows: Sequence[InputWindow], moment: dt.datetime) -> Values:
    """Return the bounds of the first window as half-open; without windows only the run's date."""
    day = run_date(moment)
    if not windows:
        return lambda _: day
    lower, upper = _bound_texts(windows[0].window)
    found = {**day, "partition_date": lower, "start_date": lower, "end_date": upper}
    return lambda _: found


def _bound_texts(window: Window) -> tuple[str, str]:
    high = window.upper.value if window.upper else None
    low = window.lower.value if window.lower else None
    kind = (high or low or TypedValue("BIGINT", "0")).type
    if low is None:
        low = TypedValue.least(kind)
    elif window.lower is not None and not window.lower.inclusive:
        low = low.next()
    high = low if high is None else high
    if window.upper is not None and window.upper.inclusive:
        high = high.next()
    return low.sql, high.sql

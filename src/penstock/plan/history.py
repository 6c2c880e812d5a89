"""History tables in a plan: the property of their table, and what forbids a run."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.core.errors import PenstockError, TableError, UsageError
from penstock.core.history import ColumnsDiffer, HashDiffers, HistorySettings, NewerThan, Retention
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.project import Project
from penstock.core.query import Query, at
from penstock.core.records import ModelRecord
from penstock.core.steps.inputs import DeltaPin, NoPin, Pin
from penstock.plan.changes import code_drift, with_view_inputs
from penstock.plan.values import Now, Observed, Options, Reason, State, as_recorded

PROPERTY = "penstock.history"
FORMAT = 1
_VOLATILE = re.compile(
    r"\b(?:current_timestamp|current_date|penstock__run_timestamp)\b"
    r"|\b(?:now|rand|randn|random|uuid|monotonically_increasing_id|spark_partition_id"
    r"|input_file_name)\s*\(",
    re.IGNORECASE,
)


def property_of(model: Model, high_time: dt.datetime | None = None) -> str:
    """Return the property for the rows; `high_time` is the greatest in rows of others."""
    messages: dict[str, object] = {"format": FORMAT, "model": model.name, **_dump(_settings(model))}
    if high_time is not None:
        messages["high_time"] = high_time.isoformat()
    return _property_text(messages)


def migrated_property(model: Model, text: str) -> str:
    """Return the property of a table after its migration to the model's settings.

    It keeps what was known of its rows: their greatest time, and whether some started at run times.
    """
    old = read_property(text)
    messages = dict(read_property(property_of(model)))
    if "high_time" in old:
        messages["high_time"] = old["high_time"]
    if not always_event_time(text) or old.get("valid_from") == "run_timestamp":
        messages["was_run_time"] = True
    return _property_text(messages)


def rewriting_property(text: str) -> str:
    """Return the property of a table whose row hashes are in migration.

    It matches no model, so that no run compares the hashes before the migration has ended.
    """
    return _property_text({**read_property(text), "hash_columns": "being rewritten"})


def hash_columns(text: str) -> object:
    """Return the columns of a table's row hashes, None for a table without hashes."""
    return _casefold(read_property(text).get("hash_columns"))


def always_event_time(text: str | None) -> bool:
    """Return whether all versions were made in event-time mode."""
    return text is None or not read_property(text).get("was_run_time", False)


def _property_text(settings: Mapping[str, object]) -> str:
    return json.dumps(settings, separators=(",", ":"))


def read_property(text: str) -> Mapping[str, object]:
    """Parse the result of `property_of`; any other text gives an empty property."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def setting_differences(model: Model, text: str) -> tuple[str, ...]:
    """Return each setting that differs between table and model, with both values."""
    messages = read_property(text)
    return tuple(
        f"{word} is {_value(messages.get(word))} in the table and {_value(wanted)} in the model"
        for word, wanted in _dump(_settings(model)).items()
        if _casefold(messages.get(word)) != _casefold(wanted)
    )


def needs_refresh(wrong: Iterable[str]) -> bool:
    """Return whether a setting can change only with a rebuild: the names of its columns."""
    return any(each.startswith("columns ") for each in wrong)


def _settings(model: Model) -> HistorySettings:
    if model.history is None:
        raise TypeError(f"{model.name} keeps no versions")
    return model.history


def _dump(snapshot: HistorySettings) -> dict[str, object]:
    change, hashed, updated_at = "check", None, None
    match snapshot.change:
        case NewerThan(column):
            change, updated_at = "timestamp", column
        case HashDiffers(_, tuple() as columns):
            hashed = sorted(columns, key=str.lower)
        case ColumnsDiffer() | HashDiffers():
            pass
    return {
        "strategy": "snapshot",
        "change": change,
        "keys": sorted(snapshot.keys, key=str.lower),
        "updated_at": updated_at,
        "valid_from": "updated_at" if snapshot.event_time else "run_timestamp",
        "hash_columns": hashed,
        "columns": list(snapshot.columns.meaning),
    }


def _casefold(value: object) -> object:
    if isinstance(value, list):
        return [str(each).lower() for each in value]
    return value.lower() if isinstance(value, str) else value


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "not set" if value is None else repr(value)


def retention_of(model: Model, options: Options) -> Retention | None:
    """Return the retention of this run: the command's, the model's, or none."""
    if options.no_prune:
        return None
    return options.retention or _settings(model).retention


def check_prune(models: Iterable[Model], options: Options) -> None:
    """Refuse `--prune` if no retention is set."""
    without = [m.name for m in models if m.keeps_history and retention_of(m, options) is None]
    if options.prune and without:
        more = f" and {len(without) - 1} more have" if len(without) > 1 else " has"
        raise UsageError(
            "retention-not-set",
            f"--prune: snapshot {without[0]!r}{more} no retention",
            hint="add --keep-last N, or set retention in the model",
        )


def refresh_reason(project: Project, model: Model, now: Now, options: Options) -> str:
    """Return why a history table runs although nothing has changed; "" if it does not.

    Time passes, functions return other values, and inputs without versions cannot be compared.
    """
    retention = retention_of(model, options)
    if options.prune:
        return "prune asked for"
    if retention is not None and retention.keep_days is not None:
        return "retention by days"
    read = with_view_inputs(project, model.query.inputs, dated=True)
    inner = (project.models[n.name] for n in reversed(read) if n.name in project.models)
    for query in (model.query, *(each.query for each in inner if each.is_view)):
        volatile = _VOLATILE.search(query.text)
        if not volatile and any(isinstance(now.sources.get(n.name), NoPin) for n in query.inputs):
            return "an input has no versions"
        if volatile or any(name.kind is InputKind.EXTERNAL for name in query.inputs):
            return "its query gives other values at other times"
    return ""


@dataclass(frozen=True, slots=True)
class FeedRange:
    """The changes to read of an input: those after version `since`, up to and including `upto`."""

    input: str
    since: int
    upto: int

    def __str__(self) -> str:
        """Return it for notes."""
        return f"the changes of {self.input} since version {self.since}"


OTHERS_WROTE = "its table was changed by others, or brought back"


def feed_range(
    project: Project,
    model: Model,
    record: ModelRecord | None,
    pins: Mapping[str, Pin],
    options: Options,
) -> FeedRange | str:
    """Return which changes of the input bring a history up to date, or why all rows are read.

    Keys without a change have the version that the last run left, if that run had the same code.
    """
    if record is None or record.fingerprint is None or not record.succeeded_once:
        return "no run is on record"
    drift = code_drift(record.fingerprint, model.fingerprint, as_recorded)
    if any(state is not State.CURRENT for state, _ in drift):
        return "its code changed"
    if retention_of(model, options) is not None:
        return "retention needs every version"
    read = with_view_inputs(project, model.query.inputs, dated=True)
    made = [project.models[name.name] for name in read if name.name in project.models]
    views = [each for each in made if each.is_view]
    if any(record.pins.get(each.name) != pins.get(each.name) for each in views):
        return "a view that it reads was built again"
    if any(_moves(query) for query in (model.query, *(each.query for each in views))):
        return "its query reads other rows in other runs"
    return _range_of({name.name for name in read} - {each.name for each in views}, record, pins)


_EARLY, _LATE = (dt.datetime(year, year % 12 + 1, 1, tzinfo=dt.UTC) for year in (1999, 2031))


def _moves(query: Query) -> bool:
    """Return whether the rows of a query depend on the run, or on the columns of a history."""
    is_timed = at(query.text, _EARLY) != at(query.text, _LATE)
    is_other = query.text != query.incremental or bool(query.reads)
    return is_timed or is_other or bool(query.deleted_flags)


def _range_of(tables: set[str], record: ModelRecord, pins: Mapping[str, Pin]) -> FeedRange | str:
    name = next(iter(tables)) if len(tables) == 1 else ""
    before, now = record.pins.get(name), pins.get(name)
    if not isinstance(before, DeltaPin) or not isinstance(now, DeltaPin):
        return f"{name} is not a Delta table" if name else f"it reads {len(tables)} tables"
    if before.table_id != now.table_id:
        return f"{name} is another table now"
    if before.version > now.version:
        return f"the last run read a later version of {name}"
    return FeedRange(name, before.version, now.version)


def feed_notes(
    project: Project,
    model: Model,
    record: ModelRecord | None,
    pins: Mapping[str, Pin],
    options: Options,
    states: Iterable[State] = (),
) -> tuple[str, ...]:
    """Return how a later run of a history with a change feed reads its input."""
    if model.history is None or not model.history.change_feed:
        return ()
    found = feed_range(project, model, record, pins, options)
    found = OTHERS_WROTE if State.TAMPERED in states else found
    return (f"reads all rows: {found}" if isinstance(found, str) else f"reads {found}",)


def history_refusal(
    model: Model,
    target: Observed,
    record: ModelRecord | None,
    reason: Reason,
    *,
    adopts: bool = False,
) -> PenstockError | None:
    """Return what forbids any run that builds on the existing history."""
    cluttered = not_delta(model, target, record)
    if cluttered is not None:
        return cluttered
    states = reason.states
    on_record = record is not None and record.succeeded_once
    if State.MISSING in states or (on_record and State.FOREIGN_TABLE in states):
        return _missing_table(model, target, reason)
    if target.facts is None:
        return None
    messages = target.facts.properties.get(PROPERTY)
    if messages is None and adopts:
        return None
    if messages is None:
        return TableError(
            "foreign-table",
            f"{model.table} exists and is not a history table of penstock",
            where=model.where,
            hint=f"to take it over: penstock snapshot migrate {model.name} --adopt",
        )
    wrong = setting_differences(model, messages)
    if wrong:
        refresh = f"{_run(model)} --full-refresh drops its versions"
        migrate = f"penstock snapshot migrate {model.name} takes them over; {refresh}"
        return TableError(
            "history-settings-changed",
            f"{model.table}: {'; '.join(wrong)}",
            where=model.where,
            hint=refresh if needs_refresh(wrong) else migrate,
        )
    return None


def _run(model: Model) -> str:
    return f"penstock {model.strategy.command} --select {model.name}"


def high_time(record: ModelRecord | None, text: str) -> dt.datetime | None:
    """Return the latest run timestamp of any step that wrote the table."""
    stored = read_property(text).get("high_time")
    found = [dt.datetime.fromisoformat(stored)] if isinstance(stored, str) else []
    if record is not None and record.high_time is not None:
        found.append(record.high_time)
    return max(found, default=None)


def run_time_refusal(
    model: Model, high: dt.datetime | None, moment: dt.datetime, hint: str
) -> PenstockError | None:
    """Refuse a run before the last one: it would break the intervals."""
    if high is None or moment >= high:
        return None
    asked, last = (each.replace(tzinfo=None).isoformat(" ") for each in (moment, high))
    sentence = f"run timestamp {asked} is before {last}, the last run of {model.name!r}"
    return TableError("run-time-before-history", sentence, where=model.where, hint=hint)


def _missing_table(model: Model, target: Observed, reason: Reason) -> TableError:
    there = target.there
    foreign = State.FOREIGN_TABLE in reason.states
    away = "move that table away, then " if foreign else ""
    return TableError(
        "history-missing",
        f"the history of {model.table} is on record, but "
        + ("another table took its place" if there else "the table is gone"),
        where=model.where,
        hint=f"{away}restore it, or start over without its versions: {_run(model)} --full-refresh",
    )


def not_delta(model: Model, target: Observed, record: ModelRecord | None) -> TableError | None:
    """Refuse a folder of foreign files, except the files of a failed first run."""
    if not target.clutter or record is not None:
        return None
    return TableError(
        "target-not-delta",
        f"the folder of {model.table} holds files and no Delta table",
        where=model.where,
        hint="move them away, or give the model another schema or alias",
    )

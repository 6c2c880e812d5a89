"""The settings of a history table: valid combinations, and required columns of its query."""

from __future__ import annotations

from penstock.core.findings import Finding, Location, Severity
from penstock.core.history import (
    ENGINE_PREFIX,
    ChangeTest,
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    HistorySettings,
    NewerThan,
    Retention,
    SystemColumns,
)
from penstock.core.strategy import strategies
from penstock.project.files.parsed import SqlFile
from penstock.project.files.values import (
    did_you_mean,
    mapping_of,
    nearest,
    number_of,
    pairs_of,
    text_of,
    texts_of,
)
from penstock.project.settings.config import NESTED, OF_SNAPSHOTS, Config

SETTINGS = (NESTED, *OF_SNAPSHOTS)
_OF_DBT = ("snapshot_meta_column_names", "dbt_valid_to_current")
_IDLE = {"timestamp": ("check_cols",), "check": ("updated_at", "compare_rows", "null_updated_at")}


def snapshot_of(config: Config) -> HistorySettings:
    """Read the settings of a history table; contradictions become findings."""
    keys = _names(config, "unique_key")
    if _lacks(config, "unique_key"):
        sentence = f"snapshot {config.name!r} has no unique_key"
        hint = "add unique_key='…' (or a list)"
        config.report("unique_key", "snapshot-key-missing", sentence, hint)
    change = _change(config)
    for key in _IDLE.get(config.text("strategy"), ()):
        if key in config.own and config.settings.get(key) is not None:
            sentence = f"{key} has no effect on a snapshot with strategy {config.text('strategy')}"
            config.warn(key, "option-without-effect", sentence)
    event_time = _is_event_time(config)
    if event_time:
        _check_event_time(config)
    _check_dbt(config)
    if config.flag("change_feed"):
        _check_feed(config, event_time=event_time)
    return HistorySettings(
        keys=keys,
        change=change,
        event_time=event_time,
        hard_deletes=config.word("hard_deletes", HardDeletes.IGNORE),
        match_null_keys=config.text("null_keys") == "match",
        ignore_null_time=config.text("null_updated_at") == "ignore_row",
        allow_empty=config.flag("allow_empty"),
        retention=_retention(config),
        columns=system_columns_of(config),
        by_current=config.text("layout") not in ("plain", "dbt"),
        change_feed=config.flag("change_feed"),
    )


def system_columns_of(config: Config) -> SystemColumns:
    """Return the names of the columns that penstock adds."""
    if config.text("layout") == "dbt":
        renamed = pairs_of(config.settings.get("snapshot_meta_column_names"))
        return SystemColumns.of_dbt(renamed, _current_end(config))
    given = mapping_of(config.settings.get("system_columns"))
    prefix = "_ps_" if given.get("prefix") is None else text_of(given["prefix"])
    return SystemColumns.with_prefix(prefix, text_of(given.get("case")) or "snake")


def _is_event_time(config: Config) -> bool:
    """Return whether versions start at `updated_at`; in dbt they do if it shows changes."""
    word = config.text("valid_from")
    by_time = config.text("layout") == "dbt" and config.text("strategy") == "timestamp"
    return word == "updated_at" or (by_time and not word)


def _current_end(config: Config) -> str:
    """Return SQL for the end of current versions, "" for NULL."""
    text = config.text("dbt_valid_to_current").strip()
    return f"CAST({text} AS TIMESTAMP)" if text else ""


def _check_dbt(config: Config) -> None:
    """Report settings that do not fit the columns of dbt, or do not have any."""
    if config.text("layout") != "dbt":
        for key in (key for key in _OF_DBT if key in config.own):
            config.warn(key, "option-without-effect", f"{key} has no effect without layout: dbt")
        return
    if "system_columns" in config.own:
        sentence = "system_columns has no effect with layout: dbt"
        config.warn("system_columns", "option-without-effect", sentence)
    if config.flag("row_hash"):
        sentence, hint = "a table of layout dbt has no row hash", "take row_hash out"
        config.report("row_hash", "option-conflict", sentence, hint)
    names = [name.lower() for name in system_columns_of(config).names]
    if len({*names}) < len(names):
        sentence = "snapshot_meta_column_names names two columns alike"
        config.report("snapshot_meta_column_names", "bad-value", sentence, "give each its own name")


def _check_feed(config: Config, *, event_time: bool) -> None:
    """Report settings with which the changed rows alone do not decide what a run writes."""
    others = {
        "valid_from": event_time and "versions that start at updated_at",
        "retention": _retention(config) is not None and "retention",
        "null_updated_at": config.text("null_updated_at") == "ignore_row" and "ignored rows",
    }
    for key, what in others.items():
        if what:
            sentence = f"change_feed reads changed keys alone, and {what} needs others too"
            config.report("change_feed", "option-conflict", sentence, f"take it out, or {key}")


def is_meant_as_snapshot(config: Config) -> bool:
    """Report settings of history tables on another model; return whether there are any."""
    given = config.settings
    own = [k for k in SETTINGS if k in config.own and (k == NESTED or given.get(k) is not None)]
    if not own or nearest("materialized", _unknown(config)):
        return False
    first = min(own, key=lambda key: (config.own[key], SETTINGS.index(key)))
    sentence = f"{first} is a setting of snapshots, and {config.name!r} is none"
    hint = "add materialized='snapshot', or take it out"
    config.report(first, "snapshot-settings-without-snapshot", sentence, hint)
    return True


def _change(config: Config) -> ChangeTest:
    word = config.text("strategy")
    if _lacks(config, "strategy"):
        sentence = f"snapshot {config.name!r} has no strategy"
        hint = "write snapshot={'strategy': 'timestamp'} or 'check'"
        config.report("strategy", "snapshot-strategy-missing", sentence, hint)
    if word == "timestamp" and config.flag("row_hash"):
        sentence = "row_hash needs strategy 'check' and a list of check_cols"
        config.report("row_hash", "option-conflict", sentence, "take row_hash out")
    if word == "check":
        return _compared(config)
    columns = _names(config, "updated_at")
    if len(columns) > 1:
        sentence = f"updated_at is one column, not {len(columns)}"
        hint = f"select greatest({', '.join(columns)}) as updated_at"
        config.report("updated_at", "bad-value", sentence, hint)
    elif word == "timestamp" and _lacks(config, "updated_at"):
        sentence = "strategy 'timestamp' needs updated_at"
        hint = "name the column that tells when a row changed"
        config.report("strategy", "updated-at-missing", sentence, hint)
    return NewerThan(columns[0] if columns else "", config.flag("compare_rows"))


def _compared(config: Config) -> ChangeTest:
    is_all = config.settings.get("check_cols") == "all"
    columns = None if is_all else _names(config, "check_cols")
    if _lacks(config, "check_cols"):
        sentence, hint = "strategy 'check' needs check_cols", "a list of columns, or 'all'"
        config.report("strategy", "check-cols-missing", sentence, hint)
    if not config.flag("row_hash"):
        return ColumnsDiffer(columns)
    if columns is None:
        sentence = "row_hash needs a list of check_cols, not 'all'"
        config.report("row_hash", "option-conflict", sentence, "name the columns")
    return HashDiffers(system_columns_of(config).row_hash, columns)


def _check_event_time(config: Config) -> None:
    if config.text("strategy") == "check":
        sentence = "valid_from 'updated_at' needs strategy 'timestamp'"
        config.report("valid_from", "option-conflict", sentence, "take valid_from out")
    elif config.flag("compare_rows"):
        sentence = "valid_from 'updated_at' and compare_rows exclude each other"
        config.report("valid_from", "option-conflict", sentence, "keep one of them")
    retention = _retention(config)
    closes = config.word("hard_deletes", HardDeletes.IGNORE) is HardDeletes.INVALIDATE
    if closes and retention is not None and retention.keep_days is not None:
        # a pruned version that still is in the source would come back across the gap (decision 8)
        sentence = "valid_from 'updated_at' with hard_deletes 'invalidate' excludes keep_days"
        hint = "use keep_last, or hard_deletes: new_record"
        config.report("retention", "option-conflict", sentence, hint)


def _names(config: Config, key: str) -> tuple[str, ...]:
    value = config.settings.get(key)
    names = texts_of(value)
    if value is not None and not all(names or ("",)):
        sentence = f"{key} is empty" if not any(names) else f"{key} holds an empty name"
        config.report(key, "bad-value", sentence, "give one or more column names")
    first = {name.lower(): name for name in reversed(names) if name}
    return tuple(dict.fromkeys(first[name.lower()] for name in names if name))


def _retention(config: Config) -> Retention | None:
    value = config.settings.get("retention")
    if value is None:
        return None
    given = mapping_of(value)
    retention = Retention(number_of(given.get("keep_last")), number_of(given.get("keep_days")))
    if isinstance(value, dict) and not any(v is not None for v in given.values()):
        sentence = "retention has neither keep_last nor keep_days"
        config.report("retention", "bad-value", sentence, "give one or both, each 1 or more")
    return retention


def _lacks(config: Config, key: str) -> bool:
    """Return whether a setting is missing, unless an unknown key is a misspelling of it."""
    return config.settings.get(key) is None and not nearest(key, _unknown(config))


def _unknown(config: Config) -> set[str]:
    """Return the unknown keys, which may be misspelled."""
    known = {*OF_SNAPSHOTS, "materialized"}.union(*(s.settings for s in strategies().values()))
    return config.settings.keys() - known


def _or_column_names(strategy: HistorySettings) -> str:
    of_dbt = bool(strategy.columns.scd_id)
    return f", or set {'snapshot_meta_column_names' if of_dbt else 'system_columns.prefix'}"


def check_outputs(strategy: HistorySettings, config: Config, file: SqlFile) -> None:
    """Report errors in the columns that the query of a history table selects."""
    setting, compared, outputs = "check_cols", tuple[str, ...](), file.branches[0].outputs
    match strategy.change:
        case NewerThan(column):
            setting, compared = "updated_at", (column,)
        case ColumnsDiffer(columns) | HashDiffers(hashed=columns):
            compared = columns or ()
    compares_all = strategy.change == ColumnsDiffer(None)
    keys = {name.lower() for name in strategy.keys}
    if outputs.names is not None:
        known = {name.lower() for name in outputs.names}
        for key, names in (("unique_key", strategy.keys), (setting, compared)):
            for name in (each for each in names if each and each.lower() not in known):
                hint, sentence = (
                    did_you_mean(name, outputs.names),
                    f"{key} {name!r} is not selected",
                )
                config.report(key, "column-not-selected", sentence, hint)
        if compares_all and known <= keys:
            sentence = "check_cols 'all' leaves nothing to compare: every selected column is a key"
            hint = "select more columns, or name a key column in check_cols"
            config.report("check_cols", "check-cols-missing", sentence, hint)
    reserved = {name.lower() for name in strategy.columns.names}
    folded = {name.lower() for name in compared}
    for selected in outputs.columns:
        name, where = selected.name.lower(), Location(file.path, selected.line)
        if name in reserved or name.startswith(ENGINE_PREFIX):
            hint = f"rename it{_or_column_names(strategy)}" if name in reserved else "rename it"
            sentence = f"column {selected.name!r} is reserved"
            config.findings.append(Finding(where, "reserved-column", sentence, hint))
        elif selected.volatile and (name not in keys if compares_all else name in folded):
            each = "each run would open a version of every row"
            sentence, warning = f"{selected.name!r} differs on every run; {each}", Severity.WARNING
            found = Finding(where, "volatile-change-column", sentence, severity=warning)
            config.findings.append(found)

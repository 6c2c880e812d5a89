"""The settings of a history table: what goes together, and the strategy it makes."""

from __future__ import annotations

from contextlib import suppress

from penstock.core.history import (
    ChangeTest,
    ColumnsDiffer,
    HardDeletes,
    HashDiffers,
    HistorySettings,
    NewerThan,
    Retention,
    SystemColumns,
)
from penstock.project.config import Config
from penstock.project.lifted import KEYS, NESTED, OF_SNAPSHOTS
from penstock.project.nearest import nearest
from penstock.project.values import Plain, is_true, mapping_of, text_of, texts_of

SETTINGS = (NESTED, *OF_SNAPSHOTS)
_IDLE = {
    "timestamp": ("check_cols",),
    "check": ("updated_at", "compare_rows", "null_updated_at"),
}


def snapshot_of(config: Config) -> HistorySettings:
    """Read the settings of a history table; what does not go together becomes findings."""
    keys = _names(config, "unique_key")
    if _lacks(config, "unique_key"):
        sentence = f"snapshot {config.name!r} has no unique_key"
        hint = "add unique_key='…' (or a list)"
        config.report("unique_key", "snapshot-key-missing", sentence, hint)
    change = _change(config)
    _warn_of_idle(config)
    event_time = config.text("valid_from") == "updated_at"
    if event_time:
        _check_event_time(config)
    return HistorySettings(
        keys=keys,
        change=change,
        event_time=event_time,
        hard_deletes=_hard_deletes(config),
        match_null_keys=config.text("null_keys") == "match",
        ignore_null_time=config.text("null_updated_at") == "ignore_row",
        allow_empty=is_true(config.settings.get("allow_empty")),
        retention=_retention(config),
        columns=system_columns_of(config),
        by_current=config.text("layout") != "plain",
    )


def system_columns_of(config: Config) -> SystemColumns:
    """Give the names of the columns that penstock adds."""
    given = mapping_of(config.settings.get("system_columns"))
    prefix = given.get("prefix")
    return SystemColumns.named(
        "_ps_" if prefix is None else text_of(prefix), text_of(given.get("case")) or "snake"
    )


def is_meant_as_snapshot(config: Config) -> bool:
    """Report settings of history tables on a model that is none; tell whether there are any."""
    own = [key for key in SETTINGS if key in config.own and _is_given(config, key)]
    if not own or nearest("materialized", _unknown(config)):
        return False
    first = min(own, key=lambda key: (config.own[key], SETTINGS.index(key)))
    config.report(
        first,
        "snapshot-settings-without-snapshot",
        f"{first} is a setting of snapshots, and {config.name!r} is none",
        "add materialized='snapshot', or take it out",
    )
    return True


def _is_given(config: Config, key: str) -> bool:
    return key == NESTED or config.settings.get(key) is not None


def _change(config: Config) -> ChangeTest:
    word = config.text("strategy")
    if _lacks(config, "strategy"):
        sentence = f"snapshot {config.name!r} has no strategy"
        hint = "write snapshot={'strategy': 'timestamp'} or 'check'"
        config.report("strategy", "snapshot-strategy-missing", sentence, hint)
    if word == "timestamp" and is_true(config.settings.get("row_hash")):
        sentence = "row_hash needs strategy 'check' and a list of check_cols"
        config.report("row_hash", "option-conflict", sentence, "take row_hash out")
    return _compared(config) if word == "check" else _newer(config, required=word == "timestamp")


def _newer(config: Config, *, required: bool) -> NewerThan:
    columns = _names(config, "updated_at")
    if len(columns) > 1:
        sentence = f"updated_at is one column, not {len(columns)}"
        hint = f"select greatest({', '.join(columns)}) as updated_at"
        config.report("updated_at", "bad-value", sentence, hint)
    elif required and _lacks(config, "updated_at"):
        sentence = "strategy 'timestamp' needs updated_at"
        hint = "name the column that tells when a row changed"
        config.report("strategy", "updated-at-missing", sentence, hint)
    compare_rows = is_true(config.settings.get("compare_rows"))
    return NewerThan(columns[0] if columns else "", compare_rows)


def _compared(config: Config) -> ChangeTest:
    everything = config.settings.get("check_cols") == "all"
    columns = None if everything else _names(config, "check_cols")
    if _lacks(config, "check_cols"):
        sentence, hint = "strategy 'check' needs check_cols", "a list of columns, or 'all'"
        config.report("strategy", "check-cols-missing", sentence, hint)
    if not is_true(config.settings.get("row_hash")):
        return ColumnsDiffer(columns)
    if columns is None:
        sentence = "row_hash needs a list of check_cols, not 'all'"
        config.report("row_hash", "option-conflict", sentence, "name the columns")
    return HashDiffers(system_columns_of(config).row_hash, columns)


def _check_event_time(config: Config) -> None:
    if config.text("strategy") == "check":
        sentence = "valid_from 'updated_at' needs strategy 'timestamp'"
        config.report("valid_from", "option-conflict", sentence, "take valid_from out")
    elif is_true(config.settings.get("compare_rows")):
        sentence = "valid_from 'updated_at' and compare_rows exclude each other"
        config.report("valid_from", "option-conflict", sentence, "keep one of them")
    retention = _retention(config)
    closes = _hard_deletes(config) is HardDeletes.INVALIDATE
    if closes and retention is not None and retention.keep_days is not None:
        # a pruned version that still is in the source would come back across the gap (decision 8)
        sentence = "valid_from 'updated_at' with hard_deletes 'invalidate' excludes keep_days"
        hint = "use keep_last, or hard_deletes: new_record"
        config.report("retention", "option-conflict", sentence, hint)


def _warn_of_idle(config: Config) -> None:
    word = config.text("strategy")
    for key in _IDLE.get(word, ()):
        if key in config.own and config.settings.get(key) is not None:
            sentence = f"{key} has no effect on a snapshot with strategy {word}"
            config.warn(key, "option-without-effect", sentence)


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
    retention = Retention(_count(given.get("keep_last")), _count(given.get("keep_days")))
    if isinstance(value, dict) and not any(v is not None for v in given.values()):
        sentence = "retention has neither keep_last nor keep_days"
        config.report("retention", "bad-value", sentence, "give one or both, each 1 or more")
    return retention


def _count(value: Plain) -> int | None:
    with suppress(ValueError):
        return int(text_of(value))
    return None


def _hard_deletes(config: Config) -> HardDeletes:
    with suppress(ValueError):
        return HardDeletes(config.text("hard_deletes") or "ignore")
    return HardDeletes.IGNORE


def _lacks(config: Config, key: str) -> bool:
    """Whether a setting is missing; not if an unknown key is that setting misspelt."""
    return config.settings.get(key) is None and not nearest(key, _unknown(config))


def _unknown(config: Config) -> set[str]:
    return config.settings.keys() - KEYS

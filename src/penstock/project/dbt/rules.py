"""What each setting of dbt is in penstock: one table, and values that differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.project.dbt.notes import Fate
from penstock.project.files.values import Plain, text_of, texts_of

_OWN = "the layout of files is that of the target's warehouse"
_COMMENTS = "penstock writes descriptions of models as comments of tables"
_MICROBATCH = "partitions whose inputs changed run again, however old they are"
_TAKEN = (
    "alias enabled tags meta description partition_by unique_key pre_hook post_hook grants "
    "contract access group merge_update_columns merge_exclude_columns incremental_predicates "
    "dbt_valid_to_current snapshot_meta_column_names strategy updated_at check_cols "
    "hard_deletes invalidate_hard_deletes column_types columns "
    "constraints materialized schema on_schema_change cluster_by deletion_vectors relation "
    "severity error_if warn_if limit store_failures where"
)
_RENAMED = {
    "tblproperties": "table_properties",
    "databricks_tags": "meta",
    "liquid_clustered_by": "cluster_by",
    "predicates": "incremental_predicates",
    "target_schema": "schema",
}
_DROPPED = {
    "location_root": _OWN,
    "persist_docs": _COMMENTS,
    "docs": "the site of penstock has its own layout",
    "full_refresh": "penstock run --full-refresh rebuilds only what it selects",
    "quoting": "names are quoted where they need it",
    "clustered_by": "Delta has no buckets; cluster_by is its clustering",
    "buckets": "Delta has no buckets; cluster_by is its clustering",
    "event_time": "it says what microbatch models read, and is in their queries",
    "lookback": _MICROBATCH,
    "concurrent_batches": "partitions of one step share one query",
    "batch_size": "it is partition_type",
    "begin": "it is start",
    "incremental_strategy": "materialized says how rows reach the table",
    "quote_columns": "names of columns are quoted where they need it",
    "copy_grants": "grants stay with the table",
    "use_safer_relation_operations": "each step is one commit of Delta",
    "view_update_via_alter": "a view stores nothing",
    "optimize_after_commit": "run OPTIMIZE where the table is kept",
    "auto_liquid_cluster": "name the columns under cluster_by",
    "deprecation_date": "models have no date of an end",
    "unique_tmp_table_suffix": "there are no temporary tables",
    "tmp_relation_type": "there are no temporary tables",
    "transient": "it is a word of another database",
    "compression": "Spark's settings choose it",
}
_BY_HAND = {
    "sql_header": "write its statements under hooks: before:",
    "target_database": "a target of penstock has one catalog",
    "database": "a target of penstock has one catalog",
    "catalog": "a target of penstock has one catalog",
    "fail_calc": "count failing rows, or write the number as error_if",
    "submission_method": "a Python model runs in the session of its step",
    "job_cluster_config": "a Python model runs in the session of its step",
    "http_path": "a Python model runs in the session of its step",
    "create_notebook": "a Python model runs in the session of its step",
    "cluster_id": "a Python model runs in the session of its step",
}
_SCHEMA_CHANGES = {
    "ignore": "ignore",
    "fail": "fail",
    "append_new_columns": "append",
    "sync_all_columns": "sync",
}
_NAME = re.compile(r"[A-Za-z_]\w*|`[^`]+`")
_FORMATS = ("delta",)


@dataclass(frozen=True, slots=True)
class SettingRule:
    """The result for one setting: its name here, "" where it has none; and why it changed."""

    name: str
    value: Plain
    fate: Fate
    why: str = ""


def rule_for(key: str, value: Plain) -> SettingRule:
    """Return what a setting is here; `key` as dbt names it, with underscores.

    >>> rule_for("file_format", "delta").fate.value, rule_for("tags", ["x"]).fate.value
    ('dropped', 'taken')
    >>> rule_for("on_schema_change", "append_new_columns").value
    'append'
    """
    if key == "file_format":
        return _format(value)
    if key == "materialized":
        return _materialized(value)
    if key == "on_schema_change":
        return _schema_change(value)
    if key == "unique_key" and not all(_NAME.fullmatch(each) for each in texts_of(value)):
        why = "an expression is not a column: select it under a name, and use that"
        return SettingRule(key, value, Fate.BY_HAND, why)
    if key == "grants" and isinstance(value, Mapping):
        return SettingRule("grants", {k: [*texts_of(e)] for k, e in value.items()}, Fate.TAKEN)
    if key in ("tblproperties", "databricks_tags", *_RENAMED):
        return SettingRule(_RENAMED[key], value, Fate.CHANGED, f"it is called {_RENAMED[key]} here")
    if key in _TAKEN.split():
        return SettingRule(key, value, Fate.TAKEN)
    if _BY_HAND.get(key):
        return SettingRule("", value, Fate.BY_HAND, _BY_HAND[key])
    if _DROPPED.get(key):
        return SettingRule("", value, Fate.DROPPED, _DROPPED[key])
    return SettingRule(
        "", value, Fate.BY_HAND, "penstock does not know this setting; nothing reads it"
    )


def _format(value: Plain) -> SettingRule:
    word = text_of(value).lower()
    if word in _FORMATS:
        return SettingRule("", value, Fate.DROPPED, "tables of penstock are Delta tables")
    why = f"the table is written as Delta, not as {word}; its readers need Delta Lake"
    return SettingRule("", value, Fate.BY_HAND, why)


def _materialized(value: Plain) -> SettingRule:
    word = text_of(value)
    match word:
        case "ephemeral":
            why = "a view of penstock stores nothing: readers run its query"
            return SettingRule("materialized", "view", Fate.CHANGED, why)
        case "materialized_view" | "streaming_table":
            why = f"a {word.replace('_', ' ')} is a table that runs bring up to date"
            return SettingRule("materialized", "table", Fate.CHANGED, why)
        case "view" | "table" | "incremental" | "snapshot" | "seed" | "test" | "unit":
            return SettingRule("materialized", word, Fate.TAKEN)
    why = f"{word!r} is a materialization of this project; it is a table here, check its rows"
    return SettingRule("materialized", "table", Fate.BY_HAND, why)


def _schema_change(value: Plain) -> SettingRule:
    word = text_of(value)
    known = _SCHEMA_CHANGES.get(word)
    if known is None:
        return SettingRule("", value, Fate.BY_HAND, f"penstock does not know the word {word!r}")
    if known == word:
        return SettingRule("on_schema_change", known, Fate.TAKEN)
    return SettingRule("on_schema_change", known, Fate.CHANGED, f"{word} is called {known} here")

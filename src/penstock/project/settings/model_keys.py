"""The settings of a model, each declared once: in headers, in YAML beside it, under `defaults`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.core.beside.exposures import Access
from penstock.core.strategy import strategies
from penstock.project.files.kinds import DURATION, TEXT, exact_word, whole, word
from penstock.project.files.nodes import YamlNode
from penstock.project.files.sections import TEXTS, each_of, key, node_as, subsection
from penstock.project.settings.check_keys import CHECKS as CHECKS_SCHEMA
from penstock.project.settings.validation import (
    GRANTS,
    HOOK_SQL,
    LOOKBACK,
    NAMES,
    ON_FAILURE,
    SCALARS,
    STRATEGY,
    STRING,
    SWITCH,
    TESTS,
    TEXT_OR_NULL,
    TREE,
    HooksSection,
    StrictSection,
    nullable,
    spelt,
)

CHECKS = replace(node_as(CHECKS_SCHEMA), takes_null=True)


class SystemColumnsSection(StrictSection):
    """How columns that penstock adds are named."""

    definition = "system_columns"
    prefix = key(spelt("[A-Za-z0-9_]*", "letters, digits and _"), "_dw_", default="_ps_")
    """What begins their names."""
    case = key(exact_word("snake", "pascal"), "pascal", default="snake")
    """`snake` is `valid_from`, `pascal` is `ValidFrom`."""


class MetaColumnNamesSection(StrictSection):
    """Other names of the columns that dbt adds to a history table."""

    definition = "snapshot_meta_column_names"
    dbt_valid_from = key(STRING, "valid_from", "that of dbt")
    """When a version starts."""
    dbt_valid_to = key(STRING, "valid_to", "that of dbt")
    """When it ends."""
    dbt_scd_id = key(STRING, "scd_id", "that of dbt")
    """The checksum of its key and its start."""
    dbt_updated_at = key(STRING, "changed_at", "that of dbt")
    """When the row changed."""
    dbt_is_deleted = key(STRING, "is_deleted", "that of dbt")
    """Whether the key was gone; only with `hard_deletes: new_record`."""


class KeptVersionsSection(StrictSection):
    """Which old versions of a row are removed."""

    definition = "retention"
    keep_last = key(nullable(whole(1)), 3, "all")
    """How many versions of each key stay."""
    keep_days = key(nullable(whole(1)), 90, "forever")
    """How many days closed versions stay."""


class ContractSection(StrictSection):
    """A contract as dbt writes it."""

    definition = "contract"
    enforced = key(SWITCH, example=True, default=False)
    """Whether names and types of the query must be those of `columns`, and `constraints` hold."""
    alias_types = key(SWITCH, example=True, default=True)
    """Of dbt; it says nothing here, types may always be written with any of their names."""


class ConstraintSection(StrictSection):
    """What rows must meet, as dbt writes it."""

    definition = "constraint"
    type = key(
        exact_word("not_null", "check", "unique", "primary_key", "foreign_key", "custom"),
        "not_null",
        needed=True,
    )
    """`not_null` and `check` are gates; the others say something to people alone, as in Spark."""
    expression = key(nullable(STRING), "amount >= 0", "required for `check`")
    """The condition that must be true for each row; NULL counts as false."""
    name = key(nullable(STRING), "no_debts", "from its type and column")
    """The name of the check."""
    columns = key(TEXTS, ["id"], "the column that has it")
    """For a constraint of the model: its columns."""
    to = key(nullable(STRING), "ref('customers')")
    """Of `foreign_key`: the other table."""
    to_columns = key(TEXTS, ["id"])
    """Of `foreign_key`: its columns."""
    warn_unenforced = key(SWITCH, example=False, default=True)
    """`false`: `validate` does not report that the constraint is not a gate."""
    warn_unsupported = key(SWITCH, example=False, default=True)
    """Same as `warn_unenforced`."""


CONSTRAINTS = each_of(ConstraintSection, "constraints")


class DocumentedColumnSection(StrictSection):
    """What a document says of a column."""

    definition = "column"
    name = key(STRING, "id", needed=True)
    """The column."""
    description = key(TEXT_OR_NULL, "The order.")
    """What it is, for people."""
    data_type = key(TEXT_OR_NULL, "BIGINT", "that of the query")
    """Its type in Spark; `type` is the same."""
    type = key(TEXT_OR_NULL, "BIGINT", "that of the query")
    """Its type in Spark, as `decimal(9, 2)` or `array<string>`."""
    data_tests = key(replace(TESTS, takes_null=True), ["unique", "not_null"])
    """Tests as dbt writes them; they are [checks](checks.md#tests-of-dbt)."""
    tests = key(replace(TESTS, takes_null=True), ["not_null"])
    """Same as `data_tests`."""
    constraints = key(CONSTRAINTS, [{"type": "not_null"}])
    """What its values must meet, with a [contract](#a-contract)."""
    tags = key(TEXTS, ["pii"])
    """For people and the artifacts."""
    meta = key(TREE, {"unit": "EUR"})
    """Your own metadata, copied to the artifacts."""


COLUMNS = each_of(DocumentedColumnSection, "columns")


class HistorySettingsSection(StrictSection):
    """The settings of a history table."""

    unique_key = key(TEXTS, ["id"], "required for `merge` and snapshots")
    """The columns that say which thing a row is about; `primary_key` is the same."""
    primary_key = key(TEXTS, ["id"])
    """Same as `unique_key`."""
    strategy = key(
        nullable(exact_word("timestamp", "check")), "timestamp", "required for snapshots"
    )
    """For snapshots: how a change is noticed."""
    updated_at = key(TEXTS, "updated_at", "required for `timestamp`")
    """With `timestamp`: the column, or columns, that say how fresh a row is."""
    updated_at_column = key(TEXTS, "updated_at")
    """Same as `updated_at`."""
    updated_at_columns = key(TEXTS, ["updated_at"])
    """Same as `updated_at`."""
    check_cols = key(TEXTS, ["email", "city"], "required for `check`")
    """With `check`: the columns that are compared, or `all`."""
    check_columns = key(TEXTS, "all")
    """Same as `check_cols`."""
    valid_from = key(
        exact_word("run_timestamp", "updated_at"), "updated_at", default="run_timestamp"
    )
    """Where a version begins: at the run, or, with `timestamp`, at its `updated_at`."""
    compare_rows = key(SWITCH, example=True, default=False)
    """With `timestamp`: a newer row opens a version only if a value differs, too."""
    hard_deletes = key(
        exact_word("ignore", "invalidate", "new_record"), "invalidate", default="ignore"
    )
    """What happens to a key that is missing in the source: it stays, is closed, or is closed and
    a tombstone opens.
    """
    invalidate_hard_deletes = key(SWITCH, example=True, default=False)
    """`true` is `hard_deletes: invalidate`."""
    null_updated_at = key(exact_word("error", "ignore_row"), "ignore_row", default="error")
    """What a row without `updated_at` does."""
    null_keys = key(exact_word("error", "match"), "match", default="error")
    """What a row with NULL in its key does: it is an error, or NULL is a key."""
    allow_empty = key(SWITCH, example=True, default=False)
    """Lets an empty source close every key."""
    row_hash = key(SWITCH, example=True, default=False)
    """With `check` and a list: one hash is kept and compared instead of the columns."""
    change_feed = key(SWITCH, example=True, default=False)
    """Reads only changed rows, from the change data feed of the one Delta table that the query
    reads.
    """
    retention = key(nullable(subsection(KeptVersionsSection)), {"keep_last": 3})
    """Which old versions are removed."""
    system_columns = key(
        subsection(SystemColumnsSection), {"prefix": "_dw_"}, "as the project says"
    )
    """How the columns of this history table are named."""
    snapshot_meta_column_names = key(
        subsection(MetaColumnNamesSection), {"dbt_valid_from": "valid_from"}
    )
    """With `layout: dbt`: other names of dbt's columns."""
    dbt_valid_to_current = key(nullable(STRING), "to_date('9999-12-31')", "NULL")
    """With `layout: dbt`: SQL for the end of current versions."""


class NestedHistorySection(HistorySettingsSection):
    """The settings of a history table under `snapshot`."""

    definition = "nested_snapshot"
    layout = key(exact_word("current", "plain", "dbt"), "plain", default="current")
    """`current` has current and closed versions apart, `plain` has not, and `dbt` has the
    columns of dbt.
    """
    materialized = key(exact_word("snapshot"), "snapshot", default="snapshot")
    """Says that the model is a snapshot; `snapshot` is the only word."""


class OwnSettingsSection(StrictSection):
    """The settings of a model but for those of history tables."""

    materialized = key(STRATEGY, "table", default="view")
    """How rows reach the table: the strategy."""
    schema = key(TEXT_OR_NULL, "marts", "the model's folder, else the project's name")
    """The schema of the table, without `schema_prefix`."""
    alias = key(TEXT_OR_NULL, "orders_by_day", "the model's name")
    """The name of the table."""
    enabled = key(SWITCH, example=False, default=True)
    """Whether the model takes part; `false` leaves it out."""
    description = key(TEXT_OR_NULL, "Orders by day.")
    """What the model is, for people; it is the comment of the table as well."""
    comment = key(TEXT_OR_NULL, "Orders by day.")
    """Same as `description`."""
    tags = key(TEXTS, ["daily", "finance"])
    """Tags for `--select tag:…`."""
    meta = key(TREE, {"owner": "finance"})
    """Your own metadata, copied to the artifacts."""
    hooks = key(subsection(HooksSection), {"after": ["optimize {{ this }}"]})
    """[SQL](../how-to/run-sql-around-models.md) that runs before and after each step of the model.
    Those of `defaults` run first; none counts as code.
    """
    pre_hook = key(HOOK_SQL, "refresh table raw.events", aliases=("pre-hook",))
    """dbt's word for `hooks.before`."""
    post_hook = key(HOOK_SQL, "optimize {{ this }}", aliases=("post-hook",))
    """dbt's word for `hooks.after`."""
    grants = key(GRANTS, {"select": ["analysts"]}, "those of the catalog stay")
    """Privilege → the users, groups or roles that have it: all others lose what they were granted.
    Needs a catalog that knows rights; see [grants](../how-to/run-sql-around-models.md#grants).
    """
    group = key(TEXT_OR_NULL, "finance")
    """The [group](../how-to/say-who-uses-models.md#groups-and-access) that the model belongs to."""
    access = key(nullable(exact_word(*Access)), "private", default="protected")
    """Who may read it: a `private` model only models of its `group`."""
    columns = key(COLUMNS, [{"name": "id", "type": "BIGINT"}])
    """Its [columns](#a-column) with types, descriptions and tests."""
    depends_on = key(TEXTS, ["users", "conf/*.yml"])
    """Models to build first though the SQL does not read them; and files, `env:NAME` and
    `pkg:name` whose changes count as changes of the code.
    """
    version = key(nullable(TEXT), "2")
    """A version of the code, raised by hand: another one counts as a change."""
    partition_by = key(TEXTS, ["day"])
    """Columns that Delta partitions by; for `partition` the one field that says to which
    partition a row belongs.
    """
    partition_type = key(
        word(("HOUR", "DAY", "WEEK", "MONTH", "YEAR", "RANGE")), "MONTH", default="DAY"
    )
    """The grain of `partition`."""
    partition_data_type = key(TEXT_OR_NULL, "timestamp", "that of `columns`, else `date`")
    """The type of the partition field, if `columns` give none."""
    partition_start = key(nullable(whole()), 0, "required there")
    """The first integer of the first partition, with `partition_type: RANGE`."""
    partition_end = key(nullable(whole()), 1000, "required there")
    """The end of the last one; it does not belong to it."""
    partition_interval = key(nullable(whole(1)), 100, "required there")
    """How many integers one partition holds."""
    start = key(nullable(TEXT), "2024-01-01", "required there")
    """With `partition`: the first partition, as a date or a key of the grain. Nothing before it
    is built.
    """
    ready_after = key(nullable(DURATION), "2h", "as soon as it begins")
    """With `partition`: so long after its end a partition is due."""
    batch_size = key(nullable(whole(1)), 7, "31")
    """With `partition`: how many partitions one step builds at most."""
    cluster_by = key(TEXTS, ["country", "day"])
    """Columns that Delta clusters by, four at most; not beside `partition_by`, but for
    `partition`.
    """
    layout = key(
        exact_word("auto", "partitioned", "clustered", "current", "plain", "dbt"),
        "clustered",
        "`auto`; for snapshots `current`",
    )
    """How files lie. For `partition`: `partitioned` is a folder per value, `clustered` is
    liquid clustering, `auto` the first for dates by day. For snapshots: `current` has current
    and closed versions apart, `plain` has not, and `dbt` has the columns of dbt.
    """
    table_properties = key(SCALARS, {"delta.appendOnly": True})
    """Properties of the Delta table."""
    deletion_vectors = key(
        nullable(SWITCH), example=False, unset="`true` for `merge` and snapshots"
    )
    """Whether deletes and merges hide rows instead of rewriting their files; not every reader
    opens such tables.
    """
    time_column = key(TEXT_OR_NULL, "updated_at", "inputs are followed by their versions")
    """With `append` and `merge`: the column along which inputs grow; only rows above the
    greatest value that was read are read.
    """
    window = key(nullable(exact_word("none")), "none", "what is new is read")
    """`none`: every run reads its inputs whole."""
    lookback = key(nullable(LOOKBACK), "1 day")
    """With `time_column`: read again from so far below. A duration, or a number for integer
    columns. With `partition`: how many partitions before the newest one `run` includes, and
    builds again if an input changed whose versions do not say where; or `all`.
    """
    window_on = key(NAMES, {"raw.events": "created_at", "countries": None}, "`time_column` in each")
    """With `time_column`: input → its column for the same time; `null` reads that input whole."""
    null_watermark = key(
        exact_word("error", "include_first", "drop_counted"), "drop_counted", default="error"
    )
    """What rows without a time do: stop the step, come in once with the first run, or be
    dropped and counted.
    """
    string_watermark = key(SWITCH, example=True, default=False)
    """Lets the time column be a text that sorts as time does."""
    on_duplicate = key(exact_word("error", "latest", "replace"), "latest", default="error")
    """With `merge`: two rows of one key in one step are an error, or the latest by `order_by`
    counts, or a key has several rows and a step replaces all of them.
    """
    merge_update_columns = key(TEXTS, ["status"], "all")
    """With `merge`: the columns that a row with an existing key takes from the query."""
    merge_exclude_columns = key(TEXTS, ["created_at"])
    """With `merge`: the columns that it does not take."""
    replace_by = key(TEXT, "session_identifier")
    """With `merge`, in a session package: the column of the sessions whose rows are replaced."""
    incremental_predicates = key(TEXTS, ["DBT_INTERNAL_DEST.day > current_date() - 7"])
    """With `merge`: SQL conditions for the stored rows that a step reads; a key outside them
    counts as new.
    """
    order_by = key(TEXTS, ["updated_at"], "required there")
    """With `on_duplicate: latest`: the columns whose greatest values make a row the latest."""
    overwrite = key(exact_word("all", "partitions"), "partitions", default="all")
    """With `table`: replace all rows, or only the partitions that the query gives, which needs
    `partition_by`.
    """
    on_schema_change = key(
        exact_word("append", "fail", "ignore", "sync", "append_new_columns", "sync_all_columns"),
        "fail",
        default="append",
    )
    """`append` adds columns that are new, `sync` also drops those that are gone, `ignore`
    leaves new ones out, `fail` stops the step. The long words are those of dbt for `append`
    and `sync`.
    """
    contract = key(nullable(subsection(ContractSection)), {"enforced": True})
    """Whether the query must return exactly the [columns](#a-contract) that are described."""
    snapshot = key(
        nullable(subsection(NestedHistorySection)), {"strategy": "check", "check_cols": "all"}
    )
    """The settings of a history table; they may also be written beside the others."""


class ModelConfigSection(OwnSettingsSection, HistorySettingsSection):
    """The settings of a model, in a header, beside it or under `defaults`."""

    definition = "model_config"

    def _unknown(self, written: str, member: YamlNode, candidates: Iterable[str]) -> None:
        """Leave out what only a strategy knows, which reads it itself (decision 19)."""
        if not any(written in each.settings for each in strategies().values()):
            super()._unknown(written, member, candidates)


class CheckedSection(StrictSection):
    """What a header says of checks."""

    checks = key(CHECKS, [{"type": "row_count", "min": 1}])
    """What must hold, see [checks](checks.md)."""
    invariants = key(CHECKS, [{"type": "not_null", "column": "id"}])
    """Same as `checks`."""
    on_failure = key(ON_FAILURE, "block", "`checks.on_failure` of the project")
    """What a failed gate does to the rows of its step."""


class HeaderSection(ModelConfigSection, CheckedSection):
    """The settings of one model in its header, or in the `config` of its entry."""

    definition = "header"

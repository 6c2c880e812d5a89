"""The keys of documents of entities and of native files, each declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.core.entities.entity import FieldRole, HashKind, LastSeen, ProcessType
from penstock.core.entities.reading import BadRecords, BronzeFormat
from penstock.core.entities.slices import SliceOrder
from penstock.core.entities.transformations import Keep
from penstock.core.strategy import OnSchemaChange
from penstock.project.entities.parts import ExactSection
from penstock.project.files.kinds import FLAG, TEXT, whole, word
from penstock.project.files.sections import (
    MAPPING,
    TEXT_LIST,
    TEXTS,
    each_of,
    key,
    node_as,
    nodes,
    section_node,
    subsection,
)
from penstock.project.files.values import Plain
from penstock.project.settings.check_keys import CHECKS

PROCESSES: Mapping[str, ProcessType] = {
    "full": ProcessType.FULL,
    "merge": ProcessType.MERGE,
    "delta": ProcessType.MERGE,
    "historic": ProcessType.HISTORIC,
}
"""The values of `processtype`."""
FULL_TABLE = "table"
"""The alias of `full` in native files."""
LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF")
OUTPUT = word(("paths", "catalog"))
PLAIN_VALUE = "${last_value}"
READ = word(("slices", "whole"))
ROLES: Plain = {"type": "array", "items": {"enum": list(FieldRole)}}


class EnvironmentSection(ExactSection):
    """Common settings of all entities."""

    name = key(TEXT, "dev", "required")
    """Its name; required in one document, or in `penstock.yml`."""
    root_folder = key(TEXT, "/data", "required")
    """The folder that contains `bronze` and `silver`."""
    timezone = key(TEXT, "Europe/Amsterdam", "required")
    """The time zone of processing times without an offset."""
    systemfield_prefix = key(TEXT, "dw_")
    """The prefix of columns that penstock adds."""
    bronze_path = key(TEXT, "/${connection}/${entity}", "required with `paths`")
    """Path of slices under `bronze`, a template."""
    silver_path = key(TEXT, "/${connection}/${destination}", "required with `paths`")
    """Path of tables under `silver`, a template."""
    raw_path = key(TEXT, "/raw")
    """Read, and of no effect."""
    secure_container_suffix = key(TEXT, "-secure")
    """The suffix of layer names for `secure` entities."""
    output_method = key(OUTPUT, "paths", "`paths`")
    """Whether both layers are folders or tables of a catalog."""
    bronze_output = key(OUTPUT, "paths", "`output_method`")
    """The same for bronze only."""
    silver_output = key(OUTPUT, "catalog", "`output_method`")
    """The same for silver only."""
    log_level = key(word(LOG_LEVELS), "ERROR")
    """Accepted without effect: a step logs its summary at every level."""
    log_output = key(TEXT, "file")
    """Read, and of no effect."""
    log_appender_type = key(TEXT, "file")
    """Read, and of no effect."""


class RetentionSection(ExactSection):
    """Which old versions of a row are removed."""

    keep_last = key(whole(1), 3, "all")
    """How many versions of each key stay."""
    keep_days = key(whole(1), 90, "forever")
    """How many days closed versions stay."""


class SettingsSection(ExactSection):
    """Settings of a connection or an entity."""

    is_open = True
    bronze_table = key(TEXT, "bronze_sales.orders")
    """The bronze table, instead of a folder."""
    bronze_path = key(TEXT, "/till/${entity}", "that of the environment")
    """The bronze folder."""
    bronze_read = key(READ, "whole", "`slices`; of a table `whole`")
    """Read slice by slice, or everything each time."""
    bronze_output = key(OUTPUT, "paths", "that of the environment")
    """Whether bronze is a folder or a table of a catalog."""
    silver_table = key(TEXT, "silver_sales.orders", "`silver_{connection}.{destination}`")
    """The silver table."""
    silver_path = key(TEXT, "/till/${destination}", "that of the environment")
    """The folder of the silver table."""
    silver_output = key(OUTPUT, "paths", "that of the environment")
    """Whether silver is a folder or a table of a catalog."""
    output_method = key(OUTPUT, "paths", "that of the environment")
    """Both at once."""
    slice_pattern = key(TEXT, "**/*.parquet", "`*.parquet`")
    """Which files and folders are slices."""
    order = key(word(tuple(SliceOrder)), "natural", "`name`")
    """[Which slice comes first](../entities.md#the-order-of-slices): `name`, `natural`, `modified`,
    `from_name`.
    """
    order_pattern = key(TEXT, r"(\d{4})-(\d\d)")
    """With `from_name`: a regular expression whose groups give a number or the parts of a date."""
    require_success = key(FLAG, example=True, default=False)
    """Whether a folder waits for `_SUCCESS`."""
    delete_missing = key(FLAG, example=True, default=False)
    """Whether rows in the slice's window are deleted if the slice lacks them."""
    allow_empty = key(FLAG, example=True, default=False)
    """With `full`: whether an empty slice empties the table."""
    allow_empty_delete = key(FLAG, example=True, default=False)
    """With `delete_missing`: whether an empty slice may delete."""
    hash = key(word(tuple(HashKind)), "xxhash64", "`sha256`")
    """How rows are compared."""
    last_seen = key(word(tuple(LastSeen)), "on_change", "`every_run`")
    """Whether the last-seen time is written for every row, or only for changed ones."""
    layout = key(word(("current", "plain")), "plain", "`current`")
    """For histories: whether current and closed versions are stored separately."""
    on_schema_change = key(word(tuple(OnSchemaChange)), "fail", "`append`")
    """`append` adds new columns, `sync` also drops missing ones, `ignore` leaves new ones out,
    `fail` stops the step.
    """
    retention = key(subsection(RetentionSection), {"keep_last": 3})
    """For histories: which old versions are removed."""
    table_properties = key(MAPPING, {"delta.appendOnly": True})
    """Properties of the Delta table."""
    bronze_format = key(word(tuple(BronzeFormat)), "csv", "`parquet`")
    """[The format of bronze files](../entities.md#formats): `parquet`, `csv`, `json`, `avro`,
    `orc`, `xml`, `text`.
    """
    options = key(MAPPING, {"header": True, "sep": ";"})
    """Spark's options for the format."""
    infer = key(FLAG, example=True, default=False)
    """Whether the first slice decides the columns and types; later slices keep them."""
    rescued = key(TEXT, "_rescued")
    """The column for values that do not fit, as JSON; without it they make a record bad."""
    bad_records = key(word(tuple(BadRecords)), "quarantine", "`fail`")
    """What happens to [bad records](../entities.md#bad-records): `fail` stops the slice,
    `quarantine` keeps them in a table beside, `drop_counted` only counts them.
    """
    sequence_by = key(node_as(TEXT_LIST), ["changed"])
    """Columns that [order the events](../entities.md#change-events) of a key: the latest wins, and
    older ones of later slices do not count.
    """
    delete_when = key(TEXT, "op = 'D'")
    """The condition of a row that deletes its key."""
    ignore_when = key(TEXT, "op = 'R'")
    """The condition of a row that does not count."""
    valid_from = key(TEXT, "changed", "the processing time")
    """For histories: the column with the time of an event, so that late ones are placed in time."""
    change_feed = key(FLAG, example=True, default=False)
    """Read [the changes of a Delta table](../entities.md#the-change-feed-of-a-delta-table) since
    the version of the last step.
    """
    deletion_vectors = key(FLAG, example=False, unset="`true`, but for `full`")
    """Whether deletes and merges hide rows instead of rewriting their files; not every reader opens
    such tables.
    """


class ConnectionSection(ExactSection):
    """Where entities come from."""

    name = key(TEXT, "sales", needed=True)
    """Its name."""
    enabled = key(FLAG, example=False, default=True)
    """`false` leaves its entities out."""
    settings = key(section_node(SettingsSection), {"delete_missing": True})
    """[Settings](#settings) that apply below those of its entities."""


class ColumnSection(ExactSection):
    """The settings of one column."""

    name = key(TEXT, "Order Date", needed=True)
    """Its name in the slice, in any letter case."""
    newname = key(TEXT, "ordered_on", "`name`, without blanks and signs")
    """Its name in the silver table."""
    datatype = key(node_as({"type": "string"}), "date", "that of the slice")
    """Its type in the silver table, as `long` or `decimal(9, 2)`."""
    fieldroles = key(nodes("roles", ROLES), ["businesskey"])
    """Its roles: `businesskey`, `partition`, `calculated`."""
    expression = key(TEXT, "'nl'", "it is read")
    """SQL over one row: the column is calculated."""


class WatermarkSection(ExactSection):
    """A column whose greatest value is stored as a watermark."""

    column_name = key(TEXT, "changed", needed=True)
    """The column whose greatest value is stored."""
    expression = key(TEXT, "'${minus_days(last_value, 7)}'", "what was kept", default=PLAIN_VALUE)
    """A template for the low bound of the values in a slice."""
    operation = key(word(("and", "or")), "or", default="and")
    """How several are combined."""
    operation_group = key(whole(0), 1, "0, one group", default=0)
    """Which of them form a group."""


class KeptRowSection(ExactSection):
    """Which row of a business key stays."""

    keep = key(word(tuple(Keep)), "first", default="last")
    """Whether the `first` or the `last` row stays."""
    order_by = key(node_as(TEXT_LIST), ["changed"], "only rows that are wholly equal are left out")
    """Columns or expressions that order the rows of a key; NULL is first."""


class TransformationSection(ExactSection):
    """One transformation of a slice; the combination of keys is checked when it is read."""

    column = key(TEXT, "city")
    """A column that is added or replaced."""
    expression = key(TEXT, "trim(city)", "required with `column`")
    """Its value: SQL over one row."""
    where = key(TEXT, "amount > 0", "all rows stay")
    """A condition: other rows are left out."""
    deduplicate = key(
        subsection(KeptRowSection), {"keep": "last", "order_by": ["changed"]}, "all rows stay"
    )
    """[Which row of a business key stays](#one-row-of-each-key)."""


class SharedSection(ExactSection):
    """What documents and native files say of an entity alike."""

    destination = key(TEXT, "all_orders", "`name`")
    """The name of its silver table."""
    group = key(TEXT, "nightly")
    """A group, for the selector `group:`."""
    connectiongroup = key(TEXT, "shops")
    """A group of connections, for the selector `connectiongroup:`."""
    enabled = key(FLAG, example=False, default=True)
    """`false` leaves it out."""
    columns = key(
        each_of(ColumnSection, "columns"),
        [{"name": "ID", "datatype": "long", "fieldroles": ["businesskey"]}],
    )
    """Settings of its [columns](#a-column); other columns are copied unchanged."""
    watermark = key(each_of(WatermarkSection, "entries"), [{"column_name": "changed"}])
    """[Columns whose greatest value is stored](#a-watermark)."""
    transformations = key(
        replace(node_as(TEXT_LIST), inner=TransformationSection, is_list=True),
        [{"column": "city", "expression": "trim(city)"}],
    )
    """[What is done to a slice](#a-transformation) before anything else, in order."""
    settings = key(section_node(SettingsSection), {"delete_missing": True})
    """[Settings](#settings); they win over those of the connection."""


class SaidSection(ExactSection):
    """The description of an entity, and its checks."""

    description = key(TEXT, "All orders.")
    """What it is, for people."""
    checks = key(node_as(CHECKS), {"before": [{"type": "row_count", "min": 1}]})
    """What must hold, see [checks](checks.md)."""
    tags = key(TEXTS, ["daily"])
    """Tags for `--select tag:…`."""
    meta = key(MAPPING, {"owner": "shop"})
    """Your own metadata, copied to the artifacts."""


class EntitySection(SharedSection, SaidSection):
    """An entity of a document."""

    id = key(whole(), 7, needed=True)
    """A number that no other one has."""
    name = key(TEXT, "orders", needed=True)
    """What it is called, and the last folder of its bronze."""
    connection = key(TEXT, "sales", needed=True)
    """Where it comes from."""
    processtype = key(word(tuple(PROCESSES)), "merge", needed=True)
    """How rows are written; `delta` is `merge`."""
    secure = key(FLAG, example=True, default=False)
    """Whether it is in the layers of `secure_container_suffix`."""


class DocumentSection(ExactSection):
    """A document of entities."""

    environment = key(
        section_node(EnvironmentSection),
        {
            "name": "dev",
            "root_folder": "/data",
            "timezone": "UTC",
            "bronze_path": "/${entity}",
            "silver_path": "/${destination}",
        },
        "as `penstock.yml` says",
    )
    """[What all entities share](#the-environment)."""
    connections = key(section_node(ConnectionSection, is_list=True), [{"name": "sales"}])
    """[Where they come from](#a-connection)."""
    entities = key(
        section_node(EntitySection, is_list=True),
        [{"id": 9, "name": "shops", "connection": "sales", "processtype": "full"}],
    )
    """The [entities](#an-entity) of this document."""


class BronzeSection(ExactSection):
    """Where the slices of a native file lie."""

    path = key(TEXT, "/data/prices", "`table`")
    """The folder of the slices."""
    pattern = key(TEXT, "**/*.parquet", "`*.parquet`")
    """Which files and folders are slices."""
    table = key(TEXT, "bronze_sales.prices", "`path`")
    """A table, in place of a folder; it is read whole."""
    read_ = key(READ, "whole", default="slices")
    """Read slice by slice, or everything each time."""
    order = key(word(tuple(SliceOrder)), "natural", "`name`")
    """[Which slice comes first](../entities.md#the-order-of-slices): `name`, `natural`, `modified`,
    `from_name`.
    """
    order_pattern = key(TEXT, r"(\d{4})-(\d\d)")
    """With `from_name`: a regular expression whose groups give a number or the parts of a date."""


class NativeEntitySection(SharedSection):
    """What a native file says of its entity."""

    bronze = key(
        subsection(BronzeSection), {"path": "/data/prices", "pattern": "*.parquet"}, needed=True
    )
    """[Where its slices lie](#the-bronze-of-a-model)."""
    id = key(whole(), 7)
    """A number that no other entity has."""
    connection = key(TEXT, "sales")
    """Where it comes from, for selectors."""
    destination = key(TEXT, "prices")
    """Read, and of no effect: `name` is the table."""
    systemfield_prefix = key(TEXT, "dw_", "that of the environment")
    """The prefix of columns that penstock adds."""
    timezone = key(TEXT, "UTC", "that of the environment")
    """The time zone of processing times without an offset."""


class NativeSection(SaidSection):
    """A native file."""

    name = key(TEXT, "prices", needed=True)
    """The table."""
    schema = key(TEXT, "silver_sales", needed=True)
    """Its schema, without `schema_prefix`."""
    strategy = key(word((*PROCESSES, FULL_TABLE)), "merge", needed=True)
    """How rows are written; `table` is `full`, `delta` is `merge`."""
    entity = key(
        subsection(NativeEntitySection),
        {"timezone": "UTC", "bronze": {"path": "/data/prices"}},
        needed=True,
    )
    """[Its settings](#the-entity-of-a-model)."""

"""The keys of penstock.yml, each declared once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.core.checks.check import CheckSettings, OnFailure
from penstock.core.findings import Finding
from penstock.core.project import STATE_PATIENCE, LeaseSettings
from penstock.core.storage import StoreAccess, bucket_and_key, is_s3, same_place
from penstock.project.files.kinds import DURATION, TEXT, ValueKind, whole, word
from penstock.project.files.nodes import Section, YamlNode, excerpt
from penstock.project.files.sections import (
    PartKind,
    each_under,
    key,
    read_section,
    subsection,
)
from penstock.project.settings.model_keys import ModelConfigSection, SystemColumnsSection
from penstock.project.settings.validation import (
    LISTED,
    SCALARS,
    STRING,
    STRINGS,
    SWITCH,
    TEXT_OR_NULL,
    TREE,
    HooksSection,
    StrictSection,
    empty,
    nullable,
    spelt,
)


class SparkSection(StrictSection):
    """How the Spark session of a target starts."""

    definition = "spark"
    master = key(
        spelt(r"(?!sc:).*", "`local[N]` or the URL of a cluster; Spark Connect is not supported"),
        "local[4]",
        default="local[*]",
    )
    """Where Spark runs: `local[N]`, or the URL of a cluster."""
    driver_memory = key(STRING, "4g", default="2g")
    """The memory of the driver, as Java writes it."""
    conf = key(SCALARS, {"spark.sql.shuffle.partitions": 16})
    """Settings of Spark; they win over those of penstock, but for those that Delta needs."""
    keep_warm = key(nullable(DURATION), "10m", "not at all")
    """How long the JVM [waits](#a-warm-jvm) for the next command; local masters only."""


class StorageSection(StrictSection, filled=StoreAccess()):
    """How buckets of S3 are reached."""

    definition = "storage"
    endpoint = key(
        spelt(r"https?://[^/@\s?#]+/?", "a URL such as https://s3.example.com"),
        "https://s3.eu-central-1.amazonaws.com",
        "that of AWS",
    )
    """The URL of the server."""
    region = key(STRING, "eu-central-1", "`AWS_REGION`, else `us-east-1`")
    """The region of the buckets."""
    access_key_id = key(
        STRING, "{{ env_var('PENSTOCK_SECRET_KEY_ID', '') }}", "that of the environment"
    )
    """The id of the access key; `secret_access_key` belongs to it."""
    secret_access_key = key(
        STRING, "{{ env_var('PENSTOCK_SECRET_KEY', '') }}", "that of the environment"
    )
    """The access key. It is never shown."""
    session_token = key(
        STRING, "{{ env_var('PENSTOCK_SECRET_SESSION', '') }}", "that of the environment"
    )
    """The token of a temporary access key."""
    allow_http = key(SWITCH, example=True, default=False)
    """Whether `endpoint` may be `http://`, which others on the network can read."""
    path_style = key(SWITCH, example=False, default=True)
    """Whether URLs have the bucket in their path, not in the name of the host."""
    single_writer = key(SWITCH, example=True, default=False)
    """Allows a store that cannot create a file only if it is absent. You then vouch that no two
    programs write to one table at a time: commits of one of them would be lost.
    """
    timeout = key(DURATION, "1m", "`30s`")
    """How long one request to the store, with its retries, may take."""
    retries = key(whole(0), 3)
    """How often a request is repeated within `timeout`."""


class EntitiesSettingsSection(StrictSection):
    """Settings of entities."""

    definition = "entities_settings"
    environment = key(TREE, {"root_folder": "/data"})
    """Keys of the [environment](entities.md#the-environment) that win over those of all
    documents.
    """


def _take_storage(section: Section, name: str) -> Mapping[str, StorageSection]:
    """Read how each prefix is reached; the prefixes are buckets, as `same_place` has them."""
    found: dict[str, StorageSection] = {}
    node = section.find(name)
    for written, each in _BY_PREFIX.take(section, name).items():
        where, (bucket, path) = (node or section.node).members[written].key, bucket_and_key(written)
        if not is_s3(written) or "@" in bucket or path:
            sentence = f"{section.dotted(name)} has the prefix {excerpt((), written)}; it must be "
            sentence += "s3://, or s3:// and the name of a bucket"
            section.findings.append(Finding(where, "bad-value", sentence, "write s3://BUCKET"))
            continue
        prefix = same_place(written)
        if prefix in found:
            sentence = f"{section.dotted(name)} has {prefix} twice: s3 and s3a are the same place"
            section.findings.append(Finding(where, "alias-conflict", sentence, "keep one of them"))
        found.setdefault(prefix, each)
        _check_access(each)
    return found


def _check_access(each: StorageSection) -> None:
    """Report settings that need another one."""
    has_key, has_secret, has_token = (each.find(name) is not None for name in _CREDENTIALS)
    if has_key != has_secret or (has_token and not has_key):
        written = next(name for name in _CREDENTIALS if each.find(name) is not None)
        needs = "access_key_id and secret_access_key belong together"
        hint = "write both, or neither to use those of the environment"
        each.report(written, "missing-key", f"{each.dotted(written)} is alone: {needs}", hint)
    if each.endpoint.startswith("http://") and not each.allow_http:
        sentence = f"{each.dotted('endpoint')} is not encrypted"
        hint = "write https://, or allow_http: true for a network that you trust"
        each.report("endpoint", "bad-value", sentence, hint)


_CREDENTIALS = ("access_key_id", "secret_access_key", "session_token")
_BY_PREFIX = each_under(StorageSection)
STORAGE: PartKind[Mapping[str, StorageSection]] = replace(_BY_PREFIX, take=_take_storage)
"""Accesses by prefix."""


class TransportSection(StrictSection):
    """How OpenLineage events are sent, in the words of the OpenLineage client."""

    definition = "openlineage_transport"
    type = key(word(("http", "file")), "http", needed=True)
    """`http` or `file`. Set up other transports in `openlineage.yml`."""
    url = key(
        spelt(r"https?://[^/@\s?#]+\S*", "a URL such as https://lineage.example.com"),
        "https://lineage.example.com",
    )
    """The server, for `http`."""
    endpoint = key(STRING, "api/v1/lineage", "`api/v1/lineage`")
    """The path on the server."""
    auth = key(TREE, {"type": "api_key", "apiKey": "{{ env_var('PENSTOCK_SECRET_LINEAGE', '') }}"})
    """How to authenticate: `type` and the keys of that type. Keys are never shown."""
    compression = key(word(("gzip",)), "gzip")
    """How requests are compressed."""
    custom_headers = key(STRINGS, {"X-Team": "data"})
    """Additional headers of requests."""
    verify = key(SWITCH, example=False, unset="`true`")
    """Whether the server's certificate is verified."""
    log_file_path = key(STRING, ".penstock/lineage.jsonl")
    """The file, for `file`; a relative path starts at the project."""
    append = key(SWITCH, example=False, default=True)
    """Whether all events go to one file, one per line; else each event is a file."""


def _take_transport(section: Section, name: str) -> TransportSection | None:
    """Read a transport; each type requires the place to send to."""
    found = _TRANSPORT.take(section, name)
    needed = {"http": "url", "file": "log_file_path"}.get(found.type if found else "")
    if found is not None and needed and found.find(needed) is None:
        sentence = f"{section.dotted(name)} has type {found.type} and no {needed}"
        found.report("type", "missing-key", sentence, f"add {needed}: to it")
    return found


_TRANSPORT = subsection(TransportSection)


class OpenLineageSection(StrictSection):
    """OpenLineage events of runs and their steps."""

    definition = "openlineage"
    namespace = key(STRING, "analytics", "`OPENLINEAGE_NAMESPACE`, else `penstock`")
    """The namespace of jobs."""
    transport = key(
        replace(_TRANSPORT, take=_take_transport),
        {"type": "http", "url": "https://lineage.example.com"},
        "`OPENLINEAGE_URL`, or `openlineage.yml`",
    )
    """How events are sent."""


def _take_webhook(section: Section, name: str) -> str:
    """Read a URL that no finding may show; "" is none."""
    value = section.members[name].value
    if isinstance(value, str) and (not value or _HTTP.fullmatch(value)):
        return value
    sentence = f"{section.dotted(name)} is not a URL that begins with http:// or https://"
    section.report(name, "bad-value", sentence, "write the whole URL, or an env_var() with it")
    return ""


_HTTP = re.compile(r"https?://[^/@\s?#]+\S*")
WEBHOOK: PartKind[str] = PartKind("a URL", str, {"type": "string"}, "", take=_take_webhook)


class OnFailureSection(StrictSection):
    """What happens after a run that did not succeed."""

    definition = "on_failure"
    webhook = key(WEBHOOK, "{{ env_var('PENSTOCK_SECRET_WEBHOOK', '') }}")
    """The URL that gets a [document](../how-to/send-events.md#a-webhook-after-failures) by POST.
    It is never shown.
    """


class ReceiversSection(StrictSection):
    """Other programs that receive events of runs."""

    openlineage = key(
        subsection(OpenLineageSection), {"transport": {"type": "file", "log_file_path": "ol.jsonl"}}
    )
    """Sends [OpenLineage events](../how-to/send-events.md); those of a target win."""
    on_failure = key(
        subsection(OnFailureSection), {"webhook": "{{ env_var('PENSTOCK_SECRET_WEBHOOK', '') }}"}
    )
    """Calls a [webhook](../how-to/send-events.md#a-webhook-after-failures) after a run that did not
    succeed; that of a target wins.
    """


class TargetSection(ReceiversSection):
    """An environment."""

    definition = "target"
    spark = key(
        subsection(SparkSection),
        {"master": "local[4]"},
        "`{master: 'local[*]', driver_memory: 2g}`",
        default=empty(SparkSection),
    )
    """How [Spark](spark.md) starts."""
    warehouse = key(STRING, "/data/warehouse", default="warehouse")
    """The folder of the tables; a relative path is seen from the project."""
    catalog = key(TEXT_OR_NULL, "spark_catalog")
    """A catalog of Spark's that knows the tables by name; without one they are found in
    `warehouse`.
    """
    schema_prefix = key(TEXT_OR_NULL, "dev_")
    """What begins the schema of every table of this target. SQL leaves it out."""
    state = key(
        STRING, "sqlite:///state/prod.db", "`sqlite`: a file in `.penstock/`", default="sqlite"
    )
    """Where records are kept: `sqlite`, or a [URL](state.md)."""
    storage = key(STORAGE, {"s3://lake": {"region": "eu-central-1"}})
    """How [buckets](storage.md) are reached, by prefix: `s3://` for all, or `s3://BUCKET`, which
    wins.
    """
    vars = key(TREE, {"days": 30})
    """Values for `var()` in this target; they win over those of the project, and `--vars` over
    both.
    """
    entities = key(subsection(EntitiesSettingsSection), {"environment": {"name": "prod"}})
    """Settings of entities for this target; they win over those of the project."""
    sessions = key(TREE, {"web": {"start_date": "2024-01-01"}})
    """Keys of session packages for this target, by package; they win over those of the file."""


class LeaseSection(StrictSection, filled=LeaseSettings()):
    """How long a silent run keeps its targets."""

    definition = "lease"
    length = key(DURATION, "2m", "`60s`")
    """After so long without a sign of life others may take the target over."""
    heartbeat = key(DURATION, "20s", "`10s`")
    """How often a run gives one."""


class SyncSection(StrictSection):
    """Limits of `penstock sync`."""

    definition = "sync"
    max_partitions = key(whole(1), 100, "`500`")
    """How many partitions one `sync` may run unless `--max-partitions` or `--all` say otherwise."""


class ChecksSettingsSection(StrictSection, filled=CheckSettings()):
    """What holds for the checks of every model."""

    definition = "checks_settings"
    on_failure = key(word(tuple(OnFailure)), "block")
    """What a failed gate does to the rows of its step; a model, and `--on-failure`, win."""
    sample = key(SWITCH, example=False)
    """Whether rows that break a check are kept and shown; a check may say it for itself."""
    quarantine_days = key(whole(0), 14)
    """How long rows are kept that a gate held back."""
    staging_schema = key(spelt("[A-Za-z0-9_-]+", "letters, digits, _ and -"), "aside")
    """The schema of tables that hold such rows. No model may use it."""


class DefaultsSection(ModelConfigSection):
    """Settings of all models, and under folders those of the models in them."""

    definition = "defaults"

    def dotted(self, key: str) -> str:
        """Return the name of a key in sentences: that of the setting."""
        return key

    def _unknown(self, written: str, member: YamlNode, candidates: Iterable[str]) -> None:
        if not written.endswith("/"):
            super()._unknown(written, member, candidates)
            return
        above = "" if isinstance(member.value, Mapping) else written
        read_section(ModelConfigSection, member, above, self.findings)


VERSION: ValueKind[int | None] = ValueKind(
    "1", lambda value: 1 if value in (1, "1") else None, {"enum": [1, "1"]}, None
)


class ProjectSection(ReceiversSection):
    """penstock.yml."""

    name = key(TEXT, "shop", needed=True)
    """What the project is called; it begins the names of the artifacts, and is the schema of
    models outside of a folder.
    """
    version = key(VERSION, 1, default=1)
    """The version of this format."""
    models = key(LISTED, ["models"], "`[models]`", default=("models",))
    """The folders that hold models, seen from the project. None may lie outside of it."""
    session_paths = key(LISTED, ["sessions"], "`[sessions]`", default=("sessions",))
    """The folders that hold session packages."""
    vars = key(TREE, {"days": 3, "countries": ["DE", "FR"]})
    """Values for `var()` in templates; `--vars` wins. A mapping under the name of a package in
    `models/packages/` holds values for its files.
    """
    defaults = key(
        subsection(DefaultsSection), {"materialized": "table", "staging/": {"materialized": "view"}}
    )
    """Settings for all models; under a folder that ends with `/`, for the models in it. The
    deepest folder wins over the others, and a model over all.
    """
    system_columns = key(
        subsection(SystemColumnsSection),
        {"prefix": "_ps_", "case": "snake"},
        "`{case: snake, prefix: _ps_}`",
    )
    """How columns that penstock adds to history tables are named."""
    checks = key(
        subsection(ChecksSettingsSection),
        {"on_failure": "block"},
        "`{on_failure: flag, quarantine_days: 7, sample: true, staging_schema: penstock_staging}`",
        default=empty(ChecksSettingsSection),
    )
    """What holds for the checks of every model."""
    hooks = key(subsection(HooksSection), {"after": ["optimize {{ ref('orders') }}"]})
    """[SQL](../how-to/run-sql-around-models.md#around-a-run) that runs before the first step of a
    run and after its last. That of all models is under `defaults`.
    """
    threads = key(whole(1), 8, default=4)
    """How many steps run at a time; `--threads` wins."""
    immutable = key(SWITCH, example=True, default=False)
    """Whether the SQL of versions that built rows may not change; a model may say it for itself."""
    sync = key(
        subsection(SyncSection),
        {"max_partitions": 100},
        "`{max_partitions: 500}`",
        default=empty(SyncSection),
    )
    """Limits of `penstock sync`."""
    entities = key(subsection(EntitiesSettingsSection), {"environment": {"timezone": "UTC"}})
    """Settings of [entities](entities.md) forevery target."""
    lease = key(
        subsection(LeaseSection),
        {"length": "60s", "heartbeat": "10s"},
        "`{heartbeat: 10s, length: 60s}`",
        default=empty(LeaseSection),
    )
    """How long a run that says nothing keeps its targets from others."""
    state_patience = key(DURATION, "10m", "`5m`", default=STATE_PATIENCE)
    """How long a command waits for a state store that does not answer."""
    targets = key(
        each_under(TargetSection),
        {"dev": {"warehouse": "warehouse"}, "prod": {"warehouse": "/data/warehouse"}},
        "one, `dev`",
    )
    """Environments by name. `--target`, else `PENSTOCK_TARGET`, else the first one is used."""

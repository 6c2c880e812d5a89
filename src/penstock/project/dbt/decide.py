"""Decide per model what its settings are here, so that its table and its rows stay the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.project.dbt.editing.calls import ConfigSpan, NotLiteralError, config_calls
from penstock.project.dbt.editing.yaml_edits import child, items, plain
from penstock.project.dbt.gather import DbtNode, Described, NodeKind
from penstock.project.dbt.naming import Naming, UnknownValueError
from penstock.project.dbt.notes import FileLog, Note
from penstock.project.dbt.rules import rule_for
from penstock.project.dbt.settings import Layer, setting_name
from penstock.project.files.values import Plain, mapping_of, switch_of, text_of, texts_of

_MERGED = ("meta", "tblproperties", "grants")
_GRAINS = {"hour": "HOUR", "day": "DAY", "month": "MONTH", "year": "YEAR"}
_TIMES = ("_at", "_ts", "time", "timestamp", "_on_utc")
_TIME = "timestamp"
"""The type of a column with a name of `_TIMES`."""
_OF_WINDOW = ("event_time", "begin", "batch_size", "lookback", "concurrent_batches")


@dataclass(frozen=True, slots=True)
class GivenConfig:
    """The settings of a node in dbt, by place: folders, YAML, header; names have underscores."""

    folders: Sequence[Layer]
    yaml: Mapping[str, Plain]
    header: Mapping[str, Plain]
    unknown: frozenset[str] = frozenset()
    """Settings of the header whose values only dbt knows."""

    @property
    def merged(self) -> dict[str, Plain]:
        """The settings as dbt merges them: tags and mappings add up."""
        result: dict[str, Plain] = {}
        tags: list[str] = []
        for layer in (*(each.values for each in self.folders), self.yaml, self.header):
            for key, value in layer.items():
                known = result.get(key)
                if key in _MERGED and isinstance(value, Mapping) and isinstance(known, Mapping):
                    result[key] = {**known, **value}
                else:
                    result[key] = value
            tags += texts_of(layer.get("tags"))
        return {**result, "tags": list(dict.fromkeys(tags))} if tags else result

    def holds(self, key: str) -> bool:
        """Return whether a file of the model sets the key itself."""
        return key in self.yaml or key in self.header


@dataclass(slots=True)
class Decision:
    """What changes in the settings of one model, beside the rules for each key."""

    values: dict[str, Plain] = field(default_factory=dict)
    delete: set[str] = field(default_factory=set)
    why: dict[str, str] = field(default_factory=dict)
    """The reasons, by key."""
    log: FileLog = field(default_factory=FileLog)
    window: tuple[str, str] | None = None
    """Of a microbatch model: its own event time, and the grain."""

    def set(self, key: str, value: Plain, why: str) -> None:
        """Set a key and record why."""
        self.values[key] = value
        self.delete.discard(key)
        self.why[key] = why

    def remove(self, key: str, why: str) -> None:
        """Delete a key and record why."""
        self.delete.add(key)
        self.values.pop(key, None)
        self.why[key] = why


def given_config(
    node: DbtNode, layers: Sequence[Layer], entry: Described | None, naming: Naming
) -> GivenConfig:
    """Return the settings of a node from all of its places."""
    path = (*node.folder, node.name)
    folders = [each for each in layers if path[: len(each.folder)] == each.folder]
    yaml: dict[str, Plain] = {}
    if entry is not None:
        values = mapping_of(plain(child(entry.node, "config")))
        for key in ("tags", "meta", "access", "group"):
            value = plain(child(entry.node, key))
            yaml |= {key: value} if value is not None else {}
        yaml |= {setting_name(key): naming.rendered(value) for key, value in values.items()}
    header: dict[str, Plain] = {}
    unknown: set[str] = set()
    calls = config_calls(node.text) if node.kind in (NodeKind.MODEL, NodeKind.SNAPSHOT) else []
    for argument in (each for call in calls for each in call.arguments if each.name):
        try:
            header[setting_name(argument.name)] = naming.value(argument.value)
        except (UnknownValueError, NotLiteralError):
            unknown.add(setting_name(argument.name))
    return GivenConfig(folders, yaml, header, frozenset(unknown))


def decide(node: DbtNode, config: GivenConfig, entry: Described | None, adapter: str) -> Decision:
    """Return what changes for the strategy of a node; `entry` describes it."""
    decision = Decision()
    merged = config.merged
    if node.kind is NodeKind.SNAPSHOT:
        _decide_snapshot(decision)
    elif text_of(merged.get("materialized")) == "incremental":
        _decide_incremental(decision, config, adapter)
        if decision.window is not None:
            _decide_type(decision, decision.window[0], entry)
    return decision


def _decide_type(decision: Decision, time: str, entry: Described | None) -> None:
    """Set the type of the event time: the one in YAML, else what its name says."""
    columns = items(child(entry.node, "columns")) if entry is not None else ()
    types = {
        text_of(plain(child(each, "name"))).lower(): text_of(plain(child(each, "data_type")))
        for each in columns
    }
    kind = types.get(time.lower()) or (_TIME if time.lower().endswith(_TIMES) else "")
    if kind:
        decision.set("partition_data_type", kind, f"the event time of dbt is a {kind}")


def _decide_snapshot(decision: Decision) -> None:
    decision.set("materialized", "snapshot", "the block of a snapshot is a setting here")
    decision.set("layout", "dbt", "the table keeps the columns that dbt gave it")


def _decide_incremental(decision: Decision, config: GivenConfig, adapter: str) -> None:
    merged = config.merged
    word = text_of(merged.get("incremental_strategy")) or "default"
    if word == "default":
        word = "append" if adapter == "spark" else "merge"
    if word == "microbatch":
        _decide_microbatch(decision, merged)
    elif word == "insert_overwrite":
        _decide_overwrite(decision, merged)
    else:
        _decide_rows(decision, config, word)


def _decide_overwrite(decision: Decision, merged: Mapping[str, Plain]) -> None:
    why = "insert_overwrite replaces the partitions that the query returns"
    decision.set("materialized", "table", why)
    if merged.get("partition_by"):
        decision.set("overwrite", "partitions", why)
    for key in ("unique_key", "on_schema_change"):
        decision.remove(key, "it has no effect where partitions are replaced")
    why = "it is false here: each run computes all rows of the query again"
    decision.log.change("is_incremental()", why)


def _decide_rows(decision: Decision, config: GivenConfig, word: str) -> None:
    """Decide between append and merge; `incremental` means the latter with a key."""
    merged, keys = config.merged, texts_of(config.merged.get("unique_key"))
    if word == "append" and keys:
        decision.remove("unique_key", "append of dbt does not use a key")
        if any("unique_key" in layer.values for layer in config.folders):
            decision.set("materialized", "append", "append of dbt does not use a key")
    elif word == "delete+insert":
        why = "rows of a key are replaced by a merge; two rows of one key in a run are an error"
        decision.log.change("config.incremental_strategy", why)
    elif word not in ("append", "merge"):
        why = f"penstock has no strategy {word}; it is {'merge' if keys else 'append'} here"
        decision.log.hand("config.incremental_strategy", why)
    if word == "append" or not keys:
        decision.set("window", "none", "the query itself selects the new rows")
    if "on_schema_change" not in merged:
        why = "it is the default of dbt; here new columns are added by default"
        decision.set("on_schema_change", "ignore", why)


def _decide_microbatch(decision: Decision, merged: Mapping[str, Plain]) -> None:
    """Turn batches into partitions: each is built again when its inputs changed."""
    time, begin = text_of(merged.get("event_time")), text_of(merged.get("begin"))
    grain = _GRAINS.get(text_of(merged.get("batch_size")).lower(), "DAY")
    decision.window = (time, grain)
    why = "a batch is a partition: it is built again when its inputs change"
    decision.set("materialized", "partition", why)
    decision.set("partition_by", [time], "a partition has one field: the event time")
    if grain != "DAY":
        decision.set("partition_type", grain, "it is the batch_size of dbt")
    decision.set("start", begin[:10] if begin else "2024-01-01", "it is the begin of dbt")
    if not begin:
        decision.log.hand("config.begin", "write the first date under start")
    for key in _OF_WINDOW:
        decision.delete.add(key)
    why = "dbt builds all batches first; here a run builds each that is new or whose inputs changed"
    decision.set("lookback", "all", why)
    if text_of(merged.get("partition_by")) not in ("", time):
        decision.log.hand("config.partition_by", f"the partition is {time} here")
    decision.remove("unique_key", "a partition is replaced as a whole")
    decision.remove("on_schema_change", "the columns of a partition are those of its table")


def is_enabled(config: GivenConfig) -> bool:
    """Return whether dbt builds a node."""
    return switch_of(config.merged.get("enabled", True)) is not False


@dataclass(frozen=True, slots=True)
class HeaderOutcome:
    """What happens to one key of a header or of `config`: its name and value here."""

    name: str
    value: Plain
    is_changed: bool


def outcomes(
    settings: Mapping[str, Plain],
    decision: Decision,
    log: FileLog,
    lines: Mapping[str, int],
    above: str = "config",
) -> dict[str, HeaderOutcome | None]:
    """Apply the rules to the keys of one place, but for those that the decision changes.

    A key without a counterpart gives None. Every key is in the notes afterwards.
    """
    found: dict[str, HeaderOutcome | None] = {}
    for written, value in settings.items():
        key, line, what = setting_name(written), lines.get(written, 1), f"{above}.{written}"
        if key in decision.values:
            found[written] = HeaderOutcome(key, decision.values[key], is_changed=True)
            log.change(what, decision.why.get(key, ""), line)
            continue
        rule = rule_for(key, value)
        if key in decision.delete:
            found[written] = None
            log.drop(what, decision.why.get(key, rule.why), line)
            continue
        log.add(Note(line, what, rule.fate, rule.why))
        found[written] = None
        if rule.name:
            is_changed = rule.name != written or rule.value != value
            found[written] = HeaderOutcome(rule.name, rule.value, is_changed=is_changed)
    return found


def lines_of(calls: Sequence[ConfigSpan]) -> dict[str, int]:
    """Return the line of each key of a header."""
    return {each.name: each.line for call in calls for each in call.arguments if each.name}

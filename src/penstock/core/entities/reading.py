"""How the records of a slice are read, and which of them are changes of an earlier row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Location

_NOWHERE = Location("")


class BronzeFormat(StrEnum):
    """The format of the files in bronze."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    AVRO = "avro"
    ORC = "orc"
    XML = "xml"
    TEXT = "text"

    @property
    def pattern(self) -> str:
        """The default pattern of slices, which compressed files match too."""
        return _PATTERNS.get(self, f"*.{self}")

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of its files, without that of a compression."""
        return _ENDINGS.get(self, (f".{self}",))

    @property
    def is_typed(self) -> bool:
        """Whether its files contain the types of their columns."""
        return self in _TYPED

    @property
    def names_columns(self) -> bool:
        """Whether only the records name their columns, so that reading needs a list of them."""
        return self in {BronzeFormat.JSON, BronzeFormat.XML}


_TYPED = frozenset({BronzeFormat.PARQUET, BronzeFormat.AVRO, BronzeFormat.ORC})
_PATTERNS = {
    BronzeFormat.CSV: "*.csv*",
    BronzeFormat.JSON: "*.json*",
    BronzeFormat.XML: "*.xml*",
    BronzeFormat.TEXT: "*.txt*",
}
_ENDINGS = {
    BronzeFormat.JSON: (".json", ".jsonl", ".ndjson"),
    BronzeFormat.TEXT: (".txt", ".text"),
}


class BadRecords(StrEnum):
    """What happens to records that cannot be read, or hold a value of another type."""

    FAIL = "fail"
    QUARANTINE = "quarantine"
    DROP_COUNTED = "drop_counted"


@dataclass(frozen=True, slots=True)
class Reading:
    """How records become rows.

    `options` are Spark's options of the format. With `infer`, the first slice decides the types.
    `rescued` is the column for values that do not fit, "" for none.
    """

    format: BronzeFormat = BronzeFormat.PARQUET
    options: Mapping[str, str] = field(default_factory=dict)
    infer: bool = False
    rescued: str = ""
    bad_records: BadRecords = BadRecords.FAIL

    @property
    def is_plain(self) -> bool:
        """Whether rows are taken as the files contain them."""
        return self.format.is_typed and not self.rescued and self.bad_records is BadRecords.FAIL

    @property
    def has_header(self) -> bool:
        """Whether the files name their columns in a line of their own."""
        found = {key.lower(): value.lower() for key, value in self.options.items()}
        return self.format is BronzeFormat.CSV and found.get("header") == "true"

    def __str__(self) -> str:
        """Return what differs from Parquet files, "" for nothing."""
        words = [str(self.format)] if self.format is not BronzeFormat.PARQUET else []
        words += [f"{key}={value!r}" for key, value in sorted(self.options.items())]
        words += ["infer"] * self.infer
        words += [f"rescued {self.rescued}"] * bool(self.rescued)
        words += [f"bad_records {self.bad_records}"] * (self.bad_records is not BadRecords.FAIL)
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Events:
    """Which rows are events: later ones win, some delete, some do not count.

    `sequence_by` are final names of columns that order the events of a key. `delete_when` and
    `ignore_when` are conditions on a row of the slice. `valid_from` is the final name of the column
    with the time of an event, in a history. With `change_feed`, a step reads the changes of a Delta
    table since the version that the last one read.
    """

    sequence_by: tuple[str, ...] = ()
    delete_when: str = ""
    ignore_when: str = ""
    valid_from: str = ""
    change_feed: bool = False
    where: Location = field(default=_NOWHERE, compare=False)

    @property
    def is_ordered(self) -> bool:
        """Whether the latest event of a key wins."""
        return bool(self.sequence_by) or self.change_feed

    @property
    def labels_rows(self) -> bool:
        """Whether some rows of a slice may not count."""
        return self.is_ordered or bool(self.ignore_when)

    def __str__(self) -> str:
        """Return its settings, "" without any."""
        words = [f"sequence by {', '.join(self.sequence_by)}"] * bool(self.sequence_by)
        words += [f"delete when {self.delete_when}"] * bool(self.delete_when)
        words += [f"ignore when {self.ignore_when}"] * bool(self.ignore_when)
        words += [f"valid from {self.valid_from}"] * bool(self.valid_from)
        words += ["change feed"] * self.change_feed
        return "; ".join(words)

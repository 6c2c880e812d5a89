"""Many history tables in one project, run together at T1 to T5; each case looks at one of them.

All models read one source, the feed, whose rows are arrays of words under the name of their case.
It is rewritten before every run, so that no step is skipped as up to date.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fakes import delta_tables
from fakes.history_story import T1, T2, T3, T4
from fakes.place import Place
from penstock.app.commands.run import run
from penstock.app.reports import ModelResult
from penstock.app.request import SnapshotRequest
from penstock.strategies.history.commit import Counts

T5 = dt.datetime(2024, 9, 1, tzinfo=dt.UTC)
TIMES = (T1, T2, T3, T4, T5)
COLUMNS = "id INT, value STRING, updated_at TIMESTAMP"
TS = {"strategy": "timestamp", "unique_key": "id", "updated_at": "updated_at"}
CK = {"strategy": "check", "unique_key": "id", "check_cols": ["value"]}
EV = {**TS, "valid_from": "updated_at"}
METRICS = tuple(Counts().metrics)
FEED = "{{ source('raw', 'feed') }}"
HIDDEN = "select s.* from (select struct(*) as s from ({rows}))"
"""A query whose columns nobody can tell without Spark."""
_DAY = re.compile(r"\d\d-\d\d$")
_NAMES = {at: f"T{number}" for number, at in enumerate(TIMES, 1)}


@dataclass(frozen=True)
class Extract:
    """The source of one case in one run, written as `1 a 01-05, 2 b 01-06`.

    What is given besides the rows holds for this run alone; `sql` reads the query's rows from
    `{rows}`.
    """

    rows: str
    columns: str = ""
    sql: str = ""
    config: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A model, and its source in each run; after the last one it is left out of the runs."""

    config: Mapping[str, object]
    extracts: tuple[Extract, ...]
    columns: str
    sql: str

    def query(self, name: str, extract: Extract) -> str:
        """Give the model's SQL."""
        columns = (extract.columns or self.columns).split(", ")
        parts = [column.rpartition(" ")[::2] for column in columns]
        casts = [f"cast(w[{n}] as {kind}) as {word}" for n, (word, kind) in enumerate(parts)]
        rows = f"select {', '.join(casts)} from {FEED} where c = '{name}'"
        return (extract.sql or self.sql).replace("{rows}", rows)

    def settings(self, extract: Extract) -> dict[str, object]:
        """Give the model's header."""
        return {"materialized": "snapshot", **self.config, **extract.config}


class Cases:
    """The cases of one file."""

    def __init__(self, abroad: int = 0) -> None:
        """Run number `abroad` is made by a JVM that stands in Amsterdam."""
        self.abroad = abroad
        self.known: dict[str, Case] = {}

    def add(
        self,
        name: str,
        config: Mapping[str, object],
        *extracts: str | Extract,
        columns: str = COLUMNS,
        sql: str = "{rows}",
    ) -> str:
        """Add a case; give its name."""
        each = tuple(e if isinstance(e, Extract) else Extract(e) for e in extracts)
        self.known[name] = Case(config, each, columns, sql)
        return name


@dataclass(frozen=True)
class Told:
    """What one run of a case left.

    `status` is that of the report, or the code of the error; `version` that of the table, -1 for
    none; `metrics` are those that are not 0.
    """

    status: str
    version: int
    versions: Sequence[str]
    metrics: Mapping[str, int] = field(default_factory=dict)


class Chronicle:
    """All cases of a file, run together; what each run left can be asked afterwards."""

    def __init__(self, cases: Cases, place: Place) -> None:
        """Run everything."""
        self.place = place
        self._cases = cases.known
        self._results: dict[tuple[str, int], ModelResult] = {}
        self._versions: dict[tuple[str, int], int] = {}
        self._files: dict[tuple[str, int], frozenset[str]] = {}
        self._read: dict[tuple[str, int], list[str]] = {}
        place.source("feed", "c STRING, w ARRAY<STRING>")
        for number in range(1, 1 + max(len(case.extracts) for case in self._cases.values())):
            with standing_in("Europe/Amsterdam" if number == cases.abroad else "UTC", place):
                self._run(number)

    def told(self, name: str, number: int) -> Told:
        """Give what run `number` did to a case, with the table's versions as of then."""
        result = self.result(name, number)
        version = self._versions[name, number]
        return Told(
            result.error.code if result.error else result.status,
            version,
            self.versions(name, version) if version >= 0 else [],
            {name: count for name in METRICS if (count := result.metrics.get(name, 0))},
        )

    def error(self, name: str, number: int) -> str:
        """Give the code and the sentence of the error of a run that left nothing behind."""
        before = self._versions.get((name, number - 1), -1)
        assert self._versions[name, number] == before
        assert self.files(name, number) == self.files(name, number - 1)
        error = self.result(name, number).error
        return f"{error.code}: {error.sentence}" if error else ""

    def result(self, name: str, number: int) -> ModelResult:
        """Give a case's part of the report."""
        return self._results[name, number]

    def files(self, name: str, number: int) -> frozenset[str]:
        """Give the files of a table after a run."""
        return self._files.get((name, number), frozenset())

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run SQL in which `{name}` stands for the table of a case."""
        return self.place.sql(text.format(**{name: self.place.table(name) for name in self._cases}))

    def versions(self, name: str, version: int) -> list[str]:
        """Write a table as the specification does; check that `is_current` says the same."""
        if (name, version) not in self._read:
            self._read[name, version] = self._written(name, version)
        return self._read[name, version]

    def _written(self, name: str, version: int) -> list[str]:
        uri = str(self.place.root / "warehouse" / "m" / name)
        found = delta_tables.rows(uri, version)
        rows = self._cast(uri, version) if found is None else [_texts(row) for row in found]
        order = [*_listed(self._cases[name].config["unique_key"]), "_ps_valid_from"]
        rows.sort(key=lambda row: [row[column] or "" for column in map(str.lower, order)])
        return [_shown(row) for row in rows]

    def _cast(self, uri: str, version: int) -> list[dict[str, str | None]]:
        frame = self.place.spark.read.option("versionAsOf", version).format("delta").load(uri)
        texts = frame.selectExpr(*[f"cast(`{column}` as string)" for column in frame.columns])
        return [dict(zip(frame.columns, row, strict=True)) for row in texts.collect()]

    def _run(self, number: int) -> None:
        place = self.place
        rows, over = [], []
        for name, case in self._cases.items():
            if number > len(case.extracts):
                over.append(name)
                continue
            extract = case.extracts[number - 1]
            place.model(name, case.query(name, extract), **case.settings(extract))
            rows.extend(f"('{name}', array({words}))" for words in _words(extract.rows))
        delta_tables.overwrite(f"{place.root}/landing/feed", ", ".join(rows))
        services = place.services()
        try:
            asked = SnapshotRequest(exclude=tuple(over), as_of=TIMES[number - 1])
            report = run(services, asked)
        finally:
            services.close()
        for name, result in report.items():
            self._results[name, number] = result
            self._versions[name, number] = place.version(name)
            folder = place.root / "warehouse" / "m" / name
            self._files[name, number] = frozenset(
                str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()
            )


@contextmanager
def standing_in(zone: str, place: Place) -> Iterator[None]:
    """Let the JVM and its first session have another time zone for a while."""
    zones, conf = place.spark.sparkContext._jvm.java.util.TimeZone, place.spark.conf
    before = zones.getDefault()
    try:
        zones.setDefault(zones.getTimeZone(zone))
        conf.set("spark.sql.session.timeZone", zone)
        yield
    finally:
        zones.setDefault(before)
        conf.set("spark.sql.session.timeZone", "UTC")


def _words(rows: str) -> Iterator[str]:
    """Read rows of words: `NULL` is NULL, `MM-DD` a day of 2024, `''` the empty text."""
    for row in filter(None, rows.split(", ")):
        words = (f"2024-{word}" if _DAY.match(word) else word for word in row.split(" "))
        yield ", ".join(
            "NULL" if word == "NULL" else "''" if word == "''" else f"'{word}'" for word in words
        )


def _texts(row: Mapping[str, object]) -> dict[str, str | None]:
    """Give values as Spark casts them to texts."""
    return {name: None if value is None else _text(value) for name, value in row.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _word(text: str | None) -> str:
    """Write a value: midnights of 2024 are `MM-DD`, run timestamps T1 to T5."""
    if text is None:
        return "NULL"
    day = re.fullmatch(r"2024-(\d\d-\d\d)(?: 00:00:00)?", text)
    if day is None:
        return text or "''"
    at = dt.datetime.fromisoformat(f"2024-{day[1]}T00:00:00+00:00")
    return _NAMES.get(at, day[1]) if len(text) > len("2024-01-01") else day[1]


def _shown(row: Mapping[str, str | None]) -> str:
    start, end = _word(row["_ps_valid_from"]), _word(row["_ps_valid_to"])
    assert row["_ps_is_current"] == ("true" if end == "NULL" else "false")
    business = [_word(value) for name, value in row.items() if not name.startswith("_ps_")]
    mark = "†" if row.get("_ps_is_deleted") == "true" else ""
    return f"{' '.join(business)} [{start}, {'' if end == 'NULL' else end}){mark}"


def _listed(keys: object) -> list[str]:
    return [keys] if isinstance(keys, str) else list(keys)

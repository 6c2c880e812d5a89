"""Small values for tests of partitions: models with dated SQL, what is on record of them."""

from __future__ import annotations

import datetime as dt

from fakes.builders import a_model, a_project, a_source, reads
from penstock.core.columns.schema import Schema
from penstock.core.facts import Touched
from penstock.core.findings import Location
from penstock.core.model import Body, Fingerprint, InputMapping, Model, Version
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import (
    Ceiled,
    Computed,
    Floored,
    Lower,
    Moved,
    RangeMapping,
    Upper,
)
from penstock.core.partitions.partition import Grain, Grid, Span
from penstock.core.partitions.ranges import Ranges, intersection, union
from penstock.core.project import Project
from penstock.core.query import Query
from penstock.core.records import PartitionRun, Status
from penstock.core.steps.inputs import DeltaPin, Pin
from penstock.plan.changes import Changes, PartitionsNow, TableNow
from penstock.plan.kinds.partitions import Evidence
from penstock.plan.resolve import Segment, due_partitions, resolve
from penstock.plan.values import Observed, Reason, State
from penstock.plan.verdict import Piece, Verdict
from penstock.strategies.partition import Partition

DAY, MONTH, WEEK = Grid(Grain.DAY), Grid(Grain.MONTH), Grid(Grain.WEEK)
HUNDREDS = Grid(Grain.RANGE, 0, 250, 100)
RUN_TIMESTAMP = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
THE_16TH = RUN_TIMESTAMP.date()


def date(text: str) -> dt.date | None:
    """Give a day; None for ""."""
    return dt.date.fromisoformat(text) if text else None


def ords(first: str, last: str = "", grid: Grid = DAY) -> Ranges:
    """Give the partitions from one key to another, both included."""
    return ((grid.parse(first), grid.parse(last or first)),)


def shown(grid: Grid, ranges: Ranges) -> list[str]:
    """Give partitions as people read them: `2024-12-02..2024-12-16`."""
    return [
        grid.key(low) if low == high else f"{grid.key(low)}..{grid.key(high)}"
        for low, high in ranges
    ]


def span(first: str, last: str) -> Span:
    """Give the positions of the days from one to another, both included."""
    return DAY.lower(DAY.parse(first)), DAY.upper(DAY.parse(last))


def reading(name: str, mapping: RangeMapping) -> InputMapping:
    """Read a model, or with a dot in its name a source."""
    return InputMapping(reads(name)[0], mapping)


def reading_itself(name: str, mapping: RangeMapping) -> InputMapping:
    """Read the own table."""
    return InputMapping(InputName(InputKind.THIS, name), mapping)


def a_body(label: str, since: str = "", *inputs: InputMapping, **changes: object) -> Body:
    """SQL of a version or revision by its label: `v2`, `v2.r1`; its text says the label."""
    number, _, revision = label.removeprefix("v").partition(".r")
    mark: dict[str, object] = {
        "sql": f"text-{label}",
        "canonical": f"meaning-{label}",
        "version": int(number),
        "revision": int(revision or 0),
        "effective_from": date(since),
        "parser": "1",
    }
    told = {key: changes.pop(key) for key in ("sql", "canonical", "schema") if key in changes}
    names = tuple(dict.fromkeys(each.input for each in inputs))
    settings: dict[str, object] = {
        "query": Query(label, label, label, names),
        "fingerprint": Fingerprint(**(mark | told)),  # type: ignore[arg-type]
        "text": label,
        "source": f"{label}.sql",
        "where": Location(f"queries/{label}.sql"),
        "inputs": inputs,
    }
    return Body(**(settings | changes))  # type: ignore[arg-type]


def a_version(body: Body, *revisions: Body) -> Version:
    """A version of this SQL; it declares no columns."""
    return Version(body.fingerprint.version, body, Schema(), "", revisions)


def a_daily(name: str, *bodies: Body | Version, grid: Grid = DAY, **settings: object) -> Model:
    """A model of partitions, of days unless said otherwise; its field is `date`."""
    versions = tuple(each if isinstance(each, Version) else a_version(each) for each in bodies)
    kept = {key: settings.pop(key) for key in ("immutable", "layout") if key in settings}
    kind = "bigint" if grid.grain is Grain.RANGE else "date"
    read = {m.input.name: m for v in versions for b in v.bodies for m in b.inputs}
    names = [name for name, m in read.items() if m.input.kind is not InputKind.THIS]
    strategy = Partition("date", kind, grid, **settings)  # type: ignore[arg-type]
    return a_model(
        name,
        *names,
        strategy=strategy,
        versions=versions,
        fingerprint=versions[-1].body.fingerprint,
        **kept,
    )


def a_run(ranges: Ranges, fingerprint: int, step: int = 1, **changes: object) -> PartitionRun:
    """Neighbouring partitions that a step made, its commit being the version of its number."""
    settings: dict[str, object] = {
        "low": ranges[0][0],
        "high": ranges[0][1],
        "status": Status.SUCCESS,
        "fingerprint": fingerprint,
        "step_seq": step,
        "last_step_seq": step,
        "commit_version": step,
        "settled_version": step,
        "holds_rows": True,
    }
    return PartitionRun(**(settings | changes))  # type: ignore[arg-type]


def the_table(*foreign: Touched, lying: tuple[Span, ...] | None = None) -> Observed:
    """The target as penstock made it, and what others did to it."""
    return Observed(True, table_id="t", ever_ours=True, foreign=foreign, lying=lying)


def a_commit(
    version: int, *spans: Span, column: str = "date", operation: str = "UPDATE"
) -> Touched:
    """Somebody else's commit; without spans nobody knows where."""
    return Touched(version, RUN_TIMESTAMP, operation, spans={column: spans} if spans else {})


def partition_code(
    model: Model, moment: dt.datetime = RUN_TIMESTAMP
) -> tuple[Ranges, tuple[Segment, ...]]:
    """The partitions that are due at a time, with their SQL."""
    known = due_partitions(model, moment)
    return known, resolve(model, moment.date(), known)


WITHIN = Computed("week_start", ((Lower(), Upper()),))
EVENTS = reading("raw.events", Computed("created_at", ((Lower(), Upper()),)))
_WEEK = 7 * 24 * 3_600_000_000
MONDAYS = Computed("date", ((Ceiled(Lower(), "week"), Moved(Floored(Lower(), "week"), 0, _WEEK)),))
"""CAST(DATE_TRUNC('WEEK', date) AS DATE) = @partition_date: a week for a Monday, else nothing."""


def daily(*more: Body | Version, v2: str = "2024-11-29", **settings: object) -> Model:
    """`daily` of the fixture F; `more` versions stand after, v3 among them."""
    old = a_body("v1", "2024-11-25", EVENTS), a_body("v2", v2, EVENTS)
    return a_daily("daily", *old, *(more or (a_body("v3", "2024-12-02", EVENTS),)), **settings)


def weekly() -> Model:
    """`weekly` of the fixture F: of days, though only Mondays hold rows."""
    return a_daily("weekly", a_body("v1", "2024-11-25", reading("daily", MONDAYS)))


def monthly() -> Model:
    """`monthly` of the fixture F; its SQL takes a range."""
    body = a_body("v1", "2024-11-01", reading("weekly", WITHIN), is_range=True)
    return a_daily("monthly", body, grid=MONTH)


def the_project(*models: Model) -> Project:
    """A project of the fixture F, some of its models replaced or added."""
    found = {each.name: each for each in (daily(), weekly(), monthly(), *models)}
    return a_project(*found.values(), a_source("events"))


def synced(model: Model, **changes: object) -> Evidence:
    """What is on record of a model whose every due partition was made by one step a segment."""
    segments = partition_code(model)[1]
    marks = {at: each.body.fingerprint for at, each in enumerate(segments, 1)}
    runs = tuple(a_run((each.range,), at, at) for at, each in enumerate(segments, 1))
    settings: dict[str, object] = {
        "runs": runs,
        "fingerprints": marks,
        "pins": {at: pins_of(model) for at in marks},
        "recorded": "t",
        "target": the_table(),
    }
    return Evidence(**(settings | changes))  # type: ignore[arg-type]


def pins_of(model: Model, version: int = 3) -> dict[str, Pin]:
    """Pins of all inputs of a model at one version; the id of a table is its name."""
    read = (m for version in model.versions for body in version.bodies for m in body.inputs)
    names = dict.fromkeys(each.input.name for each in read)
    return {name: DeltaPin(name, version) for name in names}


def unchanged() -> Changes:
    """Inputs of the fixture F as they were read."""
    return changed_since()


def changed_since(*commits: Touched, **runs: tuple[PartitionRun, ...]) -> Changes:
    """Inputs of the fixture F: commits to `raw.events`, partitions of the models named."""
    tables = {"raw.events": TableNow(DeltaPin("raw.events", 3 + len(commits)), commits)}
    partitions = {n: PartitionsNow(n, DAY, found) for n, found in runs.items()}
    return Changes(partitions.get, tables.get)


def verdict_of(model: Model, **states: Ranges) -> Verdict:
    """Give a verdict on the due partitions of which these are in a state: `sql_changed=…`."""
    known, segments = partition_code(model)[0], partition_code(model)[1]
    pieces = [
        Piece(low, high, Reason(State(state)), (), segment)
        for state, ranges in states.items()
        for segment in segments
        for low, high in intersection(ranges, (segment.range,))
    ]
    rising = tuple(sorted(pieces, key=lambda piece: piece.low))
    return Verdict(model.name, known, segments, rising, recorded=known)


def told(model: Model, verdict: Verdict) -> dict[str, list[str]]:
    """Give the partitions in each state and those beside it: `failed, sql_changed`."""
    found: dict[str, Ranges] = {}
    for piece in verdict.pieces:
        key = ", ".join(piece.states)
        found[key] = union(found.get(key, ()), (piece.range,))
    return {key: shown(model.grid, ranges) for key, ranges in found.items()}

"""Versions and verdicts by ranges are those of single partitions."""

import dataclasses
import datetime as dt
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.naive_drift import Above, Code, Row, Rule, Stood, chosen, states_of_one
from fakes.versioned_models import DAY, HUNDREDS, MONTH, WEEK, a_body, a_commit, a_daily, a_version
from penstock.core.model import Fingerprint, InputMapping
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import (
    ByGrain,
    Calendar,
    Computed,
    Everything,
    Lower,
    Moved,
    RangeMapping,
    Same,
    Trailing,
    Upper,
)
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.partitions.ranges import merged, numbers, of_numbers
from penstock.core.records import PartitionRun, Status
from penstock.core.steps.inputs import DeltaPin
from penstock.plan.changes import Changes, PartitionsNow, TableNow
from penstock.plan.kinds.partitions import Evidence, detect_drift
from penstock.plan.resolve import Segment, resolve
from penstock.plan.values import Observed

FROM, DAYS = dt.date(2024, 1, 20), 30
DATES = st.integers(0, DAYS).map(lambda days: FROM + dt.timedelta(days))
HOUR, YEAR = Grid(Grain.HOUR), Grid(Grain.YEAR)


@st.composite
def dated_models(draw):
    """Give a model whose versions and revisions begin within some hundred days."""
    grid = draw(st.sampled_from([HOUR, DAY, WEEK, MONTH, YEAR, HUNDREDS]))
    timed = grid.grain is not Grain.RANGE
    versions = []
    for number, since in enumerate(draw(st.lists(DATES, min_size=1, max_size=4, unique=True)), 1):
        revisions = [
            a_body(
                f"v{number}.r{revision}",
                str(draw(DATES)),
                backfill_since=draw(st.none() | DATES) if timed else None,
            )
            for revision in range(1, draw(st.integers(1, 4)))
        ]
        versions.append(a_version(a_body(f"v{number}", str(since)), *revisions))
    return a_daily("m", *versions, grid=grid, start=draw(st.none() | DATES) if timed else None)


@st.composite
def partitions_of(draw, grid: Grid):
    """Give partitions around those days, with gaps."""
    if grid.grain is Grain.RANGE:
        return of_numbers(draw(st.sets(st.integers(0, 2))))
    first, last = grid.holding(FROM - dt.timedelta(9), FROM + dt.timedelta(DAYS + 9))
    ends = st.integers(first, last)
    return merged(draw(st.lists(st.tuples(ends, ends), max_size=3)))


@given(dated_models(), DATES, st.data())
def test_law_1_every_partition_has_the_sql_of_the_definition_once(model, run_date, data):
    within = data.draw(partitions_of(model.grid))

    segments = resolve(model, run_date, within)

    found = [(n, s.body.fingerprint.label) for s in segments for n in range(s.low, s.high + 1)]
    defined = [(n, chosen(model, run_date, n)) for n in numbers(within)]
    assert found == [(number, label) for number, label in defined if label]
    for one, other in pairwise(segments):
        assert one.high + 1 < other.low or one.body is not other.body


# --- law 4 ---------------------------------------------------------------------------------------

GRIDS = {
    "time": {"day": DAY, "week": WEEK, "month": MONTH},
    "numbers": {"tens": Grid(Grain.RANGE, 0, 300, 30), "hundreds": Grid(Grain.RANGE, 0, 300, 100)},
}
SPAN = {"time": (dt.date(2024, 2, 20), dt.date(2024, 3, 12)), "numbers": None}
UNIT = {"time": 86_400_000_000, "numbers": 10}
RULES = {
    "time": ["same", "grain", "all", "trailing", "week", "month", "window"],
    "numbers": ["same", "grain", "all", "trailing", "window"],
}
IDS = st.sampled_from(["t", "t", "t", "other"])
CHANGED = st.sampled_from([1, 2, 3, 4, 5, None])
MARKS = st.builds(
    lambda version, revision, canonical, schema: Fingerprint(
        f"sql-{canonical}", canonical, version=version, revision=revision, schema=schema, parser="1"
    ),
    st.integers(1, 2),
    st.integers(0, 1),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "x", "y"]),
)
"""Equal forms have equal texts here; texts that differ alone are cosmetic, in no state."""


def within(domain: str, grid: Grid) -> range:
    """Give the partitions that a case is about."""
    if domain == "numbers":
        return range(grid.last_number + 1)
    first, last = grid.holding(*SPAN["time"])
    return range(first, last + 1)


def mapping_of(rule: Rule, column: str) -> RangeMapping:
    match rule.word:
        case "same":
            return Same()
        case "grain":
            return ByGrain()
        case "all":
            return Everything()
        case "trailing":
            return Trailing(rule.number)
        case "window":
            return Computed(column, ((Moved(Lower(), 0, -rule.number), Upper()),))
        case unit:
            return Calendar(unit)


@st.composite
def spans_within(draw, domain: str):
    """Give a span somewhere among the partitions, or () or None for nobody knows."""
    grid = GRIDS[domain]["day" if domain == "time" else "tens"]
    places = within(domain, grid)
    if draw(st.integers(0, 9)) == 9:
        return None
    ends = st.integers(places.start, places.stop - 1)
    low, high = sorted(draw(st.tuples(ends, ends)))
    inside = draw(st.integers(0, UNIT[domain] // 2))
    return ((grid.lower(low) + inside, grid.upper(high) - inside),)


@st.composite
def inputs(draw, domain: str):
    """Give what may be read: models of every grain, a table of one partition, a source."""
    found = {}
    for name, grid in GRIDS[domain].items():
        some = {n: draw(CHANGED) for n in within(domain, grid) if draw(st.booleans())}
        found[name] = Above(draw(IDS), grid, some)
    for name in ("table", "raw.events"):
        commits = [(n, draw(spans_within(domain))) for n in range(1, draw(st.integers(1, 6)))]
        found[name] = Above(draw(IDS), commits=commits, is_source="." in name)
    return found


@st.composite
def codes(draw, domain: str, marks: list[Fingerprint]):
    """Give SQL that reads some inputs, each in one way or two."""
    names = [*GRIDS[domain], "table", "raw.events"]
    reads = []
    for name in draw(st.lists(st.sampled_from(names), max_size=3)):
        word = draw(st.sampled_from(RULES[domain]))
        step = UNIT[domain] // 2
        number = draw(st.integers(-3 if word == "window" else 1, 4)) * (
            step if word == "window" else 1
        )
        reads.append((name, Rule(word, number)))
    return Code(draw(st.sampled_from(marks) | MARKS), tuple(reads))


@st.composite
def rows(draw, marks: list[Fingerprint], steps: list[dict]):
    """Give the record of a partition, and the numbers of its mark and step; 0 for none."""
    if draw(st.integers(0, 9)) == 9:
        return Row(failed=True), 0, 0
    mark, step = draw(st.integers(1, len(marks))), draw(st.integers(1, len(steps)))
    settled = draw(st.sampled_from([2, 3, 4, 5, None]))
    row = Row(
        failed=draw(st.integers(0, 5)) == 5,
        made=marks[mark - 1],
        pins=steps[step - 1],
        settled=settled,
        holds_rows=not draw(st.booleans()),
    )
    return row, mark, step


@st.composite
def targets(draw, domain: str):
    versions = draw(st.sets(st.integers(2, 6), max_size=2))
    foreign = [(number, draw(spans_within(domain))) for number in versions]
    lying = draw(spans_within(domain)) if foreign else None
    return Stood(
        there=draw(st.integers(0, 9)) < 9,
        is_ours=draw(st.integers(0, 9)) < 9,
        foreign=foreign,
        lying=lying,
    )


@st.composite
def stretches(draw, places: range, value):
    """Cut the partitions into stretches of which the same is true; None for some of them."""
    cuts = draw(st.sets(st.integers(places.start + 1, places.stop - 1), max_size=4))
    bounds = [places.start, *sorted(cuts), places.stop]
    return [
        ((low, after - 1), draw(value) if draw(st.integers(0, 9)) < 9 else None)
        for low, after in pairwise(bounds)
    ]


@st.composite
def shops(draw):
    """Give all that a verdict stands on: SQL, records, target and inputs of one model."""
    domain = draw(st.sampled_from(["time", "numbers"]))
    grid = draw(st.sampled_from(list(GRIDS[domain].values())))
    places, above = within(domain, grid), draw(inputs(domain))
    pins = st.dictionaries(
        st.sampled_from(list(above)), st.tuples(IDS, st.integers(2, 5)), min_size=3
    )
    marks = draw(st.lists(MARKS, min_size=1, max_size=3))
    steps = draw(st.lists(pins, min_size=1, max_size=3))
    sql = draw(stretches(places, codes(domain, marks)))
    records = draw(stretches(places, rows(marks, steps)))
    return grid, sql, records, above, draw(targets(domain)), marks, steps


def judged(services) -> dict[int, tuple]:
    """Ask the code under test; give the states of the partitions that are not current."""
    grid, sql, records, above, target, marks, steps = services
    model = a_daily("m", a_body("v1", "2024-01-01"), grid=grid)
    segments = tuple(segment_of(span, code) for span, code in sql if code)
    evidence = Evidence(
        runs=tuple(run_of(span, *found) for span, found in records if found),
        pins={n: {name: DeltaPin(*pin) for name, pin in p.items()} for n, p in enumerate(steps, 1)},
        fingerprints=dict(enumerate(marks, 1)),
        recorded="t",
        target=target_of(target),
    )
    known = ((sql[0][0][0], sql[-1][0][1]),)
    verdict = detect_drift(model, known, segments, evidence, changes_of(above))
    return {n: piece.states for piece in verdict.pieces for n in range(piece.low, piece.high + 1)}


def segment_of(span, code: Code) -> Segment:
    reads = (
        InputMapping(
            InputName(InputKind.SOURCE if "." in name else InputKind.MODEL, name),
            mapping_of(rule, "at"),
        )
        for name, rule in code.reads
    )
    body = a_body("v1", "", *reads)
    version = a_version(dataclasses.replace(body, fingerprint=code.mark))
    return Segment(*span, version, version.body)


def run_of(span, row: Row, mark: int, step: int) -> PartitionRun:
    status = Status.FAILED if row.failed else Status.SUCCESS
    return PartitionRun(*span, status, mark, step, step, None, row.settled, row.holds_rows)


def target_of(target: Stood) -> Observed:
    if not target.there:
        return Observed()
    commits = tuple(a_commit(version, *(spans or ())) for version, spans in target.foreign)
    table_id = "t" if target.is_ours else "other"
    return Observed(True, table_id, ever_ours=True, foreign=commits, lying=target.lying)


def changes_of(above: dict[str, Above]) -> Changes:
    partitions, tables = {}, {}
    for name, found in above.items():
        if found.grid.grain is not Grain.WHOLE:
            runs = (
                PartitionRun(n, n, Status.SUCCESS, 1, 1, 1, commit, commit, holds_rows=True)
                for n, commit in found.partitions.items()
            )
            partitions[name] = PartitionsNow(found.table_id, found.grid, tuple(runs))
            continue
        commits = tuple(a_commit(n, *(s or ()), column="at") for n, s in found.commits)
        tables[name] = TableNow(DeltaPin(found.table_id, len(commits)), commits)
    return Changes(partitions.get, tables.get)


def defined(services) -> dict[int, tuple]:
    """Ask the definition, partition by partition."""
    grid, sql, records, above, target, _, _ = services
    code = {n: code for (low, high), code in sql for n in range(low, high + 1)}
    rows_of = {
        n: found[0] if found else None
        for (low, high), found in records
        for n in range(low, high + 1)
    }
    return {
        number: states
        for number in code
        if (
            states := states_of_one(grid.span(number), code[number], rows_of[number], target, above)
        )
    }


@settings(max_examples=max(100, settings().max_examples))
@given(shops())
def test_law_4_ranges_are_judged_as_each_partition_would_be(services):
    if not any(found for _, found in services[2]):
        return  # without records nothing is compared: never run, or a strange table

    assert judged(services) == defined(services)

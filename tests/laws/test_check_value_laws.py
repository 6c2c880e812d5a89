"""Sugar and long form give equal checks; checks survive a round trip."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock import checks
from penstock.core.checks.check import Check, Phase
from penstock.core.checks.check_type import check_types
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName, TableName
from penstock.project.checks.check import read_check
from penstock.project.checks.phases import column_tests, name_of
from penstock.project.checks.scene import UNKNOWN, Scene
from penstock.project.files.cache import ParseCache, codec_of
from penstock.project.files.nodes import node_of
from penstock.project.sql.names import Named, NameResolver
from penstock.strategies.merge import Merge

RESOLVER = NameResolver()
RESOLVER.add_model("m", TableName("shop", "m"))
RESOLVER.add_model("codes", TableName("shop", "codes"))
MODEL = Named(InputName(InputKind.MODEL, "m"), TableName("shop", "m"))
STRATEGY = Merge(("id",), None)
CACHE = ParseCache(None, "")
HERE = Location("models/m.yml", 1, 1)

names = st.sampled_from(["id", "region", "odd name", "a.b", "größe", "select", "x`y"])
columns = st.lists(names, min_size=1, max_size=3, unique=True)
counts = st.integers(0, 10**9)
numbers = st.one_of(st.integers(-(10**12), 10**12), st.decimals(-1000, 1000, places=4).map(float))
percents = st.integers(0, 10_000).map(lambda n: n / 100)
said = st.fixed_dictionaries(
    {},
    optional={
        "name": st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True),
        "severity": st.sampled_from(["error", "warning"]),
        "description": st.text("abc ßx", max_size=9),
        "tags": st.lists(st.sampled_from("abc"), max_size=2),
        "meta": st.dictionaries(st.sampled_from("abc"), st.integers() | st.text("xy", max_size=3)),
        "sample": st.booleans(),
    },
)
rows = st.fixed_dictionaries(
    {},
    optional={
        "where": st.sampled_from(["region = 'eu'", "id > 5 -- {x}"]),
        "scope": st.sampled_from(["step", "table"]),
        "empty": st.sampled_from(["pass", "fail"]),
    },
)


def of_bounds(values):
    """Give one bound or two in their order."""
    pair = st.tuples(values, values).map(sorted)
    one = values.flatmap(lambda v: st.sampled_from([{"min": v}, {"max": v}]))
    return one | pair.map(lambda both: {"min": both[0], "max": both[1]})


conditions = st.sampled_from(["MIN({column}) >= 0", "{column} is not null"])
values = st.lists(numbers | st.text("abc'", max_size=4), min_size=1, max_size=4)
ages = st.sampled_from(["90m", "36h", "2 days", "P1DT12H"])
nulls = st.sampled_from([None, "distinct", "equal"])
MAKERS = {
    "column_check": lambda draw, more: checks.column_check(draw(names), draw(conditions), **more),
    "null_percentage": lambda draw, more: checks.null_percentage(
        draw(names), max_percentage=draw(percents), **more
    ),
    "distinct_count": lambda draw, more: checks.distinct_count(
        *draw(columns), **draw(of_bounds(counts)), **more
    ),
    "value_range": lambda draw, more: checks.value_range(
        draw(names), **draw(of_bounds(numbers)), **more
    ),
    "unique": lambda draw, more: checks.unique(*draw(columns), nulls=draw(nulls), **more),
    "not_null": lambda draw, more: checks.not_null(*draw(columns), **more),
    "accepted_values": lambda draw, more: checks.accepted_values(draw(names), draw(values), **more),
    "freshness": lambda draw, more: checks.freshness(draw(names), max_age=draw(ages), **more),
    "schema": lambda draw, more: checks.schema(
        draw(st.dictionaries(names, st.sampled_from(["BIGINT", "ARRAY<INT64>"]), min_size=1)),
        **{key: value for key, value in more.items() if key != "empty"},
    ),
    "anomaly": lambda draw, more: checks.anomaly(
        measure=draw(st.sampled_from([None, "sum(id)"])), last=draw(st.integers(7, 99)), **more
    ),
}


def row_count(draw, more):
    """Give a check of the one typed type that has no `empty`."""
    more.pop("empty", None)
    return checks.row_count(**draw(of_bounds(counts)), **more)


def row_count_change(draw, more):
    """Give a check of the one type that looks at all rows of a step."""
    more = {key: value for key, value in more.items() if key not in ("where", "scope")}
    last = draw(st.none() | st.integers(1, 99))
    return checks.row_count_change(max_percent=draw(percents), last=last, **more)


def relationships(draw, more):
    """Give a check with as many fields as columns."""
    both = draw(columns)
    return checks.relationships(both, to="ref('codes')", fields=both, **more)


TYPED = {
    **MAKERS,
    "row_count": row_count,
    "row_count_change": row_count_change,
    "relationships": relationships,
}


@st.composite
def written(draw):
    """Give a check as a value of `penstock.checks`."""
    maker = TYPED[draw(st.sampled_from(sorted(TYPED)))]
    return maker(draw, {**draw(said), **draw(rows)})


def test_every_typed_type_is_drawn():
    assert {*TYPED, "sql"} == {*check_types()}


def read(mapping):
    """Read a check, which must have no finding."""
    scene = Scene(MODEL, STRATEGY, RESOLVER, None, CACHE, lambda _: UNKNOWN)
    findings = []
    node = node_of(mapping, lambda path, key: HERE)
    found = read_check(node, Phase.AFTER, scene, findings)
    assert findings == []
    assert found.name == name_of(node)
    return found


@given(written())
def test_a_value_reads_as_its_mapping_does(value):
    mapping = json.loads(json.dumps(value.as_mapping()))

    assert hash(value) == hash(replace(value))
    assert read(mapping) == read(value.as_mapping())


@given(written())
def test_short_keys_mean_what_long_ones_do(value):
    long = value.as_mapping()
    short = dict(long)
    for key, alias in (("columns", "column"), ("fields", "field")):
        if len(short.get(key, "ab")) == 1:
            short[alias] = short.pop(key)[0]
    if short.get("severity") == "warning":
        short["severity"] = "warn"

    assert read(short) == read(long)


@given(written())
def test_a_check_survives_a_round_trip_through_json(value):
    check = read(value.as_mapping())

    write, again = codec_of(Check)
    assert again(json.loads(json.dumps(write(check)))) == check


@given(
    st.sampled_from(["not_null", "unique", "accepted_values", "relationships"]),
    names,
    said,
    st.booleans(),
)
def test_a_test_of_a_column_reads_as_its_check_does(kind, column, config, beside):
    arguments = {
        "accepted_values": {"values": ["a", 1]},
        "relationships": {"to": "ref('codes')", "field": "id"},
    }.get(kind, {})
    config.pop("sample", None)
    body = {**arguments, **config} if beside else {"arguments": arguments, "config": config}
    listed = [{"name": column, "data_tests": [{kind: body}]}]
    findings = []

    (test,) = column_tests(node_of(listed, lambda path, key: HERE).items, findings).after

    assert findings == []
    scene = Scene(MODEL, STRATEGY, RESOLVER, None, CACHE, lambda _: UNKNOWN)
    assert read_check(test, Phase.AFTER, scene, findings) == read(
        {"type": kind, "column": column, **arguments, **config}
    )

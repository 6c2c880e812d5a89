"""A text that was understood once costs a look-up afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from penstock.core.names import TableName
from penstock.core.query import PARAMETERS
from penstock.project.checks.kept import condition_of, query_of
from penstock.project.checks.scene import ConditionKind
from penstock.project.files.cache import ParseCache
from penstock.project.sql.names import NameResolver, QueryOwner

ALL = frozenset(PARAMETERS)
SQL = "select *\nfrom {destination} where '@run_date' = a and date = @partition_date"
CONDITION = "max({column}) > 1 and\n'@run_date' < @run_date"


def ask(cache: ParseCache, allowed: frozenset[str] = ALL) -> Sequence[object]:
    resolver = NameResolver()
    resolver.add_model("user_stats", TableName("analytics", "user_stats"))
    reader = QueryOwner("models/user_stats.yml", resolver.model("user_stats"))
    query = query_of(SQL, reader, resolver, allowed, cache)
    check = condition_of(CONDITION, ConditionKind.CHECK, column="a", allowed=allowed, cache=cache)
    return [query, check]


def reread(cache: ParseCache) -> ParseCache:
    """Return the cache as the next load finds it."""
    entries = {name: json.loads(json.dumps(e[1])) for name, e in cache.current.items()}
    return ParseCache(None, "", {name: ("", result) for name, result in entries.items()})


@pytest.fixture
def no_parser(monkeypatch):
    monkeypatch.setattr("penstock.project.sql.sql_file.parse_plain_sql", None)
    monkeypatch.setattr("penstock.project.checks.expressions.understood", None)
    monkeypatch.setattr("penstock.project.sql.parameters.with_destination", None)


@pytest.fixture
def warm():
    cold = ParseCache(None, "")
    return cold, ask(cold)


def test_a_warm_load_reads_equal_values_without_a_parser(warm, no_parser):
    cold, first = warm
    cache = reread(cold)

    assert ask(cache) == first
    assert set(cache.current) == set(cold.current)


def test_one_load_parses_a_text_once(warm, no_parser):
    cold, first = warm

    assert ask(cold) == first


def test_what_has_a_value_is_decided_on_every_load(warm, no_parser):
    found = ask(reread(warm[0]), frozenset({"run_date"}))

    assert [[(p.code, p.where.line) for p in read.problems] for read in found] == [
        [("parameter-in-string", 2), ("parameter-without-partition", 2)],
        [("parameter-in-string", 2)],
    ]


@pytest.mark.parametrize("result", [[], [1, 2], ["x", [], True, [["a"]], []], None, {"a": 1}])
def test_damage_is_read_again(warm, result):
    cold, first = warm
    damaged = ParseCache(None, "", dict.fromkeys(cold.current, ("", result)))

    assert ask(damaged) == first


def test_what_is_wrong_is_not_kept():
    cache = ParseCache(None, "")
    condition_of("rand() > 1", ConditionKind.CHECK, allowed=ALL, cache=cache)
    query_of("delete from t", QueryOwner("a"), NameResolver(), ALL, cache)

    assert cache.current == {}


def test_the_column_and_the_kind_are_a_part_of_the_text():
    cache = ParseCache(None, "")
    texts = [
        condition_of("{column} > 1", ConditionKind.CHECK, column=name, allowed=ALL, cache=cache)
        for name in ("a", "b")
    ]
    said = condition_of("max(a) > 1", ConditionKind.CHECK, allowed=ALL, cache=cache)

    assert [read.value.text for read in texts] == ["`a` > 1", "`b` > 1"]
    assert said.problems == ()
    assert condition_of("max(a) > 1", ConditionKind.WHERE, allowed=ALL, cache=cache).problems

"""Entities against a second opinion, and both against cases that were worked out by hand.

The second opinion shares no code with penstock. The hashes of the cases by hand are `sha256sum` of
texts such as `2:idD1:14:nameS5:Alice`.
"""

import datetime as dt
from pathlib import Path

import pytest

from fakes import outside_entity
from fakes.entity_place import EntityPlace
from fakes.outside_entity import COUNTS, Delivery, OutsideTable, Rules
from fakes.outside_story import KINDS, OutsideStory, TextStory, document_of, stored_rows

STORIES, ROUNDS = 40, 4
T1, T2 = 1746439200000000, 1746439260000000  # 2025-05-05T10:00Z, and a minute later
NEW_YEAR, JUNE = 1704067200000000, 1718409600000000  # 2024-01-01, 2024-06-15
KEYS = {
    1: "d14b18466cfeea415a83f24ec381468caae395f1a2aa37f4b652be0420c77992",
    2: "b9853d3f76c490f6aca35c34c7d046c8f4001bb086dccc15e7701a90da498590",
    3: "77ac488fa1cc8949bf94a44dd5af8f9c099601222edffdb8d72d40ed0b4d6e47",
    4: "2bb71af61634749be301301ea070bfe7faa0f589298e785c28e12571b98b6da7",
    123: "5a119bb350fa317a67859b6aca8a721d8e4c93534017b65bc3f3197045636958",
}
HASHES = {
    "Alice": "5085e2c3cd94feff3af29df44161513e5583cb13899103538d3b48548a9efca2",
    "Ann": "c50f93a7c4ce861700c7cb109caba14774b14b745ec4fdfa9cb96bd03c0c6df2",
    "Bob": "ccb87f3fca35b50cc7ddc9335a216344de05b9804b35425e712fe0d41f99b66e",
    "Carol": "ee6101413b8414117a32c37a936ac890f26e3fd268234cc4f1ed6110929ccffc",
    "Dan": "3e04bc40cae326a9ff4c1c7f22b19a3f9593783d43b8f6d225eb92e98c2ba2b8",
    "v1": "63b9b3326a76c638a4aa1edd56cac1c4403dc71f899efb9700bec3a85da896d5",
    "v2": "41447657be8753d3ae811fd4408260cf5b1aa2b564aff9d5717c2d9c1488be0a",
}
NAMED = {"ID": "int", "name": "string"}


def opinion(rules, *deliveries):
    """Let the second opinion process deliveries; give its counts and rows."""
    table = OutsideTable(rules)
    return [table.take(at, each) for at, each in deliveries], table.rows


def processed(place, *deliveries):
    """Let penstock do it."""
    told = []
    for at, each in deliveries:
        kinds = {column: KINDS[kind] for column, kind in each.types.items()}
        rows = [tuple(row[column] for column in each.types) for row in each.rows]
        place.slice(each.name, *rows, columns=",".join(each.types), types=kinds)
        moment = dt.datetime.fromtimestamp(at // 1_000_000, dt.UTC)
        (result,) = place.at(moment.isoformat()).results
        told.append({name: result.metrics[name] for name in COUNTS})
    return told, stored_rows(place)


def both(spark, tmp_path, rules, *deliveries):
    """Give the counts and rows of both, ordered, which are to be the same."""
    place = EntityPlace(tmp_path, spark, document_of(rules))
    for told, rows in (opinion(rules, *deliveries), processed(place, *deliveries)):
        yield [tuple(each.values()) for each in told], sorted(rows, key=repr_of)


def repr_of(row):
    return repr(sorted(row.items(), key=lambda item: item[0]))


def slice_of(name, *rows, types=NAMED):
    return Delivery(name, tuple(dict(zip(types, row, strict=True)) for row in rows), types)


def stored_row(key, name, file, seen, *, deleted=False, **more):
    made = {"p_SourceHash": HASHES[name], "p_source_filename": file, "PK_x": KEYS[key]}
    return {"ID": key, "name": name, **made, "p_deleted": deleted, "p_lastSeen": seen, **more}


def test_the_four_rules_of_a_merge_by_hand(spark, tmp_path):
    flagged = {**NAMED, "p_deleted": "boolean"}
    first = slice_of("a.parquet", (1, "Alice"), (2, "Bob"), (3, "Carol"))
    rows = ((1, "Ann", None), (2, "Bob", False), (3, "Dan", True), (4, "Dan", False))
    second = slice_of("b.parquet", *rows, types=flagged)

    for told, stored in both(spark, tmp_path, Rules("merge"), (T1, first), (T2, second)):
        assert told == [(3, 3, 0, 0, 0, 0), (4, 1, 2, 1, 0, 0)]
        assert stored == [
            stored_row(1, "Ann", "b.parquet", T2),
            stored_row(2, "Bob", "a.parquet", T2),
            stored_row(3, "Carol", "a.parquet", T2, deleted=True),
            stored_row(4, "Dan", "b.parquet", T2),
        ]


def test_the_life_of_a_version_by_hand(spark, tmp_path):
    first, second = slice_of("a.parquet", (123, "v1")), slice_of("b.parquet", (123, "v2"))

    def version(name, file, begin, end):
        ends = {"p_ValidFrom": begin, "p_ValidTo": end, "p_IsCurrent": end is None}
        return stored_row(123, name, file, begin, **ends)

    for told, stored in both(spark, tmp_path, Rules("historic"), (NEW_YEAR, first), (JUNE, second)):
        assert told == [(1, 1, 0, 0, 0, 0), (1, 0, 1, 0, 0, 0)]
        assert sorted(stored, key=lambda row: row["p_ValidFrom"]) == [
            version("v1", "a.parquet", NEW_YEAR, JUNE),
            version("v2", "b.parquet", JUNE, None),
        ]


def test_the_partitions_of_a_full_load_by_hand(spark, tmp_path):
    types = {"region": "string", "name": "string"}
    first = slice_of("a.parquet", ("2023", "a"), ("2024", "b"), ("2025", "c"), types=types)
    second = slice_of("b.parquet", ("2024", "b2"), ("2025", "c2"), types=types)
    rules = Rules("full", keys=(), partition="region")

    for told, stored in both(spark, tmp_path, rules, (T1, first), (T2, second)):
        assert told == [(3, 3, 0, 0, 0, 0), (2, 2, 0, 0, 0, 0)]
        assert [(row["region"], row["name"], row["p_lastSeen"]) for row in stored] == [
            ("2023", "a", T1),
            ("2024", "b2", T2),
            ("2025", "c2", T2),
        ]


def test_rows_in_the_window_that_a_slice_lacks_are_gone_by_hand(spark, tmp_path):
    types = {"ID": "int", "Seq": "int"}
    first = slice_of("a.parquet", (1, 50), (2, 100), (3, 100), types=types)
    second = slice_of("b.parquet", (2, 200), (4, 500), types=types)
    rules = Rules("merge", lookback=0, infers=True)

    for told, stored in both(spark, tmp_path, rules, (T1, first), (T2, second)):
        assert told == [(3, 3, 0, 0, 0, 0), (2, 1, 1, 0, 0, 1)]
        assert sorted((r["ID"], r["Seq"], r["p_deleted"], r["p_lastSeen"]) for r in stored) == [
            (1, 50, False, T1),
            (2, 200, False, T2),
            (3, 100, True, T2),
            (4, 500, False, T2),
        ]


@pytest.mark.matrix
def test_a_sample_of_a_story_ends_as_the_second_opinion_says(spark, tmp_path):
    OutsideStory(tmp_path / "s", spark, 3).tell(2)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(STORIES))
def test_a_random_story_ends_as_the_second_opinion_says(spark, tmp_path, seed):
    OutsideStory(tmp_path / "s", spark, seed).tell(ROUNDS)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_random_story_of_text_files_ends_as_the_second_opinion_says(
    spark, tmp_path, ending, seed
):
    TextStory(tmp_path / "s", spark, seed, ending).tell(ROUNDS)


def test_the_second_opinion_imports_nothing_of_penstock():
    text = Path(outside_entity.__file__).read_text(encoding="utf-8")
    imports = [line for line in text.splitlines() if line.startswith(("import", "from"))]

    assert imports == [
        "from __future__ import annotations",
        "import datetime as dt",
        "import hashlib",
        "import re",
        "from dataclasses import dataclass, field",
        "from decimal import Decimal",
        "from typing import Any",
    ]

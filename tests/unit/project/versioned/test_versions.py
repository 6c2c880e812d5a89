from __future__ import annotations

import pytest

from fakes.versioned_cases import ONLY, daily, version

SCHEMA = "schema:\n      - {name: date, type: DATE}\n      - {name: users, type: INT64}\n"


def test_versions_that_refer_to_each_other_are_a_cycle(findings):
    files = daily(SCHEMA, "schema: ${{ versions.2.schema }}\n", more=version(2, "2024-02-01"))

    assert findings(files) == [
        "models/daily.yaml:14:13: error: reference-cycle: versions 1 → 2 → 1"
    ]


@pytest.mark.parametrize("key", ["sql", "invariants"])
def test_a_cycle_is_said_once_under_any_key(findings, key):
    lines = [f"{key}: ${{{{ versions.{n}.{key} }}}}\n" for n in (2, 1)]
    both = daily(more=version(2, "2024-02-01"))["models/daily.yaml"]
    first, second = both.split("  - version: 2\n")
    old = "sql: daily.sql\n"
    text = "  - version: 2\n".join(
        part.replace(old, line if key == "sql" else f"{old}    {line}")
        for part, line in zip((first, second), lines, strict=True)
    )

    said = [f.split(": ", 2)[2] for f in findings({**ONLY, "models/daily.yaml": text})]

    assert [each for each in said if "cycle" in each] == ["reference-cycle: versions 1 → 2 → 1"]


def test_a_version_that_is_not_there(findings):
    files = daily(SCHEMA, "schema: ${{ versions.9.schema }}\n")

    assert findings(files, hints=True) == [
        (
            "models/daily.yaml:10:13: error: unknown-version-reference: "
            "versions.9.schema: there is no version 9\n  hint: there are: 1"
        )
    ]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (SCHEMA, "schema: ${{ versions.1.sql }}\n", 10),
        ("name: daily", "name: ${{ versions.1.schema }}", 1),
        ("sql: daily.sql", "sql: ${{ versions.1.schema }}", 9),
    ],
)
def test_a_reference_under_another_key_is_wrong(findings, old, new, line):
    found = findings(daily(old, new))

    assert [f.split(": ")[2] for f in found] == ["reference-wrong-field"]
    assert found[0].startswith(f"models/daily.yaml:{line}:")


def test_sql_of_a_version_may_be_used_again_lower_or_higher(load):
    files = daily("sql: daily.sql", "sql: ${{ versions.2.sql }}", more=version(2, "2024-02-01"))

    one, two = load(files).models["daily"].versions

    assert one.body.text == two.body.text == ONLY["models/daily.sql"]


P = "models/daily.yaml"


def two(schema: str = "${{ versions.1.schema }}", since: str = "2024-03-01") -> dict[str, str]:
    return daily(more=version(2, since, schema=schema))


def partition(said: str) -> dict[str, str]:
    return daily("{field: date, type: DAY}", f"{{{said}}}")


def sentences(found: list[str]) -> list[str]:
    return [f.split(": ", 3)[3] for f in found]


def test_versions_of_one_day(findings):
    assert sentences(findings(two(since="2024-01-01"))) == [
        "versions 1 and 2 are both effective from 2024-01-01"
    ]


def test_revisions_may_share_a_day_and_go_back(load):
    revisions = "".join(
        f"      - {{revision: {n}, effective_from: 2024-03-01, sql: daily.sql, reason: r}}\n"
        for n in (2, 1)
    )
    more = f"    backfill_since: 2024-02-01\n    sql_revisions:\n{revisions}"

    (one,) = load(daily(more=more)).models["daily"].versions

    assert [(r.fingerprint.label, str(r.backfill_since), r.reason) for r in one.revisions] == [
        ("v1.r2", "2024-02-01", "r"),
        ("v1.r1", "2024-02-01", "r"),
    ]


def test_backfill_since_needs_partitions_with_dates(findings):
    files = partition("field: users, type: RANGE, start: 0, end: 9, interval: 3")
    files[P] += "    backfill_since: 2024-02-01\n"

    assert sentences(findings(files)) == [
        (
            "versions.backfill_since is '2024-02-01'; "
            "it must be left out: partitions of type RANGE have no date"
        )
    ]


def test_invariants_are_lists_of_checks(findings):
    more = (
        "    invariants: {base: '${{ versions.2.invariants }}', add: {after: [{type: unique, "
        "column: date}]}}\n" + version(2, "2024-02-01", "checks: {before: [1], aftr: []}")
    )

    assert sentences(findings(daily(more=more))) == [
        "checks.before holds something that is not a check",
        "unknown key 'aftr'",
    ]

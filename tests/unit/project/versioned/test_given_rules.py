from __future__ import annotations

import pytest

from fakes.versioned_cases import DAILY, ONLY, SQL, daily, version

P = "models/daily.yaml"
EMPTY = daily(
    "schema:\n      - {name: date, type: DATE}\n      - {name: users, type: INT64}\n",
    "schema: []\n",
)
USERS = "- {name: users, type: INT64}"


def two(schema: str = "${{ versions.1.schema }}", since: str = "2024-03-01") -> dict[str, str]:
    return daily(more=version(2, since, schema=schema))


def partition(said: str) -> dict[str, str]:
    return daily("{field: date, type: DAY}", f"{{{said}}}")


def twin(path: str, name: str, table: str) -> dict[str, str]:
    text = DAILY.replace("name: daily", f"name: {name}").replace("table: daily", f"table: {table}")
    return {**ONLY, path: text}


CASES = {
    "yaml-syntax": (daily(more="tags: [a\n"), f"{P}:14:1: error"),
    "unknown-key": (daily("    sql:", "    sqls: x\n    sql:"), f"{P}:9:5: error"),
    "missing-key": (daily("  table: daily\n"), f"{P}:3:3: error"),
    "bad-value": (daily(more="batch_size: 0\n"), f"{P}:13:13: error"),
    "duplicate-key": (daily(more="name: b\n"), f"{P}:13:1: error"),
    "alias-conflict": (daily("table: daily", "table: daily\n  name: x"), f"{P}:5:3: error"),
    "sql-file-not-found": (daily("daily.sql", "gone.sql"), f"{P}:9:10: error"),
    "type-unsupported": (daily("INT64", "TIME"), f"{P}:12:29: error"),
    "unknown-type": (daily("INT64", "INT63"), f"{P}:12:29: error"),
    "unknown-field": (two("{base: '${{ versions.1.schema }}', remove: [x]}"), f"{P}:16:57: error"),
    "duplicate-field": (daily(USERS, f"{USERS}\n      {USERS}"), f"{P}:13:16: error"),
    "empty-struct": (daily("INT64", "STRUCT"), f"{P}:12:16: error"),
    "include-not-found": (daily("daily.sql", "${{ file: x.sql }}"), f"{P}:9:10: error"),
    "include-outside-project": (daily("daily.sql", "../../x.sql"), f"{P}:9:10: error"),
    "include-cycle": (daily("daily.sql", "${{ file: daily.yaml }}"), f"{P}:9:10: error"),
    "unknown-version-reference": (two("${{ versions.7.schema }}"), f"{P}:16:13: error"),
    "reference-cycle": (two("${{ versions.2.schema }}"), f"{P}:16:13: error"),
    "reference-wrong-field": (two("${{ versions.1.sql }}"), f"{P}:16:13: error"),
    "partition-field-missing": (partition("field: day"), f"{P}:11:7: error"),
    "cluster-field-missing": (partition("field: date}\n  cluster: [x]\n#"), f"{P}:13:7: error"),
    "cluster-too-many": (
        partition("field: date}\n  cluster: [users, date, Users, Date, USERS]\n#"),
        f"{P}:6:12: error",
    ),
    "partition-type-mismatch": (partition("field: date, type: HOUR"), f"{P}:11:16: error"),
    "empty-versions": ({P: DAILY.partition("  - version")[0]}, f"{P}:6:1: error"),
    "duplicate-version": (daily(more=version(1, "2024-03-01")), f"{P}:13:14: error"),
    "duplicate-effective-from": (two(since="2024-01-01"), f"{P}:14:21: error"),
    "duplicate-revision": (
        daily(
            more="    revisions:\n"
            + "      - {revision: 1, effective_from: 2024-03-01, sql: daily.sql}\n" * 2
        ),
        f"{P}:15:20: error",
    ),
    "duplicate-model": (twin("models/x.yaml", "Daily", "x"), "models/x.yaml:1: error"),
    "duplicate-destination": (twin("models/x.yaml", "x", "Daily"), "models/x.yaml:1: error"),
    "unknown-reference": (daily(more="depends_on: [mart.dialy]\n"), f"{P}:13:14: error"),
    "dependency-cycle": (
        {**daily(more="depends_on: [a]\n"), "models/a.sql": "select * from mart.daily"},
        "models/a.sql:1: error",
    ),
    "version-order": (
        daily(more=version(3, "2024-02-01") + version(2, "2024-03-01")),
        f"{P}:14:21: warning",
    ),
    "revision-before-version": (
        daily(
            more="    revisions:\n"
            "      - {revision: 1, effective_from: 2023-03-01, sql: daily.sql}\n"
        ),
        f"{P}:14:39: warning",
    ),
    "version-inside-partition": (
        partition("field: date, type: MONTH").__or__(
            {P: DAILY.replace("DAY", "MONTH") + version(2, "2024-06-15")}
        ),
        f"{P}:14:21: warning",
    ),
    "column-removed": (two("[{name: date, type: DATE}]"), f"{P}:16:13: warning"),
    "column-type-changed": (
        two("[{name: date, type: DATE}, {name: users, type: DOUBLE}]"),
        f"{P}:16:47: warning",
    ),
    "empty-schema": (EMPTY, f"{P}:10:13: warning"),
    "sparse-partitions": (
        {
            **ONLY,
            "models/daily.sql": f"select trunc(date, 'MM') as date, 1 as users from ({SQL}) x",
        },
        f"{P}:5:34: warning",
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_each_code_has_its_severity_and_line(findings, code):
    files, says = CASES[code]

    found = [f for f in findings(files) if f.split(": ")[2] == code]

    assert [": ".join(f.split(": ")[:2]) for f in found] == [says]


def sentences(found: list[str]) -> list[str]:
    return [f.split(": ", 3)[3] for f in found]


def test_an_earlier_version_with_a_higher_number_warns(load):
    files = daily(more=version(2, "2024-03-01") + version(3, "2024-02-01"))

    project = load(files)

    assert [f.sentence for f in project.findings] == [
        "v3 is effective from 2024-02-01, before v2 (2024-03-01)"
    ]
    assert project.models["daily"].fingerprint.version == 2


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            daily("DAY", "MONTH", more=version(2, "2024-06-15")),
            "v2 starts on 2024-06-15; MONTH partition 2024-06 keeps v1",
        ),
        (
            daily("DAY", "WEEK", more=version(2, "2024-01-10")),
            "v2 starts on 2024-01-10; WEEK partition 2024-01-08 keeps v1",
        ),
        (
            daily("DAY", "HOUR").__or__(
                {P: DAILY.replace("type: DAY", "type: YEAR").replace("2024-01-01", "2024-02-01")}
            ),
            "v1 starts on 2024-02-01; YEAR partition 2024 has no version",
        ),
        (
            two("[{name: date, type: DATE}, {name: users, type: DOUBLE}]"),
            'v2: "users" changes from BIGINT to DOUBLE (breaking)',
        ),
        (two("[{name: date, type: DATE}]"), 'v2: "users" is gone; v1 has it'),
        (partition("field: day"), 'v1: partition field "day" is not in the schema'),
        (
            partition("field: date, type: HOUR"),
            'v1: HOUR needs TIMESTAMP or TIMESTAMP_NTZ; "date" is DATE',
        ),
        (
            daily(more="batch_size: 0\n"),
            "batch_size is 0; it must be an integer >= 1",
        ),
        (
            daily(more="ready_after: soon\n"),
            "ready_after is 'soon'; it must be a duration such as 90m, 36h or 2 days",
        ),
        (
            daily(more="strategy: view\n"),
            "strategy is 'view'; it must be partition or table: a view has no partitions",
        ),
        (
            daily(more="strategy: merge\n"),
            "strategy is 'merge'; it must be one of partition, table, view",
        ),
        (
            daily(more="start: 2024-13\n"),
            "start is '2024-13'; it must be a date, or a DAY partition",
        ),
        (
            partition("field: users, type: RANGE, start: 9, end: 3, interval: 1"),
            "destination.partition.end is 3; it must be an integer > start, which is 9",
        ),
        (
            partition("field: date, start: 9"),
            "destination.partition.start is 9; it must be left out: DAY has no start",
        ),
    ],
)
def test_findings_say_what_is_wrong(findings, files, says):
    assert sentences(findings(files)) == [says]


def test_widening_and_new_columns_are_no_finding(findings):
    narrow = daily(
        "INT64",
        "INT",
        more=version(
            2,
            "2024-02-01",
            schema=(
                "[{name: date, type: DATE}, {name: users, type: BIGINT}, {name: x, type: DATE}]"
            ),
        ),
    )

    assert findings(narrow) == []


def test_a_changed_struct_breaks_only_where_a_field_does(findings):
    files = daily(
        "INT64",
        "'STRUCT<a INT, b DATE>'",
        more=version(
            2,
            "2024-02-01",
            schema=("[{name: date, type: DATE}, {name: users, type: 'STRUCT<a BIGINT, c INT>'}]"),
        ),
    )

    assert findings(files) == []


def test_near_names_are_hinted(findings):
    assert findings(daily(more="depends_on: [mart.dialy]\n"), hints=True) == [
        (
            f"{P}:13:14: error: unknown-reference: "
            'depends_on "mart.dialy" is not a model, seed or source\n'
            "  hint: did you mean 'mart.daily'?"
        )
    ]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{model: raw.x, partitions: same}", 'depends_on "raw.x" is not a model, seed or source'),
        ("{partitions: same}", "'model' is missing"),
        (
            "{model: free, partitions: decade}",
            (
                "depends_on.partitions is 'decade'; "
                "it must be one of auto, same, day, week, month, year, all"
            ),
        ),
        (
            "{model: free, partitions: {trailing: 0}}",
            "depends_on.partitions.trailing is 0; it must be an integer >= 1",
        ),
        ("4", "depends_on holds 4; it must be a name or a mapping with model"),
    ],
)
def test_entries_of_depends_on_that_do_not_fit(findings, entry, says):
    files = daily(more=f"depends_on: [{entry}]\n")

    assert sentences(findings({**files, "models/free.sql": "select 1 as one"})) == [says]


def test_a_snapshot_with_versions_must_be_a_query(findings):
    assert sentences(findings(daily(more="materialized: snapshot\n"))) == [
        "snapshot 'daily' must be a query"
    ]

"""Checks in `plan --json`, each at its step, and in `validate`, all that is wrong at once."""

import json

from fakes.check_projects import C3, PATH, user_stats

FILES = {
    "models/visits.yml": """\
        sources:
          - name: web
            format: csv
            tables: [{name: visits, path: ../landing/visits, columns: [{name: date, type: DATE}]}]
        """,
    "landing/visits/visits.csv": "2024-12-01\n",
    "models/stats.yaml": """\
        name: stats
        destination: {dataset: s, table: stats, partition: {field: date, type: DAY}}
        checks: {on_failure: block, before: [{type: row_count, min: 1}]}
        versions:
          - version: 1
            effective_from: 2024-12-01
            sql: SELECT date FROM web.visits WHERE date = @partition_date
            schema: [{name: date, type: DATE}]
          - version: 2
            effective_from: 2024-12-03
            sql: SELECT date FROM web.visits WHERE date = @partition_date AND true
            schema: [{name: date, type: DATE}]
            checks: [{type: not_null, column: date}]
        """,
}


def test_each_step_has_its_partitions_and_its_checks(services, call):
    services(**FILES)

    answer = call(
        "plan", "--query", "stats", "--from", "2024-12-02", "--to", "2024-12-04", "--json"
    )

    models = json.loads(answer.out)["models"]
    assert [(each["partitions"], each["count"], each["plan"]["checks"]) for each in models] == [
        (
            [["2024-12-02", "2024-12-02"]],
            1,
            {
                "before": 1,
                "after": 0,
                "observed": 0,
                "scans": 0,
                "on_failure": None,
                "skipped": False,
                "of_views": 0,
            },
        ),
        (
            [["2024-12-03", "2024-12-04"]],
            2,
            {
                "before": 1,
                "after": 1,
                "observed": 0,
                "scans": 1,
                "on_failure": "block",
                "skipped": False,
                "of_views": 0,
            },
        ),
    ]


def test_validate_lists_all_thirteen_and_exits_1(services, call):
    files = user_stats()
    files[PATH] += f"    checks:\n      after:\n{C3}"
    services(**files)

    answer = call("validate")

    found = [line for line in answer.out.splitlines() if line.startswith(PATH)]
    assert [line.split(": ")[2] for line in found] == [
        "unknown-check-type",
        "missing-bounds",
        "min-above-max",
        "percent-out-of-range",
        "duplicate-check",
        "sql-file-not-found",
        "not-a-query",
        "unknown-placeholder",
        "unknown-parameter",
        "empty-values",
        "unknown-column",
        "bad-value",
        "bad-bound",
    ]
    assert found[0].startswith(f"{PATH}:17:18: error: ")
    assert answer.out.count("\n  hint: ") == len(found)
    assert (answer.code, answer.out.splitlines()[-1]) == (1, "13 errors, 0 warnings")

"""Which range of an input one partition reads, found in the SQL (spec/drift.md §6.3)."""

from __future__ import annotations

import pytest

from penstock.core.bounds import Lower, Moved, Upper
from penstock.core.calendar import DAY
from penstock.core.mapping import Computed, Everything, spans
from penstock.core.names import InputKind, InputName
from penstock.core.partition import FIRST, LAST, Grain, Grid
from penstock.core.query import mention
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import Found, Inferred, InputShape, inference_key

DAYS, HOURS, MONTHS = Grid(Grain.DAY), Grid(Grain.HOUR), Grid(Grain.MONTH)
BUCKETS = Grid(Grain.RANGE, 0, 300, 100)

DAILY = InputName(InputKind.MODEL, "daily")
SHARDS = InputName(InputKind.MODEL, "shards")
USERS = InputName(InputKind.MODEL, "users")
RECENT = InputName(InputKind.MODEL, "recent")
NEWEST = InputName(InputKind.MODEL, "newest")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
INPUTS = {"daily": DAILY, "shards": SHARDS, "users": USERS, "events": EVENTS, "recent": RECENT}


def linked(sql: str) -> str:
    """Write tokens for `{daily}` and so on, with the alias that linking gives; $ is the date."""
    sql = sql.replace("$", "@partition_date")
    tokens = {name: mention(each, alias=name) for name, each in INPUTS.items()}
    return sql.format(**tokens, newest=mention(NEWEST, alias="newest"))


SHAPES = {
    DAILY: InputShape("date", "date", None, DAYS),
    SHARDS: InputShape("bucket", "int", None, BUCKETS),
    USERS: InputShape(),
    EVENTS: InputShape(),
    RECENT: InputShape(view=(linked("select date, total as n from {daily} where total > 0"),)),
    NEWEST: InputShape(view=(linked("select date as day, n from {recent}"),)),
}


def read(sql: str, key: str = "2024-12-03", grid: Grid = DAYS) -> dict[str, list[str] | str]:
    """Infer, and give the range of every input for a partition; a word where there is none."""
    span = grid.span(grid.parse(key))
    result: dict[str, list[str] | str] = {}
    for name, found in infer((linked(sql),), grid, SHAPES).items():
        if found.found is not Found.INFERRED:
            result[name.name] = found.found.value
            continue
        ranges = spans(found.mapping, span, SHAPES[name].grid)
        result[name.name] = [written(low, high, grid) for low, high in ranges]
    return result


def written(low: int, high: int, grid: Grid) -> str:
    """Write a range with the last day in it, or with its last integer."""
    if grid.grain is Grain.RANGE:
        return f"{low}..{high - 1}"
    first = "" if low == FIRST else DAYS.key(DAYS.at(low))
    return f"{first}..{'' if high == LAST else DAYS.key(DAYS.at(high - 1))}"


WEEK = "CAST(DATE_TRUNC('WEEK', date) AS DATE)"


@pytest.mark.parametrize(
    ("predicate", "grid", "key", "expected"),
    [
        ("date = @partition_date", DAYS, "2024-12-03", ["2024-12-03..2024-12-03"]),
        (
            "date BETWEEN date_sub(@partition_date, 6) AND @partition_date",
            DAYS,
            "2024-12-07",
            ["2024-12-01..2024-12-07"],
        ),
        (f"{WEEK} = @partition_date", DAYS, "2024-12-02", ["2024-12-02..2024-12-08"]),
        (f"{WEEK} = @partition_date", DAYS, "2024-12-03", []),
        (
            "date >= @start_date AND date < @end_date",
            MONTHS,
            "2024-02",
            ["2024-02-01..2024-02-29"],
        ),
        ("date <= @partition_date", DAYS, "2024-12-03", ["..2024-12-03"]),
        ("my_udf(date) = @partition_date", DAYS, "2024-12-03", "unclear"),
        ("true", DAYS, "2024-12-03", "whole"),
    ],
)
def test_DC4_a_predicate_gives_a_range(
    predicate: str, grid: Grid, key: str, expected: list[str] | str
) -> None:
    assert read(f"SELECT * FROM {{daily}} WHERE {predicate}", key, grid) == {"daily": expected}


def test_DC11_an_equality_passes_the_bounds_of_the_other_column() -> None:
    sql = (
        "SELECT * FROM {events} e LEFT JOIN {daily} d ON d.date = DATE(e.created_at)"
        " WHERE DATE(e.created_at) = @partition_date"
    )

    assert read(sql) == {
        "raw.events": ["2024-12-03..2024-12-03"],
        "daily": ["2024-12-03..2024-12-03"],
    }


def test_DC14_a_view_is_read_through() -> None:
    sql = "SELECT * FROM {newest} WHERE day = @partition_date"

    assert read(sql) == {"newest": "view", "recent": "view", "daily": ["2024-12-03..2024-12-03"]}


def test_DV16_tables_are_found_behind_CTEs_and_in_subqueries() -> None:
    sql = (
        "WITH x AS (SELECT * FROM {daily}), y AS (SELECT * FROM x)"
        " SELECT * FROM y WHERE id IN (SELECT id FROM {users})"
    )

    assert read(sql) == {"daily": "whole", "users": "whole"}


ONE_DAY = ["2024-12-03..2024-12-03"]


@pytest.mark.parametrize(
    "predicate",
    [
        "datediff($, date) BETWEEN 0 AND 4",
        "year(date) = year($) AND month(date) = month($)",
        "CASE WHEN hour = 23 THEN date_add(date, 1) ELSE date END = $",
        "coalesce(date, day) = $",
        "greatest(date, day) = $",
        "last_day(date) = last_day($)",
        "add_months(date, 1) = $",
        "date_format(date, 'yyyy-MM') = date_format($, 'yyyy-MM')",
        "date = coalesce($, date)",
        "date = next_day($, 'MON')",
        "date >= nullif($, '2024-01-01')",
        "(date < $) = true",
        "(date = $) IS NOT TRUE",
        "(date, k) IN (($, 1))",
        "$ IN (date, date_add(date, k))",
        "date_add(date, k) = $",
        "exists(days, each -> each = date AND each = $)",
    ],
)
def test_a_condition_that_is_not_recognised_is_no_bound_and_never_the_same_partition(
    predicate: str,
) -> None:
    assert read(f"SELECT 1 FROM {{daily}} WHERE {predicate}") == {"daily": "unclear"}
    assert read(f"SELECT 1 FROM {{daily}} WHERE date <= $ AND ({predicate})") == {
        "daily": ["..2024-12-03"]
    }


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("$ = date", ONE_DAY),
        ("`penstock:param:partition_date` = date", ONE_DAY),
        ("daily.date = $", ONE_DAY),
        ("`Date` = $", ONE_DAY),
        ("(date = $)", ONE_DAY),
        ("date <=> $", ONE_DAY),
        ("TO_DATE(date) = $", ONE_DAY),
        ("date::date = $", ONE_DAY),
        ("CAST(date AS TIMESTAMP) = $", ONE_DAY),
        ("CAST(date AS STRING) = $", "unclear"),
        ("date = CAST($ AS DATE)", ONE_DAY),
        ("date = CAST($ AS STRING)", "unclear"),
        ("date = '2024-05-01'", ["2024-05-01..2024-05-01"]),
        ("date >= DATE '2024-05-01'", ["2024-05-01.."]),
        ("date > $", ["2024-12-04.."]),
        ("date < $", ["..2024-12-02"]),
        ("date IN ($, date_add($, 3))", ["2024-12-03..2024-12-06"]),
        ("date IN ($, my_udf(date))", "whole"),
        (
            "date = $ OR date = add_months($, -1)",
            ["2024-11-03..2024-12-03"],
        ),
        ("date = $ OR is_late", "whole"),
        (
            "(date = $ AND a = 1) OR (date = '2024-12-01' AND b)",
            ["2024-12-01..2024-12-03"],
        ),
        ("NOT (date < $ OR date > $)", ONE_DAY),
        ("date NOT BETWEEN $ AND @end_date", "whole"),
        ("date <> $", "whole"),
        ("date IS NOT NULL", "whole"),
        ("date IS NOT NULL AND my_udf(date) = $", "unclear"),
        ("date >= date_sub(@run_date, 3)", "whole"),
        ("date >= date_sub(@run_date, 3) AND date <= $", ["..2024-12-03"]),
        (
            "date >= $ - INTERVAL 1 MONTH AND date < @end_date",
            ["2024-11-03..2024-12-03"],
        ),
        (
            "date > $ - INTERVAL '7' DAYS AND date < @end_date",
            ["2024-11-27..2024-12-03"],
        ),
        ("date BETWEEN $ - 2 AND $", ["2024-12-01..2024-12-03"]),
        (
            "date BETWEEN trunc($, 'MM') AND last_day($)",
            ["2024-12-01..2024-12-31"],
        ),
        ("trunc(date, 'MM') = trunc($, 'MM')", ["2024-12-01..2024-12-31"]),
        ("trunc(date, 'QUARTER') < $", ["..2024-12-31"]),
        ("trunc(date, 'QUARTER') > $", ["2025-01-01.."]),
        ("trunc(date, 'no unit') = $", "unclear"),
        ("date_add(date, 1) = $", ["2024-12-02..2024-12-02"]),
        ("month(date) = 12", "whole"),
        ("date = $ AND date < $", []),
        ("date = 5", "whole"),
        ("date = '2024-05-01T23:00:00-05:00'", ["2024-05-01..2024-05-01"]),
        ("date >= DATE '2024-05-01T23:00:00-05:00' AND date <= $", ["2024-05-01..2024-12-03"]),
    ],
)
def test_predicates_on_a_date(predicate: str, expected: list[str] | str) -> None:
    assert read(f"SELECT 1 FROM {{daily}} WHERE {predicate}") == {"daily": expected}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 FROM {users} u JOIN {daily} d ON d.k = u.k AND d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u LEFT JOIN {daily} d ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} d LEFT JOIN {users} u ON d.date = $", "whole"),
        ("SELECT 1 FROM {daily} d RIGHT JOIN {users} u ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u RIGHT JOIN {daily} d ON d.date = $", "whole"),
        ("SELECT 1 FROM {users} u FULL JOIN {daily} d ON d.date = $", "whole"),
        ("SELECT 1 FROM {users} u FULL JOIN {daily} d ON d.k = u.k WHERE d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u LEFT SEMI JOIN {daily} d ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} d LEFT SEMI JOIN {users} u ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {users} u LEFT ANTI JOIN {daily} d ON d.date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} d LEFT ANTI JOIN {users} u ON d.date = $", "whole"),
        ("SELECT 1 FROM {users} u, {daily} d WHERE date = $", ONE_DAY),
        ("SELECT 1 FROM ({users} JOIN {daily} ON daily.date = $)", ONE_DAY),
        (
            (
                "SELECT 1 FROM {users} u LEFT JOIN {daily} d ON 1 = 1 WHERE d.date = $ OR d.date"
                " IS NULL"
            ),
            "whole",
        ),
        (
            (
                "SELECT 1 FROM {users} u WHERE EXISTS (SELECT 1 FROM {daily} d WHERE d.date ="
                " u.day) AND u.day = $"
            ),
            ONE_DAY,
        ),
        ("SELECT 1 FROM {users} u WHERE u.k IN (SELECT k FROM {daily} WHERE date = $)", ONE_DAY),
        ("SELECT 1 FROM {daily} WHERE date IN (SELECT day FROM {users} WHERE day = $)", ONE_DAY),
        (
            "SELECT 1 FROM {daily} WHERE date NOT IN (SELECT day FROM {users} WHERE day = $)",
            "whole",
        ),
        ("SELECT (SELECT max(n) FROM {daily} d WHERE d.date = $) FROM {users}", ONE_DAY),
        ("SELECT 1 FROM {users} JOIN {daily} USING (date) WHERE date = $", ONE_DAY),
    ],
)
def test_joins_and_subqueries(sql: str, expected: list[str] | str) -> None:
    assert read(sql)["daily"] == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("WITH x AS (SELECT * FROM {daily}) SELECT 1 FROM x WHERE x.date = $", ONE_DAY),
        ("WITH x (d) AS (SELECT date FROM {daily}) SELECT 1 FROM x y WHERE d = $", ONE_DAY),
        ("SELECT 1 FROM (SELECT d.date AS day FROM {daily} d) q WHERE day = $", ONE_DAY),
        ("SELECT 1 FROM (SELECT date, sum(n) FROM {daily} GROUP BY 1) WHERE date = $", ONE_DAY),
        ("SELECT 1 FROM (SELECT max(date) AS date FROM {daily}) WHERE date = $", "whole"),
        ("SELECT 1 FROM (SELECT date FROM {daily} LIMIT 5) WHERE date = $", "whole"),
        (
            (
                "SELECT 1 FROM (SELECT date, lag(n) OVER (PARTITION BY k ORDER BY date) FROM"
                " {daily}) WHERE date = $"
            ),
            "whole",
        ),
        (
            (
                "SELECT 1 FROM (SELECT date, lag(n) OVER (PARTITION BY date ORDER BY k) FROM"
                " {daily}) WHERE date = $"
            ),
            ONE_DAY,
        ),
        ("SELECT date, sum(n) FROM {daily} GROUP BY date HAVING date = $", ONE_DAY),
        ("SELECT d.date AS date, sum(n) FROM {daily} d GROUP BY d.date HAVING date = $", ONE_DAY),
        ("SELECT max(date) AS date FROM {daily} GROUP BY k HAVING date = $", "whole"),
        (
            (
                "SELECT trunc(date, 'MM') AS date FROM {daily} GROUP BY trunc(date, 'MM')"
                " HAVING date = $"
            ),
            "whole",
        ),
        ("SELECT day AS date FROM {daily} GROUP BY day, date HAVING date = $", "whole"),
        ("SELECT 1 FROM {daily} TABLESAMPLE (5 ROWS) WHERE date = $", "whole"),
        ("SELECT 1 FROM {daily} TABLESAMPLE (10 PERCENT) AS d WHERE d.date = $", "whole"),
        (
            "WITH x AS (SELECT * FROM {daily}) SELECT 1 FROM x TABLESAMPLE (5 ROWS) WHERE date = $",
            "whole",
        ),
        ("FROM {daily} |> LIMIT 5 |> WHERE date = $", "unread"),
        ("FROM {daily} |> WHERE date = $ |> AGGREGATE sum(n) GROUP BY date", "unread"),
        (
            (
                "SELECT 1 FROM {daily} d JOIN {events} e ON d.date = e.day"
                " WHERE e.day >= '2024-05-01' AND e.day <= $"
            ),
            ["..2024-12-03"],
        ),
        (
            (
                "SELECT 1 FROM {daily} d JOIN {events} e ON d.date = e.day"
                " WHERE e.day > TIMESTAMP '2024-05-01 05:00:00'"
            ),
            ["2024-05-01.."],
        ),
        ("SELECT sum(n) FROM {daily} GROUP BY k HAVING max(date) = $", "whole"),
        (
            (
                "SELECT 1 FROM {daily} WHERE date = $ UNION ALL SELECT 1 FROM {daily} WHERE date"
                " = $ - INTERVAL 7 DAYS"
            ),
            ["2024-11-26..2024-11-26", "2024-12-03..2024-12-03"],
        ),
        ("SELECT 1 FROM {daily} WHERE date = $ UNION ALL SELECT 1 FROM {daily}", "whole"),
        (
            (
                "SELECT 1 FROM (SELECT date AS d FROM {daily} UNION SELECT date FROM {daily})"
                " WHERE d = $"
            ),
            ONE_DAY,
        ),
        (
            "SELECT 1 FROM (SELECT * FROM {users} UNION ALL SELECT * FROM {daily}) WHERE date = $",
            "whole",
        ),
        ("SELECT 1 FROM (SELECT * EXCEPT (date), n AS date FROM {daily}) WHERE date = $", "whole"),
        (
            (
                "WITH RECURSIVE r AS (SELECT date FROM {daily} UNION ALL SELECT date FROM r)"
                " SELECT 1 FROM r WHERE date = $"
            ),
            "whole",
        ),
        ("SELECT 1 FROM {daily} LATERAL VIEW explode(a) t AS item WHERE date = $", ONE_DAY),
        ("SELECT 1 FROM {daily} PIVOT (sum(n) FOR k IN (1, 2)) WHERE date = $", "whole"),
        (
            (
                "WITH e AS (SELECT DATE(at) AS day FROM {users} WHERE DATE(at) = $) SELECT 1"
                " FROM e JOIN {daily} d ON d.date = e.day"
            ),
            ONE_DAY,
        ),
        ("SELECT 1 FROM {daily} d JOIN {users} u ON d.date = u.day", "whole"),
    ],
)
def test_nested_queries(sql: str, expected: list[str] | str) -> None:
    assert read(sql)["daily"] == expected


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("bucket = @partition_date", ["100..100"]),
        ("bucket >= @start_date AND bucket < @end_date", ["100..199"]),
        ("bucket > @partition_date - 10 AND bucket <= 120", ["91..120"]),
        ("bucket + 1 = @partition_date", ["99..99"]),
        ("bucket IN (7, @partition_date)", ["7..100"]),
        ("my_udf(bucket) = @partition_date", "unclear"),
    ],
)
def test_predicates_on_integers(predicate: str, expected: list[str] | str) -> None:
    sql = f"SELECT 1 FROM {{shards}} WHERE {predicate}"

    assert read(sql, "100", BUCKETS) == {"shards": expected}


def test_grains_that_do_not_compare_are_read_whole() -> None:
    assert read("SELECT 1 FROM {shards} WHERE bucket = @partition_date") == {"shards": "unclear"}


def test_hours_follow_the_instant_and_not_its_day() -> None:
    mapping = Computed("created_at", ((Lower(), Upper()),))
    sql = "SELECT 1 FROM {events} WHERE created_at >= @start_date AND created_at < @end_date"

    found = infer((linked(sql),), HOURS, SHAPES)

    assert found == {EVENTS: Inferred(mapping, Found.INFERRED)}


def test_bounds_of_a_partition_are_left_plain() -> None:
    sql = "SELECT 1 FROM {daily} WHERE CAST(date AS DATE) = @partition_date"

    found = infer((linked(sql),), DAYS, SHAPES)

    ranges = ((Lower(), Moved(Lower(), micros=DAY)),)
    assert found == {DAILY: Inferred(Computed("date", ranges), Found.INFERRED)}


def test_the_column_of_a_source_is_the_first_with_two_bounds_by_a_parameter() -> None:
    sql = (
        "SELECT 1 FROM {events} WHERE a_day >= @start_date AND b_day = '2024-01-01'"
        " AND d_day >= @start_date AND d_day < @end_date AND c_day = DATE(@partition_date)"
    )

    mapping = infer((linked(sql),), DAYS, SHAPES)[EVENTS].mapping

    assert isinstance(mapping, Computed)
    assert mapping.column == "c_day"


def test_a_source_bounded_by_literals_alone_is_read_whole() -> None:
    assert read("SELECT 1 FROM {events} WHERE day = '2024-01-01'") == {"raw.events": "whole"}


def test_a_column_of_two_unknown_tables_bounds_neither() -> None:
    sql = "SELECT 1 FROM {events} JOIN {users} ON true WHERE day = @partition_date"

    assert read(sql) == {"raw.events": "whole", "users": "whole"}


def test_known_columns_tell_whose_a_column_is() -> None:
    shapes = {**SHAPES, USERS: InputShape(columns=("id", "name")), EVENTS: InputShape()}
    sql = "SELECT 1 FROM {events} JOIN {users} ON true WHERE day = @partition_date"

    found = {name: each.found for name, each in infer((linked(sql),), DAYS, shapes).items()}

    assert found == {EVENTS: Found.INFERRED, USERS: Found.WHOLE}


def test_a_model_that_reads_this_reads_itself_by_its_name() -> None:
    this = mention(InputName(InputKind.THIS, "daily"), alias="daily")
    sql = f"SELECT 1 FROM {this} WHERE date = date_sub(@partition_date, 1)"

    found = infer((sql,), DAYS, SHAPES)

    ranges = ((Moved(Lower(), micros=-DAY), Lower()),)
    assert found == {DAILY: Inferred(Computed("date", ranges), Found.INFERRED)}


def test_every_form_of_a_query_counts() -> None:
    texts = (
        linked("SELECT 1 FROM {daily} WHERE date = @partition_date"),
        linked("SELECT 1 FROM {daily} WHERE date = date_add(@partition_date, 9)"),
    )

    found = infer(texts, DAYS, SHAPES)[DAILY]

    assert spans(found.mapping, (0, DAY), DAYS) == ((0, DAY), (9 * DAY, 10 * DAY))


def test_SQL_that_cannot_be_parsed_reads_everything() -> None:
    found = infer((linked("SELECT FROM WHERE {daily} ]"),), DAYS, SHAPES)

    assert found == {DAILY: Inferred(Everything(), Found.UNREAD)}


def test_CTEs_that_multiply_are_given_up_and_not_waited_for() -> None:
    ctes = ", ".join(f"c{n} AS (SELECT a.k FROM c{n - 1} a, c{n - 1} b)" for n in range(1, 40))
    sql = f"WITH c0 AS (SELECT k FROM {{daily}}), {ctes} SELECT 1 FROM c39"

    assert read(sql) == {"daily": "unread"}


def test_a_scan_that_is_not_understood_beside_a_known_range_reads_everything() -> None:
    sql = (
        "SELECT 1 FROM {daily} WHERE my_udf(date) = @partition_date"
        " UNION ALL SELECT 1 FROM {daily} WHERE date = date_sub(@partition_date, 7)"
    )

    assert read(sql) == {"daily": "unclear"}


def test_a_column_that_was_asked_about_is_never_guessed() -> None:
    shapes = {EVENTS: InputShape(field="created_at")}
    sql = "SELECT 1 FROM {events} WHERE my_udf(created_at) = @partition_date"

    found = infer((linked(sql),), DAYS, shapes)

    assert found == {EVENTS: Inferred(Everything(), Found.UNCLEAR)}


@pytest.mark.parametrize(
    "term", ["CAST(epoch AS TIMESTAMP)", "CAST(CAST(epoch AS TIMESTAMP) AS DATE)"]
)
def test_a_column_of_an_unknown_type_may_count_seconds_before_it_is_cast(term: str) -> None:
    assert read(f"SELECT 1 FROM {{events}} WHERE {term} = $") == {"raw.events": "unclear"}


def test_the_digest_follows_all_that_counts() -> None:
    text = linked("SELECT 1 FROM {daily}")
    shapes = {DAILY: SHAPES[DAILY]}

    assert inference_key((text,), DAYS, shapes) == inference_key((text,), DAYS, dict(shapes))
    assert inference_key((text,), DAYS, shapes) != inference_key((text,), HOURS, shapes)
    assert inference_key((text,), DAYS, shapes) != inference_key(
        (text,), DAYS, {DAILY: InputShape()}
    )

from __future__ import annotations

import datetime as dt
import hashlib
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from penstock.core.findings import Location
from penstock.core.model import Body, Fingerprint
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.query import Query, with_parameters
from penstock.project.sql.bodies import linked_body
from penstock.project.sql.canonical import canonical_of
from penstock.project.sql.names import Named, NameResolver, QueryOwner
from penstock.project.sql.sql_file import parse_plain_sql

WHERE = Location("q.yaml", 5)
DAILY = InputName(InputKind.MODEL, "daily")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
V3 = """\
SELECT
  DATE(created_at) AS date,
  COUNT(DISTINCT user_id) AS unique_users
FROM raw.events
WHERE DATE(created_at) = @partition_date
GROUP BY 1
"""


def sha(text: str) -> str:
    """Return the checksum of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def resolver():
    found = NameResolver(catalog="main")
    found.add_model("daily", TableName("dev_analytics", "daily"))
    found.add_table(TableName("analytics", "daily"), "daily")
    found.add_source(TableName("raw", "events"))
    return found


@pytest.fixture
def built(resolver):
    def body(text, *, model="weekly", code=None, has_partition=True, **said):
        file = parse_plain_sql("q.sql", text)
        (branch,) = file.branches
        mark = Fingerprint(sql="", canonical="", **code or {})
        unlinked = Body(Query("", "", "", ()), mark, text, "q.sql", WHERE, **said)
        name = Named(InputName(InputKind.MODEL, model), TableName("dev_analytics", model))
        owner = QueryOwner("q.sql", name)
        made, linked = linked_body(unlinked, branch, owner, resolver, has_partition=has_partition)
        return SimpleNamespace(body=made, inputs=linked.inputs, findings=linked.findings)

    return body


def test_a_body_holds_everything_that_its_file_says(built):
    since, start = dt.date(2024, 3, 10), dt.date(2024, 3, 20)
    text = "select * from raw.events where d = @start_date;\n"

    made = built(
        text,
        code={
            "version": 2,
            "revision": 1,
            "effective_from": start,
            "schema": "s",
            "yaml": "y",
            "settings": "t",
            "layout": "l",
        },
        backfill_since=since,
        description="what",
        reason="why",
    )

    canonical = "SELECT * FROM `raw`.`events` WHERE `d` = @start_date"
    mark = Fingerprint(
        sha(text), sha(canonical), "t", "l", 2, 1, start, "s", "y", version("sqlglot")
    )
    assert made.body == Body(
        made.body.query, mark, text, "q.sql", WHERE, True, (), since, "what", "why"
    )
    assert made.body.query.canonical == canonical
    assert (made.inputs, made.findings) == ({EVENTS: 1}, [])


@pytest.mark.parametrize(
    ("text", "is_range"),
    [
        ("select 1 where a >= @start_date and a < @end_date", True),
        ("select 1 where a >= @start_date and b <> @run_date", True),
        ("select 1 where a = @partition_date", False),
        ("select 1 where a >= @start_date and a <= @partition_date", False),
        ("select 1 where a >= '@start_date'", False),
    ],
)
def test_sql_of_ranges_asks_for_their_ends_alone(built, text, is_range):
    assert built(text).body.is_range is is_range


def test_a_back_ticked_name_is_schema_and_table(built):
    body = built("SELECT * FROM `raw.events` WHERE DATE(created_at) = @partition_date").body

    assert body.query.inputs == (EVENTS,)
    assert with_parameters(body.query.text, {"partition_date": "DATE '2024-12-02'"}) == (
        "SELECT * FROM `penstock:source:raw.events:bare:events` "
        "WHERE DATE(created_at) = DATE '2024-12-02'"
    )


def test_tables_are_found_by_scope(built):
    text = (
        "WITH x AS (SELECT * FROM a.t), y AS (SELECT * FROM x) "
        "SELECT * FROM y WHERE id IN (SELECT id FROM b.u)"
    )

    assert {i.name for i in built(text).inputs} == {"a.t", "b.u"}


@pytest.mark.parametrize(
    "text",
    [
        "select analytics.daily.id, Daily.`Id` from Analytics.DAILY, `main.analytics.daily` d",
        "select * from dev_analytics.daily join main.raw.events e on e.id = daily.id",
        "select `raw.events`.a.b, `raw.events`.* from `raw.events` tablesample (5 rows)",
        "select /*+ BROADCAST(e) */ * from `a.b.c.d` e join `a.b`.c join `a`.`b.c`",
        "select a.b.c.d, `x.y`.z.w from parquet.`/x/y` a, values (1) as v(a)",
        "select max(@partition_date), '@partition_date' from analytics.weekly",
        "with daily as (select 1 as a) select * from daily, range(3)",
        "select a:b.c from raw.events where d = @partition_date;",  # unparsed
        V3,
    ],
)
def test_the_canonical_text_is_that_of_the_stored_text(built, text):
    body = built(text).body

    assert body.query.canonical == canonical_of(body.text)
    assert body.fingerprint.canonical == sha(canonical_of(body.text))
    assert body.fingerprint.sql == sha(text)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("GROUP BY", "-- by day\nGROUP BY", True),
        ("\n  ", "\r\n\t", True),
        ("SELECT", "select", True),
        ("DISTINCT user_id", "DISTINCT `user_id`", True),
        ("raw.events", "`raw.events`", True),
        ("user_id", "USER_ID", False),
        ("raw.events", "raw.Events", False),
        ("= @partition_date", "<= @partition_date", False),
        ("@partition_date", "@start_date", False),
        ("@partition_date", "'@partition_date'", False),
        ("GROUP BY 1", "GROUP BY 2", False),
    ],
)
def test_layout_is_cosmetic_and_names_are_not(built, old, new, same):
    before, after = built(V3).body.fingerprint, built(V3.replace(old, new)).body.fingerprint

    assert after.sql != before.sql
    assert (after.canonical == before.canonical) is same


def test_a_model_that_reads_itself_has_this_as_input(built):
    made = built("select * from analytics.daily where d < @partition_date", model="daily")

    assert made.inputs == {InputName(InputKind.THIS, "daily"): 1}


def test_findings_of_inline_sql_stand_in_its_file():
    file = parse_plain_sql("q.yaml", "select\n  @dat as d,\n  1 as one\nfrom t", 7)

    assert [str(f.where) for f in file.findings] == ["q.yaml:8"]
    assert [(h.line, h.names) for h in file.branches[0].refs] == [(8, ("dat",)), (10, ("t",))]
    assert [(o.name, o.line) for o in file.branches[0].outputs.columns] == [("d", 8), ("one", 9)]


def test_sql_that_is_no_query_has_no_branch():
    file = parse_plain_sql("q.yaml", "\ndelete from t", 7)

    assert file.branches == ()
    assert [f.render() for f in file.findings] == [
        (
            "q.yaml:8: error: not-a-query: a model is one query; this begins with DELETE\n"
            "  hint: write one select, without insert, create or a second statement"
        )
    ]


def test_what_is_said_of_a_body_names_its_version(built):
    made = built("select @run_date", code={"version": 1, "revision": 2})

    assert [f.render().partition("\n")[0] for f in made.findings] == [
        (
            "q.yaml:5: warning: no-partition-parameter: v1.r2: none of @partition_date, "
            "@start_date, @end_date"
        )
    ]


def test_a_version_without_partitions_has_only_the_run_date(built):
    made = built("select @end_date, @run_date", has_partition=False)

    assert [f.code for f in made.findings] == ["parameter-without-partition"]

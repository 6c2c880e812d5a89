"""What a commit of a history table touches, carries and survives."""

import json
import re

import pytest

from fakes.history_place import CK, COLUMNS, TS, HistoryPlace, counts, request
from fakes.history_story import T1, T2, T3, T4
from penstock.app.commands.run import run
from penstock.engine.session import SparkStepSession


@pytest.fixture(scope="module")
def story(tmp_path_factory, spark):
    """Three runs of one table: rows that are new, that changed, that did not."""
    place = HistoryPlace(tmp_path_factory.mktemp("commits"), spark)
    place.source("people", COLUMNS)
    place.snapshot("ts", **TS)
    place.has("people", "1 a 01-05", "2 b 01-06")
    place.snap(T1, "ts")
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 02-02")
    place.changed, place.changing = watched(place, T2)
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 02-02")
    place.same, place.looking = watched(place, T3)
    return place


def watched(place, at):
    """Run and give the report with the plans of the actions that Spark was asked for."""
    before = executed(place, -1)[-1:]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SparkStepSession, "__init__", telling_of_plans)
        report = place.snap(at, "ts")
    place.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    seen = executed(place, before[0].executionId())
    plans = [e.physicalPlanDescription() for e in seen if e.executionId() == e.rootExecutionId()]
    return report, [plan for plan in plans if not _NO_ACTION.search(plan)]


_INIT = SparkStepSession.__init__


def telling_of_plans(session, *given):
    """Begin a session that describes its plans in full."""
    _INIT(session, *given)
    session._spark.conf.set("spark.sql.ui.explainMode", "formatted")


def executed(place, after):
    """Give what Spark remembers of the SQL that it executed after a number; it forgets old SQL."""
    every = place.spark._jsparkSession.sharedState().statusStore().executionsList()
    found = []
    for number in reversed(range(every.size())):
        found.insert(0, every.apply(number))
        if after < 0 or found[0].executionId() <= after:
            break
    return found if after < 0 else found[1:]


# Views are only defined; what reads the log alone looks for the newest version of a table.
_NO_ACTION = re.compile(r"Execute CreateViewCommand|Delta Table State|Location: DeltaLogFileIndex")
_SCAN = re.compile(
    r"Location: \w+ \[file:[^]]*/(landing|warehouse)/\S+\]\n(?:\w+: [^\n]*\n)*?ReadSchema: (\S+)"
)
_HIDDEN = re.compile(r",__delta_internal_is_row_deleted:tinyint,_tmp_metadata_row_index:bigint")
_COLUMNS = {
    "landing": "struct<id:int,updated_at:timestamp>",
    "warehouse": "struct<id:int,updated_at:timestamp,_ps_valid_from:timestamp>",
}


@pytest.mark.matrix
def test_one_action_classifies_with_few_columns_of_both_sides_and_one_merges(
    story,
) -> None:
    classify, doubles, fetch, merge = story.changing
    (look,) = story.looking

    for plan in (classify, look):
        scans = [(top, _HIDDEN.sub("", schema)) for top, schema in _SCAN.findall(plan)]
        assert sorted(scans) == sorted(_COLUMNS.items())
        assert re.search(r"PartitionFilters: \[isnotnull\(_ps_is_current#\d+\), _ps_is_cur", plan)
    assert _SCAN.findall(doubles) == []
    missing = "struct<id:int,value:string>"
    assert _SCAN.findall(fetch) == [("landing", missing)]
    assert "Execute MergeIntoCommand" in merge
    assert (story.same["ts"].status, story.same["ts"].version) == ("unchanged", 1)


def test_the_commit_says_who_made_it_when_and_what_it_counted(story) -> None:
    (info,) = [line["commitInfo"] for line in story.commit("ts", 1) if "commitInfo" in line]
    token = json.loads(info["userMetadata"])
    delta = {name: int(info["operationMetrics"][name]) for name in _ROWS}

    assert token["step"] == story.changed["ts"].step
    assert token["run"] == story.changed.run_id
    assert (token["model"], token["run_timestamp"]) == ("ts", "2024-06-01T00:00:00+00:00")
    assert {name: count for name, count in token["metrics"].items() if count} == {
        "source_rows": 3,
        "opened_new": 1,
        "opened_changed": 1,
        "unchanged": 1,
        "closed": 1,
    }
    assert delta == {
        "numTargetRowsInserted": 2,
        "numTargetRowsUpdated": 1,
        "numTargetRowsDeleted": 0,
    }
    assert len(story.versions("ts")) == 2 + 2


_ROWS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@pytest.mark.matrix
def test_one_changed_row_of_a_thousand_touches_its_own_file_alone(tmp_path_factory, spark) -> None:
    place = HistoryPlace(tmp_path_factory.mktemp("thousand"), spark)

    def run_with(at, *changed):
        query = (
            "select cast(id as int) as id, id % 10 as bucket, "
            f"if(id in ({', '.join(changed)}), 'w', 'v') as value from range(1, 1001)"
        )
        place.model("h", query, materialized="snapshot", **CK, partition_by="bucket")
        return place.snap(at)["h"]

    run_with(T1, "0")
    run_with(T2, "7")
    result = run_with(T3, "7", "17")

    first, actions = place.commit("h", 0), place.commit("h", 2)
    removed, added = _paths(actions, "remove"), _paths(actions, "add")
    (touched,) = removed
    assert len(_paths(first, "add")) == 10
    assert result.version == 2
    assert (result.rows.inserted, result.rows.updated, result.rows.deleted) == (1, 1, 0)
    assert touched.startswith("_ps_is_current=true/bucket=7/")
    assert touched in _paths(first, "add")
    assert sorted(path.rpartition("/")[0] for path in added - removed) == [
        "_ps_is_current=false/bucket=7",
        "_ps_is_current=true/bucket=7",
    ]
    (info,) = [line["commitInfo"] for line in actions if "commitInfo" in line]
    assert "_ps_is_current" in info["operationParameters"]["predicate"]
    assert added & removed == {touched}  # its deletion vector hides one row more


def _paths(actions, kind):
    return {line[kind]["path"] for line in actions if kind in line}


@pytest.mark.matrix
def test_the_rows_written_are_those_that_were_classified(tmp_path_factory, spark) -> None:
    place = HistoryPlace(tmp_path_factory.mktemp("random"), spark)
    query = (
        "select id, if(draw < 0.5, 'a', 'b') as value, draw from "
        "(select cast(id as int) as id, rand() as draw from range(400))"
    )
    place.model("h", query, materialized="snapshot", **CK)
    place.snap(T1)

    metrics = counts(place.snap(T2)["h"])

    table = place.table("h")
    assert metrics["opened_changed"] > 100
    assert place.sql(
        f"SELECT count(*) FROM {table} o JOIN {table} n ON n.id = o.id "
        "AND n._ps_valid_from = o._ps_valid_to WHERE n.value = o.value"
    ) == [(0,)]
    assert place.sql(f"SELECT count(*) FROM {table} WHERE value <> if(draw < 0.5, 'a', 'b')") == [
        (0,)
    ]


class Meddling:
    """A log after whose next look at a table's head somebody writes to the table."""

    def __init__(self, log, meddle):
        self._log, self._meddle, self.armed = log, meddle, False

    def __getattr__(self, name):
        return getattr(self._log, name)

    def head(self, uri, hint=None):
        found = self._log.head(uri, hint)
        if self.armed:
            self.armed = False
            self._meddle()
        return found


def meddled(place, early, late):
    """Run at T4 while another writer deletes current versions before the commit, twice.

    The first time before the head of the table is compared, the second time after it, so that
    only the MERGE can see it.
    """
    delete = f"DELETE FROM {place.table('ts')} WHERE _ps_is_current = true AND id = "
    left = [late, early]
    services = place.services()
    log = Meddling(services.log, lambda: place.sql(delete + str(left.pop())))

    def fault(point):
        if point == "before-commit" and left == [late, early]:
            place.sql(delete + str(left.pop()))
        elif point == "before-commit" and left == [late]:
            log.armed = True

    services.log, services.fault = log, fault
    try:
        return run(services, request(T4, ("ts",), {}))["ts"], services.reading.records.history(
            "ts", 3
        )
    finally:
        services.close()


@pytest.mark.matrix
def test_a_version_that_goes_between_classify_and_merge_is_classified_again(story) -> None:
    story.has("people", "1 A 02-01", "2 B 03-01", "3 C 03-01")

    result, (done, underneath, before) = meddled(story, early=2, late=3)

    assert before.failure.code == "concurrent-writer"
    assert underneath.failure.code == "history-changed-underneath"
    assert (result.status, done.failure) == ("success", None)
    assert counts(result) == {"source_rows": 3, "opened_new": 2, "unchanged": 1}
    assert story.versions("ts") == [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 B 03-01 [T4, )",
        "3 C 03-01 [T4, )",
    ]
    assert story.version("ts") == 4

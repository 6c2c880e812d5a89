"""What is said of entities before a slice is read: plans, times, watermarks, silver folders."""

import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from cli.conftest import FILES
from fakes.entity_files import KEY, entity, files
from penstock.engine.log.delta_log import DeltaLog

MODELS = [name for name in FILES if name.startswith("models/")]
LAKE = {"environment": {"root_folder": "lake"}}
TYPED = [KEY, {"name": "SeqNr", "datatype": "int"}]


@pytest.fixture
def lake(services):
    """Write one entity `x` with some slices, or what is said of others."""

    def written(*entities, slices="ab", **more):
        own = files(*(entities or (entity(columns=TYPED),)), **LAKE, **more)
        root = services(**own, **dict.fromkeys(MODELS))
        for name in slices:
            path = root / "lake" / "bronze" / "aw" / "x" / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"xx")
        return root

    return written


def planned(answer):
    """Give slice, status and code of each step of a plan."""
    steps = json.loads(answer.out)["models"]
    return [
        (each["slice"], each["status"], each["error"] and each["error"]["code"]) for each in steps
    ]


def test_a_dry_run_lists_slices_and_the_sql_of_the_twelve_steps(lake, call):
    lake()

    words = ("run", "--dry-run", "-s", "entity:x", "--processing-time", "2025-05-05T10:00:00Z")
    answer = call(*words, "--verbose")

    assert answer.code == 0
    assert "SQL" not in call(*words).out
    small = " ".join(map(str, range(32)))
    size = f"coalesce(get(split('{small}', ' '), {{0}}), CAST({{0}} AS STRING))"
    text = "CAST(`SeqNr` AS STRING)"
    assert (
        answer.out == """\
Execution plan (topological order):
  1. silver_aw.x  merge  a.parquet  first build
  2. silver_aw.x  merge  b.parquet  first build

SQL of silver_aw.x a.parquet, of the columns that are known:
  WITH `penstock_made` AS (
  SELECT * FROM `penstock_slice`
  )
"""
        "  SELECT `ID`, `SeqNr`, sha2(concat_ws('', concat('2:idS', "
        f"{size.format('length(`ID`)')}, ':', `ID`), concat('5:seqnrD', "
        f"{size.format(f'octet_length({text})')}, ':', {text})), "
        "256) AS `p_SourceHash`, 'a.parquet' AS `p_source_filename`, "
        f"sha2(concat_ws('', concat('2:idS', {size.format('length(`ID`)')}, ':', `ID`)), 256) "
        "AS `PK_x`, `p_deleted`, "
        "TIMESTAMP '2025-05-05T10:00:00.000000Z' AS `p_lastSeen` FROM (SELECT `ID` AS `ID`, "
        "CAST(`SeqNr` AS int) AS `SeqNr`, coalesce(CAST(NULL AS boolean), false) AS `p_deleted` "
        "FROM `penstock_made`)\n"
        "\nTotal: 2 steps. Nothing was run.\n"
    )


def test_no_secret_is_in_a_plan(lake, call):
    secret = {"sql_password": "s3cret", "url": "jdbc:x://u:p4ss@h/d"}
    made = {"name": "made", "expression": "'jdbc:x://u:p4ss@h/d'"}
    lake(entity(columns=[KEY, made], settings=secret))

    printed = [call("plan", *form) for form in ([], ["--json"], ["--verbose"])]

    text = "".join(each.out + each.err for each in printed)
    assert "s3cret" not in text
    assert "p4ss" not in text


def test_a_skipped_slice_is_left_out_and_a_wrong_name_has_its_nearest(lake, call):
    lake(slices="abc")
    call("entities", "slices", "1", "--skip", "b", "--reason", "bad")

    assert [name for name, _, _ in planned(call("plan", "--json"))] == ["a.parquet", "c.parquet"]
    answer = call("plan", "--slice", "nope")
    assert answer.code == 1
    assert "slice-not-found: silver_aw.x has no slice 'nope'" in answer.out
    assert "near it: c.parquet, b.parquet, a.parquet" in answer.out


def test_an_entity_without_a_slice_owes_nothing_to_any_command(lake, call):
    root = lake(slices="a")
    (root / "lake/bronze/aw/x/a.parquet").unlink()

    status, run, sync = call("status"), call("run"), call("sync", "--yes")

    assert status.out == (
        "silver_aw.x: current\n    no slice was delivered yet: nothing is owed\n\nAll current ✓\n"
    )
    assert {run.out, sync.out} == {"nothing to do (1 model up to date)\n"}
    assert (status.code, run.code, sync.code) == (0, 0, 0)


@pytest.mark.parametrize("flag", [["--slice", "a"], ["--strategy", "full"], ["--adopt"]])
def test_what_is_asked_of_one_entity_is_refused_of_two(lake, call, flag):
    lake(entity(), entity(2, "y"))

    answer = call("plan", *flag)

    assert answer.code == 2
    assert answer.err.startswith(f"error: one-entity-only: {flag[0]} is about one entity; 2 models")


@pytest.mark.parametrize(
    ("told", "moment"),
    [
        ("2025-05-05T12:00:00+02:00", "2025-05-05T10:00:00.000000Z"),
        ("2025-05-05T12:00:00Z", "2025-05-05T12:00:00.000000Z"),
        ("2025-05-05T12:00:00", "2025-05-05T10:00:00.000000Z"),
        ("2025-03-30T02:30:00", "2025-03-30T01:30:00.000000Z"),
        ("2025-10-26T02:30", "2025-10-26T00:30:00.000000Z"),
        ("2025-05-05T12:00:00.1234567+0200", "2025-05-05T10:00:00.123456Z"),
    ],
)
def test_a_processing_time_is_one_of_the_zone_unless_it_says_more(lake, call, told, moment):
    lake()

    assert (
        f"TIMESTAMP '{moment}' AS `p_lastSeen`" in call("plan", "-v", "--processing-time", told).out
    )


def test_what_is_no_time_is_a_warning_and_with_strict_an_error(lake, call):
    lake()
    bad = ["plan", "--processing-time", "2025-13-01"]
    sentence = "invalid-processing-time: --processing-time '2025-13-01' is not a time"

    warned, strict = call(*bad), call(*bad, "--strict")
    ahead = call("plan", "--processing-time", "2999-01-01T00:00:00Z")

    assert (warned.code, warned.err) == (0, f"{sentence}; the run timestamp counts\n")
    assert (strict.code, strict.err.splitlines()[0]) == (2, f"error: {sentence}")
    assert (ahead.code, ahead.err.split(":")[1]) == (2, " as-of-in-future")


def test_a_strict_run_makes_errors_of_warnings_of_documents(lake, call):
    lake(entity(settings={"delete_missing": True}))

    plain, strict = call("plan"), call("plan", "--strict")

    assert (plain.code, strict.code) == (0, 1)
    assert "entities/x.json:30:5: warning: last-value-without-lookback: " in plain.err
    assert strict.err.startswith("entities/x.json:30:5: error: last-value-without-lookback: ")


def test_only_what_was_selected_is_warned_of(lake, call):
    infers = {"delete_missing": True}
    lake(entity(settings=infers), entity(2, "y", settings={"bronze_path": "aw/x"}))

    own, other = (call("plan", "--strict", "-s", name) for name in ("entity:x", "entity:y"))
    synced = call("sync", "--dry-run", "-s", "entity:y")

    assert "last-value-without-lookback" in own.err
    assert "last-value-without-lookback" not in other.err + other.out + synced.err + synced.out
    assert (own.code, other.code) == (1, 0)


def test_a_folder_of_others_is_not_taken_for_a_table_that_is_not_there(lake, call, monkeypatch):
    root = lake()
    silver = root / "lake" / "silver" / "aw" / "x"

    def code():
        return planned(call("plan", "--json"))[0][1:]

    silver.mkdir(parents=True)
    (silver / "part-0.parquet").write_bytes(b"PAR1")
    assert code() == ("failed", "target-not-delta")
    (silver / "part-0.parquet").unlink()
    write_deltalake(str(silver), pa.table({"ID": [1]}))
    assert code() == ("failed", "foreign-table")
    (silver / "_delta_log" / "00000000000000000000.json").write_text("{")
    assert code() == ("failed", "target-unreadable")

    def denied(_, uri, _hint=None):
        raise PermissionError(13, "Permission denied", uri)

    monkeypatch.setattr(DeltaLog, "head", denied)
    assert code() == ("failed", "target-unreadable")


def test_watermarks_are_set_reset_and_remembered(lake, call):
    day = {"column_name": "day", "expression": "'${minus_days(last_value, 7)}'"}
    columns = [*TYPED, {"name": "day", "datatype": "date"}]
    seq = {"column_name": "SeqNr", "expression": "'${last_value}'"}
    lake(entity(columns=columns, watermark=[seq, day]))

    def mark(*words):
        answer = call("watermark", *words)
        return answer.code, (answer.out or answer.err).splitlines()[0]

    assert mark("set", "silver_aw.x", "100") == (
        2,
        "error: column-required: silver_aw.x has more than one watermark column",
    )
    assert mark("set", "silver_aw.x", "abc", "--column", "SeqNr")[1].startswith("error: bad-value")
    assert mark("set", "silver_aw.x", "100", "--column", "SeqNr")[0] == 0
    assert mark("set", "silver_aw.x", "2024-01-01", "--column", "day") == (
        0,
        "silver_aw.x: bronze.day set to DATE 2024-01-01",
    )
    assert mark("reset", "silver_aw.x", "--column", "SeqNr", "--yes")[0] == 0
    shown = json.loads(call("watermark", "show", "silver_aw.x", "--history", "--json").out)
    assert [each["value"] for each in shown["history"]] == [None, "2024-01-01", "100"]
    assert [each["column"] for each in shown["watermarks"]] == ["day"]

"""The laws of history tables as SQL: which there are, and what a table must have to be read."""

from dataclasses import replace

from fakes.lake import columns
from penstock.core.history import ColumnsDiffer, HashDiffers, NewerThan, SystemColumns
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.history.verify import (
    Claims,
    Violation,
    broken_laws,
    check_stage,
    claims_of,
    column_violations,
    laws,
)

CLAIMS = Claims(("id",), SystemColumns.with_prefix())
TABLE = "id int, _ps_valid_from timestamp, _ps_valid_to timestamp, _ps_is_current boolean"
EV = Snapshot(("id",), NewerThan("u"), event_time=True)


def names(claims):
    return [law.law for law in laws(claims)]


def test_every_law_of_rows_binds_a_table_that_never_closes_a_key():
    claims = claims_of(EV, closes_keys=False)

    assert names(claims) == ["V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8"]


def test_a_key_may_be_without_a_current_version_where_deletes_close_keys():
    strict, lenient = laws(CLAIMS)[3].broken, laws(replace(CLAIMS, closes_keys=True))[3].broken

    assert strict == (
        "`__penstock_place` = 1 AND (`__penstock_currents` > 1 OR `__penstock_currents` = 0)"
    )
    assert lenient == "`__penstock_place` = 1 AND (`__penstock_currents` > 1)"


def test_gaps_null_keys_and_starts_are_no_violation_where_the_model_allows_them():
    claims = replace(CLAIMS, closes_keys=True, match_null_keys=True)

    assert names(claims) == ["V1", "V2", "V3", "V4", "V5"]


def test_a_table_that_was_in_run_time_mode_has_no_law_of_starts():
    assert "V8" not in names(claims_of(EV, closes_keys=False, always_event_time=False))


def test_a_row_hash_that_penstock_makes_must_be_there():
    made = Snapshot(("id",), HashDiffers("_ps_row_hash", ("value",)))
    plain = Snapshot(("id",), ColumnsDiffer(None))

    assert claims_of(made, closes_keys=False).hash_column == "_ps_row_hash"
    assert claims_of(plain, closes_keys=False).hash_column is None


def test_columns_that_are_missing_or_of_another_type_are_told_without_reading_rows():
    table = columns("_PS_Valid_From date, _ps_valid_to timestamp, _ps_is_deleted int")

    assert column_violations(CLAIMS, columns(TABLE)) == ()
    assert column_violations(CLAIMS, table) == (
        Violation(
            "V1",
            "system columns",
            3,
            "column",
            (
                "_ps_valid_from is DATE, not TIMESTAMP",
                "_ps_is_current is missing",
                "_ps_is_deleted is INT, not BOOLEAN",
            ),
        ),
        Violation("V7", "null key", 1, "column", ("id is missing",)),
    )


def test_one_stage_counts_all_rows_and_keeps_those_that_break_a_law():
    stage = check_stage(CLAIMS, columns(TABLE))

    assert list(stage.passing.counts) == [
        *("versions", "keys", "current", "gaps", "high"),
        *("V1", "V2", "V3", "V4", "V5", "V6", "V7"),
    ]
    assert stage.passing.counts["V5"] == (
        "count_if(`__penstock_place` = 1 AND `__penstock_v5_of_key`)"
    )
    assert stage.sql == (
        "SELECT * FROM penstock_versions WHERE `__penstock_v1` OR `__penstock_v2` "
        "OR `__penstock_v3` OR `__penstock_v4` OR `__penstock_v5` OR `__penstock_v6` "
        "OR `__penstock_v7`"
    )
    assert stage.passing.sql.count("penstock_target") == 1


def test_laws_that_rows_break_are_given_with_their_counts():
    look = dict.fromkeys(names(CLAIMS), 0) | {"V4": 2, "V6": 7}

    assert [(law.title, count) for law, count in broken_laws(CLAIMS, look)] == [
        ("current", 2),
        ("gap", 7),
    ]


def test_tombstones_and_times_are_read_where_the_table_has_them():
    claims = replace(CLAIMS, time_column="u")
    told = check_stage(claims, columns(TABLE + ", _ps_is_deleted boolean, u string")).passing.sql

    assert "coalesce(`_ps_is_deleted`, false) AS `__penstock_tomb`" in told
    assert "try_cast(`u` AS TIMESTAMP) AS `__penstock_time`" in told

"""Which files a pass opens: moved away are all that it has no need of."""

import datetime as dt
import shutil

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.session_place import TYPES, SessionPlace
from fakes.spark_reads import scans_of

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
KEYS = """\
partition_column: day
backfill_limit_days: 40
modules: [page_views, sessions]
session_stitching: false
"""


class DailyPlace(SessionPlace):
    """The events are partitioned by their day."""

    def add(self, *events):
        rows = [self.event(each) for each in events]
        fields = [pa.field(each.name, TYPES[each.type]) for each in self.schema.columns]
        made = pa.Table.from_pylist(rows, pa.schema([*fields, pa.field("day", pa.date32())]))
        write_deltalake(self.landing_events, made, mode="append", partition_by=["day"])

    def event(self, written):
        row = super().event(written)
        return {**row, "day": row["collector_tstamp"].date()}


def move_away(folder, before):
    """Take the partitions of days before one away; give how many there were."""
    gone = [path for path in folder.glob("*=*") if path.name.partition("=")[2] < str(before)]
    for path in gone:
        shutil.move(path, folder.parent / f"{folder.name}-{path.name}-gone")
    return len(gone)


def test_no_file_is_opened_that_lies_before_what_a_run_touches(spark, tmp_path):
    web = DailyPlace(tmp_path, spark, KEYS)
    first = dt.date(2021, 1, 1)
    days = [first + dt.timedelta(days=number) for number in range(40)]
    web.add(*(f"e{day:%m%d} s{day:%m%d} {day:%m-%d} 10:00" for day in days))
    for now in ("02-08", "02-09", "02-10"):
        assert web.at(now).succeeded
    web.add("last s0209 02-09 12:00", "new s0210 02-10 10:00")

    assert move_away(tmp_path / "landing" / "events", dt.date(2021, 2, 5)) == 35
    assert move_away(web.folder("page_views"), dt.date(2021, 2, 9)) == 39
    assert move_away(web.folder("sessions"), dt.date(2021, 2, 9)) == 39
    assert web.at("02-11").succeeded
    assert web.windows()[-1] == "4 02-09 04:00..02-11"
    assert web.stored("base_events_this_run", "event_id") == ["e0209", "last", "new"]


def test_a_run_reads_the_files_of_its_window_and_of_the_starts_of_its_sessions(spark, tmp_path):
    web = SessionPlace(tmp_path, spark)
    for day in range(1, 13):  # a file of each day, which its statistics tell apart
        web.add(f"e{day:02} s{day:02} 01-{day:02} 10:00", f"f{day:02} s{day:02} 01-{day:02} 22:00")
    assert web.at("01-13").succeeded

    read = []
    for day in (13, 14, 15):
        # its own session, and one of the day before that goes on
        web.add(f"e{day} s{day} 01-{day} 10:00", f"g{day} s{day - 1} 01-{day} 09:00")
        scans = scans_of(spark, lambda now=day + 1: web.at(f"01-{now}"))
        read.append([each.files for each in scans if "/landing/events" in each.where])

    # the new day and six hours before it; then from the start of the sessions in these on
    assert read == [[2, 2], [2, 3], [2, 3]]
    assert web.stored("sessions", "session_identifier", "total_events")[-3:] == [
        ("s13", 2),
        ("s14", 2),
        ("s15", 1),
    ]

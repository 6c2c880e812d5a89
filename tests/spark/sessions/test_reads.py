"""Which files a pass opens: moved away are all that it has no need of."""

import datetime as dt
import shutil

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.session_place import TYPES, SessionPlace

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


def test_S89_no_file_is_opened_that_lies_before_what_a_run_touches(spark, tmp_path):
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

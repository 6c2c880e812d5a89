"""Fixture F: built, edited, repaired by a cascade; one table state after the other."""

from fakes.drift_place import DAILY_TABLE, MONTHLY_TABLE, WEEKLY_TABLE, DriftPlace
from fakes.fixture_f import EDIT_E


def test_the_story(tmp_path, spark):
    place = DriftPlace(tmp_path, spark)
    place.events()

    report = place.sync()
    for r in report.results:
        print(r.name, r.status, r.partitions, r.error, r.rows)
    print(place.rows(DAILY_TABLE), place.rows(WEEKLY_TABLE), place.rows(MONTHLY_TABLE))
    print(place.states())
    place.write(EDIT_E)
    print(place.states())
    preview = place.preview(cascade=True)
    for s in preview.plan.steps:
        print(s.key, s.keys, s.reason, s.trigger, s.upstream)
    print(preview.preview)
    report = place.sync(cascade=True)
    for r in report.results:
        print(r.name, r.status, r.partitions, r.error, r.rows)
    print(place.rows(DAILY_TABLE), place.rows(WEEKLY_TABLE), place.rows(MONTHLY_TABLE))
    print(place.states())
    assert 0

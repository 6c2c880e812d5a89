"""The small readable file of `state export --models`."""

from dataclasses import replace

from contracts.store_cases import BROKEN, HERE, LEASE, intent, succeed
from penstock.app.commands.init import init
from penstock.app.commands.state import export_models, tables_shown
from penstock.core.columns.typed import TypedValue
from penstock.core.steps.window import Watermark
from penstock.project.load import load_project
from penstock.state.memory import MemoryStore


def with_marks(step, model, *values):
    marks = tuple(
        Watermark("raw_logs", f"c{place}", TypedValue.parse(*value.split(" ", 1)))
        for place, value in enumerate(values)
    )
    return replace(intent(step, model), watermarks=marks)


def test_models_are_shown_with_their_last_run_and_watermarks(clock):
    store = MemoryStore(clock, LEASE)
    clock.advance(seconds=0.25)
    succeed(store, with_marks("1", "events", "TIMESTAMP 2025-11-05 23:00:00"))
    succeed(store, intent("2", "totals"))
    store.journal.reject(intent("3", "main.never"), BROKEN, HERE)

    assert (
        export_models(store.records, {"events": "main.events", "totals": "main.totals"})
        == """\
{
  "main.events": {
    "last_max_value": "2025-11-05 23:00:00",
    "last_run": "2024-03-01T12:00:00.250000",
    "watermarks": {
      "raw_logs.c0": {
        "type": "TIMESTAMP",
        "value": "2025-11-05T23:00:00.000000Z"
      }
    }
  },
  "main.totals": {
    "last_run": "2024-03-01T12:00:00.250000"
  }
}
"""
    )


def test_the_greatest_watermark_is_shown(clock):
    store = MemoryStore(clock, LEASE)
    succeed(store, with_marks("1", "m", "INT 9", "BIGINT 10"))

    assert '"last_max_value": "10"' in export_models(store.records, {})


def test_watermarks_that_do_not_compare_have_no_greatest(clock):
    store = MemoryStore(clock, LEASE)
    succeed(store, with_marks("1", "m", "INT 9", "DATE 2024-01-01"))

    assert "last_max_value" not in export_models(store.records, {})


def test_seeds_stand_under_their_tables_as_models_do(tmp_path):
    init(tmp_path, "demo")

    tables = tables_shown(load_project(tmp_path, environ={}))

    assert tables["home_airports"] == "stats.home_airports"
    assert tables["plane_days"] == "marts.plane_days"

"""Passes as tests of SQL say them, and every statement that they are made of."""

from dataclasses import replace

from fakes.session_lake import SCHEMA
from fakes.session_world import at, package
from penstock.core.columns.schema import Column, Schema
from penstock.core.sessions.manifest import Limits, RunState
from penstock.core.sessions.options import SessionTable
from penstock.strategies.sessions import this_run, users, window
from penstock.strategies.sessions.events import ReleasedSession, SessionRun

LIMITS = Limits(RunState.STANDARD, at("01-01 14:00"), at("01-03"))
RELEASED = (ReleasedSession("s1", at("2020-12-01")),)


def a_run(released=(), schema=SCHEMA, **keys):
    return SessionRun(package(**keys), schema, LIMITS, "run-7", 7, at("01-03"), tuple(released))


def with_events(run, *columns):
    """Give a run over events that have some columns more, `name type`."""
    more = (Column(*column.split(" ")) for column in columns)
    return replace(run, schema=Schema((*run.schema.columns, *more)))


def statements(run):
    """Give all SQL of a pass by what it is."""
    dates = ["2021-01-01", "2021-01-02"]
    found = {
        "limits": this_run.limits_view(run.limits, run.run),
        "window": window.window_groups(run),
        "changes": window.lifecycle_changes(run),
        "lifecycle": window.lifecycle_merge(run, "t", dates),
        "known": window.known_sessions(run),
        "touched": window.touched_sessions(run),
        "marks": this_run.quarantine_rows(run),
        "quarantine": this_run.quarantine_changes(run),
        "quarantined": this_run.quarantine_merge("t", "c"),
        "sessions": this_run.sessions_this_run(run),
        "candidates": this_run.event_candidates(run, at("01-01 10:00")),
        "events": this_run.events_this_run(run),
        "stitch": users.stitch(run, "t", "c"),
    }
    for model in run.package.models:
        if model.is_tracked:
            part: SessionTable = model.part
            rows = users.rows_of(run, part)
            found[f"{part} rows"] = rows.sql
            found[f"{part} changes"] = users.replacement(run, part, rows, dates)
            found[f"{part} merge"] = users.module_merge(run, part, "t", "c", dates)
    return found

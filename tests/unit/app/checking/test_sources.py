"""`penstock check --sources`: what is said of each source, and what the history keeps of it."""

from __future__ import annotations

import datetime as dt

from fakes.builders import NOON, a_model, a_source
from fakes.check_inputs import answered
from fakes.lake import columns
from fakes.workshop import Workshop
from penstock.app.commands.check import freshness_checks
from penstock.app.commands.history import check_history
from penstock.core.model import Freshness
from penstock.ui.render.check import check_text

LIMITS = Freshness("at", dt.timedelta(days=1), dt.timedelta(days=2))
EVENTS, USERS = a_source("events", freshness=LIMITS), a_source("users", freshness=LIMITS)
(GATE, _) = freshness_checks(EVENTS)
SAID = (
    "sources\n"
    "  raw.events  failed   warning  newest 2024-02-29 00:00:00, age 1d 12h > max 1d\n"
    "  raw.users   failed   warning  newest 2024-02-29 00:00:00, age 1d 12h > max 1d\n"
    "2 checks: 0 passed, 2 failed (0 errors)."
)


def a_workshop():
    workshop = Workshop(EVENTS, USERS, a_model("a", "raw.events"))
    for source in (EVENTS, USERS):
        workshop.lake.land(source.path, "at timestamp")
    newest = answered(GATE, columns("at timestamp"), 1, newest="2024-02-29 00:00:00")
    workshop.lake.answers("check_source", newest)
    return workshop


def test_C60_each_source_is_told_by_its_name():
    workshop = a_workshop()

    report = workshop.check(sources=True, as_of=NOON)

    assert check_text(report) == SAID
    assert report.ok


def test_what_was_said_of_a_source_is_in_the_history_of_its_checks():
    workshop = a_workshop()

    workshop.check("raw.events", sources=True, as_of=NOON)

    (record,) = check_history(workshop.services(), "source:raw.events")
    assert (record.model, record.step, record.partitions) == ("source:raw.events", "", ("*",))
    assert record.result.message == "newest 2024-02-29 00:00:00, age 1d 12h > max 1d"
    assert check_history(workshop.services(), "source:raw.users") == ()
    assert workshop.records() == {}


def test_without_record_nothing_is_kept():
    workshop = a_workshop()

    workshop.check(sources=True, record=False)

    assert check_history(workshop.services(), "source:raw.events") == ()

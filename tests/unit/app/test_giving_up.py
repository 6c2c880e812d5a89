"""A step that meets other writers again and again: part of case H144."""

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.core.errors import ConcurrentWriterError

UNDERNEATH = ConcurrentWriterError("history-changed-underneath", "a version is no longer there")


def test_H144_after_three_more_tries_a_step_fails_whatever_the_conflict_was_called(monkeypatch):
    monkeypatch.setattr("penstock.app.run._CONFLICT_PAUSES", (0, 0, 0))
    workshop = Workshop(a_source("events"), a_model("top", "raw.events"))
    workshop.lake.trouble("top", "commit", *[UNDERNEATH] * 4)

    error = workshop.run()["top"].error

    assert (error.code, error.sentence) == ("concurrent-writer", "a version is no longer there")
    assert workshop.run().succeeded

"""When a step is tried no more: other writers again and again, a dead JVM."""

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.core.errors import ConcurrentWriterError, SparkDiedError

UNDERNEATH = ConcurrentWriterError("history-changed-underneath", "a version is no longer there")


def test_after_three_more_tries_a_step_fails_whatever_the_conflict_was_called(monkeypatch):
    monkeypatch.setattr("penstock.app.commands.runner._CONFLICT_PAUSES", (0, 0, 0))
    workshop = Workshop(a_source("events"), a_model("top", "raw.events"))
    workshop.lake.trouble("top", "commit", *[UNDERNEATH] * 4)

    error = workshop.run()["top"].error

    assert (error.code, error.sentence) == ("concurrent-writer", "a version is no longer there")
    assert workshop.run().succeeded


def test_after_spark_died_no_other_step_is_tried_and_the_next_run_does_them():
    models = [a_model(name, "raw.events") for name in ("a", "b", "c")]
    workshop = Workshop(a_source("events"), *models, a_model("d", "a"))
    workshop.lake.trouble("a", "commit", SparkDiedError("spark-died", "Spark's JVM was killed"))

    report = workshop.run(threads=1)

    assert [(r.name, r.status, r.reason) for r in report.results if not r.ok] == [
        ("a", "failed", "never_run"),
        ("b", "skipped", "Spark's JVM is gone"),
        ("c", "skipped", "Spark's JVM is gone"),
        ("d", "skipped", "upstream a failed"),
    ]
    assert report.resume == "penstock run --select 'a b c d'"
    assert workshop.store.journal.running() == ()
    assert workshop.run().succeeded


def test_a_step_whose_commit_is_in_the_log_is_done_though_spark_died_over_it():
    workshop = Workshop(a_source("events"), a_model("a", "raw.events"))
    workshop.lake.trouble("a", "committed", SparkDiedError("spark-died", "Spark's JVM ended"))

    report = workshop.run()

    assert [(r.name, r.status) for r in report.results] == [("a", "success")]
    assert workshop.run().plan.is_empty

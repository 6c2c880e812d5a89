"""Metrics are valid for Prometheus and tell what the state and the logs say."""

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fakes.builders import a_model, a_source
from fakes.workshop import ELSEWHERE, Workshop
from penstock.app.commands.metrics import metrics
from penstock.app.read_requests import MetricsRequest
from penstock.core.errors import QueryError, UsageError

EVENTS = a_source("events")
TOP, LEFT, NEW = a_model("top", "raw.events"), a_model("left", "top"), a_model("new")
SHOP = {"project": "shop", "target": "dev"}


def parsed(text):
    """Read the text as Prometheus does: name and labels of each sample, with its value."""
    return {
        (sample.name, *(text for name, text in sample.labels.items() if name not in SHOP)): (
            sample.value
        )
        for family in text_string_to_metric_families(text + "\n")
        for sample in family.samples
    }


def a_workshop():
    workshop = Workshop(EVENTS, TOP, LEFT)
    workshop.run()
    workshop.lake.land(EVENTS.path)
    workshop.lake.trouble("left", "define", QueryError("spark-error", "no"))
    workshop.run("left", full_refresh=True)
    workshop.has(NEW)
    workshop.begin(ELSEWHERE, "new")
    return workshop


def test_each_model_has_its_last_success_partitions_and_lease():
    workshop = a_workshop()

    found = parsed(metrics(workshop.services(), MetricsRequest()).text)

    at = workshop.records()["top"].executed_at.timestamp()
    model = "penstock_model_"
    assert found.pop(("penstock_info", found_version(found))) == 1
    assert found.pop((f"{model}last_duration_seconds", "top")) >= 0
    assert found.pop((f"{model}last_duration_seconds", "left")) >= 0
    assert found == {
        (f"{model}last_success_timestamp_seconds", "top"): at,
        (f"{model}last_success_timestamp_seconds", "left"): at,
        (f"{model}last_rows_written", "top"): 1,
        (f"{model}last_rows_written", "left"): 1,
        (f"{model}last_step_failed", "top"): 0,
        (f"{model}last_step_failed", "left"): 1,
        (f"{model}partitions", "new", "never_run"): 1,
        (f"{model}partitions", "new", "current"): 0,
        (f"{model}partitions", "top", "source_changed"): 1,
        (f"{model}partitions", "top", "current"): 0,
        (f"{model}partitions", "left", "failed"): 1,
        (f"{model}partitions", "left", "current"): 0,
        (f"{model}lease_held", "new", "host-b"): 1,
    }


def found_version(found):
    return next(key[1] for key in found if key[0] == "penstock_info")


def test_a_file_is_replaced_and_readable_by_others(tmp_path):
    file = tmp_path / "penstock.prom"
    file.write_text("old\n")
    file.chmod(0o644)

    report = metrics(a_workshop().services(), MetricsRequest(output=str(file)))

    assert file.read_text() == f"{report.text}\n"
    assert file.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["penstock.prom"]


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    request = MetricsRequest(output=str(tmp_path / "no" / "penstock.prom"))

    with pytest.raises(UsageError, match=r"penstock\.prom cannot be written") as caught:
        metrics(a_workshop().services(), request)

    assert caught.value.code == "bad-output"


def test_labels_are_escaped_and_hold_no_secrets():
    workshop = Workshop(EVENTS, a_model("top", "raw.events"))
    target = replace(workshop.project.target, name='p"r\\o\nd x://u:hunter2@h')
    workshop.project = replace(workshop.project, target=target)

    text = metrics(workshop.services(), MetricsRequest()).text

    (family, *_) = text_string_to_metric_families(text + "\n")
    assert family.samples[0].labels["target"] == 'p"r\\o\nd x://***@h'

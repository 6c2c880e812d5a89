"""`penstock run` as a user runs it: cases J6, J8, J9, J20, J21 and J23."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fakes.place import Place

pytestmark = pytest.mark.spark

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
NO_JAVA = {"PATH": "/nowhere", "HOME": os.environ.get("HOME", "/")}
EVENTS = "{{ source('raw', 'events') }}"


@pytest.fixture
def events(place: Place) -> Place:
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2)")
    place.model("t", f"select id, amount from {EVENTS}", materialized="table")
    return place


def penstock(place, *words, **env):
    return subprocess.run(
        [PENSTOCK, *words],
        cwd=place.root,
        env=env or dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_J6_a_second_run_starts_no_jvm_and_makes_no_commit(events) -> None:
    events.run()

    told = penstock(events, "run", **NO_JAVA)

    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == "nothing to do (1 model up to date)\n"
    assert events.version("t") == 0


def test_J9_without_java_looking_works_and_run_says_what_is_missing(events) -> None:
    for words in ("validate", "list", "show t", "graph", "plan", "status", "doctor"):
        told = penstock(events, *words.split(), **NO_JAVA)
        assert "Traceback" not in told.stderr
        assert told.returncode == 0 or words == "doctor", told.stderr

    told = penstock(events, "run", **NO_JAVA)

    assert told.returncode == 2
    assert told.stderr == (
        "error: java-missing: Spark needs Java 17 or newer and none was found\n"
        "  hint: install a Java 17 runtime and set JAVA_HOME to it\n"
    )


def test_J8_the_last_line_of_a_failed_run_resumes_it(events) -> None:
    events.model("bad", f"select id, 1/0 as x from {EVENTS}", materialized="table")
    events.model("after", "select * from {{ ref('bad') }}", materialized="table")

    told = penstock(events, "run")

    assert told.returncode == 1
    lines = told.stdout.splitlines()
    assert lines[-1] == "Resume: penstock run --select 'bad after'"
    assert "Done: 1 step. 1 failed, 1 skipped." in lines
    assert "models/m/bad.sql:2: spark-divide-by-zero: Division by zero." in told.stdout
    assert "\tat " not in told.stdout + told.stderr


def test_J20_run_as_json_is_one_document_and_nothing_else(events) -> None:
    told = penstock(events, "run", "--json")

    document = json.loads(told.stdout)

    assert told.returncode == 0
    assert [(m["model"], m["status"], m["version"]) for m in document["models"]] == [
        ("t", "success", 0)
    ]
    assert document["models"][0]["rows"]["inserted"] == 2


def test_J21_a_password_in_the_state_url_is_masked_everywhere(events) -> None:
    url = "postgresql+psycopg://ann:hunter2@127.0.0.1:1/penstock"
    file = events.root / "penstock.yml"
    file.write_text(file.read_text().replace("{warehouse:", f'{{state: "{url}", warehouse:'))

    for words in ("status", "run", "run --json", "status --json", "list --json", "doctor"):
        told = penstock(events, *words.split())
        assert "hunter2" not in told.stdout + told.stderr
    written = [p for p in (events.root / ".penstock").rglob("*") if p.is_file()]

    assert told.returncode != 0
    assert not [p for p in written if b"hunter2" in p.read_bytes()]


def test_J23_an_interrupt_ends_the_step_releases_the_lease_and_exits_130(events) -> None:
    events.model(
        "slow",
        "select count(*) as n from range(100000000000) where id % 7 = 3",
        materialized="table",
    )
    process = subprocess.Popen(
        [PENSTOCK, "run", "--select", "slow"],
        cwd=events.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    _wait_for_running_step(events, process)

    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)

    services = events.services()
    record = services.reading.records.models()["slow"]
    leases = services.writing.leases.taken()
    services.close()
    assert process.returncode == 130, told
    assert record.failure is not None
    assert record.failure.code == "interrupted"
    assert leases == ()
    assert events.version("slow") == -1


def _wait_for_running_step(place, process) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        assert process.poll() is None, process.communicate()[0]
        if (place.root / ".penstock" / "state.db").exists():
            services = place.services()
            begun = services.writing.journal.running()
            services.close()
            if begun:
                time.sleep(2)  # into the Spark job
                return
        time.sleep(0.2)
    raise AssertionError("the step never began")


def test_properties_and_comments_are_set_at_once_and_partitioning_only_by_full_refresh(
    events,
) -> None:
    events.run()
    events.model(
        "t",
        f"select id, amount from {EVENTS}",
        materialized="table",
        partition_by="id",
        description="All events",
        table_properties={"delta.appendOnly": "false"},
    )

    report = events.run()
    again = events.run()
    events.run(full_refresh=True)

    note = "t: partition_by is [], the code says [id]; --full-refresh writes the table anew"
    assert report["t"].status == "success"
    assert note in report.notes
    assert again.plan.is_empty
    assert note in again.notes
    services = events.services()
    facts = services.log.facts(f"{events.root}/warehouse/m/t")
    services.close()
    assert (facts.comment, facts.partition_by) == ("All events", ("id",))
    assert facts.properties["delta.appendOnly"] == "false"
    assert events.run().plan.is_empty

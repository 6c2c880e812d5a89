"""`penstock run` as a user runs it."""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from fakes.command import PENSTOCK, Command
from fakes.place import Place

pytestmark = pytest.mark.spark

NO_JAVA = {"PATH": "/nowhere", "HOME": os.environ.get("HOME", "/")}
SEVERAL = """\
import contextlib, io, json, sys
from penstock.ui.cli.main import main
for words in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words.split())
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
EVENTS = "{{ source('raw', 'events') }}"


@pytest.fixture
def events(place: Place, monkeypatch) -> Place:
    monkeypatch.chdir(place.root)
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2)")
    place.model("t", f"select id, amount from {EVENTS}", materialized="table")
    return place


def without_java(place, *commands):
    """Run commands in a process that finds no Java; give of each its code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, *commands],
        cwd=place.root,
        env=NO_JAVA,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_second_run_starts_no_jvm_and_makes_no_commit(events) -> None:
    events.run()

    (told,) = without_java(events, "run")

    assert told == [0, "nothing to do (1 model up to date)\n", ""]
    assert events.version("t") == 0


def test_without_java_looking_works_and_run_says_what_is_missing(events) -> None:
    looking = ("validate", "list", "show t", "graph", "plan", "status")

    *looked, _, (code, _, complaint) = without_java(events, *looking, "doctor", "run")

    assert [each for each, _, _ in looked] == [0] * len(looking), looked
    assert code == 2
    assert complaint == (
        "error: java-missing: Spark needs Java 17 or newer and none was found\n"
        "  hint: install a Java 17 runtime and set JAVA_HOME to it\n"
    )


def test_the_last_line_of_a_failed_run_resumes_it(events, call) -> None:
    events.model("bad", f"select id, 1/0 as x from {EVENTS}", materialized="table")
    events.model("after", "select * from {{ ref('bad') }}", materialized="table")

    told = call("run")

    assert told.code == 1
    lines = told.out.splitlines()
    assert lines[-1] == "Resume: penstock run --select 'bad after'"
    assert "Done: 1 step. 1 failed, 1 skipped." in lines
    assert "models/m/bad.sql:2: spark-divide-by-zero: Division by zero." in told.out
    assert "\tat " not in told.out + told.err


@pytest.mark.matrix
def test_the_resume_line_is_run_and_does_the_rest_at_the_same_place(
    events, call, tmp_path_factory, monkeypatch
) -> None:
    targets = "targets:\n  prod: {warehouse: elsewhere, spark: {master: 'local[1]'}}\n  dev:"
    file = events.root / "penstock.yml"
    file.write_text(file.read_text().replace("targets:\n  dev:", targets))
    events.model("bad", f"select id, 1/0 as x from {EVENTS}", materialized="table")
    monkeypatch.chdir(tmp_path_factory.mktemp("another place"))
    asked = ("--target", "dev", "--as-of", "2024-06-01", "--vars", "word=a 'b")

    failed = call("run", str(events.root), *asked)
    resume = shlex.split(failed.out.splitlines()[-1].removeprefix("Resume: "))
    sql = f"select id, \"{{{{ var('word') }}}}\" as word from {EVENTS}"
    events.model("bad", sql, materialized="table")
    resumed = call(*resume[1:], "--json")

    assert resume == [
        *("penstock", "run", "--select", "bad", "--as-of", "2024-06-01"),
        *("--project-dir", str(events.root), *asked[:2], *asked[4:]),
    ]
    document = json.loads(resumed.out)
    assert (resumed.code, document["run_timestamp"]) == (0, "2024-06-01T00:00:00Z")
    assert [(m["model"], m["status"]) for m in document["models"]] == [("bad", "success")]
    assert events.sql(f"select distinct word from {events.table('bad')}") == [("a 'b",)]


CSV = """\
    sources:
      - name: raw
        format: csv
        tables:
          - name: {name}
            path: ../landing/{name}.csv
            options: {{{options}}}
            columns: [{{name: id, type: INT}}, {{name: seen, type: TIMESTAMP}}]
    """


def test_a_bad_value_in_a_csv_names_source_file_and_column_and_not_the_value(events, call) -> None:
    kinds = {"headed": 'header: "true"', "strict": "mode: FAILFAST"}
    for name, options in kinds.items():
        events.write(f"models/{name}.yml", CSV.format(name=name, options=options))
        head = "id,seen\n" if name == "headed" else ""
        rows = "1,2024-03-01 10:00:00\n2,ann@example.org\n"
        events.write(f"landing/{name}.csv", head + rows)
        sql = f"select id, seen from {{{{ source('raw', '{name}') }}}}"
        events.model(f"of_{name}", sql, materialized="table")

    told = call("run", "--select", "of_headed of_strict")

    assert told.code == 1
    for name in kinds:
        assert (
            f"models/m/of_{name}.sql:1: bad-source-value: source raw.{name}: column seen holds"
            f" values that are not TIMESTAMP, in {events.root}/landing/{name}.csv\n"
        ) in told.out
    asked = call("query", "select * from raw.headed")
    assert asked.err.startswith("error: bad-source-value: source raw.headed: column seen ")
    said = told.out + told.err + asked.out + asked.err
    assert "ann@" not in said
    assert "\tat " not in said


def test_run_as_json_is_one_document_and_nothing_else(events, call) -> None:
    told = call("run", "--json")

    assert told.code == 0
    assert_one_step(json.loads(told.out))


@pytest.mark.matrix
def test_so_it_is_where_the_jvm_starts_and_ends_with_the_process(events) -> None:
    done = subprocess.run(
        [PENSTOCK, "run", "--json"],
        cwd=events.root,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )

    assert_one_step(json.loads(done.stdout))


def assert_one_step(document) -> None:
    assert [(m["model"], m["status"], m["version"]) for m in document["models"]] == [
        ("t", "success", 0)
    ]
    assert document["models"][0]["rows"]["inserted"] == 2


def test_a_password_in_the_state_url_is_masked_everywhere(events, call) -> None:
    url = "postgresql+psycopg://ann:hunter2@127.0.0.1:1/penstock"
    file = events.root / "penstock.yml"
    file.write_text(
        file.read_text().replace("{warehouse:", f'{{state: "{url}", state_patience: 1s, warehouse:')
    )

    for words in ("status", "run", "run --json", "status --json", "list --json", "doctor"):
        told = call(*words.split())
        assert "hunter2" not in told.out + told.err
    written = [p for p in (events.root / ".penstock").rglob("*") if p.is_file()]

    assert told.code != 0
    assert not [p for p in written if b"hunter2" in p.read_bytes()]


def test_an_interrupt_ends_the_step_releases_the_lease_and_exits_130(events) -> None:
    events.model(
        "slow",
        "select count(*) as n from range(100000000000) where id % 7 = 3",
        materialized="table",
    )
    jobs = events.spark.sparkContext.statusTracker()
    command = Command(events.root, "run", "--select", "slow", spark=events.spark)
    command.wait_until(jobs.getActiveJobsIds)

    command.send(signal.SIGINT)
    code, output = command.ended()

    services = events.services()
    record = services.reading.records.models()["slow"]
    leases = services.writing.leases.taken()
    services.close()
    assert code == 130, output
    assert record.failure is not None
    assert record.failure.code == "interrupted"
    assert leases == ()
    assert events.version("slow") == -1


@pytest.mark.matrix
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

    note = "t: partition_by is [], the code says [id]; --full-refresh rewrites the table"
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

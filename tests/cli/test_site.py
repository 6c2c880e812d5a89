"""`docs generate` writes data of everything that can be read, and says what could not."""

import contextlib
import datetime as dt
import json
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from contracts.store_cases import BROKEN, HERE, failed_gate, wrote
from fakes.entity_files import entity
from fakes.entity_place import EntityPlace
from fakes.services import an_intent
from fakes.site_page import document_of
from penstock.app.services.wire import Where, open_services
from penstock.app.site import files
from penstock.core.check_results import Quarantine
from penstock.core.checks.check import OnFailure
from penstock.core.masking import SECRETS
from penstock.core.steps.step import StepFailure
from penstock.project.entities.places import bronze_folder

WEEK = dt.timedelta(days=7)

VIEWS = {
    "models/marts/totals.sql": """\
        {{ config(materialized='table') }}
        select total, word from {{ ref('sums') }}
        """,
    "models/marts/sums.sql": "select id, sum(amount) as total, '</script><b>' as word "
    "from {{ ref('raw_users') }} group by id\n",
    "models/staging/raw_users.sql": "select id, amount from {{ source('raw', 'users') }}\n",
    "models/marts/counted.py": """\
        from penstock import table


        @table
        def counted(totals):
            return totals
        """,
    "models/marts/after.sql": "select word from {{ ref('counted') }}\n",
    "models/sources.yml": """\
        sources:
          - name: raw
            tables:
              - name: users
                path: ../landing/users.csv
                format: csv
                columns:
                  - {name: id, type: INT}
                  - {name: amount, type: INT, description: "What **was** paid <b>"}
                  - {name: seen, type: TIMESTAMP}
        """,
}


@pytest.fixture(autouse=True)
def bundle(tmp_path, monkeypatch):
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "index.html").write_text('<meta name="penstock-data" content="data">')
    monkeypatch.setattr(files, "BUNDLE", folder)


def data(root, name):
    (path,) = root.glob(f"site/data-*/{name}.js")
    return document_of(path.read_text())


def page_of(root, model):
    number = {each["name"]: each["number"] for each in data(root, "project")["models"]}[model]
    return data(root, f"model-{number}")


def test_a_project_that_never_ran_is_shown_as_it_is(services, call):
    root = services()

    answer = call("docs", "generate", "--json")

    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert (report["page"], report["models"], report["runs"]) == ("site/index.html", 3, 0)
    project = data(root, "project")
    states = project["states"]
    shown = {m["name"]: [states[s["state"]] for s in m["states"]] for m in project["models"]}
    assert shown == {name: ["never_run"] for name in ("users_clean", "log", "daily")}
    assert [each["node"] for each in project["sources"]] == ["source:raw.users"]
    assert {each["node"]: each["command"] for each in project["attention"]}["log"] == (
        "penstock run --select log"
    )
    planned = {each["command"]: each["count"] for each in project["plans"]}
    assert planned["penstock run"] == 3
    assert not (root / ".penstock" / "state.db").exists()


def test_commands_on_the_pages_have_the_date_and_target_of_the_site(services, call):
    root = services()

    answer = call("docs", "generate", "--as-of", "2024-03-01", "--target", "dev")

    assert answer.code == 0, answer.err
    project = data(root, "project")
    assert project["flags"] == "--as-of 2024-03-01 --target dev"
    assert {each["node"]: each["command"] for each in project["attention"]}["log"] == (
        "penstock run --select log --as-of 2024-03-01 --target dev"
    )
    assert project["plans"][0]["command"] == "penstock run --as-of 2024-03-01 --target dev"


def test_columns_are_followed_through_views_and_not_known_behind_a_function(services, call):
    root = services(**VIEWS)

    answer = call("docs", "generate")

    assert answer.code == 0, answer.err
    origins = {
        name: {column["name"]: column["origins"] for column in page_of(root, name)["columns"]}
        for name in ("totals", "sums", "raw_users", "counted", "after")
    }
    assert origins["totals"]["total"] == [{"node": "sums", "column": "total"}]
    assert origins["sums"]["total"] == [{"node": "raw_users", "column": "amount"}]
    assert origins["raw_users"]["amount"] == [{"node": "source:raw.users", "column": "amount"}]
    assert origins["counted"] == {}
    assert origins["after"]["word"] == [{"node": "counted", "column": "word"}]
    (source,) = data(root, "project")["sources"]
    assert source["columns"][1]["description_html"] == (
        "<p>What <strong>was</strong> paid &lt;b&gt;</p>"
    )
    code = "".join(page_of(root, "sums")["codes"][0]["lines"])
    assert "&lt;/script&gt;&lt;b&gt;" in code


def test_columns_are_followed_through_stars_of_views(services, call):
    root = services(
        **VIEWS
        | {
            "models/staging/stars.sql": "with a as (select * from {{ ref('raw_users') }}) "
            "select *, 1 as one from a\n",
            "models/staging/joined.sql": "select s.*, amount as again, x.* "
            "from {{ ref('stars') }} s join {{ ref('counted') }} x using (id)\n",
        }
    )

    assert call("docs", "generate").code == 0

    origins = {
        name: {column["name"]: column["origins"] for column in page_of(root, name)["columns"]}
        for name in ("stars", "joined")
    }
    assert origins["stars"] == {
        "id": [{"node": "raw_users", "column": "id"}],
        "amount": [{"node": "raw_users", "column": "amount"}],
        "one": None,
    }
    assert origins["joined"] == {"again": [{"node": "stars", "column": "amount"}]}


def test_a_project_with_errors_shows_them_and_what_can_be_read(services, call):
    root = services(**{"models/marts/broken.sql": "{{ config(materialised='tabel') }}\nselect 1\n"})

    answer = call("docs", "generate")

    assert answer.code == 1
    assert "models/marts/broken.sql" in answer.out
    project = data(root, "project")
    assert [each["is_error"] for each in project["notices"]] == [True]
    assert {"users_clean", "log", "daily"} <= {each["name"] for each in project["models"]}


def test_a_project_that_cannot_be_read_at_all_leaves_the_old_site(services, call):
    root = services()
    assert call("docs", "generate").code == 0
    before = data(root, "project")
    (root / "penstock.yml").write_text("name: [\n")

    answer = call("docs", "generate")

    assert answer.code in (1, 2)
    assert "penstock.yml" in answer.err
    assert data(root, "project") == before


def test_a_state_of_a_newer_penstock_gives_a_site_without_it(services, call):
    root = services()
    (root / ".penstock").mkdir()
    with sqlite3.connect(root / ".penstock" / "state.db") as database:
        database.execute("CREATE TABLE alembic_version (version_num TEXT)")
        database.execute("INSERT INTO alembic_version VALUES ('9999')")
    database.close()

    answer = call("docs", "generate")

    assert answer.code == 1
    assert "state-too-new" in answer.out
    project = data(root, "project")
    assert [each["code"] for each in project["notices"]] == ["state-too-new"]
    line = "the state cannot be opened, so nothing is known of what was built"
    assert [(each["kind"], each["sentence"]) for each in project["attention"]] == [
        ("unreadable", line)
    ]
    assert project["plans"] == []
    states = {project["states"][s["state"]] for m in project["models"] for s in m["states"]}
    assert (states, len(project["models"])) == ({"unreadable"}, 3)


def test_a_folder_of_others_is_refused(services, call):
    root = services(**{"site/mine.txt": "mine\n"})

    answer = call("docs", "generate")

    assert (answer.code, "site-not-ours" in answer.err) == (2, True)
    assert [path.name for path in (root / "site").iterdir()] == ["mine.txt"]


def test_no_secret_is_in_any_byte(services, call):
    SECRETS.add(["hush-hush-9"])
    root = services(
        **{
            "models/marts/daily.sql": "select 'hush-hush-9' as n from {{ ref('users_clean') }}\n",
            "models/staging/users_clean.sql": "{{ config(materialized='table', "
            "description='jdbc:x://u:p4ss@h/d hush-hush-9') }}\nselect 1 as id, "
            "'password: hunter2' as a, 'jdbc:x://u:p4ss@h/d' as b -- token=hunter2\n",
            "models/marts/counted.py": """\
                from penstock import table


                @table
                def counted(users_clean):
                    password = "hunter2"
                    return users_clean
                """,
        }
    )

    assert call("docs", "generate").code == 0

    written = [path.read_text() for path in (root / "site").rglob("*") if path.is_file()]
    assert len(written) > 5
    secrets = ("hush-hush-9", "p4ss", "hunter2")
    assert [text for text in written if any(each in text for each in secrets)] == []
    lines = page_of(root, "counted")["written"]["lines"]
    assert lines[2] == '    password = <i class=s>"***"</i>'
    assert data(root, "search")["texts"]


def test_a_source_whose_newest_row_is_too_old_needs_attention(services, call):
    root = services(
        **{
            "models/sources.yml": """\
                sources:
                  - name: raw
                    tables:
                      - name: users
                        path: ../landing/users
                        freshness: {column: seen, error_after: 36h}
                """
        }
    )
    seen = pa.array([dt.datetime(2024, 1, 2, hour, tzinfo=dt.UTC) for hour in (8, 10)])
    write_deltalake(str(root / "landing" / "users"), pa.table({"id": [1, 2], "seen": seen}))

    assert call("docs", "generate").code == 0

    project = data(root, "project")
    (source,) = project["sources"]
    assert (source["newest_row_at"], source["limit"]) == ("2024-01-02T10:00:00Z", 129_600.0)
    assert source["changed_at"] > "2026"
    assert [each for each in project["attention"] if each["kind"] == "late"] == [
        {
            "kind": "late",
            "node": "source:raw.users",
            "sentence": "newest row 2024-01-02 10:00:00 UTC, older than its rule permits",
            "command": "penstock check --sources --select source:raw.users",
        }
    ]


def test_what_a_check_stopped_is_blocked_and_its_rows_are_in_quarantine(services, call):
    root = services()
    opened = open_services(Where(root))
    with contextlib.closing(opened):
        step = an_intent(opened.project.models["log"])
        journal, now = opened.writing.journal, opened.clock.now()
        kept = Quarantine(step.step, "log", f"{root}/q", "q.log", ((0, 0),), 3, now + WEEK)
        journal.begin(step, {}, HERE, None)
        checked = replace(failed_gate("*", mode=OnFailure.BLOCK), quarantine=kept)
        journal.record_checks(step.step, checked)
        journal.fail(step.step, StepFailure("after-check-failed", "min_rows failed", "", "look"))

    assert call("docs", "generate").code == 0

    found = [each for each in data(root, "project")["attention"] if each["node"] == "log"]
    assert [(each["kind"], each["command"]) for each in found] == [
        ("blocked", "penstock history log --checks"),
        ("quarantined", "penstock history log"),
    ]
    assert found[0]["sentence"] == "min_rows failed"
    assert found[1]["sentence"] == f"3 rows in quarantine until {now + WEEK:%Y-%m-%d}"


KILLED = """
import os, signal, sys
from penstock.app.site import files
from penstock.app.site.files import chunk_text
from penstock.ui.cli.main import main
from pathlib import Path

files.BUNDLE = Path("bundle")
left = int(sys.argv[1])

def written(name, document):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return chunk_text(name, document)

files.chunk_text = written
if left == 99:
    files.replace_file = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sys.exit(main(["docs", "generate"]))
"""


@pytest.mark.parametrize("files_left", [0, 3, 99])
def test_a_site_whose_successor_was_killed_while_it_was_written_is_whole(
    services, call, files_left
):
    root = services()
    assert call("docs", "generate").code == 0
    before = {path: path.read_bytes() for path in (root / "site").rglob("*") if path.is_file()}
    (root / "models/marts/more.sql").write_text("select 1 as one\n")

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(files_left)], cwd=root, capture_output=True, check=False
    )

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert call("docs", "generate").code == 0
    assert len([*root.glob("site/data-*")]) == 1
    assert len(data(root, "project")["models"]) == 4


def test_a_slice_that_failed_is_shown_with_its_reason(tmp_path, monkeypatch, call):
    place = EntityPlace(tmp_path, None, entity())
    place.slice("2024-01-01", (1, 1, "a"))
    place.slice("2024-01-02", (1, 1, "a"))
    root = place.root
    monkeypatch.chdir(root)
    opened = open_services(Where(root))
    with contextlib.closing(opened):
        (loaded,) = opened.project.entities.values()
        done, failed = opened.log.slices(bronze_folder(loaded, opened.clock.now()))
        step = replace(an_intent(opened.project.models[loaded.model]), slice=done.id, step="done")
        opened.writing.journal.begin(step, {}, HERE, None)
        opened.writing.journal.finish("done", replace(wrote(0), metrics={"recordsInSlice": 3}))
        step = replace(step, slice=failed.id, step="failed")
        opened.writing.journal.begin(step, {}, HERE, None)
        opened.writing.journal.fail("failed", BROKEN)

    assert call("docs", "generate").code == 0

    shown = page_of(root, loaded.model)["slices"]
    assert [(each["name"], each["status"], each["rows"], each["why"]) for each in shown] == [
        ("2024-01-01.parquet", "success", 3, ""),
        ("2024-01-02.parquet", "failed", None, "null-key: 3 rows have no id"),
    ]


def test_sites_that_are_written_at_once_come_one_after_the_other(services, call):
    root = services()
    call_it = KILLED.replace("int(sys.argv[1])", "10**9")
    processes = [
        subprocess.Popen([sys.executable, "-c", call_it], cwd=root, stdout=subprocess.PIPE)
        for _ in range(3)
    ]

    assert [(each.communicate(), each.returncode)[1] for each in processes] == [0, 0, 0]
    assert len([*root.glob("site/data-*")]) == 1
    assert len(data(root, "project")["models"]) == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("docs", "generate", "--output", "/proc/no/site"), "bad-output"),
        (("docs", "generate", "--output", "penstock.yml"), "site-not-ours"),
        (("docs", "serve", "--no-open", "--port", "70000"), "port-taken"),
        (("docs", "serve", "--no-open", "--host", "192.0.2.1", "--port", "0"), "port-taken"),
    ],
)
def test_a_folder_or_a_port_that_cannot_be_had_is_named(services, call, words, code):
    services()

    answer = call(*words)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {code}: ")

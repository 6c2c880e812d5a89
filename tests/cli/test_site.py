"""`docs generate` writes data of everything that can be read, and says what could not."""

import json
import sqlite3

import pytest

from penstock.app.site import files
from penstock.core.masking import SECRETS

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
    return json.loads(path.read_text().removeprefix(f'penstockData("{name}",').removesuffix(");"))


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
    assert len(project["models"]) == 3


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
            "description='jdbc:x://u:p4ss@h/d hush-hush-9') }}\nselect 1 as id\n",
        }
    )

    assert call("docs", "generate").code == 0

    written = [path.read_text() for path in (root / "site").rglob("*") if path.is_file()]
    assert len(written) > 5
    assert [text for text in written if "hush-hush-9" in text or "p4ss" in text] == []

"""Commands under the names that people of dbt type, where no Spark starts."""

import json

SEEN = {"penstock.yml": "name: shop\ntargets: {dev: {}}\n"}


def test_ls_prints_names_paths_selectors_and_documents(services, call):
    services()

    assert call("ls", "--select", "tag:daily+", "--output", "name").out == "users_clean\ndaily\n"
    assert call("ls", "--select", "tag:daily", "--output", "path").out == (
        "models/staging/users_clean.sql\n"
    )
    assert call("ls", "-m", "log", "--output", "selector").out == "staging.log\n"
    assert json.loads(call("ls", "-s", "daily", "--output", "json").out) == {
        "name": "daily",
        "resource_type": "model",
        "original_file_path": "models/marts/daily.sql",
        "alias": "daily",
        "tags": [],
        "config": {"materialized": "view"},
        "depends_on": {"nodes": ["users_clean"]},
    }


def test_several_words_after_select_are_one_selection(services, call):
    services()

    assert call("ls", "--select", "daily", "log", "--output", "name").out == "log\ndaily\n"
    assert call("ls", "--exclude", "daily", "log", "--output", "name").out == "users_clean\n"
    assert call("ls", "--select", "daily", ".", "--output", "name").out == "daily\n"


def test_kinds_leave_models_out(services, call):
    services()

    assert call("ls", "--resource-type", "snapshot", "--output", "name").out == ""
    assert call("ls", "--resource-type", "model snapshot", "--output", "name").code == 0


def test_a_named_selection_is_selected_everywhere(services, call):
    services(
        **{"selectors.yml": "selectors: [{name: nightly, definition: {tag: daily}}]\n"},
    )

    assert call("ls", "--selector", "nightly", "--output", "name").out == "users_clean\n"
    assert call("plan", "--selector", "nightly", "--json").code == 0
    assert call("ls", "--selector", "nightly", "--select", "daily").code == 2


def test_parse_and_source_freshness_are_commands(services, call):
    services()

    assert call("parse").out == "no findings: 3 models, 1 source, 0 seeds\n"
    assert call("source", "freshness", "--select", "raw.users").err.startswith(
        "error: unknown-source: no source with freshness is called 'raw.users'"
    )


def test_compile_writes_the_sql_of_models(services, call):
    root = services()

    answer = call("compile")

    assert answer.out == (
        "wrote .penstock/target/compiled/models/staging/log.sql\n"
        "wrote .penstock/target/compiled/models/staging/users_clean.sql\n"
        "wrote .penstock/target/compiled/models/marts/daily.sql\n"
    )
    written = root / ".penstock/target/compiled/models/marts/daily.sql"
    assert written.read_text() == "select count(*) as n from staging.users_clean\n"
    assert call("compile", "--select", "daily").out == written.read_text()


def test_compile_prints_a_query_without_its_templates(services, call):
    services()

    answer = call("compile", "--inline", "select * from {{ ref('users_clean') }}")

    assert (answer.code, answer.out) == (0, "select * from staging.users_clean\n")
    assert call("compile", "--inline", "select * from {{ ref('nope') }}").code == 2


def test_clean_removes_caches_and_artifacts_and_no_table_or_state(services, call):
    root = services()
    call("compile")
    kept = [
        root / ".penstock" / "logs" / "a.log",
        root / ".penstock" / "target" / "wh" / "t" / "_delta_log" / "0.json",
        root / ".penstock" / "target" / "state.db",
        root / "warehouse" / "t.json",
    ]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")

    answer = call("clean")

    assert answer.code == 0
    assert "removed 3 files of .penstock/target/compiled\n" in answer.out
    assert [path for path in kept if not path.is_file()] == []
    assert not (root / ".penstock/target/compiled/models").exists()
    assert list((root / ".penstock/cache").iterdir()) == []
    assert call("clean").out == "nothing to remove\n"


def test_clean_needs_a_project_and_follows_no_link(services, call, tmp_path, monkeypatch):
    root = services()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "parse.jsonl").write_text("{}")
    (root / ".penstock").mkdir()
    (root / ".penstock" / "cache").symlink_to(elsewhere)

    assert call("clean").out == "nothing to remove\n"
    assert (elsewhere / "parse.jsonl").is_file()

    monkeypatch.chdir(elsewhere)
    assert call("clean").err.startswith("error: no-project: ")


def test_build_refuses_what_it_cannot_build_before_spark_starts(services, call):
    services()

    assert call("build", "--resource-type", "test").err == (
        "error: option-conflict: nothing is left to build: checks run with the step of their "
        "model\n  hint: penstock check runs checks alone\n"
    )
    assert call("build", "--select", "nope").code == 2
    assert call("build", "--dry-run").err.endswith("hint: penstock plan\n")


def test_a_query_written_after_show_is_a_query(services, call):
    services()

    assert call("show", "--inline", "drop table x").err.startswith("error: not-a-query: ")

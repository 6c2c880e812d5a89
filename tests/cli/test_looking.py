"""Commands that look: list, validate, graph, show, status."""

import json
import os
import pty
import subprocess

import pytest

from fakes.command import PENSTOCK


def test_validate_counts_what_is_right(services, call):
    services()

    assert call("validate").out == "no findings: 3 models, 1 source, 0 seeds\n"


def test_validate_strict_fails_on_a_warning(services, call):
    services(**{"models/notes.ini": "x = 1\n"})

    lenient, strict = call("validate"), call("validate", "--strict")

    assert (lenient.code, strict.code) == (0, 1)
    assert lenient.out.splitlines()[0].startswith("models/notes.ini:1: warning: stray-file: ")
    assert lenient.out.splitlines()[-1] == "0 errors, 1 warning"


def test_validate_prints_errors_on_stdout_because_they_are_its_answer(services, call):
    services(**{"models/marts/daily.sql": "drop table x\n"})

    answer = call("validate")

    assert answer.code == 1
    assert "error: not-a-query: " in answer.out


def test_list_names_models_upstreams_first(services, call):
    services()

    assert call("list").out == (
        "NAME         TABLE                STRATEGY  TAGS   FILE\n"
        "log          staging.log          append    -      models/staging/log.sql\n"
        "users_clean  staging.users_clean  table     daily  models/staging/users_clean.sql\n"
        "daily        marts.daily          view      -      models/marts/daily.sql\n"
    )


def test_list_as_json_says_what_each_model_reads(services, call):
    services()

    models = json.loads(call("list", "--json").out)["models"]

    assert {model["model"]: model["upstream"] for model in models} == {
        "log": [],
        "users_clean": [],
        "daily": ["users_clean"],
    }


def test_what_an_older_penstock_left_open_to_others_is_closed(services, call):
    root = services()
    folder, state = root / ".penstock", root / ".penstock" / "state.db-wal"
    folder.mkdir()
    folder.chmod(0o755)
    state.touch(0o644)
    state.chmod(0o644)

    call("status")

    assert [each.stat().st_mode & 0o777 for each in (folder, state)] == [0o700, 0o600]


def test_query_and_model_are_aliases_of_select(services, call):
    services()

    answers = [call("list", flag, "log").out for flag in ("--select", "-s", "--query", "--model")]

    assert len(set(answers)) == 1
    assert answers[0].count("\n") == 2


def test_graph_draws_sources_and_models(services, call):
    services()

    assert call("graph").out == (
        "raw.users\n"
        "    │\n"
        "    ├── staging.users_clean (v1)\n"
        "    │       │\n"
        "    │       └── marts.daily (v1)\n"
        "    │\n"
        "    └── staging.log (v1)\n"
    )


def test_graph_of_a_selection_leaves_the_others_out(services, call):
    services()

    document = json.loads(call("graph", "--select", "daily", "--format", "json").out)

    assert document == {
        "nodes": [
            {
                "table": "marts.daily",
                "name": "daily",
                "kind": "model",
                "strategy": "view",
                "version": 1,
            }
        ],
        "edges": [],
    }


def test_show_tells_all_of_a_model(services, call):
    services()

    lines = call("show", "staging.users_clean").out.splitlines()

    assert lines[:3] == [
        "users_clean  table  staging.users_clean",
        "  One row per user",
        "  file      models/staging/users_clean.sql:1",
    ]
    assert "  raw.users  (source)" in lines
    assert lines[-2:] == ["SQL:", "  select id, email from raw.users"]


def test_status_of_a_fresh_project_is_never_run(services, call):
    services()

    answer = call("status")

    assert answer.code == 0
    assert answer.out == (
        "log: never_run\n"
        "users_clean: never_run\n"
        "daily: never_run\n"
        "\n"
        "3 of 3 partitions drifted. Next: penstock sync\n"
    )


def test_status_fails_on_drift_if_asked_to(services, call):
    services()

    assert call("status", "--fail-on-drift").code == 1
    assert call("status", "--fail-on-drift", "--state", "tampered,missing").code == 0


def test_warnings_stand_beside_the_answer(services, call):
    services(**{"models/notes.ini": "x = 1\n"})

    loud, quiet = call("plan"), call("plan", "--quiet")

    assert loud.err.startswith("models/notes.ini:1: warning: stray-file: ")
    assert quiet.err == ""
    assert loud.out == quiet.out


def on_a_terminal(root, *words, **environ):
    """Give what a command prints on a terminal."""
    terminal, end = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | environ
    subprocess.run([PENSTOCK, *words], cwd=root, stdout=end, env=env, check=False, timeout=120)
    os.close(end)
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # nobody holds the other end any more
        pass
    os.close(terminal)
    return shown.decode()


@pytest.mark.parametrize("columns", [40, 80])
def test_a_terminal_shows_no_line_that_is_longer_than_itself(services, columns):
    root = services(
        **{
            f"models/a_long_name_of_a_model_{n}.sql": "-- tags: [one, two, three]\nselect 1 as id"
            for n in "ab"
        }
    )

    for name in ("list", "plan", "status", "validate"):
        shown = on_a_terminal(root, name, COLUMNS=str(columns), NO_COLOR="1").splitlines()
        assert max(map(len, shown)) <= columns, name


def test_a_dumb_terminal_gets_plain_lines(services):
    root = services(**{"models/odd.sql": "select 1 as id"})

    shown = on_a_terminal(root, "status", TERM="dumb")

    assert "\x1b" not in shown
    assert "never_run" in shown


def test_validate_plan_and_status_have_colours_on_a_terminal_and_none_in_a_pipe(services, call):
    root = services(**{"models/odd.sql": "drop table x"})

    assert ": \x1b[31merror\x1b[0m: " in on_a_terminal(root, "validate")

    services(**{"models/odd.sql": "select 1 as id"})
    shown = {name: on_a_terminal(root, name) for name in ("validate", "plan", "status")}
    assert "\x1b[32mno findings\x1b[0m" in shown["validate"]
    assert "\x1b[33mfirst build\x1b[0m" in shown["plan"]
    assert "\x1b[33mnever_run\x1b[0m" in shown["status"]
    assert "\x1b" not in on_a_terminal(root, "status", NO_COLOR="1")
    assert "\x1b" not in "".join(call(name).out for name in shown)

"""`penstock snapshot` and `penstock run` where no Spark starts."""

import pytest

from penstock.app.planning.make_plan import make_plan
from penstock.app.request import SnapshotRequest
from penstock.app.services.wire import Where, open_services

FILES = {
    "models/snapshots/users_clean_snapshot.sql": """\
        {{ config(
            materialized='snapshot',
            snapshot={'strategy': 'timestamp'},
            unique_key='id',
            updated_at='seen',
            tags=['demo', 'example:snapshot_demo'],
        ) }}
        select id, email, seen from {{ source('raw', 'users') }}
        """,
    "models/staging/users_clean.sql": """\
        {{ config(materialized='table', tags=['demo', 'daily']) }}
        select id, email from {{ source('raw', 'users') }}
        """,
    "models/marts/dim_users.sql": """\
        {{ config(materialized='table', tags=['demo']) }}
        select id, email from {{ ref('users_clean_snapshot') }} where _ps_is_current = true
        """,
    "models/marts/daily.sql": None,
    "models/staging/log.sql": None,
}


@pytest.fixture
def project(services, monkeypatch):
    """One snapshot and two tables on a machine without Java, so whoever asks for Spark gets 2."""
    root = services(**FILES)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    return root


def test_naming_a_snapshot_to_run_is_refused_with_the_command_to_use(project, call):
    answer = call("run", "--select", "users_clean_snapshot")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "error: snapshot-needs-snapshot-run: Snapshot models cannot be executed via "
        "'penstock run'. Use 'penstock snapshot run' instead.\n"
        "  hint: penstock snapshot run\n"
    )
    assert not (project / ".penstock" / "state.db").exists()


@pytest.mark.parametrize("selector", ["name:users_clean_snapshot", "path:models/snapshots"])
def test_so_is_a_selection_of_nothing_but_snapshots(project, call, selector):
    answer = call("run", "--select", selector)

    assert answer.code == 2
    assert "Snapshot models cannot be executed via 'penstock run'." in answer.err


def test_naming_a_table_to_snapshot_run_is_refused_with_the_command_to_use(project, call):
    answer = call("snapshot", "run", "--select", "dim_users")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "error: not-a-snapshot: 'dim_users' is a table model\n"
        "  hint: penstock run --select dim_users\n"
    )


@pytest.mark.parametrize(
    ("selector", "line"),
    [
        ("tag:demo", "not snapshots, not run: users_clean, dim_users (2)"),
        ("tag:example:snapshot_demo", ""),
        ("path:models/snapshots", ""),
        ("name:users*", "not snapshots, not run: users_clean (1)"),
    ],
)
def test_what_a_selector_matches_beside_snapshots_is_left_out_and_named(project, selector, line):
    wired = open_services(Where(project))

    planned = make_plan(wired, SnapshotRequest(select=(selector,)))

    wired.close()
    assert planned.names == ("users_clean_snapshot",)
    assert planned.notes == ((line,) if line else ())


def test_tags_of_nothing_but_tables_and_of_nothing_at_all_are_refused(project, call):
    tables = call("snapshot", "run", "--select", "tag:daily")
    nothing = call("snapshot", "run", "--select", "tag:none")

    assert tables.code == 2
    assert "not-a-snapshot: 'users_clean' is a table model" in tables.err
    assert nothing.code == 2
    assert nothing.err == (
        "error: no-match: no model has tag 'none'; there are: daily, demo, "
        "example:snapshot_demo\n  hint: penstock list\n"
    )


def test_a_number_to_keep_needs_prune_and_prune_needs_a_retention(project, call):
    alone = call("snapshot", "run", "--keep-last", "2")
    none = call("snapshot", "run", "--prune", "--keep-last", "0")
    unset = call("snapshot", "run", "--prune")

    assert (alone.code, none.code, unset.code) == (2, 2, 2)
    assert "--keep-last needs --prune" in alone.err
    assert "0 is not in the range 1<=x<=" in none.err
    assert "retention-not-set" in unset.err


def test_starting_over_without_a_terminal_needs_yes(project, call):
    answer = call("snapshot", "run", "--full-refresh")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: needs-confirmation: This replaces every selected")
    assert answer.err.endswith("  hint: add --yes\n")
    assert not (project / ".penstock" / "state.db").exists()

"""Which models `run` and `snapshot run` take of a selection."""

import pytest

from fakes.builders import NOON, a_model, a_source
from fakes.workshop import Workshop
from penstock.app.planning.selection import divided
from penstock.app.request import RunRequest, SnapshotRequest
from penstock.core.errors import SelectorError
from penstock.core.findings import Location
from penstock.core.history import ColumnsDiffer
from penstock.strategies.append import Append
from penstock.strategies.history.snapshot import Snapshot

SNAPSHOT = Snapshot(("id",), ColumnsDiffer(None))
EVENTS = a_source("events")
CLEAN = a_model("users_clean", "raw.events", tags=("demo", "daily"))
USERS = a_model(
    "users_snapshot",
    "users_clean",
    strategy=SNAPSHOT,
    tags=("demo", "example:snapshot_demo"),
    where=Location("models/snapshots/users_snapshot.sql"),
)
MART = a_model(
    "mart_snapshot",
    "raw.events",
    strategy=SNAPSHOT,
    tags=("example:snapshot_demo",),
    where=Location("models/snapshots/mart_snapshot.sql"),
)
DIM = a_model("dim_users", "users_snapshot", tags=("demo",))
LOG = a_model("log", "raw.events", strategy=Append(None))
SHOP = (EVENTS, CLEAN, USERS, MART, DIM, LOG)
REFUSED = (
    "error: snapshot-needs-snapshot-run: Snapshot models cannot be executed via "
    "'penstock run'. Use 'penstock snapshot run' instead.\n"
    "  hint: penstock snapshot run"
)


def taken(*select, snapshot=False, parts=SHOP, exclude=()):
    asked = (SnapshotRequest if snapshot else RunRequest)(select=select, exclude=exclude)
    return divided(Workshop(*parts).services(), asked, NOON)


def refused(*select, **more):
    with pytest.raises(SelectorError) as caught:
        taken(*select, **more)
    assert caught.value.exit_code == 2
    return caught.value.render()


def test_a_run_of_everything_leaves_the_snapshots_out_and_says_so():
    assert taken() == (
        ("log", "users_clean", "dim_users"),
        ("mart_snapshot", "users_snapshot"),
        "2 snapshot models not run; use 'penstock snapshot run'",
    )


def test_a_run_in_a_project_without_snapshots_says_nothing():
    assert taken(parts=(EVENTS, CLEAN)) == (("users_clean",), (), "")


def test_a_run_of_everything_where_there_are_only_snapshots_runs_nothing():
    assert taken(parts=(EVENTS, MART)) == (
        (),
        ("mart_snapshot",),
        "1 snapshot model not run; use 'penstock snapshot run'",
    )


@pytest.mark.parametrize(
    "select",
    [
        "users_snapshot",
        "name:users_snapshot",
        "USERS_SNAPSHOT",
        "s.users_snapshot",
        "dim_users users_snapshot",
        "+users_snapshot mart_snapshot",
    ],
)
def test_a_run_that_names_a_snapshot_is_refused(select):
    assert refused(select) == REFUSED


@pytest.mark.parametrize(
    "select", ["path:models/snapshots", "tag:example:snapshot_demo", "*_snapshot", "strategy:snap*"]
)
def test_a_run_of_nothing_but_snapshots_is_refused_however_it_is_written(select):
    assert refused(select) == REFUSED


def test_what_is_left_after_an_exclusion_counts():
    assert refused("users_snapshot+1", exclude=("dim_users",)) == REFUSED


def test_graph_operators_build_what_is_around_a_snapshot():
    line = "1 snapshot model not run; use 'penstock snapshot run'"

    assert taken("+dim_users") == (("users_clean", "dim_users"), ("users_snapshot",), line)
    assert taken("+users_snapshot") == (("users_clean",), ("users_snapshot",), line)


def test_snapshot_run_without_a_selection_takes_all_snapshots_and_names_nothing():
    names, others, line = taken(snapshot=True)

    assert names == ("mart_snapshot", "users_snapshot")
    assert others == ("log", "users_clean", "dim_users")
    assert line == ""


def test_snapshots_that_build_on_each_other_come_in_their_order():
    second = a_model("a_second", "users_snapshot", strategy=SNAPSHOT)

    assert taken(snapshot=True, parts=(EVENTS, CLEAN, USERS, second))[0] == (
        "users_snapshot",
        "a_second",
    )


def test_snapshot_run_in_a_project_without_snapshots_takes_nothing():
    assert taken(snapshot=True, parts=(EVENTS, CLEAN)) == ((), (), "")


@pytest.mark.parametrize("select", ["dim_users", "name:dim_users", "users_snapshot dim_users"])
def test_snapshot_run_that_names_another_model_is_refused(select):
    assert refused(select, snapshot=True) == (
        "error: not-a-snapshot: 'dim_users' is a table model\n"
        "  hint: penstock run --select dim_users"
    )


def test_the_first_of_several_others_is_named_and_the_rest_counted():
    assert refused("log dim_users", snapshot=True) == (
        "error: not-a-snapshot: 'log' is an append model (and 1 more are none)\n"
        "  hint: penstock run --select log"
    )


@pytest.mark.parametrize(
    ("select", "names", "line"),
    [
        (
            "tag:demo",
            ("users_snapshot",),
            "not snapshots, not run: users_clean, dim_users (2)",
        ),
        ("tag:example:snapshot_demo", ("mart_snapshot", "users_snapshot"), ""),
        ("path:models/snapshots", ("mart_snapshot", "users_snapshot"), ""),
        ("name:users*", ("users_snapshot",), "not snapshots, not run: users_clean (1)"),
        ("users_snapshot+", ("users_snapshot",), "not snapshots, not run: dim_users (1)"),
    ],
)
def test_what_else_a_selection_matches_is_left_out_and_named(select, names, line):
    found, others, said = taken(select, snapshot=True)

    assert (found, said) == (names, line)
    assert set(others).isdisjoint(names)


def test_repeated_selections_narrow():
    assert taken("tag:demo", "tag:example:snapshot_demo", snapshot=True) == (
        ("users_snapshot",),
        (),
        "",
    )


def test_a_selection_of_nothing_but_others_is_refused():
    assert refused("tag:daily", snapshot=True) == (
        "error: not-a-snapshot: 'users_clean' is a table model\n"
        "  hint: penstock run --select users_clean"
    )


def test_a_tag_that_nothing_has_names_those_there_are():
    assert refused("tag:none", snapshot=True) == (
        "error: no-match: no model has tag 'none'; there are: daily, demo, "
        "example:snapshot_demo\n  hint: penstock list"
    )


def test_snapshot_run_whose_snapshots_are_all_excluded_says_so():
    assert refused(snapshot=True, exclude=("path:models/snapshots",)) == (
        "error: empty-selection: every snapshot model is excluded\n"
        "  hint: take a selector or an --exclude away; penstock list shows what there is"
    )

"""`init --template sessions --events` writes a package from the columns that a table has."""

import datetime as dt

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from penstock.app.commands.init_events import init_package
from penstock.core.errors import UsageError
from penstock.project.load import load_project

TIME, TEXT = pa.timestamp("us", "UTC"), pa.string()
CLICKS = {
    "clicked_id": TEXT,
    "messageId": TEXT,
    "anonymous_id": TEXT,
    "user_id": TEXT,
    "Visit ID": TEXT,
    "received_at": TIME,
    "created_at": TIME,
    "event": TEXT,
    "url": TEXT,
    "day": pa.date32(),
}


def table(folder, columns, **how):
    values = {TIME: dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC), TEXT: "x"}
    values[pa.date32()] = dt.date(2024, 3, 1)
    row = {name: values[kind] for name, kind in columns.items()}
    write_deltalake(folder, pa.Table.from_pylist([row], pa.schema(columns.items())), **how)


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = {n.replace(" ", "_"): kind for n, kind in CLICKS.items()}
    table("lake/clicks", columns, partition_by=["day"])
    return tmp_path


def test_a_table_with_names_of_its_own_becomes_a_package_that_loads(lake):
    assert init_package(lake / "shop", "lake/clicks") == (
        *(".gitignore", "models/events.yml", "penstock.yml", "sessions/web.yml"),
    )
    assert (lake / "shop/sessions/web.yml").read_text() == (
        "# Written from the columns of lake.clicks. Check lines with 'guessed' or 'not found';\n"
        "# then: penstock validate, penstock run --select web\n"
        "strategy: sessions\n"
        "name: web\n"
        "events: lake.clicks\n"
        "\n"
        "timestamp: received_at  # guessed, or created_at\n"
        "derived_tstamp: null  # not found: null switches it off\n"
        "created_tstamp: null  # not found: null switches it off\n"
        "sent_tstamp: null  # not found: null switches it off\n"
        "event_id: messageId  # guessed\n"
        "session_id: [Visit_ID]  # guessed\n"
        "user_id: [anonymous_id]  # guessed, or user_id\n"
        "user_stitching_id: user_id\n"
        "event_name: event  # guessed\n"
        "page_view_id: messageId  # not found: every event is a view of its own\n"
        "page_url: url  # guessed\n"
        "partition_column: day\n"
        "\n"
        "start_date: 2024-03-01  # the first day of the table\n"
        "view_events: [page_view]  # guessed: values of event_name that begin a page view\n"
        "ping_events: [page_ping]  # guessed: values that say that a page is still open\n"
    )
    found = load_project(lake / "shop", environ={}, use_cache=False)
    assert found.findings == ()
    assert found.packages["web"].options.session_id == ("Visit_ID",)
    assert str(found.sources["lake.clicks"].path) == str(lake / "lake/clicks")


def test_a_column_that_is_missing_is_named_by_its_line(lake):
    table("lake/raw", {"ts": TIME, "who": TEXT})

    init_package(lake / "shop", "lake/raw")

    lines = (lake / "shop/sessions/web.yml").read_text().splitlines()
    assert "user_id: [domain_userid]  # not found: write the column, or SQL" in lines
    assert "session_timeout: 30 minutes  # no session id found: after this silence" in lines
    assert "timestamp: ts  # guessed" in lines
    assert "start_date: 2020-01-01  # guessed: earlier events are left out" in lines


def test_a_package_is_added_to_a_project_and_nothing_is_overwritten(lake):
    shop = lake / "shop"
    (shop / "models").mkdir(parents=True)
    (shop / "penstock.yml").write_text("name: shop\n")

    assert init_package(shop, "lake/clicks") == ("models/events.yml", "sessions/web.yml")
    with pytest.raises(UsageError) as caught:
        init_package(shop, "lake/clicks")
    assert caught.value.code == "file-exists"
    with pytest.raises(UsageError) as caught:
        init_package(lake / "other", "lake/clickz")
    assert (caught.value.code, caught.value.hint) == (
        "not-a-delta-table",
        f"penstock init {lake}/other --template sessions --events lake/clicks",
    )

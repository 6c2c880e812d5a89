"""One commit file: who made it, what it changed, and what a damaged one is."""

import datetime as dt
import json

import pytest

from penstock.core.errors import TableError
from penstock.core.facts import AddedFile, LogCommit
from penstock.engine.log.folder import LogEntry, read_entry

SIGNED = '{"penstock": "1", "store": "store-1", "step": "step-7"}'
INFO = {
    "timestamp": 1709294400000,
    "operation": "MERGE",
    "userName": "ann",
    "userMetadata": SIGNED,
    "operationMetrics": {"numOutputRows": "3", "note": "x", "time": "-1"},
}
ADD = {"path": "part-1", "dataChange": True, "stats": '{"minValues": {"id": 5, "s": {"a": 1}}}'}
REMOVE = {"path": "part-0", "dataChange": True}


def entry(*actions: dict[str, object]) -> LogEntry:
    return LogEntry.from_lines(4, [json.dumps(action) for action in actions])


def test_a_commit_tells_who_made_it_when_and_how():
    found = entry({"commitInfo": INFO}, {"metaData": {"id": "id-1"}}, {"add": ADD})

    assert found.commit == LogCommit(
        version=4,
        time=dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC),
        operation="MERGE",
        changes_data=True,
        step="step-7",
        store="store-1",
        user="ann",
        metrics={"numOutputRows": 3, "time": -1},
        token=SIGNED,
        table_id="id-1",
    )
    assert found.added == (AddedFile("part-1", {"id": "5"}),)
    assert not found.rewrites


@pytest.mark.parametrize(
    ("actions", "changes", "rewrites"),
    [
        ([{"add": ADD}], True, False),
        ([{"add": ADD}, {"remove": REMOVE}], True, True),
        ([{"add": ADD | {"deletionVector": {"cardinality": 1}}}], True, True),
        ([{"add": ADD | {"dataChange": False}}, {"remove": {"dataChange": False}}], False, False),
        ([{"metaData": {"id": "id-1"}}, {"protocol": {}}, {"txn": {"appId": "a"}}], False, False),
    ],
)
def test_what_a_commit_changed(actions, changes, rewrites):
    found = entry({"commitInfo": INFO}, *actions)

    assert (found.commit.changes_data, found.rewrites) == (changes, rewrites)


@pytest.mark.parametrize("token", ["", "not json", "[1]", '{"step": "somebody"}'])
def test_a_commit_without_a_token_of_ours_is_nobodys_step(token):
    assert entry({"commitInfo": INFO | {"userMetadata": token}}).commit.step == ""


def test_the_time_in_the_commit_counts_before_the_writers_clock():
    found = entry({"commitInfo": INFO | {"inCommitTimestamp": 1709294401000}})

    assert found.commit.time == dt.datetime(2024, 3, 1, 12, 0, 1, tzinfo=dt.UTC)


def test_the_head_is_read_no_further_than_the_line_that_names_the_step(tmp_path):
    file = tmp_path / "_delta_log/00000000000000000004.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"commitInfo": INFO}) + "\n{half a li", encoding="utf-8")

    assert read_entry(str(tmp_path), 4, head_only=True).commit.step == "step-7"


@pytest.mark.parametrize(
    "content",
    [b"", b'{"commitInfo": {"timest', b"\xff\xfe", b"7\n", b'{"add": {"dataChange": true}}'],
    ids=["empty", "cut", "no text", "no object", "no path"],
)
def test_a_damaged_file_is_named_with_its_version(tmp_path, content):
    file = tmp_path / "_delta_log/00000000000000000004.json"
    file.parent.mkdir()
    file.write_bytes(content)

    with pytest.raises(TableError) as caught:
        read_entry(str(tmp_path), 4)

    assert caught.value.code == "log-unreadable"
    assert (
        caught.value.sentence == f"version 4 of the Delta log in {tmp_path}/_delta_log is damaged"
    )

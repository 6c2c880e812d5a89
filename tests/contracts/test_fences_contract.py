"""What every implementation of the port `Fences` promises, and `Log.transaction` beside it."""

import json
from pathlib import Path

import pytest

from contracts.log_worlds import FolderWorld, world_in
from penstock.core.errors import TableError
from penstock.core.steps.token import signed_by
from penstock.engine.log.fences import DeltaFences

SIGNED = '{"penstock":"0.1.0","store":"store-1","kind":"fence","fences":"step-1"}'


@pytest.fixture(params=["lake", "folder", "bucket"])
def fenced(request):
    """Give a world with a table of one commit, and the fences of its kind."""
    world = world_in(request.param, request)
    fences = world.lake.fences if request.param == "lake" else DeltaFences(lambda: 1_700_000_000)
    return world, fences


def test_a_fence_is_one_commit_that_changes_no_row_and_is_no_steps(fenced):
    world, fences = fenced
    world.append(id=1)

    assert fences.fence(world.uri, "epoch/s.t", 7, SIGNED)

    (commit,) = world.log.commits(world.uri, 0)
    assert (commit.version, commit.changes_data, commit.step) == (1, False, "")
    assert (commit.store, commit.token) == ("store-1", SIGNED)
    assert world.log.transaction(world.uri, "epoch/s.t") == 7
    assert world.log.transaction(world.uri, "other") == 0


def test_a_number_that_delta_holds_already_needs_no_commit(fenced):
    world, fences = fenced
    world.append(id=1)
    fences.fence(world.uri, "epoch/s.t", 7, SIGNED)

    assert fences.fence(world.uri, "epoch/s.t", 6, SIGNED)
    assert fences.fence(world.uri, "epoch/s.t", 7, SIGNED)

    assert len(world.log.commits(world.uri, -1)) == 2
    assert world.log.transaction(world.uri, "epoch/s.t") == 7


def test_a_table_that_is_not_there_needs_no_fence(fenced):
    world, fences = fenced

    assert not fences.fence(world.uri, "epoch/s.t", 7, SIGNED)
    assert world.log.transaction(world.uri, "epoch/s.t") == 0


def test_somebody_who_commits_at_the_same_moment_is_passed_by(tmp_path, monkeypatch):
    world = FolderWorld(tmp_path)
    world.append(id=1)
    read = DeltaFences()._write

    def raced(self, table, uri, application, number, token):
        if len(world.log.commits(uri, -1)) == 1:
            head = Path(uri, "_delta_log", f"{0:020d}.json")
            head.with_name(f"{1:020d}.json").write_text(
                json.dumps({"commitInfo": {"timestamp": 0, "operation": "SET TBLPROPERTIES"}})
            )
            return
        read(table, uri, application, number, token)

    monkeypatch.setattr(DeltaFences, "_write", raced)

    assert DeltaFences().fence(world.uri, "epoch/s.t", 7, SIGNED)
    assert [c.operation for c in world.log.commits(world.uri, 0)] == ["SET TBLPROPERTIES", "WRITE"]


def test_times_in_commits_go_on_where_the_table_keeps_them(tmp_path):
    world = FolderWorld(tmp_path)
    world.append(id=1)
    log = Path(world.uri, "_delta_log")
    lines = [json.loads(line) for line in (log / f"{0:020d}.json").read_text().splitlines()]
    info = next(line for line in lines if "commitInfo" in line)
    info["commitInfo"]["inCommitTimestamp"] = 1_800_000_000_000
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"] = {"delta.enableInCommitTimestamps": "true"}
        if "protocol" in line:
            line["protocol"] |= {"minWriterVersion": 7, "writerFeatures": ["inCommitTimestamp"]}
    rest = [line for line in lines if line is not info]
    text = "".join(json.dumps(line) + "\n" for line in [info, *rest])
    (log / f"{0:020d}.json").write_text(text)

    DeltaFences(lambda: 1_700_000_000).fence(world.uri, "epoch/s.t", 7, SIGNED)

    first = json.loads((log / f"{1:020d}.json").read_text().splitlines()[0])["commitInfo"]
    assert first["inCommitTimestamp"] == 1_800_000_000_001


def test_a_log_that_only_a_catalog_may_write_is_left_alone(tmp_path):
    world = FolderWorld(tmp_path)
    world.append(id=1)
    path = Path(world.uri, "_delta_log", f"{0:020d}.json")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {
                "minReaderVersion": 1,
                "minWriterVersion": 7,
                "writerFeatures": ["coordinatedCommits-preview"],
            }
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    with pytest.raises(TableError) as caught:
        DeltaFences().fence(world.uri, "epoch/s.t", 7, SIGNED)

    assert caught.value.code == "cannot-fence"
    assert len(list(path.parent.glob("*.json"))) == 1


def test_the_token_of_a_fence_names_no_step_as_its_maker():
    assert signed_by(SIGNED) == ("", "store-1")

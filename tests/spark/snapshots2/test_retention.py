"""Old versions go as the retention says."""

import pytest

from fakes.history_place import EV, TS, HistoryPlace, counts
from fakes.history_story import T1, T2, T3, T4
from penstock.ui.commands.snapshot import snapshots_text

pytestmark = pytest.mark.matrix

# Later the source has no longer what is old: of key 1 the last row, of key 2 none.
LOG = (
    "1 a 01-10",
    "1 b 02-10",
    "1 c 03-10",
    "1 d 04-10",
    "2 x 01-10",
    "2 y 02-10",
    "2 z 03-10",
    "3 a 04-02",
    "3 b 05-02",
    "3 c 05-03",
    *(f"4 {value} 01-0{day}" for day, value in enumerate("abcdef", 1)),
)
TIMES = EV | {"hard_deletes": "ignore"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory, spark):
    """Six histories, loaded without any retention at T1."""
    place = HistoryPlace(tmp_path_factory.mktemp("kept"), spark)
    place.source("log", "id INT, value STRING, updated_at TIMESTAMP")
    place.source("people", "id INT, value STRING, updated_at TIMESTAMP")
    place.has("log", *LOG)
    place.has("people", "1 a 01-05", "2 b 01-06")
    place.snapshot("four", "log", "where id = 1", **TIMES)
    place.snapshot("one", "log", "where id = 1", **TIMES, retention={"keep_last": 1})
    place.snapshot("gone", "log", "where id < 3", **EV, hard_deletes="invalidate")
    place.snapshot("days", "log", "where id = 3", **TIMES, retention={"keep_days": 30})
    both = {"keep_days": 30, "keep_last": 3}
    place.snapshot("both", "log", "where id = 4", **TIMES, retention=both)
    place.snapshot("newest", **TS, retention={"keep_last": 1})
    loaded = place.snap(T1, no_prune=True)
    place.loaded = {name: counts(result) for name, result in loaded.items()}
    place.unpruned = place.versions("one")
    place.has("log", "1 d 04-10", *(line for line in LOG if line[0] in "34"))
    place.has("people", "1 A 02-01", "2 b 01-06")
    place.report = place.snap(T2, "one days both newest gone")
    return place


def test_a_dry_prune_counts_a_real_one_commits_and_a_wider_one_does_nothing(kept) -> None:
    asked = {"prune": True, "keep_last": 2}
    before = kept.tree()

    dry = kept.rehearse(T3, "four", **asked)
    told = dry["four"]
    after = kept.tree()
    done = kept.snap(T3, "four", **asked)["four"]
    wider = kept.snap(T4, "four", prune=True, keep_last=5)["four"]

    assert (told.status, told.reason, counts(told)["pruned"]) == ("planned", "would commit", 2)
    assert snapshots_text(dry).splitlines()[-2].endswith("2  would prune")
    assert after == before
    assert counts(done) == counts(told)
    assert kept.versions("four") == ["1 c 03-10 [03-10, 04-10)", "1 d 04-10 [04-10, )"]
    assert (done.status, done.version) == ("success", 1)
    assert (wider.status, wider.version) == ("unchanged", 1)


def test_a_changed_row_and_retention_of_one_make_one_commit_of_a_deleted_row(kept) -> None:
    result = kept.report["newest"]

    assert kept.versions("newest") == ["1 A 02-01 [T2, )", "2 b 01-06 [T1, )"]
    assert counts(result) == {
        "source_rows": 2,
        "opened_changed": 1,
        "unchanged": 1,
        "closed": 1,
        "pruned": 1,
    }
    assert (result.version, result.rows.deleted, result.rows.updated) == (1, 1, 0)


def test_the_newest_closed_version_of_a_deleted_key_remains(kept) -> None:
    closed = kept.versions("gone")

    result = kept.snap(T3, "gone", prune=True, keep_last=1)["gone"]

    assert "2 z 03-10 [03-10, T2)" in closed
    assert kept.versions("gone") == ["1 d 04-10 [04-10, )", "2 z 03-10 [03-10, T2)"]
    assert counts(result)["pruned"] == 5


def test_a_version_closed_exactly_as_long_ago_as_days_are_kept_goes(kept) -> None:
    assert kept.versions("days") == ["3 b 05-02 [05-02, 05-03)", "3 c 05-03 [05-03, )"]
    assert counts(kept.report["days"])["pruned"] == 1


def test_of_six_old_versions_three_remain_where_both_limits_must_agree(kept) -> None:
    assert kept.versions("both") == [
        "4 d 01-04 [01-04, 01-05)",
        "4 e 01-05 [01-05, 01-06)",
        "4 f 01-06 [01-06, )",
    ]
    assert counts(kept.report["both"])["pruned"] == 3


def test_without_pruning_a_retention_removes_nothing(kept) -> None:
    assert len(kept.unpruned) == 4
    assert kept.loaded["one"]["opened_changed"] == 3
    assert "pruned" not in kept.loaded["one"]
    assert kept.versions("one") == ["1 d 04-10 [04-10, )"]

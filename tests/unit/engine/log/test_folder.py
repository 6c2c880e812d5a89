"""Finding the newest version of a log without looking at every file of it."""

import pytest

from penstock.engine.log.folder import checkpointed, newest_version, versions


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "_delta_log"
    folder.mkdir()
    return folder


def fill(log, *found):
    for version in found:
        (log / f"{version:020d}.json").touch()


@pytest.mark.parametrize("hint", [None, 0, 5, 6, 7, 99])
@pytest.mark.parametrize("last", range(7, 20))
def test_the_newest_version_is_found_from_any_hint_there_or_not(tmp_path, log, last, hint):
    fill(log, *range(last + 1))

    assert newest_version(str(tmp_path), hint) == max(last, hint if hint in range(last) else 0)


def test_a_hint_that_was_cleaned_away_changes_nothing(tmp_path, log):
    fill(log, *range(10, 15))

    assert newest_version(str(tmp_path), 3) == 14


def test_the_last_checkpoint_is_a_hint_too(tmp_path, log, monkeypatch):
    fill(log, *range(40))
    (log / "_last_checkpoint").write_text('{"version":30,"size":5}')
    monkeypatch.setattr("os.scandir", None)

    assert newest_version(str(tmp_path)) == 39


def test_a_hint_below_a_gap_that_a_cleanup_left_counts_from_the_checkpoint_on(tmp_path, log):
    fill(log, 0, 5, 6, 7)
    (log / "_last_checkpoint").write_text('{"version":5,"size":5}')

    assert [newest_version(str(tmp_path), hint) for hint in (0, 5, 7)] == [7, 7, 7]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"version":77}'])
def test_a_last_checkpoint_that_says_nothing_or_lies_is_overlooked(tmp_path, log, content):
    fill(log, 0, 1)
    (log / "_last_checkpoint").write_bytes(content)

    assert newest_version(str(tmp_path)) == 1


def test_only_commit_files_are_versions(tmp_path, log):
    fill(log, 3, 2)
    for name in ("00000000000000000009.crc", "abcdefghijklmnopqrst.json", "_staged_commits"):
        (log / name).touch()
    (log / "00000000000000000000.00000000000000000009.compacted.json").touch()

    assert versions(f"file://{tmp_path}/") == [2, 3]


def test_a_folder_without_a_log_has_no_version(tmp_path):
    (tmp_path / "file").touch()

    assert [newest_version(str(tmp_path / name), 4) for name in ("", "file", "gone")] == [None] * 3
    assert versions(str(tmp_path / "file")) == []
    assert checkpointed(str(tmp_path)) is None

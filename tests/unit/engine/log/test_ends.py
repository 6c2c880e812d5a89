"""What of a file tells its content: the first and last 64 kB, remembered for many files."""

import json
import os
import shutil
from pathlib import Path

import pytest

from penstock.engine.log.ends import END, FileEnds

OLD = 1_600_000_000


def old(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (OLD, OLD))
    return str(path)


def test_a_copy_has_the_same_ends_whatever_its_times(tmp_path):
    place = old(tmp_path / "a", b"x" * 100)
    copy = shutil.copy(place, tmp_path / "b")

    assert FileEnds().of(place) == FileEnds().of(copy) != ""


@pytest.mark.parametrize("at", [0, END - 1, 3 * END - 1], ids=["first", "of the first", "last"])
def test_a_byte_at_either_end_tells_a_file_from_another(tmp_path, at):
    data = bytearray(3 * END)
    before = FileEnds().of(old(tmp_path / "a", bytes(data)))
    data[at] = 1

    assert FileEnds().of(old(tmp_path / "a", bytes(data))) != before


def test_a_file_between_one_and_two_ends_is_read_whole(tmp_path):
    data = bytearray(END + 2)
    before = FileEnds().of(old(tmp_path / "a", bytes(data)))
    data[END] = 1

    assert FileEnds().of(old(tmp_path / "a", bytes(data))) != before


def test_a_file_that_went_away_has_no_ends(tmp_path):
    assert FileEnds().of(str(tmp_path / "gone")) == ""


def test_few_files_are_read_again_and_leave_no_cache(tmp_path):
    ends = FileEnds(tmp_path / "cache" / "files.json")
    ends.of(old(tmp_path / "a", b"x"))
    ends.save()

    assert not (tmp_path / "cache").exists()


def many(tmp_path):
    return [old(tmp_path / "files" / str(n), str(n).encode()) for n in range(100)]


def test_of_many_files_only_those_that_are_new_are_read_again(tmp_path):
    cache, places = tmp_path / "cache" / "files.json", many(tmp_path)
    first = FileEnds(cache, settled=0)
    digests = [first.of(place) for place in places]
    first.save()
    for place in places:  # the same state, other bytes: whoever reads them sees it
        with Path(place).open("r+b") as file:
            file.write(b"?")
        stat = Path(place).stat()
        document = json.loads(cache.read_text())
        document["files"][place][1:4] = [stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns]
        cache.write_text(json.dumps(document))

    assert [FileEnds(cache).of(place) for place in places] == digests


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1, "files": {"a": [1]}}', "null"])
def test_a_damaged_cache_is_thrown_away(tmp_path, text):
    cache = tmp_path / "files.json"
    cache.write_text(text, encoding="utf-8")
    place = old(tmp_path / "a", b"x")

    assert FileEnds(cache).of(place) == FileEnds().of(place)

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
    copy = shutil.copy(place, f"{tmp_path}/b")

    assert FileEnds().of(place) == FileEnds().of(copy) != ""


@pytest.mark.parametrize("at", [0, END - 1, 3 * END - 1], ids=["first", "of the first", "last"])
def test_a_byte_at_either_end_tells_a_file_from_another(tmp_path, at):
    data = bytearray(3 * END)
    before = FileEnds().of(old(tmp_path / "a", bytes(data)))
    data[at] = 1

    assert FileEnds().of(old(tmp_path / "a", bytes(data))) != before


@pytest.mark.parametrize("whole", [False, True])
def test_a_byte_in_the_middle_tells_files_apart_only_if_they_are_read_whole(tmp_path, whole):
    data = bytearray(3 * END)
    before = FileEnds().of(old(tmp_path / "a", bytes(data)), whole=whole)
    data[END + 1] = 1

    assert (FileEnds().of(old(tmp_path / "a", bytes(data)), whole=whole) != before) is whole


def test_a_small_file_has_one_digest(tmp_path):
    place = old(tmp_path / "a", b"x" * 2 * END)

    assert FileEnds().of(place) == FileEnds().of(place, whole=True)


def test_a_large_file_that_was_read_whole_is_remembered_as_such(tmp_path):
    cache, place = tmp_path / "files.json", old(tmp_path / "a", b"x" * 3 * END)
    ends = FileEnds(cache, settled=0)
    ends._read = 99
    whole = ends.of(place, whole=True)
    ends.save()

    assert [each[4] for each in json.loads(cache.read_text())["files"].values()] == [
        f"whole:{whole}"
    ]
    again = FileEnds(cache)
    assert again.of(place, whole=True) == whole
    assert again._read == 0
    assert again.of(place) != whole


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

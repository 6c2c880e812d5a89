"""What a file is that should be Parquet."""

import pytest

from penstock.engine.log.bronze import file_problem


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"PAR1....PAR1", ""),
        (b"PAR1PAR1", "is truncated: it begins as Parquet and has no footer"),
        (b"PAR1 and the rest is gone", "is truncated: it begins as Parquet and has no footer"),
        (b"PARE....PARE", "is encrypted Parquet"),
        (b"\x1f\x8b\x08\x00", "is not Parquet: it is gzip"),
        (b"PK\x03\x04x", "is not Parquet: it is a zip archive"),
        (b"Obj\x01\x04", "is not Parquet: it is Avro"),
        (b"ORC\x08", "is not Parquet: it is ORC"),
        (b"ID;name\n1;\xc3\xa9\n", "is not Parquet: it looks like CSV"),
        (b"\xef\xbb\xbfID,name\r\n1,x\r\n", "is not Parquet: it looks like CSV"),
        (b"ID\tname\n", "is not Parquet: it looks like CSV"),
        (b' {"ID": 1}\n', "is not Parquet: it looks like JSON"),
        (b"[1, 2]", "is not Parquet: it looks like JSON"),
        (b"<rows/>", "is not Parquet: it looks like XML"),
        (b"hello\n", "is not Parquet: it looks like plain text"),
        (b"\n \n", "is not Parquet: it looks like plain text"),
        (b"a" * 4095 + "é,".encode(), "is not Parquet: it looks like plain text"),
        (b"\x00\x01\x02\x03\x04", "is not Parquet: it begins with the bytes 00 01 02 03"),
        (b"\xff\xfeI\x00D\x00", "is not Parquet: it begins with the bytes ff fe 49 00"),
    ],
)
def test_a_file_is_told_by_its_first_and_last_bytes(tmp_path, content, what):
    (tmp_path / "a.parquet").write_bytes(content)

    assert file_problem(str(tmp_path / "a.parquet")) == what


def test_nothing_is_said_of_a_file_that_is_gone(tmp_path):
    assert file_problem(str(tmp_path / "a.parquet")) == ""

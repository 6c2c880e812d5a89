"""What a file is that should be Parquet, told by its first and last bytes."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

_MAGIC, _ENCRYPTED, _LEAST = b"PAR1", b"PARE", 12
_HEAD = 4096
_KNOWN = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"BZh", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"Obj\x01", "Avro"),
    (b"ORC", "ORC"),
    (b"%PDF", "a PDF"),
    (b"SQLite format 3\0", "a SQLite database"),
)
_TEXTS = {"{": "JSON", "[": "JSON", "<": "XML"}
_BETWEEN = (",", ";", "\t", "|")


def file_problem(path: str) -> str:
    """Say why a file is not Parquet; "" if it looks like it, or cannot be opened."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - len(_MAGIC), 0))
            tail = file.read()
    except OSError:
        return ""
    if not head:
        return "is empty"
    if head.startswith(_MAGIC):
        is_whole = size >= _LEAST and tail == _MAGIC
        return "" if is_whole else "is truncated: it begins as Parquet and has no footer"
    if head.startswith(_ENCRYPTED):
        return "is encrypted Parquet"
    known = next((name for magic, name in _KNOWN if head.startswith(magic)), "")
    return f"is not Parquet: it {f'is {known}' if known else _look_of_text(head)}"


def _look_of_text(head: bytes) -> str:
    """Say what the beginning of a text looks like."""
    try:  # the last character may be cut
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        return f"begins with the bytes {head[:4].hex(' ')}"
    if not all(sign.isprintable() or sign.isspace() for sign in text):
        return f"begins with the bytes {head[:4].hex(' ')}"
    known = _TEXTS.get(text.lstrip()[:1], "")
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    is_csv = any(sign in first for sign in _BETWEEN)
    return f"looks like {known or ('CSV' if is_csv else 'plain text')}"

"""Commits in buckets: of two drivers none is lost."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.engine.connectors import LOG_STORE
from penstock.engine.disk.buckets import table_options_at

WRITER = Path(__file__).parents[2] / "fakes" / "bucket_writer.py"
COMMITS = 8


@pytest.fixture
def start(object_server, bucket, tmp_path):
    """Start a writer of rows from a number on."""
    writers = []

    def started(table, first):
        words = [object_server.endpoint, str(tmp_path), table, str(first), str(COMMITS)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        # -P: not by its folder, whose modules have names of others
        writers.append(subprocess.Popen([sys.executable, "-P", str(WRITER), *words], **pipes))
        return writers[-1]

    yield started
    for each in writers:
        each.kill()
        each.communicate()


def until(process, word):
    """Give the lines that a writer prints before one."""
    lines = []
    while (line := process.stdout.readline().strip()) != word:
        assert line, f"{word} never came: {lines}"
        lines.append(line)
    return lines


@pytest.mark.matrix
def test_two_drivers_lose_no_commit(start, bucket):
    table = f"{bucket}/t"
    schema = pa.schema([("id", pa.int64())])
    write_deltalake(table, schema.empty_table(), storage_options=table_options_at(table))
    writers = [start(table, first) for first in (0, 100)]
    kept = [until(each, "ready") for each in writers]
    for each in writers:
        print(file=each.stdin, flush=True)
    for each in writers:
        until(each, "done")

    rows = DeltaTable(table, storage_options=table_options_at(table))
    found = rows.to_pyarrow_table().column("id").to_pylist()
    assert kept == [[LOG_STORE, LOG_STORE]] * 2
    assert sorted(found) == [*range(COMMITS), *range(100, 100 + COMMITS)]
    assert rows.version() == 2 * COMMITS

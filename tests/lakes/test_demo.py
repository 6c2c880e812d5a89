"""The demo with its landing zone and its warehouse in a bucket."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder

from fakes.bucket_place import STORAGE
from fakes.command import Command
from fakes.object_store import KEY, SECRET
from penstock.engine.disk.buckets import table_options_at

pytestmark = [pytest.mark.spark, pytest.mark.matrix, pytest.mark.timeout(1800)]

STEPS = (
    (1, "run", "--exclude", "tag:stats", "--processing-time", "2013-04-01T06:00"),
    (0, "snapshot", "run", "--as-of", "2013-04-01T06:00"),
    (2, "run", "--exclude", "tag:stats", "--processing-time", "2013-04-15T06:00"),
    (0, "snapshot", "run", "--as-of", "2013-04-15T06:00"),
    (0, "sync", "--as-of", "2013-04-15", "--yes"),
)
OF_RUNS = re.compile("run_id|runid|loaded|processed", re.IGNORECASE)


def command(root, *words):
    code, output = Command(root, *words).ended()
    assert code == 0, output


def made(root):
    command(root.parent, "init", root.name, "--template", "demo")
    return root


def built(root, delivered):
    """Deliver and build all; `delivered` is called when new files are there."""
    for batch, *words in STEPS:
        if batch:
            subprocess.run([sys.executable, "deliver.py", str(batch)], cwd=root, check=True)
            delivered()
        if words[0] == "sync":
            command(root, "seed")
        command(root, *words)


def moved(root, bucket, server):
    """Let a project have everything in a bucket; give what copies its landing zone there."""
    for path in ("models/sources.yml", "models/marts/plane_days.py", "entities/faa.json"):
        file = root / path
        text = re.sub(r"(?:\.\./|\b)landing\b", f"{bucket}/landing", file.read_text())
        file.write_text(text)
    file = root / "penstock.yml"
    access = STORAGE.format(endpoint=server.endpoint, key=KEY, secret=SECRET)
    text = file.read_text().replace("warehouse: warehouse", f"warehouse: {bucket}/warehouse")
    file.write_text(f"{text}{access}")

    def deliver():
        for path in (root / "landing").rglob("*"):
            if path.is_file():
                (bucket / str(path.relative_to(root))).write_bytes(path.read_bytes())

    return deliver


def rows(uri):
    """Give the rows of a table as texts, without what only a run knows."""
    table = DeltaTable(uri, storage_options=table_options_at(uri))
    names = [each.name for each in table.schema().fields if not OF_RUNS.search(each.name)]
    columns = ", ".join(f'"{name}"' for name in names)
    query = f"SELECT {columns} FROM t"
    found = pa.table(QueryBuilder().register("t", table).execute(query).read_all())
    return sorted(str(tuple(row.values())) for row in found.to_pylist())


def test_the_demo_in_a_bucket_has_the_rows_that_it_has_on_a_disk(tmp_path, bucket, object_server):
    disk, lake = made(tmp_path / "disk"), made(tmp_path / "lake")

    built(disk, lambda: None)
    built(lake, moved(lake, bucket, object_server))

    logs = [path.parent for path in disk.rglob("_delta_log")]
    tables = sorted(str(Path(each).relative_to(disk)) for each in logs)
    assert len(tables) >= 15
    for name in tables:
        expected, found = rows(str(disk / name)), rows(f"{bucket}/{name}")
        assert len(found) == len(expected), name
        assert found == expected, name

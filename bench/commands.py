"""Commands that start no JVM, on generated projects: cold (no cache) and warm, whole processes.

The tables of the warm project exist and are on record, as after a run of all models: their Delta
logs are written by this script, because building a thousand tables is not what is measured.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import generate
from timing import seconds_of, spread

from penstock.app.services.wire import Where, open_services
from penstock.core.columns.typed import TypedValue
from penstock.core.graph import ordered
from penstock.core.ports.ports import RebuiltStep
from penstock.core.project import Project
from penstock.core.records import ModelRecord, Status
from penstock.core.steps.inputs import DeltaPin, InputPin, Pin
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.core.steps.token import write_token
from penstock.core.steps.window import Watermark
from penstock.engine.disk.disks import disk_at
from penstock.plan.cascade import upstream_models
from penstock.plan.changes import current_pins
from penstock.plan.values import Now

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
NO_JAVA = {**os.environ, "PATH": "/nowhere", "JAVA_HOME": "", "PYTHONDONTWRITEBYTECODE": ""}
FIELD = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
SCHEMA = json.dumps({"type": "struct", "fields": [FIELD]})


def main(sizes: list[int]) -> None:
    """Measure every command at every size."""
    print(f"{'penstock --help':<30} {_seconds(['--help'], Path.cwd())}  (aim <= 0.3)")
    for size in sizes:
        root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
        generate.main(root, size)
        cold = spread(seconds_of(lambda root=root: _cold(root), 3))
        print(f"{f'list, {size:,} models, cold':<30} {cold}  (aim <= 12 of 5,000)")
        pretend_built(root)
        for word in ("list", "plan", "status", "run"):
            aim = "<= 1" if size <= 1000 else "<= 1.5" if word == "list" else "<= 5"
            name = f"{word}, {size:,} models, warm"
            print(f"{name:<30} {_seconds([word], root)}  (aim {aim})", flush=True)
        shutil.rmtree(root)
    print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")


def _cold(root: Path) -> None:
    shutil.rmtree(root / ".penstock" / "cache", ignore_errors=True)
    _call(["list"], root)


def _seconds(words: list[str], root: Path) -> str:
    return spread(seconds_of(lambda: _call(words, root), 5))


def _call(words: list[str], root: Path) -> None:
    told = subprocess.run(
        [PENSTOCK, *words], cwd=root, env=NO_JAVA, capture_output=True, check=False
    )
    assert told.returncode == 0, told.stderr.decode()


def pretend_built(root: Path) -> None:
    """Write the logs and the records that a run of everything would leave."""
    services = open_services(Where(root))
    store = services.writing
    project = services.project
    sources: dict[str, Pin] = {}
    for name, source in project.sources.items():
        write_log(source.path, f"id-{name}", "")
        sources[name] = DeltaPin(f"id-{name}", 0)
    records: dict[str, ModelRecord] = {}
    steps = []
    now = Now(services.clock.now(), {}, sources)
    for number, name in enumerate(_order(project), start=1):
        step = _step(
            project, name, number, current_pins(project, project.models[name], records, now)
        )
        intent = step.intent
        if intent.uri:
            token = write_token(intent, "bench", store.archive.store_id())
            write_log(intent.uri, f"id-{name}", token)
        records[name] = ModelRecord(
            name,
            Status.SUCCESS,
            number,
            step_seq=number,
            table_id=f"id-{name}",
            commit_version=0 if intent.uri else None,
            settled_version=0 if intent.uri else None,
        )
        steps.append(step)
    store.archive.rebuild(steps)
    services.close()


def _order(project: Project) -> list[str]:
    return ordered({name: upstream_models(model) for name, model in project.models.items()})


def _step(project: Project, name: str, number: int, pins: dict[str, Pin]) -> RebuiltStep:
    model = project.models[name]
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    settings = model.strategy.window
    mark = TypedValue.parse("TIMESTAMP", "2024-01-01")
    first = str(model.query.inputs[0])
    marks = (Watermark(first, settings.time_column, mark),) if settings else ()
    uri = "" if model.is_view else project.uri_of(model.table)
    intent = Intent(
        step=f"step-{number}",
        run="bench",
        model=name,
        table=model.table,
        uri=uri,
        kind=StepKind.BUILD,
        strategy=model.strategy_name,
        reason="",
        triggered_by="run",
        run_timestamp=moment,
        fingerprint=model.fingerprint,
        watermarks=marks,
        inputs=tuple(InputPin(each, pin) for each, pin in pins.items()),
        step_seq=number,
    )
    version = 0 if uri else None
    return RebuiltStep(intent, Outcome(version, f"id-{name}", version), moment)


def write_log(uri: str, table_id: str, token: str) -> None:
    """Write a log of one commit that carries a token, with the checksum that Spark leaves."""
    metadata = {
        "id": table_id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": SCHEMA,
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    transaction = {"txnId": table_id}
    lines = [
        {"commitInfo": {"timestamp": 0, "operation": "WRITE", "userMetadata": token} | transaction},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
    ]
    disk_at(uri).put(f"{uri}/_delta_log/{0:020d}.json", "\n".join(map(json.dumps, lines)).encode())
    summary = {**transaction, "tableSizeBytes": 0, "numFiles": 0, "metadata": metadata}
    disk_at(uri).put(f"{uri}/_delta_log/{0:020d}.crc", json.dumps(summary).encode())


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1000, 5000])

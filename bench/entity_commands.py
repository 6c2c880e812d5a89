"""Commands over 1,000 entities that start no JVM: whole processes, without and with a cache.

    python entity_commands.py [ENTITIES]

Each entity has 21 columns and one slice, which is on record as processed: logs and records are
written by this script, because building a thousand tables is not what is measured.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from commands import NO_JAVA, PENSTOCK, write_log
from timing import median_of

from penstock.app.services.wire import Where, open_services
from penstock.core.model import Model
from penstock.core.ports.ports import RebuiltStep
from penstock.core.steps.step import Intent, Outcome, StepKind
from penstock.core.steps.token import write_token
from penstock.project.entities.places import bronze_folder

T = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
CONNECTIONS = 10
ENVIRONMENT = {
    "name": "dev",
    "root_folder": "lake",
    "timezone": "Europe/Amsterdam",
    "systemfield_prefix": "dlf_",
    "bronze_path": "/${connection}/${entity}",
    "silver_path": "/${connection}/${destination}",
}
COLUMNS = [
    {"name": "ID", "datatype": "long", "fieldroles": ["businesskey"]},
    {"name": "ModifiedDate", "datatype": "timestamp"},
    {"name": "Twice", "expression": "ID * 2"},
    *({"name": f"Column {n}", "newname": f"column_{n}", "datatype": "date"} for n in range(18)),
]
WINDOW = {
    "watermark": [{"column_name": "ModifiedDate", "expression": "'${minus_days(last_value, 7)}'"}],
    "settings": {"delete_missing": True},
}


def main(entities: int) -> None:
    """Measure `entities list` without and with a cache, and a run with nothing to do."""
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    _write_project(root, entities)

    def cold() -> None:
        shutil.rmtree(root / ".penstock" / "cache", ignore_errors=True)
        _call(["entities", "list"], root)

    _tell("entities list, no cache", cold, entities, "<= 2")
    _pretend_processed(root)
    _tell("entities list", lambda: _call(["entities", "list"], root), entities, "<= 1")
    _tell("run with nothing to do", lambda: _call(["run"], root), entities, "no JVM")
    shutil.rmtree(root)


def _tell(what: str, work: Callable[[], None], entities: int, aim: str) -> None:
    before = os.times()
    seconds = median_of(work, 5)
    after = os.times()
    spent = sum(after[2:4]) - sum(before[2:4])
    name = f"{what}, {entities:,} entities"
    print(f"{name:<42} {seconds:6.2f} s, {spent / 6:5.2f} s of processor  (aim {aim})", flush=True)


def _call(words: list[str], root: Path) -> None:
    told = subprocess.run(
        [PENSTOCK, *words], cwd=root, env=NO_JAVA, capture_output=True, check=False
    )
    assert told.returncode == 0, told.stdout.decode() + told.stderr.decode()


def _write_project(root: Path, entities: int) -> None:
    (root / "entities").mkdir()
    (root / "penstock.yml").write_text("name: bench\n", encoding="utf-8")
    for number in range(CONNECTIONS):
        of_connection = [_entity(n) for n in range(number, entities, CONNECTIONS)]
        document = {
            "environment": ENVIRONMENT,
            "connections": [{"name": f"c{number}"}],
            "entities": of_connection,
        }
        path = root / "entities" / f"c{number}.json"
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _entity(number: int) -> dict[str, object]:
    kind = ("full", "merge")[number % 2]  # a log of a history says more than ours
    one = {
        "id": number + 1,
        "name": f"entity_{number:05}",
        "connection": f"c{number % CONNECTIONS}",
        "processtype": kind,
        "columns": COLUMNS,
    }
    return one if kind == "full" else {**one, **WINDOW}


def _pretend_processed(root: Path) -> None:
    """Write slices, and the logs and records that a run of everything would leave."""
    services = open_services(Where(root))
    steps = []
    for number, model in enumerate(services.project.models.values(), start=1):
        assert model.entity is not None
        folder = bronze_folder(model.entity, T)
        assert folder is not None
        Path(folder.path).mkdir(parents=True)
        (Path(folder.path) / "2025-05-05.parquet").write_bytes(b"PAR1")
        (listed,) = services.log.slices(folder)
        uri = services.project.uri_of(model.table)
        intent = _intent(model, uri, number, slice=listed.id)
        token = write_token(intent, "bench", services.writing.archive.store_id())
        write_log(uri, f"id-{model.name}", token)
        steps.append(RebuiltStep(intent, Outcome(0, f"id-{model.name}", 0), T))
    services.writing.archive.rebuild(steps)
    services.close()


def _intent(model: Model, uri: str, number: int, **more: object) -> Intent:
    return Intent(
        step=f"step-{number}",
        run="bench",
        model=model.name,
        table=model.table,
        uri=uri,
        kind=StepKind.BUILD,
        strategy=model.strategy_name,
        reason="",
        triggered_by="run",
        run_timestamp=T,
        fingerprint=model.fingerprint,
        step_seq=number,
        **more,  # type: ignore[arg-type]
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000)

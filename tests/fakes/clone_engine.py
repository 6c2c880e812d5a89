"""The statements of `target clone` on real Delta logs, without a JVM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from deltalake import CommitProperties, DeltaTable

from fakes.bucket_team import RowSession
from penstock.app.execution.commit import Committer, Ended
from penstock.app.execution.seed_step import run_plain_step
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.findings import Location
from penstock.core.statement import Commit, Work
from penstock.core.steps.step import Intent, StepKind
from penstock.core.steps.token import write_token

_CLONE = re.compile(r".*TABLE delta\.`(.+)` SHALLOW CLONE delta\.`(.+)` VERSION AS OF (\d+)")


@dataclass
class CloneEngine:
    """An engine whose sessions can clone and empty tables."""

    services: Services

    def require(self, *, writes: bool = False) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Stop nothing."""

    @contextmanager
    def session(self, model: str, where: Location | None = None) -> Iterator[CloneSession]:
        yield CloneSession(self.services)


@dataclass
class CloneSession(RowSession):
    """Runs `DELETE FROM` and `SHALLOW CLONE`; any other statement appends a row."""

    def commit(self, statement: Commit, intent: Intent) -> None:
        services = self.services
        token = write_token(intent, "0.1.0", services.store_id, services.project.name)
        if (parts := _CLONE.fullmatch(statement.sql)) is not None:
            clone_table(parts[2], int(parts[3]), parts[1], token)
        elif statement.sql.startswith("DELETE"):
            signed = CommitProperties(custom_metadata={"userMetadata": token})
            DeltaTable(intent.uri).delete(commit_properties=signed)
        else:
            super().commit(statement, intent)


def clone_table(source: str, version: int, to: str, token: str) -> None:
    """Write the commit of a shallow clone, as Delta does."""
    live: dict[str, dict[str, object]] = {}
    kept: dict[str, object] = {}
    for number in range(version + 1):
        for line in _log(source, number).read_text().splitlines():
            action = json.loads(line)
            kept |= {key: action[key] for key in ("protocol", "metaData") if key in action}
            if "add" in action:
                live[action["add"]["path"]] = action["add"]
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
    number = len([*Path(to, "_delta_log").glob("*.json")])
    own = json.loads(_log(to, 0).read_text().splitlines()[1]) if number else {}
    made = own.get("metaData", {}).get("id") or str(uuid4())
    info = {"timestamp": 0, "operation": "CLONE", "userMetadata": token, "readVersion": number - 1}
    info["operationParameters"] = {"source": f"delta.`file:{source}`", "sourceVersion": version}
    lines: list[dict[str, object]] = [{"commitInfo": info}, {"protocol": kept["protocol"]}]
    lines.append({"metaData": {**kept["metaData"], "id": made}})  # type: ignore[dict-item]
    lines += ({"add": {**add, "path": f"file:{source}/{path}"}} for path, add in live.items())
    _log(to, number).parent.mkdir(parents=True, exist_ok=True)
    _log(to, number).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _log(uri: str, version: int) -> Path:
    return Path(uri, "_delta_log", f"{version:020}.json")


def build(services: Services, run: str, name: str, **changes: object) -> Ended:
    """Make a step of a model that appends a row, as a run would."""
    now, project = services.clock.now(), services.project
    view, records = ObservedTables.empty(now), dict(services.reading.records.models())
    context = Context(services.holder(run), now, project, view, records)
    model = project.models[name]
    uri = project.uri_of(model.table)
    head = services.log.head(uri)
    intent = Intent(
        step=services.clock.new_id(),
        run=run,
        model=name,
        table=model.table,
        uri=uri,
        kind=StepKind.BUILD,
        strategy=model.strategy_name,
        reason="a test",
        triggered_by="run",
        run_timestamp=now,
        fingerprint=model.fingerprint,
        base_version=head.version if head else None,
    )
    committer = Committer(services, context, model.where, None)
    committer.session = CloneSession(services)  # type: ignore[assignment]
    changed = replace(intent, **changes)  # type: ignore[arg-type]
    return run_plain_step(committer, changed, Work.just(Commit("INSERT")))

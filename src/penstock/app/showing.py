"""The use case `show`: everything that is known of one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.listing import SQL_KIND, ModelInfo
from penstock.app.named import named_model
from penstock.app.observe import observe
from penstock.app.reports import Reason
from penstock.app.shop import Shop
from penstock.core.facts import TableFacts
from penstock.core.model import Fingerprint, Model
from penstock.core.names import InputKind, InputName
from penstock.core.records import Execution, ModelRecord
from penstock.plan.drift import drift

_EXECUTIONS = 5


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column as the table has it, or as the project declares it; `type` is "" if unknown."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ModelDetail:
    """One model in full. `record` is None before its first run, `version` without a table."""

    info: ModelInfo
    place: str
    uri: str
    config: Mapping[str, str]
    columns: tuple[ColumnInfo, ...]
    inputs: tuple[InputName, ...]
    sql: str
    fingerprint: Fingerprint
    drift: Reason
    version: int | None = None
    record: ModelRecord | None = None
    executions: tuple[Execution, ...] = ()


def show(shop: Shop, name: str) -> ModelDetail:
    """Look one model up by its name or its table's; start no JVM and write nothing."""
    model = named_model(shop, name)
    records = dict(shop.reading.records.models())
    now = observe(shop, [model.name], records, shop.clock.now()).now
    uri = "" if model.is_view else shop.project.uri_of(model.table)
    facts = shop.log.facts(uri) if uri else None
    return ModelDetail(
        info=_info(model),
        place=str(model.where),
        uri=uri,
        config=model.config,
        columns=_columns(model, facts),
        inputs=tuple(i for i in model.query.inputs if i.kind is not InputKind.THIS),
        sql=shop.project.shown_sql(model),
        fingerprint=model.fingerprint,
        drift=drift(shop.project, model, records, now),
        version=facts.version if facts else None,
        record=records.get(model.name),
        executions=shop.reading.records.history(model.name, _EXECUTIONS),
    )


def _info(model: Model) -> ModelInfo:
    return ModelInfo(
        name=model.name,
        table=model.table,
        kind=SQL_KIND,
        strategy=model.strategy_name,
        tags=model.tags,
        path=model.where.path,
        description=model.description,
    )


def _columns(model: Model, facts: TableFacts | None) -> tuple[ColumnInfo, ...]:
    said = {column.name.lower(): column for column in model.columns}
    if facts is None:
        return tuple(ColumnInfo(c.name, c.type, c.description) for c in model.columns)
    found = []
    for column in facts.schema.columns:
        doc = said.get(column.name.lower())
        found.append(ColumnInfo(column.name, column.type, doc.description if doc else ""))
    return tuple(found)

"""The use case `list`: which models there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.app.selecting import selected_models
from penstock.app.shop import Shop
from penstock.core.names import TableName

SQL_KIND = "sql"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model in a line; `path` is its file, seen from the project's folder."""

    name: str
    table: TableName
    kind: str
    strategy: str
    tags: tuple[str, ...] = ()
    path: str = ""
    description: str = ""


def list_models(
    shop: Shop, select: Sequence[str] = (), exclude: Sequence[str] = ()
) -> tuple[ModelInfo, ...]:
    """Give the selected models in topological order."""
    names = selected_models(shop, select, exclude, shop.clock.now())
    models = [shop.project.models[name] for name in names]
    return tuple(
        ModelInfo(
            name=model.name,
            table=model.table,
            kind=SQL_KIND,
            strategy=model.strategy_name,
            tags=model.tags,
            path=model.where.path,
            description=model.description,
        )
        for model in models
    )

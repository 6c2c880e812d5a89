"""What the strategy of a model wants to run."""

from __future__ import annotations

from penstock.app.inputs import marked_histories
from penstock.app.look import Looked
from penstock.app.run_context import Context
from penstock.app.shop import Shop
from penstock.core.history import Snapshot
from penstock.core.model import Append, Merge, Model, Partition, Table, Writing
from penstock.core.model import View as ViewStrategy
from penstock.core.statement import Work
from penstock.plan.history import PROPERTY, property_of, retention_of
from penstock.strategies.append import append
from penstock.strategies.build import Build
from penstock.strategies.history.engine import history
from penstock.strategies.history.terms import terms_of
from penstock.strategies.merge import merge
from penstock.strategies.table import table
from penstock.strategies.view import view


def build_of(shop: Shop, model: Model, looked: Looked) -> Build:
    """Give what the model's strategy is told: nothing of a table that is replaced whole."""
    catalog = bool(shop.project.target.catalog)
    whole = model.writing is Writing.WHOLE or looked.table is None
    return Build(
        model=model,
        target=shop.project.sql_of(model.table),
        query=looked.query,
        table=None if whole else looked.table,
        evolves=looked.evolution.changes_table,
        location=shop.project.uri_of(model.table) if catalog else "",
        partition_by=None if whole or looked.facts is None else looked.facts.partition_by,
    )


def work_of(shop: Shop, context: Context, build: Build) -> Work:
    """Give what the model's strategy wants to run."""
    model, catalog = build.model, bool(shop.project.target.catalog)
    match model.strategy:
        case ViewStrategy():
            name = shop.project.sql_of(model.table) if catalog else ""
            return view(name, shop.project.view_sql(model, marked_histories(shop, model.query)))
        case Table():
            return table(build)
        case Append():
            return append(build)
        case Merge() as strategy:
            return merge(build, strategy)
        case Snapshot() as strategy:
            options = context.options
            terms = terms_of(
                strategy,
                context.run_timestamp,
                retention_of(model, options),
                allow_empty=options.allow_empty,
            )
            return history(build, terms, {PROPERTY: property_of(model)})
        case Partition():
            raise TypeError(f"{model.name} is built by partitions")

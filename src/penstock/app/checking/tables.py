"""The tables that checks read beside the rows of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.app.inputs import Inputs, source_read, table_pin, tombstones_of
from penstock.app.observe import View, pin_source
from penstock.app.shop import Shop
from penstock.core.checks import Check, SqlCheck
from penstock.core.engine_ports import StepSession
from penstock.core.errors import TableError
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.query import shown_name
from penstock.core.records import ModelRecord
from penstock.core.relation import CatalogRead, DeltaRead, Read
from penstock.strategies.relations import bind_tables, leaves_of


def tables_of(checks: Sequence[Check]) -> tuple[InputName, ...]:
    """Give every table that checks name, but for the target."""
    found: dict[InputName, None] = {}
    for check in checks:
        queries = [check.query] if check.query else []
        queries += [check.rule.query] if isinstance(check.rule, SqlCheck) else []
        for names in (check.reads, *(query.inputs for query in queries)):
            found |= dict.fromkeys(names)
    return tuple(name for name in found if name.kind is not InputKind.THIS)


def bound_tables(
    shop: Shop,
    session: StepSession,
    checks: Sequence[Check],
    inputs: Inputs,
    records: Mapping[str, ModelRecord],
) -> dict[InputName, str]:
    """Make the tables of checks readable, each under a view of its own, and give the views.

    What is an input of the step is read at its pinned version, other tables as they are now. One
    that does not exist has no view.
    """
    names = tables_of(checks)
    if not names:
        return {}
    reads: dict[InputName, Read] = {}
    for name in leaves_of(shop.project, names):
        read = inputs.reads.get(name) or _read(shop, name, records)
        if read is not None:
            reads[name] = read
    phase = checks[0].phase
    moment = shop.clock.now()
    relations, views = bind_tables(shop.project, names, reads, moment, f"check_{phase}")
    session.bind(relations)
    return views


def _read(shop: Shop, name: InputName, records: Mapping[str, ModelRecord]) -> Read | None:
    """Say how a table is read that is no input of the step, at its version of this moment."""
    project = shop.project
    if name.kind is InputKind.EXTERNAL:
        return CatalogRead(shown_name(name.name))
    model = project.models.get(name.name)
    if model is not None and name == model.input_name and model.is_view:
        return None
    try:
        if name.kind is InputKind.MODEL:
            pin = table_pin(shop, name, records.get(name.name))
            uri = project.uri_of(project.table_of(name))
            return DeltaRead(uri, pin.version, tombstones_of(shop, name))
        view = View.empty(shop.clock.now())
        source = project.sources[name.name]
        pin_of = pin_source(shop, source, view.listings)
        return source_read(project, name, pin_of, view)
    except TableError:
        return None


def target_read(shop: Shop, model: Model, version: int | None) -> DeltaRead | None:
    """Say how the target is read at a version, or as it is; None where it is not there."""
    if model.is_view:
        return None
    uri = shop.project.uri_of(model.table)
    if version is None:
        head = shop.log.head(uri)
        if head is None:
            return None
        version = head.version
    return DeltaRead(uri, version)

"""Deciding the windows of a step: one aggregate per step over its pinned inputs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.app.shop import Shop
from penstock.core.model import Model, WindowSettings
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.pin import DeltaPin, Pin
from penstock.core.ports import StepSession
from penstock.core.records import ModelRecord
from penstock.core.relation import DeltaRead, Relation
from penstock.core.typed import TypedValue
from penstock.core.window import Watermark
from penstock.plan.windows import (
    Measured,
    Opened,
    WindowedInput,
    check_watermarks,
    low_bound,
    opened,
)
from penstock.strategies.relations import Bound


@dataclass(frozen=True, slots=True)
class Measuring:
    """What a measurement is made with: the model, its inputs' views, what it remembers."""

    model: Model
    settings: WindowSettings
    inputs: tuple[WindowedInput, ...]
    views: Mapping[str, str]
    watermarks: tuple[Watermark, ...]
    initial: bool
    as_of: dt.datetime | None = None


def views_of(bound: Bound) -> dict[str, str]:
    """Give the view of each input in a session that was bound without windows."""
    return {relation.input.name: relation.view for relation in bound.relations}


def measure(session: StepSession, what: Measuring) -> Opened:
    """Find the greatest value and the NULLs of every windowed input, and open the windows.

    Only rows above the watermark are looked at, so files below it are skipped by their
    statistics.
    """
    if not what.initial:
        check_watermarks(what.model, what.inputs, what.watermarks)
    parts = [
        part for number, each in enumerate(what.inputs) for part in _aggregates(number, each, what)
    ]
    seen = session.look(f"SELECT {', '.join(parts)}")
    measured = [
        Measured(each, _value(each, seen[f"high_{n}"]), int(seen[f"nulls_{n}"] or 0))
        for n, each in enumerate(what.inputs)
    ]
    return opened(what.model, what.settings, measured, what.watermarks, initial=what.initial)


def _aggregates(number: int, each: WindowedInput, what: Measuring) -> list[str]:
    column = quoted(each.column)
    view = quoted(what.views[each.input])
    known = None if what.initial else _known(what.watermarks, each.input)
    terms = []
    if known is not None:
        terms.append(f"{column} > {known.sql}")
    if what.as_of is not None and each.type in ("date", "timestamp", "timestamp_ntz"):
        limit = TypedValue.parse(each.type, what.as_of.isoformat())
        terms.append(f"{column} <= {limit.sql}")
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    return [
        f"(SELECT CAST(max({column}) AS STRING) FROM {view}{where}) AS high_{number}",
        f"(SELECT count(*) FROM {view} WHERE {column} IS NULL) AS nulls_{number}",
    ]


def _value(each: WindowedInput, text: object) -> TypedValue | None:
    return None if text is None else TypedValue.parse(each.type, str(text))


def _known(watermarks: Sequence[Watermark], name: str) -> TypedValue | None:
    return next((mark.value for mark in watermarks if mark.input == name), None)


def late_rows(
    shop: Shop,
    session: StepSession,
    what: Measuring,
    pins: Mapping[str, Pin],
    record: ModelRecord | None,
) -> int | None:
    """Count rows at or below the low bound that arrived since the model last read its inputs.

    Only appended files of Delta inputs can tell; None where any input cannot. Files whose
    statistics lie above the bound are not opened.
    """
    if what.initial or record is None:
        return None
    total = 0
    for each in what.inputs:
        now, then = pins.get(each.input), record.pins.get(each.input)
        known = _known(what.watermarks, each.input)
        uri = _uri(shop, each.input)
        if not (isinstance(now, DeltaPin) and isinstance(then, DeltaPin) and uri and known):
            return None
        if now.table_id != then.table_id:
            return None
        count = _late_in(shop, session, each, (uri, then.version, now.version), what)
        if count is None:
            return None
        total += count
    return total


def _late_in(
    shop: Shop,
    session: StepSession,
    each: WindowedInput,
    span: tuple[str, int, int],
    what: Measuring,
) -> int | None:
    uri, after, upto = span
    files = shop.log.added(uri, after, upto) if upto > after else ()
    if files is None:
        return None
    known = _known(what.watermarks, each.input)
    low = low_bound(what.settings, known)
    if low is None:
        return None
    if all(_is_above(f.minimum.get(each.column), each, low.value) for f in files):
        return 0
    before = f"{what.views[each.input]}_before"
    session.bind([Relation(InputName(InputKind.SOURCE, each.input), before, DeltaRead(uri, after))])
    below = f"WHERE {quoted(each.column)} {'<' if low.inclusive else '<='} {low.value.sql}"
    seen = session.look(
        f"SELECT (SELECT count(*) FROM {quoted(what.views[each.input])} {below}) - "
        f"(SELECT count(*) FROM {quoted(before)} {below}) AS late"
    )
    return int(seen["late"] or 0)


def _is_above(minimum: str | None, each: WindowedInput, low: TypedValue) -> bool:
    return minimum is not None and TypedValue.parse(each.type, minimum) > low


def _uri(shop: Shop, name: str) -> str:
    project = shop.project
    if name in project.sources:
        source = project.sources[name]
        return source.path if source.is_delta else ""
    model = project.models.get(name)
    return "" if model is None or model.is_view else project.uri_of(model.table)

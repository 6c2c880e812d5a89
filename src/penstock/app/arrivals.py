"""What arrived in an input since the model last read it, as the input's log tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.app.shop import Shop
from penstock.core.facts import AddedFile
from penstock.core.pin import DeltaPin, Pin
from penstock.core.records import ModelRecord


@dataclass(frozen=True, slots=True)
class Arrived:
    """The files that appends added to the table in a folder above version `after`."""

    uri: str
    after: int
    files: tuple[AddedFile, ...]


def arrivals(shop: Shop, pins: Mapping[str, Pin], record: ModelRecord | None) -> dict[str, Arrived]:
    """Give what arrived, for every Delta input whose rows were only appended since.

    An input that is new, was replaced or had rows rewritten is left out: nobody can tell.
    """
    found = {}
    for name, now in pins.items():
        then = record.pins.get(name) if record else None
        uri = _uri(shop, name)
        if not (uri and isinstance(now, DeltaPin) and isinstance(then, DeltaPin)):
            continue
        if now.table_id != then.table_id:
            continue
        files = shop.log.added(uri, then.version, now.version) if now.version > then.version else ()
        if files is not None:
            found[name] = Arrived(uri, then.version, files)
    return found


def _uri(shop: Shop, name: str) -> str:
    project = shop.project
    if name in project.sources:
        source = project.sources[name]
        return source.path if source.is_delta else ""
    model = project.models.get(name)
    return "" if model is None or model.is_view else project.uri_of(model.table)

"""Noting how far the logs of tables were read, so that the next look begins there."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from penstock.app.shop import Shop
from penstock.app.sight import open_sight
from penstock.core.errors import StateError, TableError


def note_written(shop: Shop, names: Iterable[str]) -> None:
    """Note the logs of tables that a run has just written; what cannot be noted is read again.

    Notes are a cache, and the memory of what logs lose: a failure here loses no record.
    """
    with suppress(StateError, TableError):
        sight = open_sight(shop)
        for name in dict.fromkeys(names):
            model = shop.project.models[name]
            if model.partition is not None:
                uri = shop.project.uri_of(model.table)
                sight.tail(str(model.table), uri, -1, (model.partition.field,))
        sight.keep()

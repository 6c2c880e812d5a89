"""All strategies, one line each, and the check types; importing this registers them."""

from __future__ import annotations

from penstock.core.checks.check_type import register_check
from penstock.core.strategy import register
from penstock.strategies.append import Append
from penstock.strategies.checks.types import CHECK_TYPES
from penstock.strategies.entities.strategy import FullEntity, HistoricEntity, MergeEntity
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.merge import Merge
from penstock.strategies.overwrite import OverwriteRange
from penstock.strategies.partition import Partition
from penstock.strategies.sessions.tables import Sessions
from penstock.strategies.table import Table
from penstock.strategies.view import Frame, View

_TABLES = (Table, Append, Merge, Partition, Snapshot, Frame, OverwriteRange, Sessions)
_ENTITIES = (FullEntity, MergeEntity, HistoricEntity)
for _each in (View, *_TABLES, *_ENTITIES):
    register(_each)

for _type in CHECK_TYPES:
    register_check(_type)

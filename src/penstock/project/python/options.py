"""What the decorators take, and what of it is wrong (spec: Python models, §1.2).

The typed dictionaries are the file format of this front end: name, type and place of each option.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, Required

from typing_extensions import TypedDict

Lookback = dt.timedelta | str | int | Decimal


class SourceOptions(TypedDict, total=False):
    """The options of `source`."""

    name: str
    description: str
    tags: list[str]
    persist: Literal["auto"] | bool
    table: str
    path: str
    format: str
    options: Mapping[str, str]


class ModelOptions(TypedDict, total=False):
    """The options of `model`."""

    name: str
    description: str
    tags: list[str]
    columns: Mapping[str, str]
    persist: Literal["auto"] | bool


class TableOptions(TypedDict, total=False):
    """The options of `table`."""

    name: str
    description: str
    tags: list[str]
    columns: Mapping[str, str]
    schema: str
    path: str
    partition_by: str | list[str]
    cluster_by: list[str]
    table_properties: Mapping[str, str]
    delta: list[str]
    checks: Mapping[str, Any]
    on_failure: Literal["flag", "block", "rollback"]


class IncrementalOptions(TableOptions, total=False):
    """The options of `incremental_table`."""

    time_column: Required[str]
    unique_key: str | list[str]
    partition_mode: Literal["append", "overwrite"]
    lookback: Lookback
    grain: Literal["hour", "day", "week", "month", "year"]
    window_on: Mapping[str, str | None]
    late: Literal["count", "ignore"]
    null_watermark: Literal["error", "include_first", "drop_counted"]
    string_watermark: bool
    on_duplicate: Literal["latest", "error"]
    null_keys: Literal["error", "match"]

"""The check types, one class each, behind the port `core/checks/check_type.py`."""

from __future__ import annotations

from penstock.strategies.checks.types.counts import (
    Anomaly,
    DistinctCount,
    NullPercentage,
    RowCount,
    RowCountChange,
)
from penstock.strategies.checks.types.expressions import ColumnCheck, Relationships, SqlCheck
from penstock.strategies.checks.types.values import (
    AcceptedValues,
    ColumnTypes,
    Freshness,
    NotNull,
    Unique,
    ValueRange,
)

CHECK_TYPES = (
    SqlCheck,
    RowCount,
    ColumnCheck,
    NullPercentage,
    DistinctCount,
    ValueRange,
    Unique,
    NotNull,
    AcceptedValues,
    Relationships,
    Freshness,
    RowCountChange,
    Anomaly,
    ColumnTypes,
)
"""All of them, in the order of documentation and messages."""

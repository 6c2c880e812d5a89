"""What a check says of measured values."""

from penstock.core.checks.check_type import CheckStatus, CheckType, GroupMeasures
from penstock.core.columns.schema import Column, Schema
from penstock.strategies.checks.measure import Restriction

KINDS = {"n": "bigint", "f": "double", "t": "string", "at": "timestamp"}
ROWS_OF_W = Restriction("w", Schema(tuple(Column(name, kind) for name, kind in KINDS.items())))


def measured(rule: CheckType, rows: Restriction = ROWS_OF_W) -> dict[str, str]:
    """The aggregates of a check over the rows of which `w` is true."""
    return dict(rule.measure(rows).aggregates)


def said(rule: CheckType, values: dict[str, str], **more: object) -> str:
    """The status but for `passed`, the message, the details, the number of failures."""
    found = rule.measure(ROWS_OF_W).judge(GroupMeasures(values, **more))  # type: ignore[arg-type]
    status = "" if found.status is CheckStatus.PASSED else f"{found.status}: "
    details = f" [{found.details}]" if found.details else ""
    return f"{status}{found.message}{details} ({found.failures})"

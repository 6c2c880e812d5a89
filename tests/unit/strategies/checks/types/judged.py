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


class Keys:
    """The keys of a check as they are written, and what was reported of them."""

    def __init__(self, **given: str) -> None:
        self.given = given
        self.codes: list[str] = []

    def find(self, key: str) -> str | None:
        return self.given.get(key)

    def text(self, key: str) -> str:
        return self.given.get(key, "")

    def bad(self, key: str, expected: str, hint: str = "") -> None:
        self.codes.append(f"{key}: {expected}")

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        self.codes.append(f"{key}: {code}")

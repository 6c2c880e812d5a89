"""What `doctor` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.masking import mask

if TYPE_CHECKING:
    from penstock.app.commands.doctor import DoctorReport

_MARKS = {"ok": "✓", "warning": "⚠", "error": "✗"}


def doctor_text(report: DoctorReport) -> str:
    """Give one line per check, and below what is wrong what to do about it."""
    width = max((len(check.name) for check in report.checks), default=0)
    lines = []
    for check in report.checks:
        sentence = mask(check.says)
        lines.append(f"{_MARKS[check.health]} {check.name:<{width}}  {sentence}".rstrip())
        if check.health != "ok" and check.hint:
            lines.append(f"  hint: {mask(check.hint)}")
    return "\n".join(lines)

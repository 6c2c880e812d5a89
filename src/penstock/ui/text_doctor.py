"""What `doctor` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.masking import mask

if TYPE_CHECKING:
    from penstock.app.doctor import DoctorReport


def doctor_text(report: DoctorReport) -> str:
    """Give one line per check, and below what is wrong what to do about it."""
    width = max((len(check.name) for check in report.checks), default=0)
    lines = []
    for check in report.checks:
        mark = "✓" if check.ok else "✗"
        lines.append(f"{mark} {check.name:<{width}}  {mask(check.says)}".rstrip())
        if not check.ok and check.hint:
            lines.append(f"    hint: {mask(check.hint)}")
    return "\n".join(lines)

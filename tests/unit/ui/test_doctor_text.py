"""The text of `doctor`."""

from penstock.app.doctor import Check, DoctorReport, Health
from penstock.ui.render.state import doctor_text


def test_each_check_is_a_line_and_what_is_wrong_has_a_hint():
    report = DoctorReport(
        (
            Check("java", Health.OK, "Java 17", "not shown"),
            Check("archive", Health.WARNING, "is missing", "penstock doctor --fix"),
            Check("state", Health.ERROR, "postgresql://me:hunter2@db/x is down"),
        )
    )

    assert doctor_text(report) == (
        "✓ java     Java 17\n"
        "⚠ archive  is missing\n"
        "  hint: penstock doctor --fix\n"
        "✗ state    postgresql://me:***@db/x is down"
    )

"""Twelve checks that ride on the write, beside the same step without checks.

python bench/checks_observed.py [ROWS]
"""

from __future__ import annotations

import sys

from checked import OBSERVABLE, Checked, compared, told


def main(rows: int) -> None:
    """Measure."""
    made = Checked(rows)
    made.model("plain")
    made.model("checked", OBSERVABLE)
    costs = compared(made.jvm, lambda: made.build("checked"), lambda: made.build("plain"))
    told(f"{rows:,} rows, 12 observed checks", *costs, 1.15)
    made.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5_000_000)

"""Ten checks that ride on the write and two that need a scan, beside the step without checks.

python bench/checks_scan.py [ROWS]
"""

from __future__ import annotations

import sys

from checked import OBSERVABLE, SCANNED, Checked, compared, told


def main(rows: int) -> None:
    """Measure."""
    made = Checked(rows)
    made.model("plain")
    made.model("checked", (*OBSERVABLE[:10], *SCANNED))
    costs = compared(made.jvm, lambda: made.build("checked"), lambda: made.build("plain"))
    told(f"{rows:,} rows, 10 observed, unique, distinct_count", *costs, 1.6)
    made.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5_000_000)

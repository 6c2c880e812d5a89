"""Twelve gates that hold rows back until they passed, beside the same step without checks.

python bench/checks_block.py [ROWS]
"""

from __future__ import annotations

import sys

from checked import OBSERVABLE, Checked, compared, told


def main(rows: int) -> None:
    """Measure: rows that take work to make, then rows that are only copied."""
    made = Checked(rows)
    made.model("plain")
    made.model("checked", OBSERVABLE, "block")
    costs = compared(made.jvm, lambda: made.build("checked"), lambda: made.build("plain"))
    told(f"{rows:,} rows, 12 gates in block", *costs, 1.5)
    made.model("plain", copies=True)
    made.model("checked", OBSERVABLE, "block", copies=True)
    costs = compared(made.jvm, lambda: made.build("checked"), lambda: made.build("plain"))
    told("the same, rows only copied: writing dominates", *costs, float("inf"))
    made.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5_000_000)

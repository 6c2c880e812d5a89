"""Small versions of benchmarks, whose ratios must not get worse than the kept ones.

    python quick.py [--keep]

Prints every ratio beside the kept one of `kept.json`. A ratio that is 15 % above it is measured
again, because a machine has bad moments; if it is so twice, the script ends with 1. `--keep` writes
what it measured; do that on a machine with nothing beside.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE / "kept.json"
MOST = 1.15
SCRIPTS: tuple[tuple[str, ...], ...] = (
    ("quick_commands.py", "1000"),
    ("append.py", "500000"),
    ("merge.py", "500000"),
    ("nodes.py",),
)
_LINE = re.compile(r"\s*(.+?)\s+[\d.]+ s\b.*\bratio\s+([\d.]+)")


def ratios_in(text: str) -> dict[str, float]:
    """Return the ratio of each line that has one, by what it measures.

    >>> ratios_in("merge: by hand     1.20 s     1.00 s  ratio  1.20 (1.1 to 1.3)  (aim 1.1)")
    {'merge: by hand': 1.2}
    """
    return {found[1]: float(found[2]) for found in map(_LINE.match, text.splitlines()) if found}


def worse(kept: Mapping[str, float], found: Mapping[str, float]) -> list[str]:
    """Return what is worse than it was by more than the limit, and what is no longer measured.

    >>> worse({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.1, "b": 1.2})
    ['b', 'c']
    """
    return [name for name, ratio in kept.items() if found.get(name, 9e9) > MOST * ratio]


def measured(script: tuple[str, ...]) -> dict[str, float]:
    """Run one script and return its ratios; end the process if it fails."""
    words = [sys.executable, *script]
    told = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False)
    found = ratios_in(told.stdout)
    if told.returncode or not found:
        sys.exit(f"{' '.join(script)} failed:\n{told.stdout}{told.stderr}")
    return found


def main(*, keep: bool) -> int:
    """Measure everything and return the exit code."""
    began = time.monotonic()
    kept: dict[str, dict[str, float]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    new, lost = dict[str, dict[str, float]](), []
    for script in SCRIPTS:
        started = time.monotonic()
        before = {} if keep else kept.get(" ".join(script), {})
        now = measured(script)
        if worse(before, now):
            again = measured(script)
            now = {name: min(ratio, again.get(name, ratio)) for name, ratio in now.items()}
        bad = worse(before, now)
        for name in {**before, **now}:
            was = f"kept {before[name]:5.2f}" if name in before else "not kept  "
            mark = "  WORSE" if name in bad else ""
            print(f"{name:<58} {now.get(name, 0):5.2f}  {was}{mark}", flush=True)
        print(f"  {' '.join(script)}: {time.monotonic() - started:.0f} s", flush=True)
        new[" ".join(script)] = now
        lost += bad
    print(f"{(time.monotonic() - began) / 60:.1f} minutes")
    if keep:
        KEPT.write_text(json.dumps(new, indent=2) + "\n")
    if lost:
        print(f"{len(lost)} of the kept ratios got worse by more than 15 %", file=sys.stderr)
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main(keep="--keep" in sys.argv))

"""Commands without a JVM, beside a plain Python process of fixed work: processor time, in turn.

python quick_commands.py [MODELS]
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import generate
from commands import NO_JAVA, PENSTOCK, pretend_built

ROUNDS = 5
FIXED = (
    "import json; text = json.dumps([[*range(99)]] * 2000); [json.loads(text) for _ in range(20)]"
)


def main(models: int) -> None:
    """Print a ratio for each command."""
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    generate.main(root, models)
    pretend_built(root)
    for command in ("list", "plan", "status", "run"):
        _processor([PENSTOCK, command], root)
        pairs = [
            (_processor([PENSTOCK, command], root), _processor([sys.executable, "-c", FIXED], root))
            for _ in range(ROUNDS)
        ]
        ours, fixed = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        what = f"{command} of {models:,} models: fixed work, processor"
        print(f"{what:<52} {ours:8.2f} s {fixed:8.2f} s  ratio {ratio:5.2f}", flush=True)
    shutil.rmtree(root)


def _processor(words: list[str], root: Path) -> float:
    def used() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    before = used()
    subprocess.run(words, cwd=root, env=NO_JAVA, capture_output=True, check=True)
    return used() - before


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000)

"""The generated pages are what their generator gives now."""

import subprocess
import sys

from docs.shell import ROOT


def test_generated_pages_are_current():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "docs"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("", "")

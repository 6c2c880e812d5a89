"""The types of the front end are those of the documents."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_the_types_of_the_front_end_are_written_from_the_documents():
    check = [sys.executable, ROOT / "scripts" / "site-types", "--check"]

    assert subprocess.run(check, check=False).returncode == 0, "run scripts/site-types"

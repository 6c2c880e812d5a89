"""The types of the front end are those of the documents."""

import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

from penstock.app.site import documents

ROOT = Path(__file__).parents[4]


def test_the_types_of_the_front_end_are_written_from_the_documents():
    check = [sys.executable, ROOT / "scripts" / "site-types", "--check"]

    assert subprocess.run(check, check=False).returncode == 0, "run scripts/site-types"


def test_every_document_says_what_it_is():
    found = [each for each in vars(documents).values() if is_dataclass(each)]

    assert [each.__name__ for each in found if not each.__doc__ or "(" in each.__doc__] == []
    assert all(fields(each) for each in found)

"""Values that a function reaches count by content, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from unit.project.python import captures

FOUND = captures.digests()


@pytest.mark.parametrize("name", captures.CAPTURES)
def test_a_value_counts_by_content(name):
    value, same, other = FOUND[name]

    assert value == same
    assert value != other


def test_values_are_the_same_in_every_process():
    script = [sys.executable, captures.__file__]
    outputs = {
        subprocess.run(
            script, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }

    (output,) = outputs
    assert len(output.splitlines()) == len(captures.CAPTURES) >= 39

"""A script without a session of its own: it runs, queries, and ends without a word."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """\
import penstock

app = penstock.conf(root=".")

@app.source(path="landing", format="json")
def raw(df):
    return df

@app.table
def numbers(raw):
    return raw.select("id")

app.run()
print(penstock.query(".", "select 7 as id").collect())
print(numbers.build_lazy().count())
"""


@pytest.mark.matrix
def test_a_script_that_keeps_a_frame_ends_without_a_word(tmp_path):
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/1.json").write_text('{"id": 7}\n')
    (tmp_path / "penstock.yml").write_text("name: main\ntargets: {dev: {warehouse: warehouse}}\n")
    (tmp_path / "job.py").write_text(SCRIPT)

    done = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "[Row(id=7)]\n1\n")
    assert "Exception" not in done.stderr
    assert "Error" not in done.stderr

"""The answer is alone on stdout, and outlives whoever reads it."""

import json
import subprocess

import pytest

from fakes.command import PENSTOCK

NOISY = """\
import os
import subprocess
import sys
import threading

from penstock import model

print("printed")
sys.__stdout__.write("written\\n")
os.write(1, b"from C\\n")
subprocess.run(["echo", "from a process"], check=True)
thread = threading.Thread(target=print, args=("from a thread",))
thread.start()
thread.join()


@model
def noisy(users_clean):
    return users_clean
"""
USERS = """\
sources:
  - name: raw
    tables:
      - name: users
        path: ../landing/users.csv
        format: csv
        columns: [{name: id, type: INT}, {name: email, type: STRING}, {name: seen, type: DATE}]
"""
PRINTS = ("printed", "written", "from C", "from a process", "from a thread")


def shell(root, command, **how):
    """Run a line of a shell in a project's folder; `penstock` is the command."""
    line = command.replace("penstock", PENSTOCK)
    return subprocess.run(
        ["/bin/bash", "-c", line], cwd=root, capture_output=True, text=True, check=False, **how
    )


@pytest.mark.parametrize("command", ["list", "plan", "validate", "graph --format json"])
def test_json_is_alone_on_stdout_whatever_a_model_file_prints(services, command):
    root = services(**{"models/marts/noisy.py": NOISY})

    ended = shell(root, f"penstock {command} --json")

    assert ended.returncode == 0
    assert isinstance(json.loads(ended.stdout), dict)
    assert sorted(PRINTS) == sorted(line for line in ended.stderr.splitlines() if line in PRINTS)


def test_what_a_model_file_prints_is_no_part_of_a_text_either(services, call):
    services(**{"models/marts/noisy.py": "print('printed')\n" + NOISY.partition("print(")[0]})

    answer = call("list")

    assert "printed" not in answer.out
    assert answer.err.startswith("printed\n")


def test_an_error_is_one_document_beside_what_files_print(services):
    root = services(
        **{"models/marts/noisy.py": NOISY, "models/bad.sql": "select * from {{ ref('lost') }}"}
    )

    ended = shell(root, "penstock list --json")

    assert ended.returncode == 1
    assert [each["code"] for each in json.loads(ended.stdout)["findings"]] == ["unknown-reference"]


@pytest.mark.parametrize(
    "command",
    [
        "penstock list | head -1",
        "penstock list | true",
        "penstock list >&-",
        "penstock list 2>&-",
        "penstock list >&- 2>&- <&-",
        "penstock recover > /dev/full",
        "penstock recover --json > /dev/full",
        "penstock list 2> /dev/full",
    ],
)
def test_a_reader_that_goes_away_and_a_full_disk_change_no_exit_code(services, command):
    root = services()

    ended = shell(root, f"{command}; echo codes ${{PIPESTATUS[@]}}")

    assert ended.stdout.splitlines()[-1] in ("codes 0", "codes 0 0")
    assert "Traceback" not in ended.stderr


def test_a_failure_keeps_its_exit_code_where_nobody_reads_it(services):
    root = services(**{"models/bad.sql": "select * from {{ ref('lost') }}"})

    ended = shell(root, "penstock list --json | true; echo ${PIPESTATUS[0]}")

    assert (ended.stdout, "Traceback" in ended.stderr) == ("1\n", False)


@pytest.mark.parametrize("command", ["list", "list --json", "schema", "plan"])
def test_an_answer_that_a_full_disk_does_not_take_is_an_error(services, command):
    root = services()

    ended = shell(root, f"penstock {command} > /dev/full")

    assert ended.returncode == 1
    assert ended.stderr == (
        "error: output-lost: stdout cannot be written: No space left on device\n"
        "  hint: free some space and repeat the command\n"
    )


def test_an_error_that_a_full_stdout_does_not_take_is_said_on_stderr(services):
    root = services()

    ended = shell(root, "penstock list --selct x --json > /dev/full")

    assert ended.returncode == 2
    assert ended.stderr == (
        "error: bad-usage: No such option '--selct'.\n  hint: did you mean --select?\n"
    )


def test_a_file_of_the_project_never_takes_the_place_of_a_closed_stdout(services):
    root = services(**{"models/marts/noisy.py": NOISY})

    ended = shell(root, "penstock watermark set log 2024-03-01 >&- 2>&-")
    state = (root / ".penstock" / "state.db").read_bytes()

    assert ended.returncode == 0
    assert b"from C" not in state


@pytest.mark.spark
@pytest.mark.matrix
@pytest.mark.parametrize(
    "ending", ["| true", "> /dev/full", ">&-", "--json | head -c 1 > /dev/null"]
)
def test_a_run_that_nobody_reads_is_finished_and_recorded(services, ending):
    root = services(**{"models/marts/noisy.py": NOISY, "models/sources.yml": USERS})
    (root / "models/staging/log.sql").unlink()

    ended = shell(root, f"penstock run {ending}; echo ${{PIPESTATUS[0]}}")
    after = shell(root, "penstock status --json 2>/dev/null")

    assert ended.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in ended.stderr
    assert {each["model"]: each["states"] for each in json.loads(after.stdout)["models"]} == {
        "users_clean": [],
        "daily": [],
        "noisy": [],
    }

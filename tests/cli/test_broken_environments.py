"""Environments that lack what others have: a home, room, streams. One sentence, and the code."""

import os
import subprocess
from pathlib import Path

import pytest

from fakes.command import PENSTOCK

ONE = "{{ config(materialized='table', description='größe') }}\nselect 1 as n\n"
FULL = (
    "error: output-lost: stdout cannot be written: No space left on device\n"
    "  hint: free some space and repeat the command\n"
)
NO_QUERY = (
    "error: not-a-query: one query is expected; this begins with X\n"
    '  hint: penstock query "select …"\n'
)


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "models" / "m").mkdir(parents=True)
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    (tmp_path / "models/m/one.sql").write_text(ONE, encoding="utf-8")
    return tmp_path


def shell(root: Path, words: str, **environ: str | None):
    """Give code, output and errors of a command that a shell starts."""
    changed = {key: value for key, value in (os.environ | environ).items() if value is not None}
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" {words}', PENSTOCK],
        cwd=root,
        env=changed,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("list <&-", 0),
        ("list >&-", 0),
        ("list 2>&-", 0),
        ("plan <&- >&- 2>&-", 0),
        ("query x --json >&-", 2),
        ("list --no-such-flag 2>&-", 2),
    ],
)
def test_closed_streams_change_no_exit_code_and_print_no_traceback(shop, words, code) -> None:
    ended, out, err = shell(shop, words)

    assert (ended, err) == (code, "")
    assert "Traceback" not in out


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        ("list >/dev/full", 1, FULL),
        ("query x --json >/dev/full", 2, NO_QUERY),
        ("list >/dev/full 2>/dev/full", 1, ""),
    ],
)
def test_a_full_disk_below_the_output_is_one_sentence(shop, words, code, err) -> None:
    assert shell(shop, words) == (code, "", err)


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": None},
        {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "LANG": None},
    ],
)
def test_without_a_home_room_or_locale_looking_works(shop, environ) -> None:
    for words in ("validate", "list", "plan", "status", "show one"):
        code, out, err = shell(shop, words, **environ)

        assert (code, err) == (0, ""), out

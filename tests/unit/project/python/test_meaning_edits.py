"""Everyday edits of a project: those that may change rows are seen, all others are not reported."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

HEAD = """\
from penstock import model, source, table
@source
def logs(spark): ...
"""
MODEL = "models/m/t.py"
EDITS = yaml.safe_load(Path(__file__).with_name("edits.yml").read_text(encoding="utf-8"))


def meanings(files, edit) -> tuple[str, str]:
    """Return the fingerprint of the code of `t` before and after an edit."""
    for path, text in edit.get("files", {}).items():
        files.write(path, text)
    files.write(MODEL, HEAD + edit["model"])
    before = files.load().models["t"].fingerprint.canonical
    edited = files.root / edit.get("in", MODEL)
    text = edited.read_text(encoding="utf-8")
    assert edit["old"] in text
    edited.write_text(text.replace(edit["old"], edit["new"]), encoding="utf-8")
    return before, files.load().models["t"].fingerprint.canonical


@pytest.mark.parametrize("edit", EDITS["seen"], ids=lambda each: each["name"])
def test_an_edit_that_may_change_rows_is_seen(files, edit):
    before, after = meanings(files, edit)

    assert before != after


@pytest.mark.parametrize("edit", EDITS["harmless"], ids=lambda each: each["name"])
def test_an_edit_that_changes_no_row_is_not_reported(files, edit):
    before, after = meanings(files, edit)

    assert before == after


def test_no_edit_stands_twice_in_the_table():
    names = [each["name"] for each in (*EDITS["seen"], *EDITS["harmless"])]

    assert len(set(names)) == len(names) >= 88
    assert len(EDITS["seen"]) >= 60

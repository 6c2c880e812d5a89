from __future__ import annotations

from penstock.project.files.render_context import RenderContext, TargetView
from penstock.project.sql.sql_file import parse_sql_files

HERE = RenderContext({"SCHEMA": "s"}, {"start": "2024-01-01", "n": 3}, TargetView("dev", "", "d_"))


def parse(text, macros=None):
    return parse_sql_files({"models/m.sql": text}, macros or {}, HERE)["models/m.sql"]


def test_what_a_file_reads_is_noted_without_its_value():
    notes = parse("select '{{ env_var(\"SCHEMA\") }}', {{ var('n') }}, '{{ target.name }}'").reads

    assert [(note.kind, note.name) for note in notes] == [
        ("env", "SCHEMA"),
        ("target", ""),
        ("var", "\nn"),
    ]
    assert all(len(note.digest) == 64 for note in notes)

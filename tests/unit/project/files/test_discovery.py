from __future__ import annotations


def test_J22_every_odd_file_is_a_finding_of_its_own(findings):
    files = {
        "models/latin.sql": "select 'a'\n, 'é'".encode("latin-1"),
        "models/nul.sql": b"select 1\n\0",
        "models/empty.sql": " \n",
        "models/big.sql": "-- x\n" * 1_000_000,
        "models/two words.sql": "select 1",
        "models/quo'te.sql": "select 1",
        "models/up.sql": "select 1\n{% include '../secret.sql' %}",
        "models/gone.sql": "select 1\n{% include 'gone.sql' %}",
    }

    assert findings(files) == [
        (
            "models/big.sql:1: error: file-too-large: "
            "the file has 5,000,000 bytes; at most 1,000,000 are read"
        ),
        "models/empty.sql:1: error: empty-file: the file is empty",
        "models/gone.sql:2: error: include-not-found: no macro file is called 'gone.sql'",
        "models/latin.sql:2: error: not-utf8: byte 0xe9 is not UTF-8",
        "models/nul.sql:2: error: not-utf8: the file holds a NUL byte",
        """models/quo'te.sql:1: error: bad-name: "quo'te" cannot name a model""",
        "models/two words.sql:1: error: bad-name: 'two words' cannot name a model",
        "models/up.sql:2: error: path-outside-project: '../secret.sql' lies outside of macros/",
    ]


def test_stray_files_and_python_files_are_warnings(findings):
    files = {
        "models/notes.docx": b"x",
        "models/p.py": "",
        "models/README.md": "",
        "models/_f.sql": "",
    }

    assert findings(files) == [
        "models/notes.docx:1: warning: stray-file: this is no model",
        "models/p.py:1: warning: stray-file: Python models come with a later release",
    ]

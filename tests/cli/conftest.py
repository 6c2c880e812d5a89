"""A small project in a folder, and the command called as a user calls it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fakes.wording import unhelpful_lines
from penstock.ui.cli.main import main

FILES = {
    "penstock.yml": """\
        name: shop
        version: 1
        targets:
          dev: {warehouse: warehouse}
          prod: {warehouse: elsewhere}
        """,
    "models/sources.yml": """\
        sources:
          - name: raw
            tables:
              - name: users
                path: ../landing/users.csv
                format: csv
                columns: [{name: seen, type: TIMESTAMP}]
        """,
    "models/staging/users_clean.sql": """\
        {{ config(materialized='table', tags=['daily'], description='One row per user') }}
        select id, email from {{ source('raw', 'users') }}
        """,
    "models/staging/log.sql": """\
        {{ config(materialized='append', time_column='seen') }}
        select id, seen from {{ source('raw', 'users') }}
        """,
    "models/marts/daily.sql": "select count(*) as n from {{ ref('users_clean') }}\n",
    "landing/users.csv": "1,a@x,2024-03-01\n",
}


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write the project, with other files in place of its own, and go there."""

    def written(**changes: str | None) -> Path:
        for name, text in (FILES | changes).items():
            if text is not None:
                path = tmp_path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(textwrap.dedent(text), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return written


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Call penstock with words, in this process."""

    def called(*words: str) -> Answer:
        capfd.readouterr()
        code = main(words)
        answer = Answer(code, *capfd.readouterr())
        assert unhelpful_lines(answer.out + answer.err) == []
        return answer

    return called

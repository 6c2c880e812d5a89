"""A project in a folder, and what loading its unit tests says."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.app.unit_testing.loading import Variants, load_tests
from penstock.core.findings import HINTS, Finding
from penstock.project.load import load_project
from penstock.project.unit_tests.load import LoadedTests

FILES = {
    "penstock.yml": "name: shop\nversion: 1\ntargets: {dev: {warehouse: w}}\n",
    "models/sources.yml": """\
        sources:
          - name: raw
            tables:
              - name: users
                path: ../landing/users
                columns: [{name: id, type: TINYINT}, {name: email, type: STRING}]
              - name: bare
                path: ../landing/bare
        """,
    "models/staging/users.sql": """\
        {{ config(materialized='merge', unique_key='id') }}
        select id, email from {{ source('raw', 'users') }}
        """,
    "models/marts/both.sql": """\
        {{ config(materialized='table') }}
        select * from {{ ref('users') }} cross join {{ source('raw', 'bare') }}
        """,
    "models/marts/daily.sql": """\
        {{ config(materialized='partition', partition_by='d', start='2024-01-01') }}
        select d from {{ source('raw', 'bare') }} where d = @partition_date
        """,
    "models/marts/shown.sql": "{{ config(materialized='view') }}\nselect 1 as one\n",
}


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], LoadedTests]:
    def loaded(text: str, **more: str) -> LoadedTests:
        for name, content in {**FILES, "tests/t.yml": text, **more}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(content), encoding="utf-8")
        return load_tests(Variants(load_project(tmp_path, environ={})))

    return loaded


@pytest.fixture
def told(load: Callable[[str], LoadedTests]) -> Callable[[str], list[str]]:
    """Load tests and give the findings, each on one line; no hint that its code has everywhere."""

    def findings(text: str, **more: str) -> list[str]:
        return [_on_a_line(finding) for finding in load(text, **more).findings]

    return findings


def _on_a_line(finding: Finding) -> str:
    said, _, hint = finding.render().partition("\n  ")
    return said if finding.hint == HINTS.get(finding.code) else f"{said}; {hint}".rstrip("; ")

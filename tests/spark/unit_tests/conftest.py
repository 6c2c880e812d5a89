"""A project with test files, and its unit tests run on the suite's Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.place import Place
from penstock.app.commands.test import run_tests
from penstock.app.request import UnitTestRequest
from penstock.app.unit_testing.differences import UnitTestReport
from penstock.ui.render.check import unit_tests_text

USERS = """\
    {{ config(materialized='merge', unique_key='id', time_column='updated_at', schema='staging') }}
    select id, email, updated_at from {{ source('raw', 'users') }}
    """
SOURCES = """\
    sources:
      - name: raw
        tables:
          - name: users
            path: ../landing/users
            columns:
              - {name: id, type: BIGINT}
              - {name: email, type: STRING}
              - {name: updated_at, type: TIMESTAMP}
          - name: events
            path: ../landing/events
            columns: [{name: id, type: INT}, {name: at, type: TIMESTAMP}]
    """


class Project:
    """Writes models and tests, runs the tests."""

    def __init__(self, root: Path, spark: object) -> None:
        self.place = Place(root, spark)  # type: ignore[arg-type]
        self.root = root
        self.place.write("models/sources.yml", SOURCES)
        self.place.write("models/staging/users.sql", USERS)

    def tests(self, text: str, file: str = "tests/users.yml") -> None:
        self.place.write(file, text)

    def run(self, *select: str, **asked: object) -> UnitTestReport:
        services = self.place.services()
        try:
            return run_tests(services, UnitTestRequest(select=select, **asked))  # type: ignore[arg-type]
        finally:
            services.close()

    def told(self, text: str, **asked: object) -> list[tuple[str, ...]]:
        """Run the tests of one file and give what differs, test by test."""
        self.tests(text)
        return [result.lines for result in self.run(**asked).results]

    def shown(self, text: str) -> str:
        self.tests(text)
        return unit_tests_text(self.run())


@pytest.fixture
def project(tmp_path, spark):
    return Project(tmp_path, spark)

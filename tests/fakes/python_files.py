"""A project folder with files of Python, loaded without Spark."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from penstock.core.errors import ProjectError
from penstock.core.project import Project
from penstock.project.load import load_project

HEAD = "from penstock import incremental_table, model, source, table\n"


class PythonFiles:
    """Writes files of a project and loads it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("penstock.yml", "name: shop\ntargets: {dev: {}, prod: {}}\n")

    def write(self, path: str, text: str) -> Path:
        """Write a file, dedented."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def models(self, text: str, path: str = "models/m/pipeline.py") -> None:
        """Write a file of models below a line that imports the decorators."""
        self.write(path, HEAD + textwrap.dedent(text))

    def load(self) -> Project:
        """Load the project."""
        return load_project(self.root, environ={})

    def findings(self) -> list[tuple[str, str, str]]:
        """Give code, place and hint of everything that is wrong."""
        with pytest.raises(ProjectError) as caught:
            self.load()
        found = caught.value.findings
        return [(each.code, str(each.where), each.hint) for each in found if each.is_error]

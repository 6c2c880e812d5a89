"""What gives the files of a project to those who read them, each file once per load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from penstock.project.files.nodes import TemplateText
from penstock.project.files.parsed import SqlFile, YamlFile
from penstock.project.files.values import Plain


class TextFiles(Protocol):
    """The files of a project as bytes and texts; what cannot be read is a finding of the reader."""

    def has(self, path: str) -> bool:
        """Whether there is such a file."""

    def data(self, path: str) -> bytes:
        """Return the bytes of a file."""

    def text(self, path: str) -> str | None:
        """Return a file as text with line ends of one kind, None where it cannot be read."""

    def check_template(self, path: str, text: TemplateText, line: int) -> SqlFile:
        """Read the SQL of a check that is a template and stands on a line of a file."""

    def known_tests(self) -> Mapping[str, str]:
        """Return the macros of the project's parametrised tests by the names of the tests."""


class Files(TextFiles, Protocol):
    """The files of a project, YAML as trees too."""

    def yaml_file(self, path: str) -> YamlFile:
        """Return a YAML file."""

    def filled(self, path: str) -> Plain:
        """Return its tree with the environment's values filled in."""

    @property
    def templates_digest(self) -> str:
        """Tell whether templates of checks still mean the same, the environment apart."""

    def sql_text(self, path: str, text: str, line: int) -> SqlFile:
        """Read SQL that is no template and begins on a line of a file."""

"""Access to the files of a project, each read once per load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from penstock.project.files.nodes import TemplateText
from penstock.project.files.parsed import SqlFile, YamlFile
from penstock.project.files.values import Plain


class TextFiles(Protocol):
    """The files of a project as bytes and texts; unreadable files become findings."""

    def has(self, path: str) -> bool:
        """Return whether the project has such a file."""

    def data(self, path: str) -> bytes:
        """Return the bytes of a file."""

    def text(self, path: str) -> str | None:
        """Return a file as text with unified line ends, None if it cannot be read."""

    def check_template(self, path: str, text: TemplateText, line: int) -> SqlFile:
        """Parse the SQL of a check that is a template on a line of a file."""

    def known_tests(self) -> Mapping[str, str]:
        """Return the macros of the project's parametrised tests, by test name."""


class Files(TextFiles, Protocol):
    """The files of a project, with YAML also as trees."""

    def yaml_file(self, path: str) -> YamlFile:
        """Return a YAML file."""

    def filled(self, path: str) -> Plain:
        """Return its tree with the environment's values filled in."""

    @property
    def templates_digest(self) -> str:
        """Return a digest of all that templates of checks depend on, except the environment."""

    def sql_text(self, path: str, text: str, line: int) -> SqlFile:
        """Parse SQL without a template that begins on a line of a file."""

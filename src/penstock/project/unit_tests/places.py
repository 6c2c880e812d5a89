"""Which files may hold unit tests: those under tests/, and the YAML files of models. No parser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from penstock.core.project import Project

KEY = "unit_tests"
FOLDER = "tests"


def files_with_tests(project: Project) -> Iterator[str]:
    """Give every YAML file in which the key's name occurs, below the project's folder."""
    root = Path(project.root)
    for folder in dict.fromkeys((FOLDER, *project.folders)):
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root)
            hidden = any(part.startswith(".") for part in inside.parts)
            is_yaml = path.suffix in (".yml", ".yaml") and path.is_file()
            if is_yaml and not hidden and _mentions(path):
                yield inside.as_posix()


def _mentions(path: Path) -> bool:
    try:
        return KEY.encode() in path.read_bytes()
    except OSError:
        return True  # its reader says why

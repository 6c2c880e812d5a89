"""The use cases `init` and `schema`: a project that runs at once, and what editors read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.core.errors import UsageError

DEFAULT_TEMPLATE = "minimal"
_TEMPLATES = Path(__file__).with_name("templates")
_PROJECT_FILE = "penstock.yml"
_RENAMED = {"gitignore": ".gitignore"}  # under its own name it would hide files of the template
_NAME = re.compile(r"^name: .*$", re.MULTILINE)


def init(folder: Path, template: str = DEFAULT_TEMPLATE) -> tuple[str, ...]:
    """Write a template's files into a folder and give their names, relative and sorted.

    The project is called after the folder. Nothing is overwritten: a folder with penstock.yml is
    `project-exists`, one of dbt `dbt-project`, one with another file of the template `file-exists`.
    penstock.yml comes last, so that a crash does not leave an incomplete project.
    """
    if template not in templates():
        known = ", ".join(templates())
        sentence = f"no template is called {template!r}; there are: {known}"
        raise UsageError("unknown-template", sentence, hint=f"--template {DEFAULT_TEMPLATE}")
    if (folder / _PROJECT_FILE).exists():
        sentence = f"{folder} already holds a project ({_PROJECT_FILE})"
        hint = "choose another folder, or run penstock in this one"
        raise UsageError("project-exists", sentence, hint=hint)
    if (folder / "dbt_project.yml").exists():
        sentence = f"{folder} holds a dbt project, and init would add samples to its models"
        hint = "penstock init in a new folder, then copy models, macros and seeds there"
        raise UsageError("dbt-project", sentence, hint=hint)
    files = dict(sorted(_files(_TEMPLATES / template)))
    for name in files:
        if (folder / name).exists():
            sentence = f"{folder / name} is already there and would be overwritten"
            raise UsageError("file-exists", sentence, hint="choose another folder, or move it away")
    project = files.pop(_PROJECT_FILE)
    called = re.sub(r"\W+", "_", folder.resolve().name).strip("_") or "project"
    named = _NAME.sub(f"name: {called}", project, count=1)
    for name, text in (*files.items(), (_PROJECT_FILE, named)):
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            sentence, hint = f"{path} cannot be written: {error.strerror}", "choose another folder"
            raise UsageError("folder-not-writable", sentence, hint=hint) from error
    return tuple(sorted((*files, _PROJECT_FILE)))


def templates() -> tuple[str, ...]:
    """Return the names of the templates, sorted."""
    return tuple(sorted(each.name for each in _TEMPLATES.iterdir() if each.is_dir()))


def _files(source: Path) -> Iterator[tuple[str, str]]:
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(source).with_name(_RENAMED.get(path.name, path.name))
            yield name.as_posix(), path.read_text(encoding="utf-8")


def schemas() -> Mapping[str, str]:
    """Return each schema as text by its file name."""
    import penstock.strategies.registry  # noqa: F401  their words are in the schemas
    from penstock.project.editor_schemas import json_schemas

    return json_schemas()


def write_schemas(folder: Path) -> tuple[str, ...]:
    """Write the schemas into a folder; give the file names."""
    found = schemas()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(found)

"""Files for other programs, replaced atomically; one lists the project's names for shells."""

from __future__ import annotations

import datetime as dt
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from penstock.core.masking import SECRETS
from penstock.core.model import Model, kind_of
from penstock.core.partitions.partition import Grain, Grid, write_grid
from penstock.core.project import Project

NAMES = Path(".penstock", "cache", "names.json")
_KEYS = 31
"""How many partitions of a grid a shell offers: the newest ones."""


def replace_file(path: Path, text: str) -> None:
    """Write a private sibling file, then rename it: readers see the old or the new file."""
    handle, half = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(half).replace(path)


def write_below(root: str, name: str, text: str) -> None:
    """Replace a file of the project's own folder; make the folders above it."""
    path = Path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text)


def write_names(project: Project, today: dt.date) -> None:
    """Write the names for shell completion if they changed; ignore an unwritable folder."""
    path = Path(project.root, NAMES)
    text = json.dumps(names_of(project, today), ensure_ascii=False)
    if SECRETS.hide(text) != text:
        return
    with suppress(OSError):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            replace_file(path, text)


def names_of(project: Project, today: dt.date) -> dict[str, object]:
    """Return models with their grids, the keys of these grids, selectors and targets."""
    models = project.models
    grids = {write_grid(model.grid): model.grid for model in models.values() if not model.is_view}
    return {
        "models": {name: _grid_of(model) for name, model in models.items()},
        "keys": {
            word: _newest(grid, today)
            for word, grid in grids.items()
            if grid.grain is not Grain.WHOLE
        },
        "selectors": sorted(set(_selectors(project))),
        "targets": list(project.targets),
        "packages": list(project.packages),
        "entities": sorted({each.name for each in project.entities.values()}),
    }


def _grid_of(model: Model) -> str:
    return "" if model.grid.grain is Grain.WHOLE else write_grid(model.grid)


def _newest(grid: Grid, today: dt.date) -> list[str]:
    """Return the newest keys up to today, or the last ones of a range."""
    last = grid.last_number if grid.grain is Grain.RANGE else grid.holding(today, today)[1]
    first = max(0, last - _KEYS + 1) if grid.grain is Grain.RANGE else last - _KEYS + 1
    return [grid.key(number) for number in range(last, first - 1, -1)]


def _selectors(project: Project) -> Iterator[str]:
    yield from (f"selector:{name}" for name in project.selectors)
    for model in project.models.values():
        yield f"kind:{kind_of(model)}"
        yield f"strategy:{model.shown_strategy}"
        yield from (f"tag:{tag}" for tag in model.tags)
    for entity in project.entities.values():
        yield f"entity:{entity.name}"
        yield f"connection:{entity.connection}"
        yield from (f"group:{name}" for name in [entity.group] if name)
        yield from (f"connectiongroup:{name}" for name in [entity.connection_group] if name)

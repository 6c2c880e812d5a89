"""Put the last good copy of a damaged SQLite state in its place."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

from sqlalchemy import make_url

from penstock.core.errors import StateError
from penstock.state import sqlite


def restore(url: str, at: dt.datetime) -> Path:
    """Move the database aside, put the last good copy in place, give where the old one now is.

    The copy holds everything up to the end of the last run that had steps, and is kept. The old
    file and its log are named `…damaged-<at>`. Raises `state-no-copy` when there is no copy, and
    touches nothing then; `state-unreachable` for a database that is no SQLite file.
    """
    place = make_url(url)
    if not sqlite.is_sqlite(place):
        raise StateError(
            "state-unreachable",
            f"{place.render_as_string(hide_password=True)} is no SQLite file",
            hint="restore it with the means of its database",
        )
    file = sqlite.file_of(place)
    good = sqlite.good_copy(file)
    if not good.exists():
        raise StateError(
            "state-no-copy",
            f"no good copy of {file} was ever kept",
            hint="move the file away and run penstock state rebuild",
        )
    fresh = file.with_name(f"{file.name}.restored")
    shutil.copyfile(good, fresh)
    stamp = at.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = file.with_name(f"{file.name}.damaged-{stamp}")
    for part in sqlite.companions(file):
        if part.exists():
            part.rename(aside.with_name(aside.name + part.name.removeprefix(file.name)))
    if file.exists():
        sqlite.link(file, aside)  # a name is never without a file: `open` would make an empty one
    fresh.replace(file)
    return aside

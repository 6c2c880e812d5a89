"""Put the last good copy of a damaged SQLite state in its place."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
import uuid
from pathlib import Path

from sqlalchemy import make_url

from penstock.core.errors import StateError
from penstock.state.sql import sqlite


def restore(url: str, at: dt.datetime) -> Path:
    """Move the database aside, put the last good copy in place, give where the old one now is.

    The copy holds everything up to the end of the last run that had steps, and is kept. The old
    file and its log are named `…damaged-<at>`. Raises `state-no-copy` when there is no copy that
    can be read, and `state-unreachable` for a database that is no SQLite file or a disk that is
    full; nothing is touched then.
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
        raise _no_copy(f"no good copy of {file} was ever kept")
    fresh = file.with_name(f"{file.name}.restored")
    try:
        sqlite.copy_sound(good, fresh)
        _begin_epoch(fresh)
        return _swapped(file, fresh, at)
    except sqlite3.DatabaseError as error:
        raise _no_copy(f"the copy {good} cannot be read either: {error}") from error
    except OSError as error:
        raise sqlite.unusable(str(file), error.strerror or str(error)) from error
    finally:
        fresh.unlink(missing_ok=True)


def _begin_epoch(file: Path) -> None:
    """Draw a new epoch: steps since the copy are forgotten, and their numbers are given out again.

    A copy of an older schema has none yet; migrating it begins the first one.
    """
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        columns = {row[1] for row in database.execute("PRAGMA table_info(project)")}
        if "epoch" in columns:
            database.execute("UPDATE project SET epoch = ?", (str(uuid.uuid4()),))


def _swapped(file: Path, fresh: Path, at: dt.datetime) -> Path:
    stamp = at.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = file.with_name(f"{file.name}.damaged-{stamp}")
    for part in sqlite.companions(file):
        if part.exists():
            part.rename(aside.with_name(aside.name + part.name.removeprefix(file.name)))
    if file.exists():
        sqlite.link(file, aside)  # a name is never without a file: `open` would make an empty one
    fresh.replace(file)
    return aside


def _no_copy(reason: str) -> StateError:
    return StateError(
        "state-no-copy",
        reason,
        hint="move the file, and its -wal and -shm, away and run penstock state rebuild",
    )

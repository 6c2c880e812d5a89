"""What was computed for the last site and is the same now: highlighted code, columns, tables.

A cache of pure functions: each value is kept under a digest of everything that it comes from. A
damaged or unwritable file only costs time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from penstock.app.artifacts.manifest import Json
from penstock.app.services.files import replace_file
from penstock.app.site.tasks import Task, do_on_all_cores, do_tasks
from penstock.core.masking import SECRETS

_FORMAT = 4


@dataclass(slots=True)
class SiteCache:
    """Values of this site and of the last one; only those of this one are written."""

    path: Path | None = None
    """Where they are kept between two sites, None for nowhere."""
    salt: str = ""
    """What every value depends on, such as the version of penstock."""
    _last: dict[str, Json] | None = None
    _now: dict[str, Json] = field(default_factory=dict)

    def of(self, make: Callable[[], Json], *parts: object) -> Json:
        """Return the value for these parts; compute it if the last site did not have it."""
        key = _key(parts)
        if key not in self._now:
            last = self._read()
            self._now[key] = last[key] if key in last else make()
        return self._now[key]

    def computed(self, *task: object) -> Json:
        """Return the result of a task."""
        return self.of(lambda: do_tasks([cast("Task", task)])[0], *task)

    def is_new(self, models: int) -> bool:
        """Return whether the last site computed almost nothing for this number of models."""
        return len(self._read()) <= models // 2

    def compute_ahead(self, tasks: Iterable[Task]) -> None:
        """Do tasks on all cores."""
        missing = {key: each for each in tasks if (key := _key(each)) not in self._now}
        self._now |= zip(missing, do_on_all_cores([*missing.values()]), strict=True)

    def save(self) -> None:
        """Write the values of this site, unless nothing is new or one contains a secret."""
        if self.path is None or self._now.keys() == self._read().keys():
            return
        document = {"format": _FORMAT, "salt": self.salt, "values": self._now}
        text = json.dumps(document, ensure_ascii=False)
        if SECRETS.hide(text) != text:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, text)
        self._last = self._now

    def _read(self) -> dict[str, Json]:
        if self._last is None:
            self._last = {}
            if self.path is None:
                return self._last
            with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
                document = json.loads(self.path.read_text(encoding="utf-8"))
                if (document["format"], document["salt"]) == (_FORMAT, self.salt):
                    self._last = dict(document["values"])
        return self._last


def _key(parts: Sequence[object]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()

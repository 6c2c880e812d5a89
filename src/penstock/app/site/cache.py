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
from typing import Any, cast

from penstock.app.artifacts.manifest import Json
from penstock.app.services.files import replace_file
from penstock.core.masking import SECRETS
from penstock.project.processes import answer, on_all_cores, shared

_FORMAT = 2
_WORTH_A_PROCESS = 100  # tasks; a process starts in the time that some dozens take
Task = tuple[str, *tuple[object, ...]]
"""The name of a function in `_SLOW`, and its arguments."""


def _code(language: str, text: str) -> Json:
    from penstock.app.site.markup import code_lines  # sites that did not change need no Pygments

    return [*code_lines(text, language)]


def _columns(sql: str, schemas: dict[str, dict[str, str]]) -> Json:
    from penstock.project.sql.lineage import column_lineage  # nor a parser

    found = column_lineage(sql, schemas)
    return {column: [[*origin] for origin in origins] for column, origins in found.items()}


def _mapping(*given: Any) -> Json:  # noqa: ANN401  the arguments of `mapped`
    from penstock.app.site.partitions import mapped  # which imports this module

    return mapped(*given)


_SLOW: dict[str, Callable[..., Json]] = {"code": _code, "columns": _columns, "mapping": _mapping}


def _work(tasks: Sequence[Task]) -> list[Json]:
    return [_SLOW[name](*given) for name, *given in tasks]


def serve() -> None:
    """Do the tasks in stdin."""
    answer(_work)


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
        return self.of(lambda: _work([cast("Task", task)])[0], *task)

    def compute_ahead(self, tasks: Callable[[], Iterable[Task]], about: int) -> None:
        """Do tasks on all cores if the last site has almost nothing of about so many."""
        if len(self._read()) > about // 2:
            return
        missing = {_key(each): each for each in tasks()}
        keys, shares = [*missing], shared([*missing.values()], _WORTH_A_PROCESS)
        found = on_all_cores(shares, _work, lambda share: (__name__, (share,)))
        for start, values in enumerate(found):
            self._now |= zip(keys[start :: len(shares)], values, strict=True)

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
    text = json.dumps(parts, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()

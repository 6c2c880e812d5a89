"""What was computed for the last site and is the same now: highlighted code, columns, tables.

A cache of pure functions: each value is kept under a digest of everything that it comes from. A
damaged or unwritable file only costs time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock.app.artifacts.manifest import Json
from penstock.app.services.files import replace_file
from penstock.core.masking import SECRETS

_FORMAT = 1


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
        text = json.dumps([self.salt, *parts], default=str, ensure_ascii=False)
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._now:
            last = self._read()
            self._now[key] = last[key] if key in last else make()
        return self._now[key]

    def save(self) -> None:
        """Write the values of this site, unless nothing is new or one contains a secret."""
        if self.path is None or self._now.keys() == self._read().keys():
            return
        text = json.dumps({"format": _FORMAT, "values": self._now}, ensure_ascii=False)
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
                if document["format"] == _FORMAT:
                    self._last = dict(document["values"])
        return self._last

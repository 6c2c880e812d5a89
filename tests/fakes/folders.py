"""Folders in memory: paths that somebody made, and the tables of a lake, which are folders too."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field


@dataclass
class FakeFolders:
    """Knows folders by their paths; dropping one takes what lies below with it."""

    made: set[str] = field(default_factory=set)
    tables: MutableMapping[str, object] = field(default_factory=dict)

    def make(self, uri: str) -> None:
        self.made.add(uri)

    def names(self, uri: str) -> tuple[str, ...]:
        root = f"{uri.rstrip('/')}/"
        below = (path.removeprefix(root) for path in self._below(uri))
        return tuple(sorted({path.partition("/")[0] for path in below if path != uri}))

    def drop(self, uri: str) -> None:
        for path in [*self._below(uri)]:
            self.made.discard(path)
            self.tables.pop(path, None)

    def _below(self, uri: str) -> Iterator[str]:
        root = uri.rstrip("/")
        return (p for p in (*self.made, *self.tables) if p == root or p.startswith(f"{root}/"))

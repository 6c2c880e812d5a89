"""Builds of small tables, for tests of statements."""

from __future__ import annotations

from dataclasses import replace

from fakes.builders import a_model
from fakes.lake import columns
from penstock.core.strategy import Build, Strategy, WindowSettings

USERS = "delta.`/w/s/users`"


def a_build(
    strategy: Strategy | None = None,
    query: str = "id int, name string",
    table: str = "",
    **changes: object,
) -> Build:
    """A build of the model `users`; without `table` it makes the table."""
    model = a_model("users", strategy=strategy)
    known = columns(table) if table else None
    return replace(Build(model, USERS, columns(query), known), **changes)  # type: ignore[arg-type]


class Given:
    """The settings of a model as its files give them, and what was reported of them."""

    def __init__(self, window: WindowSettings | None = None, /, **given: str | tuple[str, ...]):
        self.given, self.seen = given, window
        self.codes: list[str] = []

    def text(self, key: str) -> str:
        return str(self.given.get(key, ""))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self.given.get(key, ()))

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        del sentence, hint
        self.codes.append(f"{key}: {code}")

    def warn(self, key: str, code: str, sentence: str) -> None:
        self.report(key, f"({code})", sentence)

    def window(self) -> WindowSettings | None:
        return self.seen


def read(kind: type[Strategy], window: WindowSettings | None = None, /, **given: object):
    """Read a strategy; give it with what was reported, warnings in brackets."""
    settings = Given(window, **given)  # type: ignore[arg-type]
    return kind.read(settings), settings.codes  # type: ignore[arg-type]

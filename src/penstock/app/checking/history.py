"""The use case `history --checks`: what the checks of a model said so far."""

from __future__ import annotations

from penstock.app.named import named_model
from penstock.app.one_state import in_one_state
from penstock.app.shop import Shop
from penstock.core.check_results import CheckRecord
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.project.nearest import did_you_mean, some_of

SOURCE = "source:"
"""How the history names what is no model."""


@in_one_state
def check_history(
    shop: Shop, model: str, name: str | None = None, limit: int = 20
) -> tuple[CheckRecord, ...]:
    """Give results of a model's checks, newest first, at most `limit`; start no JVM.

    A check that is in no file any more is found by the name it had; `source:raw.events` gives what
    `penstock check --sources` said. Raises `unknown-model`, `unknown-check`, and `bad-value` for a
    limit below 1.
    """
    if limit < 1:
        raise UsageError("bad-value", f"--limit {limit} shows nothing", hint="--limit 20")
    if model.startswith(SOURCE) and model.removeprefix(SOURCE) in shop.project.sources:
        return shop.reading.checks.checks_of(model, name, limit)
    found = named_model(shop, model)
    records = shop.reading.checks.checks_of(found.name, name, limit)
    if name is not None and not records and name not in check_names(found):
        raise unknown_check(found, name)
    return records


def check_names(model: Model) -> frozenset[str]:
    """Give the names of the checks of all its versions."""
    each = [model.checks, *(version.checks for version in model.versions)]
    return frozenset(check.name for checks in each for check in checks.all)


def unknown_check(model: Model, name: str) -> UsageError:
    """Say that a model has no check of that name, with the nearest one."""
    known = check_names(model)
    there = f"there are: {some_of(known)}" if known else f"{model.name} has no checks"
    return UsageError(
        "unknown-check",
        f"{model.name} has no check called {name!r}",
        hint=did_you_mean(name, known) or there,
    )

"""Finding a model by what a user typed."""

from __future__ import annotations

from penstock.app.shop import Shop
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.project.nearest import did_you_mean, some_of


def named_model(shop: Shop, name: str) -> Model:
    """Give the model of that name, or whose table is called so; raise `unknown-model`."""
    models = shop.project.models
    folded = name.lower()
    for model in models.values():
        if folded in (model.name.lower(), model.table.folded):
            return model
    names = some_of(models)
    raise UsageError(
        "unknown-model",
        f"no model is called {name!r}",
        hint=did_you_mean(name, models) or (f"there are: {names}" if names else "there are none"),
    )

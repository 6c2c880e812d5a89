"""The use cases `state export`, `import` and `restore`: the store as a document, or its copy."""

from __future__ import annotations

from pathlib import Path

from penstock.app.services.services import Shop
from penstock.core.errors import StateError, UsageError


def export_state(shop: Shop, *, models: bool = False) -> str:
    """Give the whole store as one JSON document, or the small readable one of its models."""
    if not shop.has_state():
        raise StateError(
            "no-state",
            f"target {shop.project.target.name!r} has no state yet",
            hint="the first penstock run makes it",
        )
    if models:
        from penstock.state.people import export_models

        return export_models(shop.reading.records)
    return shop.reading.archive.export()


def import_state(shop: Shop, file: Path) -> None:
    """Replace the whole store by an exported document."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError("unreadable-file", f"{file} cannot be read: {reason}") from error
    shop.writing.archive.load(text)


def restore_state(shop: Shop) -> Path:
    """Put the last good copy of a damaged SQLite file in its place; give where the old one is."""
    from penstock.state.restore import restore

    return restore(shop.project.target.state, shop.clock.now())

"""The use cases `state export`, `import` and `restore`: the store as a document, or its copy."""

from __future__ import annotations

from pathlib import Path

from penstock.app.services.services import Services
from penstock.core.errors import StateError, UsageError


def export_state(services: Services, *, models: bool = False) -> str:
    """Give the whole store as one JSON document, or the small readable one of its models."""
    if not services.has_state():
        raise StateError(
            "no-state",
            f"target {services.project.target.name!r} has no state yet",
            hint="the first penstock run makes it",
        )
    if models:
        from penstock.state.people import export_models

        return export_models(services.reading.records)
    return services.reading.archive.export()


def import_state(services: Services, file: Path) -> None:
    """Replace the whole store by an exported document."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError("unreadable-file", f"{file} cannot be read: {reason}") from error
    services.writing.archive.load(text)


def restore_state(services: Services) -> Path:
    """Put the last good copy of a damaged SQLite file in its place; give where the old one is."""
    from penstock.state.restore import restore

    return restore(services.project.target.state, services.clock.now())

"""Pins: the exact version of an input that a step reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeltaPin:
    """A version of a Delta table; the id tells a table from another that took its place."""

    table_id: str
    version: int

    def __str__(self) -> str:
        """Give the version as reports show it."""
        return f"v{self.version}"


@dataclass(frozen=True, slots=True)
class FilesPin:
    """The files that lay under a path, told by a digest of names, sizes and times."""

    digest: str
    files: int

    def __str__(self) -> str:
        """Give the digest, cut, and the number of files."""
        return f"{self.digest[:8]} ({self.files} files)"


@dataclass(frozen=True, slots=True)
class ViewPin:
    """The step that last made a view; its base tables are pinned beside it."""

    step_seq: int

    def __str__(self) -> str:
        """Give the step number."""
        return f"step {self.step_seq}"


@dataclass(frozen=True, slots=True)
class NoPin:
    """An input whose versions nobody counts, such as a table of a foreign catalog."""

    def __str__(self) -> str:
        """Say so."""
        return "unpinned"


Pin = DeltaPin | FilesPin | ViewPin | NoPin


@dataclass(frozen=True, slots=True)
class InputPin:
    """Which version of which input; `input` is the name that records keep."""

    input: str
    pin: Pin

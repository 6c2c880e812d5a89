"""What lies around models: who uses them, and who may."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Location

EXPOSURE_TYPES = ("dashboard", "notebook", "analysis", "ml", "application")


class Access(StrEnum):
    """Who may read a model: its own group, or everybody."""

    PRIVATE = "private"
    PROTECTED = "protected"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Contact:
    """Who answers for a group or an exposure."""

    name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class ModelGroup:
    """Models with one owner; private ones may be read inside their group only."""

    name: str
    owner: Contact
    where: Location
    description: str = ""


@dataclass(frozen=True, slots=True)
class Exposure:
    """A use of models outside the project: a dashboard, a notebook, an application.

    `models` and `sources` are the names of what it depends on.
    """

    name: str
    type: str
    owner: Contact
    where: Location
    models: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    label: str = ""
    url: str = ""
    maturity: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)

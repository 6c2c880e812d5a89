"""penstock.yml as values. Shapes were checked before; what is wrong falls back to its default."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock.core.checks import CheckSettings, OnFailure
from penstock.core.errors import UsageError
from penstock.core.project import LeaseSettings, SparkSettings, Target
from penstock.project.files.values import (
    Plain,
    did_you_mean,
    duration_of,
    is_true,
    list_of,
    mapping_of,
    pairs_of,
    text_of,
)

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SQLITE = "sqlite:///"
DEFAULT_TARGET = "dev"


@dataclass(frozen=True, slots=True)
class Settings:
    """What penstock.yml says, for one target."""

    name: str
    target: Target
    targets: tuple[str, ...]
    folders: tuple[str, ...] = ("models",)
    vars: Mapping[str, Plain] = field(default_factory=dict)
    defaults: Mapping[str, Plain] = field(default_factory=dict)
    system_columns: Mapping[str, Plain] = field(default_factory=dict)
    threads: int = 4
    lease: LeaseSettings = LeaseSettings()
    immutable: bool = False
    max_partitions: int | None = None
    checks: CheckSettings = CheckSettings()


def settings_of(
    tree: Plain, root: Path, target: str | None, environ: Mapping[str, str]
) -> Settings:
    """Read the settings; the target is the argument, else PENSTOCK_TARGET, else the first.

    Raises `UsageError` `unknown-target`.
    """
    document = mapping_of(tree)
    targets = mapping_of(document.get("targets")) or {DEFAULT_TARGET: {}}
    names = tuple(targets)
    chosen = target or environ.get("PENSTOCK_TARGET") or names[0]
    if chosen not in targets:
        raise UsageError(
            "unknown-target",
            f"no target is called {chosen!r}; there are: {', '.join(names)}",
            hint=did_you_mean(chosen, names) or f"--target {names[0]}",
        )
    return Settings(
        name=text_of(document.get("name")) or root.name,
        target=_target(chosen, targets[chosen], root, is_first=chosen == names[0]),
        targets=names,
        folders=tuple(text_of(f) for f in list_of(document.get("models"))) or ("models",),
        vars=mapping_of(document.get("vars")),
        defaults=mapping_of(document.get("defaults")),
        system_columns=mapping_of(document.get("system_columns")),
        threads=_number(document.get("threads"), 4),
        lease=_lease(mapping_of(document.get("lease"))),
        immutable=is_true(document.get("immutable")),
        max_partitions=_number(mapping_of(document.get("sync")).get("max_partitions"), 0) or None,
        checks=_checks(mapping_of(document.get("checks"))),
    )


def absolute(path: str, folder: Path) -> str:
    """Give a URI as it is and a path as an absolute one, seen from `folder`.

    >>> absolute("s3a://lake/shop", Path("/p"))
    's3a://lake/shop'
    """
    return path if _URI.match(path) else os.path.normpath(folder / path)


def defaults_for(
    defaults: Mapping[str, Plain], path: str, folders: Sequence[str]
) -> list[Mapping[str, Plain]]:
    """Give the layers of defaults for a file, the most specific last.

    Folders are seen from the project root or from a model folder.
    """
    plain = {key: value for key, value in defaults.items() if not key.endswith("/")}
    seen = [path] + [path.removeprefix(f"{f}/") for f in folders if path.startswith(f"{f}/")]
    matching = [k for k in defaults if k.endswith("/") and any(s.startswith(k) for s in seen)]
    return [plain, *(mapping_of(defaults[key]) for key in sorted(matching, key=len))]


def _target(name: str, tree: Plain, root: Path, *, is_first: bool) -> Target:
    shape = mapping_of(tree)
    spark = mapping_of(shape.get("spark"))
    return Target(
        name=name,
        warehouse=absolute(text_of(shape.get("warehouse")) or "warehouse", root),
        state=_state(text_of(shape.get("state")) or "sqlite", root, "" if is_first else name),
        spark=SparkSettings(
            master=text_of(spark.get("master")) or "local[*]",
            driver_memory=text_of(spark.get("driver_memory")) or "2g",
            conf=pairs_of(spark.get("conf")),
        ),
        catalog=text_of(shape.get("catalog")),
        schema_prefix=text_of(shape.get("schema_prefix")),
    )


def _state(url: str, root: Path, target: str) -> str:
    if url == "sqlite":
        file = f"state.{target}.db" if target else "state.db"
        return f"{_SQLITE}{root / '.penstock' / file}"
    if url.startswith(_SQLITE) and not url.startswith(f"{_SQLITE}/"):
        return f"{_SQLITE}{absolute(url.removeprefix(_SQLITE), root)}"
    return url


def _lease(tree: Mapping[str, Plain]) -> LeaseSettings:
    default = LeaseSettings()
    length, heartbeat = duration_of(tree.get("length")), duration_of(tree.get("heartbeat"))
    return LeaseSettings(
        default.length if length is None else length,
        default.heartbeat if heartbeat is None else heartbeat,
    )


def _checks(tree: Mapping[str, Plain]) -> CheckSettings:
    default = CheckSettings()
    mode, days = default.on_failure, default.quarantine_days
    with suppress(ValueError):
        mode = OnFailure(text_of(tree.get("on_failure")).lower() or mode)
    with suppress(ValueError):
        days = max(0, int(text_of(tree.get("quarantine_days")) or days))
    sample = tree.get("sample")
    return CheckSettings(
        on_failure=mode,
        sample=default.sample if sample is None else is_true(sample),
        quarantine_days=days,
        staging_schema=text_of(tree.get("staging_schema")) or default.staging_schema,
    )


def _number(value: Plain, default: int) -> int:
    try:
        return max(1, int(text_of(value)))
    except ValueError:
        return default


__all__ = ["Settings", "absolute", "defaults_for", "is_true", "settings_of"]

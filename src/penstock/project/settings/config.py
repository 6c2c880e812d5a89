"""The settings of one model: aliases resolved, layers merged by precedence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.values import Plain, mapping_of, pairs_of, switch_of, text_of, texts_of

NESTED = "snapshot"
OF_SNAPSHOTS = (
    "strategy",
    "updated_at",
    "check_cols",
    "valid_from",
    "compare_rows",
    "hard_deletes",
    "null_updated_at",
    "allow_empty",
    "row_hash",
    "change_feed",
    "retention",
    "layout",
    "system_columns",
    "snapshot_meta_column_names",
    "dbt_valid_to_current",
)
ALIASES = {
    "primary_key": "unique_key",
    "updated_at_column": "updated_at",
    "updated_at_columns": "updated_at",
    "check_columns": "check_cols",
    "invalidate_hard_deletes": "hard_deletes",
}
_OF_DBT = {"append_new_columns": "append", "sync_all_columns": "sync"}
HOOKS = "hooks"
_HOOK_LISTS = {"pre_hook": "before", "pre-hook": "before"} | {
    "post_hook": "after",
    "post-hook": "after",
}
HOOK_KEYS = frozenset({HOOKS, *_HOOK_LISTS})
_NAMES = ("unique_key", "updated_at", "check_cols")
W = TypeVar("W", bound=StrEnum)
_MAPPINGS = (
    "table_properties",
    "meta",
    "window_on",
    "system_columns",
    "snapshot_meta_column_names",
)


def hook_texts(value: Plain) -> list[Plain]:
    """Return the statements of a list of hooks, of one hook, or of dbt's `{sql: …}`."""
    items = value if isinstance(value, list) else [value]
    texts = [text_of(mapping_of(each).get("sql", "")) or text_of(each) for each in items]
    return [text for text in texts if text.strip()]


def with_hooks(layer: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return a layer with dbt's words for hooks as `hooks`."""
    if HOOK_KEYS.isdisjoint(layer):
        return dict(layer)
    written = {_HOOK_LISTS[key]: value for key, value in layer.items() if key in _HOOK_LISTS}
    given = mapping_of(layer.get(HOOKS))
    found: dict[str, Plain] = {
        each: [*hook_texts(given.get(each)), *hook_texts(written.get(each))]
        for each in ("before", "after")
    }
    rest = {k: v for k, v in layer.items() if k not in _HOOK_LISTS and k != HOOKS}
    return {**rest, HOOKS: found} if any(found.values()) else rest


def _both_hooks(below: Plain, above: Plain) -> Plain:
    """Return the hooks of two layers: those of the wider one run first."""
    one, two = mapping_of(below), mapping_of(above)
    keys = ("before", "after")
    return {each: [*hook_texts(one.get(each)), *hook_texts(two.get(each))] for each in keys}


def _both_grants(below: Plain, above: Plain) -> Plain:
    """Return the grants of two layers; `+select` adds to those of the wider one."""
    found = dict(mapping_of(below))
    for key, value in mapping_of(above).items():
        privilege = key.removeprefix("+")
        wider = texts_of(found.get(privilege)) if key.startswith("+") else ()
        found[privilege] = [*wider, *texts_of(value)]
    return found


@dataclass(slots=True)
class Lifted:
    """Settings by their unique names, the place of each, and contradictions."""

    values: dict[str, Plain] = field(default_factory=dict)
    places: dict[str, Location] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def lift(layer: Mapping[str, Plain], place: Callable[..., Location]) -> Lifted:
    """Return the settings of a layer, including `snapshot`; `place` returns a key's place."""
    lifted = Lifted()
    hook = next((key for key in layer if key in _HOOK_LISTS), HOOKS)
    for key, value in with_hooks(layer).items():
        if key != NESTED:
            _add(lifted, key, value, place(hook if key == HOOKS else key))
            continue
        for inner, below in mapping_of(value).items():
            lifted.places[NESTED] = place(NESTED)
            _add(lifted, inner, below, place(NESTED, inner))
    return lifted


def _add(lifted: Lifted, written: str, value: Plain, where: Location) -> None:
    key = ALIASES.get(written, written)
    if written == "invalidate_hard_deletes" and value is not None:
        value = "invalidate" if switch_of(value) else "ignore"
    if key == "on_schema_change" and isinstance(value, str):
        value = _OF_DBT.get(value, value)
    if key not in lifted.values:
        lifted.values[key] = value
        lifted.places[key] = where
        return
    first, at = lifted.values[key], lifted.places[key]
    if _normal(key, first) != _normal(key, value):
        pair = sorted([(at, _text(first)), (where, _text(value))], key=lambda each: each[0])
        (earlier, said), (later, here) = pair
        sentence = f"{key} is {here} here and {said} at line {earlier.line}"
        lifted.findings.append(Finding(later, "conflicting-settings", sentence, "keep one"))


def _normal(key: str, value: Plain) -> object:
    """Return a normalized value: names sorted and in lower case, texts unchanged."""
    if isinstance(value, Mapping):
        return pairs_of(value)
    if key in _NAMES and not (key == "check_cols" and value == "all"):
        return frozenset(name.lower() for name in texts_of(value))
    return text_of(value) if not isinstance(value, list) else frozenset(texts_of(value))


def _text(value: Plain) -> str:
    if isinstance(value, str):
        return repr(value)
    return str(value) if isinstance(value, list | Mapping) else text_of(value)


@dataclass(slots=True)
class Config:
    """Merged settings of a model; `own` are the keys that its own files set, with their places."""

    settings: dict[str, Plain]
    own: Mapping[str, Location]
    where: Location
    name: str = ""
    findings: list[Finding] = field(default_factory=list)

    def text(self, key: str) -> str:
        """Return a setting as text, "" if it is not set."""
        return text_of(self.settings.get(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a setting as a tuple of texts."""
        return texts_of(self.settings.get(key))

    def flag(self, key: str) -> bool:
        """Return whether a boolean setting is true."""
        return bool(switch_of(self.settings.get(key)))

    def word(self, key: str, default: W) -> W:
        """Return one of several words; the default for an invalid one, already reported."""
        said = self.text(key).lower()
        return next((word for word in type(default) if word.lower() == said), default)

    def report(self, key: str, code: str, sentence: str, hint: str = "") -> None:
        """Report an error at the place of the key."""
        self.findings.append(Finding(self.own.get(key, self.where), code, sentence, hint))

    def warn(self, key: str, code: str, sentence: str) -> None:
        """Report a warning at the place of the key."""
        where = self.own.get(key, self.where)
        self.findings.append(Finding(where, code, sentence, severity=Severity.WARNING))


def merged(layers: Sequence[Mapping[str, Plain]]) -> dict[str, Plain]:
    """Merge layers, the most specific last. Mappings merge by key, other values are replaced.

    The hooks of all layers run. `retention` counts as one setting: a rule of the layer above would
    keep more than intended.
    """
    result: dict[str, Plain] = {}
    for layer in layers:
        for key, value in layer.items():
            if key == HOOKS:
                value = _both_hooks(result.get(key), value)  # noqa: PLW2901
            elif key == "grants":
                value = _both_grants(result.get(key), value)  # noqa: PLW2901
            elif key in _MAPPINGS:
                value = {**mapping_of(result.get(key)), **mapping_of(value)}  # noqa: PLW2901
            result[key] = value
    return result


def shown_config(settings: Mapping[str, Plain], above: str = "") -> dict[str, str]:
    """Return the settings as flat texts, lists joined by commas, for the selector `config.KEY:`.

    >>> shown_config({"tags": ["a", "b"], "meta": {"owner": "x"}})
    {'tags': 'a,b', 'meta.owner': 'x'}
    """
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= shown_config(value, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = ",".join(texts_of(value))
    return flat

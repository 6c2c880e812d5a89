"""The keys of checks by type, and checks taken out of YAML as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from penstock.core.check_type import CheckType, check_types
from penstock.core.findings import Location
from penstock.project.files.cache import packed, unpacked
from penstock.project.files.nodes import Keys, YamlNode, node_of
from penstock.project.files.parsed import (
    Packed,
    Spots,
    YamlFile,
    is_outside,
    is_path,
    path_from,
    place_key,
)
from penstock.project.files.values import Path, Plain, list_of, mapping_of

WITH_CHECKS = ("checks", "invariants")
"""The keys under which checks stand: the second is another word for the first."""
PHASES = ("before", "after")
FAILING = ("mostly", "warn_if", "error_if", "limit", "store_failures")
"""What may be said of the rows that fail: how many are too many, and where they are kept."""
_SHOWN = ("name", "type", "severity", "description", "tags", "meta", "enabled", "sample", *FAILING)
_ROWS = ("where", "input", "query", "scope", "empty")
_ALIASES = {"column": "columns", "field": "fields", "source": "query"}
CHECK_KEYS = (*WITH_CHECKS, "on_failure")
"""The settings of a model that say something of its checks."""
TESTS = ("tests", "data_tests")
CHECKS: Plain = {"$ref": "#/$defs/checks"}
"""The schema of what stands under `checks:`, in files of schemas that define it."""
_KEPT = (*WITH_CHECKS, *TESTS, "columns", "config")


def keys_of(kind: type[CheckType]) -> Keys:
    """Return the keys of a check type: those of every check, of its rows, and its own."""
    own = [each.name for each in kind.keys]
    needed = tuple(each.name for each in kind.keys if each.needed)
    known = (*_SHOWN, *(_ROWS if kind.takes_rows else ("empty",)), *own)
    aliases = {alias: key for alias, key in _ALIASES.items() if key in known}
    return Keys(known, needed, aliases)


def key_descriptions() -> dict[str, Plain]:
    """Return what each key of the check types says, as `project/keys/` has it."""
    return {key.name: key.description for kind in check_types().values() for key in kind.keys}


def canonical(key: str) -> str:
    """Return the one name of a key of any type: `column` is `columns`."""
    return _ALIASES.get(key, key)


def check_schema() -> dict[str, Plain]:
    """Return the JSON Schema of one check of any type, for editors; loading checks more."""
    all_keys = map(keys_of, check_types().values())
    keys = {key for each in all_keys for key in (*each.known, *each.aliases)}
    known: dict[str, Plain] = {key: {} for key in sorted(keys)}
    known["type"] = {"enum": list(check_types())}
    known["severity"] = {"enum": ["error", "warning", "warn"]}
    known["scope"] = {"enum": ["step", "table"]}
    known["empty"] = {"enum": ["pass", "fail"]}
    return {"type": "object", "properties": known}


def checks_schema(check: Plain = None) -> dict[str, Plain]:
    """Return the JSON Schema of what stands under `checks:`; `check` stands for one of them."""
    check = check or check_schema()
    listed: Plain = {"type": "array", "items": check}
    phases: dict[str, Plain] = dict.fromkeys(PHASES, listed)
    phases["on_failure"] = {"enum": ["flag", "block", "rollback"]}
    return {"anyOf": [listed, {"type": "object", "properties": phases}]}


def without_checks(file: YamlFile) -> YamlFile:
    """Take the checks of models, seeds and source tables out of a tree: the file has them."""
    texts: dict[str, Packed] = {}
    named: dict[str, None] = {}

    def take(holder: Mapping[str, Plain], key: str, above: Path = ()) -> dict[str, Plain]:
        entries, found = holder.get(key), list[Plain]()
        if not isinstance(entries, list):
            return dict(holder)
        for index, entry in enumerate(entries):
            rest, checks = _split(entry) if isinstance(entry, Mapping) else (entry, {})
            if checks:
                at = place_key((*above, key, index))
                kept = [_below(at, spots) for spots in (file.places, file.keys)]
                text = json.dumps([checks, *kept], separators=(",", ":"), ensure_ascii=False)
                texts[at] = packed(text)
                named.update(dict.fromkeys(named_in(file.path, checks)))
            found.append(rest)
        return {**holder, key: found}

    tree = take(take(take(mapping_of(file.tree), "models"), "snapshots"), "seeds")
    if isinstance(tree.get("sources"), list):
        tree["sources"] = [
            take(source, "tables", ("sources", index)) if isinstance(source, Mapping) else source
            for index, source in enumerate(list_of(tree["sources"]))
        ]
    return replace(file, tree=tree, checks=texts, named=tuple(named))


def checks_at(file: YamlFile, at: Path, filled: Callable[[Plain], Plain]) -> YamlNode:
    """Return the checks of an entry that has some; `filled` puts the environment's values in."""
    tree, places, keys = json.loads(unpacked(file.checks[place_key(at)]))
    around = file.place(*at)
    own = YamlFile(file.path, places={"": (around.line, around.column), **places}, keys=keys)
    return node_of(filled(tree) if file.reads else tree, own.spot)


def named_in(path: str, tree: Plain) -> Iterator[str]:
    """Yield the SQL files that the checks of a file name."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if key in ("sql", "query", "source") and isinstance(value, str) and is_path(value):
                found = path_from(Location(path), value)
                if not is_outside(found):
                    yield found
            yield from named_in(path, value)
    for item in list_of(tree):
        yield from named_in(path, item)


def _split(entry: Mapping[str, Plain]) -> tuple[dict[str, Plain], dict[str, Plain]]:
    checks = {key: entry[key] for key in (*WITH_CHECKS, *TESTS) if key in entry}
    rest = {key: value for key, value in entry.items() if key not in checks}
    config = mapping_of(entry.get("config"))
    inner = {key: config[key] for key in CHECK_KEYS if key in config}
    if inner:
        checks["config"] = inner
        rest["config"] = {key: value for key, value in config.items() if key not in inner}
    columns = list_of(entry.get("columns"))
    if any(key in mapping_of(column) for column in columns for key in TESTS):
        checks["columns"] = [
            {key: column[key] for key in ("name", *TESTS) if key in column}
            if isinstance(column, Mapping)
            else None  # what is no column is a misfit of the file
            for column in columns
        ]
    return rest, checks


def _below(above: str, spots: Spots) -> Spots:
    start = f"{above}\n"
    inside = ((key.removeprefix(start), at) for key, at in spots.items() if key.startswith(start))
    return {key: at for key, at in inside if key.partition("\n")[0] in _KEPT}

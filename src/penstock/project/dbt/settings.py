"""dbt_project.yml and the target of profiles.yml: of a profile, only names are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from penstock.core.findings import Finding, Location
from penstock.project.dbt.editing.yaml_edits import child, compose, line_of, pairs, plain
from penstock.project.dbt.notes import FileLog, RefusedProjectError
from penstock.project.files.values import Plain, list_of, mapping_of, text_of, texts_of

NODES = ("models", "seeds", "snapshots")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAPPINGS = {"meta", "grants", "persist_docs", "tblproperties", "column_types", "contract"}
_MAPPINGS |= {"docs", "table_properties", "databricks_tags", "snapshot_meta_column_names"}
_PATHS = {
    "model-paths": ("source-paths", ["models"]),
    "seed-paths": ("data-paths", ["seeds"]),
    "test-paths": ("", ["tests"]),
    "macro-paths": ("", ["macros"]),
    "snapshot-paths": ("", ["snapshots"]),
    "analysis-paths": ("", ["analyses"]),
}
_SILENT = {
    **dict.fromkeys(
        ("target-path", "log-path", "clean-targets", "packages-install-path", "asset-paths"),
        "penstock keeps its own files in .penstock/",
    ),
    "config-version": "it is the version of dbt's format",
    "version": "a project of penstock has no version of its own",
    "require-dbt-version": "it is about dbt",
    "query-comment": "commits carry the step and the run instead",
    "flags": "they are switches of dbt",
    "quoting": "names are quoted where they need it",
    "docs-paths": "blocks of docs are in the descriptions",
    "profile": "its target is a target of penstock.yml",
    "dispatch": "macros of packages are found in packages/",
    "dbt-cloud": "it is about dbt Cloud",
    "name": "",
}
_BY_HAND = {
    **dict.fromkeys(
        ("metrics", "semantic-models", "saved-queries", "functions"),
        "penstock has no semantic layer",
    ),
    **dict.fromkeys(("tests", "data_tests", "data-tests"), "write the settings at each test"),
    "sources": "write the settings at each source",
    "exposures": "write the settings at each exposure",
    "unit_tests": "write the settings at each unit test",
    "restrict-access": "the access of models is checked always",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings of dbt_project.yml for a folder, or one file, below the folders of a kind."""

    folder: tuple[str, ...]
    values: Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class DbtSettings:
    """What dbt_project.yml says."""

    name: str
    profile: str
    paths: Mapping[str, tuple[str, ...]]
    vars: Mapping[str, Plain]
    trees: Mapping[str, Mapping[str, Plain]]
    hooks: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, int] = field(default_factory=dict)
    """By the path of a key, such as `models.shop.+tags`."""

    def layers(self, kind: str, package: str) -> list[Layer]:
        """Return the settings of a kind of node, of all packages first, then of one."""
        tree = self.trees.get(kind, {})
        own = mapping_of(tree.get(package))
        return [
            Layer((), _settings(tree, is_top=True)),
            *(Layer(at, values) for at, values in _folders(own, ())),
        ]

    def flat(self, kind: str) -> Iterator[tuple[str, str]]:
        """Yield each key below a kind as written, with the name of its setting, "" of a folder."""
        yield from _flat(self.trees.get(kind, {}), kind)


def read_settings(path: str, text: str) -> tuple[DbtSettings, FileLog]:
    """Read dbt_project.yml; raise `RefusedProjectError` where dbt refuses it, too."""
    root, problem = compose(path, text)
    if problem is not None:
        raise RefusedProjectError([problem])
    tree = mapping_of(plain(root))
    name = text_of(tree.get("name"))
    if not _NAME.fullmatch(name):
        sentence = f"name: {name!r} is not the name of a dbt project" if name else "name is missing"
        hint = "write name: NAME with letters, digits and _"
        raise RefusedProjectError([Finding(Location(path), "bad-value", sentence, hint)])
    log = FileLog()
    paths = {
        key: tuple(text.strip("/") for text in texts_of(tree.get(key) or tree.get(old) or usual))
        for key, (old, usual) in _PATHS.items()
    }
    for key, node, value in pairs(root):
        _note_key(log, key, line_of(node), value)
    hooks = {key: texts_of(tree.get(key)) for key in ("on-run-start", "on-run-end")}
    given = mapping_of(tree.get("vars"))
    own = mapping_of(given.get(name))
    variables = {**{key: value for key, value in given.items() if key != name or not own}, **own}
    trees = {kind: mapping_of(tree.get(kind)) for kind in NODES}
    profile = text_of(tree.get("profile"))
    return DbtSettings(name, profile, paths, variables, trees, hooks, dict(_lines(root, ""))), log


def _lines(node: yaml.Node | None, above: str) -> Iterator[tuple[str, int]]:
    for key, place, value in pairs(node):
        yield f"{above}{key}", line_of(place)
        yield from _lines(value, f"{above}{key}.")


def _note_key(log: FileLog, key: str, line: int, value: yaml.Node) -> None:
    olds = {old for old, _ in _PATHS.values()}
    if key in _SILENT:
        if _SILENT[key]:
            log.drop(key, _SILENT[key], line)
        else:
            log.take(key, line)
    elif key in _BY_HAND:
        log.hand(key, _BY_HAND[key], line)
    elif key in _PATHS or key in olds:
        log.change(key, "folders of penstock have fixed names, those of models are listed", line)
    elif key == "vars":
        for name, node, _ in pairs(value):
            log.take(f"vars.{name}", line_of(node))
    elif key in ("on-run-start", "on-run-end"):
        word = "before" if key == "on-run-start" else "after"
        log.change(key, f"it is hooks: {word}: of penstock.yml", line)
    elif key not in NODES:
        log.hand(key, "penstock does not know this key", line)


def setting_name(key: str) -> str:
    """Return the name of a setting: without the plus, with underscores."""
    return key.removeprefix("+").replace("-", "_")


def _is_setting(key: str, value: Plain) -> bool:
    is_mapping = isinstance(value, Mapping) and setting_name(key) not in _MAPPINGS
    return key.startswith("+") or not is_mapping


def _settings(tree: Mapping[str, Plain], *, is_top: bool = False) -> dict[str, Plain]:
    return {
        setting_name(key): value
        for key, value in tree.items()
        if (key.startswith("+") if is_top and isinstance(value, Mapping) else True)
        and _is_setting(key, value)
    }


def _folders(
    tree: Mapping[str, Plain], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, Plain]]]:
    """Yield every folder that has settings, an outer one before those in it."""
    own = _settings(tree)
    if own:
        yield above, own
    for key, value in tree.items():
        if not _is_setting(key, value):
            yield from _folders(mapping_of(value), (*above, key))


def _flat(tree: Mapping[str, Plain], above: str) -> Iterator[tuple[str, str]]:
    for key, value in tree.items():
        if _is_setting(key, value):
            yield f"{above}.{key}", setting_name(key)
        else:
            yield from _flat(mapping_of(value), f"{above}.{key}")


@dataclass(frozen=True, slots=True)
class DbtTarget:
    """The names of one output of a profile; "" for what is not known."""

    name: str = ""
    adapter: str = ""
    schema: str = ""
    catalog: str = ""


def read_profile(text: str, profile: str, target: str) -> DbtTarget | None:
    """Return the names of a profile's target; None if it is not there.

    Nothing else of the file is read: no message may contain any of its text.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    held = child(root, profile)
    outputs = child(held, "outputs")
    asked = target or _name_in(child(held, "target"))
    names = [name for name, _, _ in pairs(outputs)]
    chosen = asked if asked in names else (names[0] if len(names) == 1 else "")
    output = child(outputs, chosen) if chosen else None
    if output is None:
        return None
    said = {key: _name_in(child(output, key)) for key in ("type", "schema", "catalog")}
    return DbtTarget(chosen, said["type"], said["schema"], said["catalog"])


_TEMPLATE = re.compile(
    r"""[\w-]*\{\{\s*env_var\(\s*['"]\w+['"]\s*(?:,\s*['"][\w-]*['"]\s*)?\)\s*\}\}[\w-]*"""
)
_DEFAULT = re.compile(r"""\{\{\s*env_var\(\s*['"]\w+['"]\s*,\s*['"]([\w-]+)['"]\s*\)\s*\}\}""")
_PLAIN = re.compile(r"[\w.-]+")


def _name_in(node: yaml.Node | None) -> str:
    """Return a scalar that is a name, or a call of `env_var` that gives one; else ""."""
    if not isinstance(node, yaml.ScalarNode):
        return ""
    value = _DEFAULT.sub(lambda found: found[1], str(node.value)).strip()
    return value if _PLAIN.fullmatch(value) or _TEMPLATE.fullmatch(value) else ""


def hooks_of(written: Plain) -> list[str]:
    """Return the statements of hooks: texts, or mappings with `sql`."""
    many: Sequence[Plain] = [written] if isinstance(written, str | Mapping) else list_of(written)
    said = (each.get("sql") if isinstance(each, Mapping) else each for each in many)
    return [text_of(each).strip().rstrip(";") for each in said if text_of(each).strip()]

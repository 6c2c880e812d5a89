"""Settings of folders: those of dbt_project.yml as `defaults` of penstock.yml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.project.dbt.gather import DbtNode, NodeKind, Package
from penstock.project.dbt.naming import Naming, UnknownValueError
from penstock.project.dbt.notes import Fate, FileLog, Note
from penstock.project.dbt.rules import SettingRule, rule_for
from penstock.project.dbt.settings import hooks_of
from penstock.project.files.values import Plain, mapping_of, text_of, texts_of

_HOOKS = {"pre_hook": "before", "post_hook": "after"}
_SNAPSHOTS = "snapshot-paths"
_FOLDERS = {"models": "model-paths", "snapshots": _SNAPSHOTS}
_ADDED = {"tags", "hooks", "meta", "grants"}
"""Settings that dbt adds to those of other layers."""
_RESET: Mapping[str, Plain] = {
    "materialized": "view",
    "tags": [],
    "enabled": True,
    "partition_by": [],
    "cluster_by": [],
}
"""What a folder of a package says where the project's own settings would reach it."""


@dataclass(slots=True)
class Defaults:
    """Settings by folder of the new project, which ends with `/`; `schema` is that of all."""

    schema: str
    folders: dict[str, dict[str, Plain]] = field(default_factory=dict)

    def effective(self, path: str, key: str) -> Plain:
        """Return the setting of a file by its path: the deepest folder wins."""
        found: Plain = self.schema if key == "schema" else None
        for folder in sorted(self.folders, key=len):
            if path.startswith(folder) and key in self.folders[folder]:
                found = self.folders[folder][key]
        return found


def folder_defaults(
    packages: Sequence[Package], nodes: Sequence[DbtNode], naming: Naming, log: FileLog
) -> Defaults:
    """Return the settings of folders, and record what happened to each key of dbt_project.yml."""
    own = next(each for each in packages if each.is_own)
    result = Defaults(_schema(naming, "", log, ""))
    for package in packages:
        naming.package = package.name
        for kind, key in _FOLDERS.items():
            projects = (package,) if package.is_own else (package, own)
            for project in projects:
                for layer in project.settings.layers(kind, package.name):
                    if not _is_node(nodes, package, kind, layer.folder):
                        said = _settings(layer.values, naming)
                        over = project is not package
                        _add(result, package.places(key, layer.folder), said, over=over)
        if not package.is_own:
            _reset(result, package)
    naming.package = own.name
    result.folders = {place: held for place, held in result.folders.items() if held}
    for kind in _FOLDERS:
        for what, name in own.settings.flat(kind):
            rule = rule_for(name, _at(own.settings.trees, what))
            log.add(_note(own.settings.lines.get(what, 1), what, rule))
    for what, name in own.settings.flat("seeds"):
        rule = rule_for(name, _at(own.settings.trees, what))
        why = "seeds have no settings of folders: it is in the YAML of each" if rule.name else ""
        fate = Fate.CHANGED if rule.name else rule.fate
        log.add(Note(own.settings.lines.get(what, 1), what, fate, why or rule.why))
    return result


def _is_node(
    nodes: Sequence[DbtNode], package: Package, kind: str, folder: tuple[str, ...]
) -> bool:
    """Return whether the settings are those of one model by its name."""
    return any(
        each.package == package.name
        and each.tree == kind
        and folder
        and (*each.folder, each.name) == folder
        for each in nodes
    )


def _at(trees: Mapping[str, Mapping[str, Plain]], what: str) -> Plain:
    found: Plain = trees
    for name in what.split("."):
        found = mapping_of(found).get(name)
    return found


def _note(line: int, what: str, rule: SettingRule) -> Note:
    if rule.name and rule.fate is Fate.TAKEN:
        return Note(line, what, Fate.CHANGED, "it is under defaults: of penstock.yml")
    return Note(line, what, rule.fate, rule.why)


def _settings(values: Mapping[str, Plain], naming: Naming) -> dict[str, Plain]:
    """Return the settings of a layer as they are called here."""
    said: dict[str, Plain] = {}
    for name, value in values.items():
        rule = rule_for(name, naming.rendered(value))
        if rule.name in _HOOKS:
            hooks = {**mapping_of(said.get("hooks")), _HOOKS[rule.name]: hooks_of(value)}
            said["hooks"] = hooks
        elif rule.name == "schema":
            custom = text_of(rule.value)
            is_whole = name == "target_schema"
            said["schema"] = custom if is_whole else _schema(naming, custom, None, name)
        elif rule.name:
            said[rule.name] = rule.value
    return said


def _add(
    result: Defaults, places: Sequence[str], settings: Mapping[str, Plain], *, over: bool
) -> None:
    """Add settings to folders; with `over` they win over those of folders below, as in dbt."""
    for place in places if settings else ():
        known, said = result.folders.setdefault(place, {}), {**settings}
        if "tags" in said:
            above = texts_of(result.effective(place, "tags"))
            said["tags"] = list(dict.fromkeys((*above, *texts_of(said["tags"]))))
        known |= said
        below = (each for each in result.folders if each != place and each.startswith(place))
        for each in below if over else ():
            for name in said.keys() - _ADDED:
                result.folders[each].pop(name, None)


def _schema(naming: Naming, custom: str, log: FileLog | None, what: str) -> str:
    node: Mapping[str, Plain] = {"name": "", "resource_type": "model", "fqn": [], "config": {}}
    try:
        return naming.schema(custom, node)
    except UnknownValueError:
        if log is not None:
            why = "this macro runs only in dbt; write the schema of each model"
            log.hand("generate_schema_name", why)
        return f"{naming.target.schema}_{custom}" if custom and what else naming.target.schema


def _reset(result: Defaults, package: Package) -> None:
    """Keep settings of the project's own models from those of a package."""
    place = f"models/packages/{package.name}/"
    held = result.folders.get(place, {})
    outer = {
        key for root in ("models/", "models/packages/") for key in result.folders.get(root, {})
    }
    more = {key: _RESET[key] for key in outer if key in _RESET and key not in held}
    if more:
        result.folders[place] = {**held, **more}


def decide_names(
    node: DbtNode, info: Mapping[str, Plain], custom: tuple[str, str], naming: Naming
) -> tuple[str, str]:
    """Return the schema and the name that dbt gives to the table of a node.

    `custom` are the schema and alias of its settings. Raises `UnknownValueError`.
    """
    described = {
        "resource_type": "seed" if node.kind is NodeKind.SEED else "model",
        "package_name": node.package,
        "path": "/".join((*node.folder, node.path.rpartition("/")[2])),
        "original_file_path": node.path,
        "fqn": [node.package, *node.folder, node.name],
        **info,
    }
    return naming.schema(custom[0], described), naming.alias(custom[1], described)

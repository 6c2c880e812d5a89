"""Versions of a model as dbt writes them: a file each, and a model `NAME.vN` each.

They are not the dated versions of penstock's own YAML models (docs/drift.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.core.findings import Finding
from penstock.project.checks.phases import Phases
from penstock.project.checks.scene import WrittenChecks, written_in_yaml
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import Plain, list_of, mapping_of, text_of, texts_of
from penstock.project.settings.project import YamlEntry

_OF_MODEL = ("versions", "latest_version")


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """One version of the model `base`. `entry` is that of the model with the version's own keys.

    `left_out` are the columns of the model that it does not have, in lower case; `own` is the path
    to it in the file of its entry.
    """

    base: str
    number: str
    entry: YamlEntry
    own: tuple[str | int, ...]
    is_latest: bool = False
    left_out: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Its name as a model."""
        return f"{self.base}.v{self.number}"

    def checks(self, fill: Callable[[Plain], Plain]) -> tuple[WrittenChecks, ...]:
        """Return the checks of the model, without those of columns left out, and its own."""
        file = self.entry.file
        shared = written_in_yaml(file, self.entry.path, fill)
        if shared is not None and self.left_out:
            read = shared.read
            shared = WrittenChecks(
                f"{shared.fingerprint}\n{sorted(self.left_out)}",
                lambda findings: self._without_lost_columns(read(findings)),
            )
        return tuple(filter(None, (shared, written_in_yaml(file, self.own, fill))))

    def _without_lost_columns(self, phases: Phases) -> Phases:
        after = tuple(node for node in phases.after if not self._is_left_out(node))
        return replace(phases, after=after)

    def _is_left_out(self, node: YamlNode) -> bool:
        member = node.members.get("column") or node.members.get("columns")
        items = (member.node.items or (member.node,)) if member else ()
        return any(str(each.value).lower() in self.left_out for each in items)


def model_versions(
    descriptions: dict[str, YamlEntry], stems: Mapping[str, str], findings: list[Finding]
) -> dict[str, ModelVersion]:
    """Return the versions of models by their files; their entries are taken from `descriptions`.

    `stems` maps the name of a file without `.sql` to its path.
    """
    found: dict[str, ModelVersion] = {}
    for base, entry in [*descriptions.items()]:
        versions = [*_versions(base, entry)]
        for each in versions:
            said = text_of(mapping_of(_tree(entry, each.own)).get("defined_in"))
            usual = (f"{base}_v{each.number}", *((base,) if each.is_latest else ()))
            stem = next((name for name in ((said,) if said else usual) if name in stems), "")
            if stem and stems[stem] not in found:
                found[stems[stem]] = each
                continue
            wanted = said or usual[0]
            sentence = f"version {each.number} of {base!r} has no file of its own: {wanted}.sql"
            hint = "write it, or name its file with defined_in"
            where = entry.file.place(*each.own)
            findings.append(Finding(where, "unknown-model", sentence, hint))
        if versions:
            del descriptions[base]
    return found


def _tree(entry: YamlEntry, own: tuple[str | int, ...]) -> Plain:
    return list_of(entry.tree.get("versions"))[int(own[-1])]


def _versions(base: str, entry: YamlEntry) -> Iterator[ModelVersion]:
    trees = [mapping_of(each) for each in list_of(entry.tree.get("versions"))]
    numbers = [text_of(each.get("v")) for each in trees]
    latest = text_of(entry.tree.get("latest_version")) or max(numbers, key=_rank, default="")
    for index, (tree, number) in enumerate(zip(trees, numbers, strict=True)):
        if not number:
            continue
        columns, left_out = _columns(entry, tree)
        shared, its = (mapping_of(each.get("config")) for each in (entry.tree, tree))
        config: dict[str, Plain] = {**shared, **its}
        tags = dict.fromkeys((*texts_of(shared.get("tags")), *texts_of(its.get("tags"))))
        config |= {"tags": [*tags]} if tags else {}
        config.setdefault("alias", f"{base}_v{number}")
        rest = {key: each for key, each in entry.tree.items() if key not in _OF_MODEL}
        mine = {key: each for key, each in tree.items() if key not in ("columns", "config")}
        merged = replace(entry, tree={**rest, **mine, "config": config, "columns": columns})
        own = (*entry.path, "versions", index)
        yield ModelVersion(base, number, merged, own, number == latest, left_out)


def _rank(number: str) -> tuple[bool, int, str]:
    """Return the order of versions: numbers by value, words before them."""
    return number.isdigit(), int(number) if number.isdigit() else 0, number


def _columns(entry: YamlEntry, version: Mapping[str, Plain]) -> tuple[list[Plain], frozenset[str]]:
    """Return the columns of a version, and those of the model that it does not have as they are."""
    shared = [mapping_of(each) for each in list_of(entry.tree.get("columns"))]
    own = [mapping_of(each) for each in list_of(version.get("columns"))]
    rule = next((each for each in own if "include" in each or "exclude" in each), None)
    own = [each for each in own if each.get("name")]
    mine = {text_of(each.get("name")).lower() for each in own}
    if rule is None and not own:
        return [*shared], frozenset()
    said = rule.get("include", "all") if rule else []
    asked = {name.lower() for name in texts_of(said)}
    without = {name.lower() for name in texts_of(rule.get("exclude"))} if rule else set[str]()
    is_all = text_of(said) in ("all", "*") if not isinstance(said, list) else False
    names = [text_of(each.get("name")).lower() for each in shared]
    kept = [n for n in names if (is_all or n in asked) and n not in without and n not in mine]
    left_out = frozenset(name for name in names if name not in kept)
    return [*(each for each, n in zip(shared, names, strict=True) if n in kept), *own], left_out

"""penstock.yml of an imported project, and its report as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.project.dbt.defaults import Defaults
from penstock.project.dbt.editing.yaml_edits import scalar
from penstock.project.dbt.gather import Package
from penstock.project.dbt.notes import Fate, FileLog, ImportedProject
from penstock.project.dbt.settings import DbtTarget, hooks_of
from penstock.project.files.values import Plain, mapping_of

_HOOKS = {"on-run-start": "before", "on-run-end": "after"}


def project_text(
    own: Package, target: DbtTarget, defaults: Defaults, folders: Sequence[str], log: FileLog
) -> str:
    """Return penstock.yml."""
    settings = own.settings
    lines = [f"# From dbt_project.yml of the dbt project {own.name}.", f"name: {own.name}"]
    lines += ["version: 1", f"models: {scalar(folders or ['models'])}"]
    lines += ["", "vars:"] * bool(settings.vars)
    lines += (f"  {scalar(key)}: {scalar(value)}" for key, value in settings.vars.items())
    lines += ["", "defaults:", "  # The schema of the target in profiles.yml."]
    lines.append(f"  schema: {scalar(defaults.schema)}")
    for folder, values in defaults.folders.items():
        lines.append(f"  {folder}:")
        lines += (f"    {key}: {_line(value)}" for key, value in values.items())
    hooks = {word: hooks_of(list(settings.hooks[key])) for key, word in _HOOKS.items()}
    if any(hooks.values()):
        lines += ["", "hooks:"]
        lines += (f"  {word}: {scalar(said)}" for word, said in hooks.items() if said)
    name = target.name or "dev"
    lines += ["", "targets:", f"  {scalar(name)}:"]
    lines.append("    # The folder with a folder per schema. To adopt tables, name theirs.")
    lines.append("    warehouse: warehouse")
    if target.adapter == "spark":
        lines += [
            "    # dbt-spark turns ANSI mode off. Without this, a cast that fails is an error.",
            '    spark: {conf: {spark.sql.ansi.enabled: "false"}}',
        ]
    if target.catalog and target.catalog not in ("hive_metastore", "spark_catalog"):
        why = f"the profile names the catalog {target.catalog}: write catalog: once Spark knows it"
        log.hand("profile.catalog", why)
    return "\n".join(lines) + "\n"


def _line(value: Plain) -> str:
    return scalar(dict(mapping_of(value))) if isinstance(value, Mapping) else scalar(value)


def page_of(project: ImportedProject) -> str:
    """Return the report as Markdown: counts, what needs a hand, then every file."""
    lines = [f"# Import of {project.name} from dbt", "", *counts(project), ""]
    by_hand = [(f, n) for f in project.sources for n in f.notes if n.fate is Fate.BY_HAND]
    if by_hand:
        lines += ["## To do by hand", ""]
        lines += [f"- `{f.source}:{n.line}` `{n.what}`: {n.why}" for f, n in by_hand]
        lines.append("")
    lines += ["## Files", ""]
    for each in project.sources:
        to = ", ".join(f"`{target}`" for target in each.targets) or "not written"
        lines += [f"### `{each.source}`", "", f"{each.kind}: {to}", ""]
        rest = [note for note in each.notes if note.fate is not Fate.TAKEN]
        taken = len(each.notes) - len(rest)
        lines += [f"- {n.fate}: line {n.line}, `{n.what}`: {n.why}" for n in rest]
        lines += [f"- {taken} parts are as they were"] * bool(taken)
        lines.append("")
    return "\n".join(lines)


def counts(project: ImportedProject) -> list[str]:
    """Return a line per kind of file: how many are unchanged, changed, or need a hand."""
    found = []
    for kind in dict.fromkeys(each.kind for each in project.sources):
        held = project.count(kind)
        said = ", ".join(f"{held[fate]} {_WORDS[fate]}" for fate in Fate if held.get(fate))
        found.append(f"- {kind}: {sum(held.values())} ({said})")
    return found


_WORDS = {
    Fate.TAKEN: "unchanged",
    Fate.CHANGED: "changed",
    Fate.DROPPED: "left out",
    Fate.BY_HAND: "to do by hand",
}

"""Hooks, grants, groups and exposures: what files say around models, once all names are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.core.beside.exposures import Access, Contact, Exposure, ModelGroup
from penstock.core.beside.hooks import Grant, Hook, Hooks
from penstock.core.findings import Finding, Location, Severity
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.project.checks.kept import Edge, order_edges
from penstock.project.files.nodes import TemplateText
from penstock.project.files.values import (
    Plain,
    did_you_mean,
    mapping_of,
    pairs_of,
    switch_of,
    text_of,
    texts_of,
)
from penstock.project.linking import LinkedFiles
from penstock.project.models import Draft
from penstock.project.settings.config import HOOKS, hook_texts
from penstock.project.settings.project import YamlEntry
from penstock.project.sql.names import QueryOwner, input_named, link
from penstock.project.versioned.model import VersionedModel


def attach_hooks(files: LinkedFiles) -> LinkedFiles:
    """Attach hooks, grants and groups to models; read the exposures and the project's hooks."""
    parsed, findings = files.parsed, files.parsed.findings
    groups = {name: _group_of(each) for name, each in parsed.described("groups").items()}
    models = {name: _around(files, model, groups) for name, model in files.models.items()}
    files = replace(files, models=_ordered(files, models), groups=groups)
    where, written = parsed.document.place(HOOKS), parsed.settings.written_hooks
    own = _HookReading(files, None, where).hooks(written)
    exposures = {
        name: each
        for name, entry in parsed.described("exposures").items()
        if (each := _exposure(files, entry)) is not None
    }
    findings += _private_reads(files, exposures)
    return replace(files, hooks=own, exposures=exposures)


def _around(files: LinkedFiles, model: Model, groups: Mapping[str, ModelGroup]) -> Model:
    """Return a model with its hooks, its grants and its group."""
    draft, findings = files.drafts[model.name], files.parsed.findings
    settings = _settings(draft)
    if settings.keys().isdisjoint((HOOKS, "grants", "group", "access")):
        return model
    hooks = _HookReading(files, draft, _place(draft, HOOKS)).hooks(mapping_of(settings.get(HOOKS)))
    group = "" if model.entity else text_of(settings.get("group"))  # theirs is for selectors
    said = text_of(settings.get("access"))
    access = Access(said) if said in tuple(Access) else Access.PROTECTED
    if group and group not in groups:
        hint = did_you_mean(group, groups) or f"declare it under groups: - name: {group}"
        sentence = f"no group is called {group!r}"
        findings.append(Finding(_place(draft, "group"), "unknown-group", sentence, hint))
    if access is Access.PRIVATE and not group:
        sentence = f"{model.name} is private and in no group, so no model may read it"
        hint = "write group: with the group that may read it, or access: protected"
        findings.append(Finding(_place(draft, "access"), "private-model", sentence, hint))
    grants = None if "grants" not in settings else _grants(files, draft)
    return replace(model, hooks=hooks, grants=grants, group=group, access=access)


def _settings(draft: Draft) -> Mapping[str, Plain]:
    """Return the settings of a model, as far as this module reads them."""
    if not isinstance(draft, VersionedModel):
        return draft.config.settings
    section, hooks = draft.draft.section, draft.draft.section.hooks
    settings: dict[str, Plain] = {"group": section.group, "access": section.access}
    if hooks is not None:
        settings[HOOKS] = {"before": [*hooks.before], "after": [*hooks.after]}
    settings = {key: value for key, value in settings.items() if value}
    if section.find("grants") is not None:
        settings["grants"] = {key: [*names] for key, names in section.grants.items()}
    return settings


def _place(draft: Draft, key: str) -> Location:
    """Return the place of a setting, or of the model if its own files do not have it."""
    if isinstance(draft, VersionedModel):
        return draft.draft.section.place(key)
    return draft.config.own.get(key, draft.where)


def _grants(files: LinkedFiles, draft: Draft) -> tuple[Grant, ...]:
    if not files.target.catalog:
        sentence = f"grants of {draft.name} have no effect: target {files.target.name} has no"
        sentence += " catalog, and files have no rights of their own"
        hint = "set catalog: for the target, or grant rights on the folder"
        where, warning = _place(draft, "grants"), Severity.WARNING
        finding = Finding(where, "grants-without-catalog", sentence, hint, warning)
        files.parsed.findings.append(finding)
    asked = mapping_of(_settings(draft).get("grants")).items()
    return tuple(
        sorted(
            {Grant(key.strip().lower(), who) for key, value in asked for who in texts_of(value)},
            key=lambda each: (each.privilege, each.grantee),
        )
    )


_RESULTS = "select from the view penstock_results, whose rows are the results of the run"


@dataclass(frozen=True, slots=True)
class _HookReading:
    """Reads the hooks of one model, or of the project."""

    files: LinkedFiles
    draft: Draft | None
    where: Location

    def hooks(self, written: Mapping[str, Plain]) -> Hooks:
        """Return hooks whose tables are known; errors become findings."""
        before, after = (
            tuple(filter(None, map(self._hook, map(text_of, hook_texts(written.get(key))))))
            for key in ("before", "after")
        )
        if self.draft is not None and self.draft.name in self.files.resolver.frames:
            if before or after:
                self._unsupported(
                    f"{self.draft.name} is a frame, which has no step, so its hooks never run",
                    "write them for a table that reads it",
                )
            return Hooks()
        return Hooks(before, after)

    def _hook(self, text: str) -> Hook | None:
        first, where = self.files.parsed.first, self.where
        file = first.check_template(where.path, TemplateText.of(text), where.line, is_hook=True)
        first.findings += (
            replace(each, hint=_RESULTS) if "'results'" in each.sentence else each
            for each in file.findings
        )
        if not file.branches:
            return None
        owner = QueryOwner(where.path, self.draft.reference if self.draft else None)
        linked = link(file.branches, self.files.resolver, owner)
        first.findings += linked.findings
        hook = Hook(linked.query.text, linked.query.incremental, where)
        self._check(hook, {each.name: each for each in hook.inputs})
        return hook if hook.text or hook.incremental else None

    def _check(self, hook: Hook, inputs: Mapping[str, InputName]) -> None:
        """Report tables that the statement cannot name, and rows that it must not change."""
        from penstock.project.sql.hook_sql import changed_table  # only if there are hooks

        for changed in {changed_table(hook.text), changed_table(hook.incremental)} - {""}:
            sentence = f"a hook may not change the table of {changed}: penstock records what made"
            hint = "write it into the query of the model, or change another table"
            code = "hook-changes-rows"
            finding = Finding(self.where, code, f"{sentence} its rows", hint)
            self.files.parsed.findings.append(finding)
        if "this" in inputs and inputs["this"].kind is InputKind.EXTERNAL:
            self._unsupported(
                "`this` is a model's own table, and this hook is the project's", "use ref"
            )
        for name in inputs.values():
            model = self.files.models.get(name.name)
            is_model = name.kind in (InputKind.MODEL, InputKind.THIS)
            if is_model and model is not None and model.is_view and not self.files.target.catalog:
                self._unsupported(
                    f"{name.name} is a view, which no statement can name without a catalog",
                    "name a table, or set catalog: for the target",
                )

    def _unsupported(self, sentence: str, hint: str) -> None:
        finding = Finding(self.where, "hook-not-supported", sentence, hint)
        self.files.parsed.findings.append(finding)


def _ordered(files: LinkedFiles, models: Mapping[str, Model]) -> Mapping[str, Model]:
    """Build what the hooks of a model read before it, unless that is built from it."""
    edges = [
        Edge(name, each.name, moment, hook.where)
        for name, model in models.items()
        for moment, hooks in (("before", model.hooks.before), ("after", model.hooks.after))
        for hook in hooks
        for each in hook.inputs
        if each.kind is InputKind.MODEL and each.name in models and each.name != name
    ]
    if not edges:
        return models
    parents = {name: (*each.depends_on, *each.order_after) for name, each in models.items()}
    order, dropped = order_edges(parents, edges, "hook")
    files.parsed.findings.extend(dropped)
    found = dict(models)
    for name, more in order.items():
        found[name] = replace(found[name], order_after=(*found[name].order_after, *more))
    return found


def _group_of(entry: YamlEntry) -> ModelGroup:
    tree = entry.tree
    about = text_of(tree.get("description")).strip()
    return ModelGroup(entry.name, _owner(tree.get("owner")), entry.where, about)


def _owner(tree: Plain) -> Contact:
    found = pairs_of(tree)
    return Contact(found.get("name", ""), found.get("email", ""))


def _exposure(files: LinkedFiles, entry: YamlEntry) -> Exposure | None:
    """Return an exposure, None for a disabled one; an unknown table is a finding."""
    tree, config = entry.tree, mapping_of(entry.tree.get("config"))
    if switch_of(config.get("enabled", True)) is False:
        return None
    found = []
    for number, written in enumerate(texts_of(tree.get("depends_on"))):
        name, hint = input_named(written, files.resolver, ())
        if name is None:
            where = entry.file.place(*entry.path, "depends_on", number)
            sentence = f"exposure {entry.name} depends on {written}, which is unknown"
            files.parsed.findings.append(Finding(where, "unknown-reference", sentence, hint))
        else:
            found.append(name)
    texts = {k: text_of(tree.get(k)).strip() for k in ("label", "url", "maturity", "description")}
    return Exposure(
        entry.name,
        text_of(tree.get("type")),
        _owner(tree.get("owner")),
        entry.where,
        tuple(each.name for each in found if each.kind is InputKind.MODEL),
        tuple(each.name for each in found if each.kind is InputKind.SOURCE),
        tags=tuple(dict.fromkeys((*texts_of(tree.get("tags")), *texts_of(config.get("tags"))))),
        meta={**pairs_of(config.get("meta")), **pairs_of(tree.get("meta"))},
        **texts,
    )


def _private_reads(files: LinkedFiles, exposures: Mapping[str, Exposure]) -> Iterator[Finding]:
    """Yield a finding for each private model that is read from outside its group."""
    models = files.models
    private = {name for name, each in models.items() if each.access is Access.PRIVATE}
    if not private:
        return
    for name, model in models.items():
        lines, path = files.built[name].parents, files.drafts[name].file.path
        read = (each.name for each in model.inputs if each.kind is InputKind.MODEL)
        for other in sorted(private.intersection({*read, *model.depends_on}) - {name}):
            if not model.group or model.group != models[other].group:
                outside = f"in group {model.group}" if model.group else "in no group"
                where = Location(path, lines.get(other, model.where.line))
                yield _private_read(f"{name}, {outside},", models[other], where)
    for exposure in exposures.values():
        for other in sorted(private.intersection(exposure.models)):
            yield _private_read(f"exposure {exposure.name}", models[other], exposure.where)


def _private_read(reader: str, model: Model, where: Location) -> Finding:
    owner = f"group {model.group}" if model.group else "no group"
    sentence = f"{reader} reads {model.name}, which is private to {owner}"
    hint = f"add the reader to {owner}, or write access: protected for {model.name}"
    return Finding(where, "private-model", sentence, hint)

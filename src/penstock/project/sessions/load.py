"""The packages of a project: read files, check them against each other and their events."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from penstock.core.findings import Finding, Severity
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, is_plain
from penstock.core.sessions.options import (
    BASE_KEYS,
    COST_KEYS,
    LATER_KEYS,
    CarriedColumn,
    Channel,
    Conversion,
    FunnelStep,
    Passthrough,
    SessionOptions,
)
from penstock.core.sessions.package import SessionPackage, package_fingerprint
from penstock.project.checks.scene import KnownColumns
from penstock.project.entities.columns import Expressions
from penstock.project.entities.parts import ExpressionFacts
from penstock.project.files.cache import ParseCache
from penstock.project.files.discovery import PROJECT_FILE
from penstock.project.files.documents import read_document
from penstock.project.files.nodes import YamlNode, node_of
from penstock.project.files.parsed import place_key
from penstock.project.files.values import Plain, did_you_mean, digest, mapping_of
from penstock.project.first_pass import FirstPass
from penstock.project.sessions.columns import carried_findings, column_findings, sql_findings
from penstock.project.sessions.definition import SessionFile, SessionScene, read_package
from penstock.project.sessions.models import SessionDraft, drafts_of_package, tracked_findings
from penstock.project.sessions.variables import (
    PREFIX,
    FilledFile,
    target_keys,
    unknown_packages,
    unknown_variables,
)
from penstock.project.settings.project import Settings
from penstock.project.sql.names import Named, NameResolver

_CACHE = place_key(("sessions", "expressions"))
_FORM = "1"
_VARS = "vars"


@dataclass(slots=True)
class ReadSessions:
    """The packages of a project in the order of the files, without duplicates."""

    files: list[SessionFile] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    expressions: Expressions = field(default_factory=Expressions)
    drafts: list[SessionDraft] = field(default_factory=list)

    @property
    def packages(self) -> dict[str, SessionPackage]:
        """The packages by name."""
        return {each.package.name: each.package for each in self.files}

    def link(self, resolver: NameResolver) -> None:
        """Resolve the events of every package; an unknown name is a finding."""
        for number, file in enumerate(self.files):
            named = _events(file, resolver, self.findings) if file.events else None
            if named is not None:
                self.files[number] = replace(file, package=replace(file.package, events=named))
        for draft in self.drafts:
            draft.settings.package = self.packages[draft.settings.package.name]

    def check_columns(
        self, columns: Callable[[InputName], KnownColumns], cache: ParseCache
    ) -> None:
        """Check every package against the columns of its events, as far as files contain them.

        Afterwards the facts of expressions are complete, so they are cached.
        """
        for file in self.files:
            if file.package.events.kind is not InputKind.EXTERNAL:
                known = columns(file.package.events)
                self.findings += column_findings(file, known, self.expressions.facts)
        if self.expressions.current:
            kept = Expressions(earlier=self.expressions.current)
            cache.keep(_CACHE, digest(_FORM), Expressions, kept)

    def check_models(self, models: Mapping[str, Model]) -> None:
        """Check the models that packages track."""
        for file in self.files:
            self.findings += tracked_findings(file.package, models)
        tags = {file.package.tag for file in self.files}
        for name, model in models.items():
            if model.strategy.replace_by and tags.isdisjoint(model.tags):
                sentence = f"{name!r} has replace_by, and no session package tracks it"
                hint = f"tag it {' or '.join(sorted(tags)) or 'with the tag of a package'}"
                said = ("option-without-effect", sentence, hint, Severity.WARNING)
                self.findings.append(Finding(model.where, *said))


def read_sessions(paths: Sequence[str], settings: Settings, first: FirstPass) -> ReadSessions:
    """Read the files of packages, each separately."""
    kept = first.cache.recall(_CACHE, digest(_FORM), Expressions)
    found = ReadSessions(expressions=Expressions(kept.earlier if kept else {}))
    variables = _variables(settings, first)
    asked = {name: each for name, each in variables.items() if name in settings.asked_vars}
    targets, target = _targets(first), settings.target.name
    of_target = target_keys(targets, target, found.findings)
    scene = SessionScene(settings.name, settings.target.schema_prefix, variables, asked, of_target)
    found.findings += unknown_variables(variables)
    named: dict[str, SessionFile] = {}
    for path in paths:
        file = first.yaml_file(path)
        if file.tree is None:
            if all(each.where.path != path for each in first.findings):  # none says why
                hint = "write a package, or delete the file"
                empty = Finding(file.place(), "empty-file", "the file is empty", hint)
                found.findings.append(empty)
            continue
        tree = _filled(first, path, settings, found.findings)
        read = read_package(node_of(tree, file.spot), scene, found.findings)
        if read is None:
            continue
        name, where = read.package.name, read.package.where
        known = named.setdefault(name, read)
        if known is read:
            found.files.append(read)
        else:
            sentence = f"package {name!r} is defined here and at {known.package.where}"
            hint = "its name begins those of its tables; rename one"
            found.findings.append(Finding(where, "duplicate-model", sentence, hint))
    found.findings += unknown_packages(targets, target, [*named])
    for number, read in enumerate(found.files):
        found.findings += sql_findings(read, found.expressions.facts)
        found.findings += carried_findings(read.package)
        made = _fingerprint(read, found.expressions.facts)
        named_so = replace(read, package=replace(read.package, fingerprint=made))
        found.files[number] = named_so
        prefix = settings.target.schema_prefix
        found.drafts += drafts_of_package(named_so, prefix, found.findings)
    return found


def _filled(first: FirstPass, path: str, settings: Settings, findings: list[Finding]) -> Plain:
    """Return the content of a file with its variables, without keys of unset variables."""
    filled = FilledFile({**settings.vars, **settings.asked_vars})
    tree, file = filled.fill(first.filled(path)), first.yaml_file(path)
    for at, variable in filled.unknown:
        hint = did_you_mean(variable, filled.vars) or f"--vars {variable}=VALUE"
        sentence = f"the variable {variable!r} has no value"
        findings.append(Finding(file.place(*at), "missing-var", sentence, hint))
    unset = {at[0] for at, _ in filled.unknown}
    return {key: each for key, each in mapping_of(tree).items() if key not in unset}


def _targets(first: FirstPass) -> YamlNode:
    """Return the targets of the project as they are written."""
    if not first.has(PROJECT_FILE):
        return YamlNode({})
    file = first.yaml_file(PROJECT_FILE)
    tree = first.fill(file.tree)
    return node_of(mapping_of(mapping_of(tree).get("targets")), file.spot, ("targets",))


def _fingerprint(file: SessionFile, facts: Callable[[str], ExpressionFacts]) -> str:
    """Return the digests of all options that affect rows, those of base tables separately."""
    means = {each.text: facts(each.text).canonical for each in file.sql if not is_plain(each.text)}

    def plain(value: object) -> object:
        match value:
            case str():
                return means.get(value, value)
            case tuple():
                return [plain(each) for each in value]
            case CarriedColumn(name, sql, _, when):
                return [name, plain(sql), *([plain(when)] if when else [])]
            case Passthrough():
                named = {each.name: getattr(value, each.name) for each in fields(value)}
                later = set[str]() if value.users_agg else {"users_agg"}
                return {name: plain(each) for name, each in named.items() if name not in later}
            case Conversion() | FunnelStep() | Channel():
                parts = (each.name for each in fields(value) if each.name != "where")
                return [plain(getattr(value, name)) for name in parts]
        return str(value)

    options = file.package.options
    usual = SessionOptions()
    names = [
        each.name
        for each in fields(options)
        if each.name not in COST_KEYS
        and (
            each.name not in LATER_KEYS or getattr(options, each.name) != getattr(usual, each.name)
        )
    ]
    base, other = (
        {name: plain(getattr(options, name)) for name in names if (name in BASE_KEYS) is is_base}
        for is_base in (True, False)
    )
    return package_fingerprint(digest(json.dumps(base)), digest(json.dumps(other)))


def _variables(settings: Settings, first: FirstPass) -> Mapping[str, YamlNode]:
    """Return the variables of the project and their places; those of the command are YAML.

    A variable of the command has the place of `vars`.
    """
    if not first.has(PROJECT_FILE):
        return {}
    file = first.yaml_file(PROJECT_FILE)
    typed = {
        name: read_document("--vars", value).tree if isinstance(value, str) else value
        for name, value in settings.asked_vars.items()
        if name.startswith(PREFIX)
    }
    return node_of({**settings.vars, **typed}, file.spot, (_VARS,)).members


def _events(file: SessionFile, resolver: NameResolver, findings: list[Finding]) -> InputName | None:
    """Find the model or the source for a name; `ref:` and `source:` say which kind."""
    kind, colon, name = file.events.partition(":")
    if not colon:
        kind, name = "", file.events
    schema, _, table = name.strip().rpartition(".")
    model, source = resolver.ref(name.strip()), resolver.source(schema, table)
    if model is None:
        model = _model(resolver, name.strip())
    where = file.events_at
    if not kind and model and source and model.input != source.input:
        sentence = f"{name!r} is a model and a source"
        hint = f"write ref:{model.input.name} or source:{name}"
        findings.append(Finding(where, "ambiguous-reference", sentence, hint))
        return None
    chosen = {"ref": model, "source": source, "": model or source}.get(kind)
    if chosen is not None:
        return chosen.input
    hint = resolver.model_hint(table) or resolver.source_hint(name)
    sentence = f"events names {file.events!r}, which is not a model or source"
    findings.append(Finding(where, "unknown-reference", sentence, hint))
    return None


def _model(resolver: NameResolver, name: str) -> Named | None:
    """Find a model by its table."""
    found = resolver.table(tuple(name.split(".")))
    return found if found.input.kind is InputKind.MODEL else None

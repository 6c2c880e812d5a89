"""The tables of packages as models of the project, and the tagged models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from penstock.core.findings import Finding, Location
from penstock.core.graph import reach
from penstock.core.model import Fingerprint, Model
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.query import Query
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionModel, SessionPackage, SessionTableKind
from penstock.core.strategy import Layout, strategies
from penstock.project.files.nodes import YamlNode
from penstock.project.files.parsed import PACKAGE, SqlFile, place_key
from penstock.project.files.values import Path, Plain, did_you_mean, digest
from penstock.project.models import Built, Draft
from penstock.project.sessions.definition import SessionFile
from penstock.project.settings.config import shown_config
from penstock.project.settings.strategy import StrategyConfig
from penstock.project.sql.bodies import fingerprint_of_settings
from penstock.project.sql.names import NameResolver

_DELETION_VECTORS = {"delta.enableDeletionVectors": "true"}
MERGE = "merge"


@dataclass(slots=True)
class SessionConfig(StrategyConfig):
    """The settings of one table of a package."""

    package: SessionPackage = field(kw_only=True)
    model: SessionModel = field(kw_only=True)

    def session(self) -> tuple[SessionPackage, SessionModel]:
        """Return the package and its table."""
        return self.package, self.model


@dataclass(slots=True)
class SessionDraft(Draft):
    """One table of a package, to be linked to the events and to the other tables."""

    @property
    def settings(self) -> SessionConfig:
        """Its settings, which include the package."""
        return cast("SessionConfig", self.config)

    def link(self, resolver: NameResolver) -> Built:
        """Resolve its inputs; the events are those of the package."""
        del resolver
        package, session = self.settings.session()
        strategy = strategies()[self.config.text("materialized")].read(self.config)
        parts = (session.partition_by,) if session.partition_by else ()
        stored = session.kind is not SessionTableKind.VIEW
        layout = Layout(parts, properties=_DELETION_VECTORS if stored else {})
        reads = [InputName(InputKind.MODEL, name) for name in session.reads]
        is_known = package.events.kind is not InputKind.EXTERNAL
        inputs = (*([package.events] if session.reads_events and is_known else []), *reads)
        built = Built(strategy, findings=self.config.findings)
        line = package.places.get("events", self.where).line
        built.parents = {each.name: line for each in inputs if each.kind is InputKind.MODEL}
        text = f"{package.fingerprint} {session.part}"
        built.model = Model(
            name=self.name,
            table=self.table,
            where=self.where,
            strategy=strategy,
            query=Query("", "", text, inputs, parsed=False),
            fingerprint=_fingerprint(self, built, layout, text),
            depends_on=tuple(sorted(built.parents)),
            layout=layout,
            description=self.config.text("description"),
            tags=self.config.texts("tags"),
            config=shown_config(self.config.settings),
            order_after=session.after,
        )
        return built


def _fingerprint(draft: SessionDraft, built: Built, layout: Layout, text: str) -> Fingerprint:
    made = fingerprint_of_settings(built.strategy, layout, draft.config.text("description"), ())
    return replace(made, sql=digest(text), canonical=digest(text))


def drafts_of_package(
    file: SessionFile, prefix: str, findings: list[Finding]
) -> list[SessionDraft]:
    """Return a draft of every table of a package, with its checks from the file."""
    package, path = file.package, file.package.where.path
    known = {str(each.part): each for each in package.models}
    for name, member in file.checks.items():
        if name not in known:
            sentence = f"package {package.name!r} has no table {name!r}"
            hint = did_you_mean(name, known) or f"there are: {', '.join(known)}"
            findings.append(Finding(member.key, "unknown-key", sentence, hint))
    found: list[SessionDraft] = []
    for each in package.models:
        tags = list(dict.fromkeys((*each.tags, *file.tags)))
        settings: dict[str, Plain] = {"materialized": PACKAGE, "tags": cast("Plain", tags)}
        if file.meta:
            settings["meta"] = dict(file.meta)
        if file.description:
            settings["description"] = file.description
        config = SessionConfig(settings, {}, package.where, each.name, package=package, model=each)
        written = TableName(each.table.schema.removeprefix(prefix), each.table.table)
        checks = file.checks.get(str(each.part))
        held = _checks_file(checks, path, package.where.line) if checks else SqlFile(path)
        found.append(
            SessionDraft(each.name, package.where, each.name, held, config, each.table, written)
        )
    return found


def _checks_file(member: YamlNode, path: str, line: int) -> SqlFile:
    """Return the checks of one table in the form of a header, with their lines."""
    lines: dict[str, int] = {}
    _note(member.node, ("checks",), lines)
    plain = member.node.plain
    return SqlFile(path, {"checks": plain}, line, lines)


def _note(node: YamlNode, at: Path, lines: dict[str, int]) -> None:
    lines[place_key(at)] = node.where.line
    for key, member in node.members.items():
        _note(member.node, (*at, key), lines)
    for number, item in enumerate(node.items):
        _note(item, (*at, number), lines)


def tracked_findings(package: SessionPackage, models: Mapping[str, Model]) -> Iterator[Finding]:
    """Report tagged models that a package cannot track, and readers without the tag."""
    events = f"{package.name}_{SessionTable.EVENTS_THIS_RUN}"
    own = {each.name for each in package.models}
    tagged = {name for name, each in models.items() if package.tag in each.tags} - own
    fed = _fed(events, tagged, models)
    for name in sorted(tagged):
        model = models[name]
        if model.strategy_name != MERGE:
            said = f"{name!r} is tagged {package.tag} with strategy {model.strategy_name}"
            hint = "use merge with a unique_key"
            yield Finding(model.where, "strategy-not-incremental", said, hint)
        if name not in fed:
            sentence = f"{name!r} is tagged {package.tag} and reads nothing of {events}"
            hint = f"read ref({events!r}), or take the tag out"
            yield Finding(model.where, "tagged-without-events", sentence, hint)
        window, new = model.strategy.window, {each.name for each in model.query.deltas}
        for each in sorted({*tagged, events}.intersection(model.depends_on)):
            is_cut = window is not None and window.on.get(each, window.time_column) is not None
            if is_cut or each in new:
                sentence = f"{name!r} reads {each} only where it is new, and runs read events again"
                hint = f"read it whole: window_on={{{each!r}: None}}, in SQL without time_column"
                yield Finding(model.where, "windowed-events", sentence, hint)
    for name, model in models.items():
        if events in model.depends_on and name not in own | tagged:
            sentence = f"{name!r} reads {events}, which holds the events of one run alone"
            hint = f"tag it {package.tag}, or read one of {', '.join(package.modules)}"
            yield Finding(model.where, "untracked-consumer", sentence, hint)
    if not package.modules and not tagged:
        where: Location = package.places.get("modules", package.where)
        sentence = f"modules is empty and no enabled model is tagged {package.tag!r}"
        yield Finding(where, "no-tracked-models", sentence)


def _fed(events: str, tagged: Collection[str], models: Mapping[str, Model]) -> set[str]:
    """Return the tagged models that read the events of a run, directly or through others."""
    readers: dict[str, Any] = {name: models[name].depends_on for name in tagged}
    return {name for name in tagged if events in reach([name], readers)}

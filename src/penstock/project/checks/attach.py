"""All checks of one model: read, or taken from the cache if nothing changed."""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.checks.check import Check, Checks, OnFailure, Phase
from penstock.core.findings import Finding, Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.project.checks.check import read_check
from penstock.project.checks.kept import Edge, Result, keep, recall
from penstock.project.checks.phases import Phases, joined, name_of, test_of
from penstock.project.checks.scene import CheckedModel, KnownColumns, Scene, Stand, WrittenChecks
from penstock.project.files.cache import ParseCache
from penstock.project.files.nodes import TemplateText, YamlNode, excerpt, mapping_node
from penstock.project.files.parsed import SqlFile, place_key
from penstock.project.files.references import Files
from penstock.project.files.values import digest
from penstock.project.sql.names import NameResolver


@dataclass(slots=True)
class Attacher:
    """Reads the checks of a project's models; those of `sources` apply to every reader."""

    resolver: NameResolver
    files: Files
    cache: ParseCache
    columns_of: Callable[[InputName], KnownColumns]
    sources: Mapping[InputName, WrittenChecks]
    sample: bool = True
    digests: dict[str, str] = field(default_factory=dict)

    def read(self, checked: CheckedModel) -> Result | None:
        """Return the checks of a model; None if it has none."""
        shared = [
            {
                each: self.sources[each]
                for each in sorted(set(stand.inputs or ()) & set(self.sources))
            }
            for stand in checked.stands
        ]
        if not any(shared) and not any(stand.written for stand in checked.stands):
            return None
        model = checked.model.input
        name = place_key(("", "checks", model.kind, model.name))
        context = self._context(checked, shared)
        known = recall(self.cache, name, context, self.now)
        if known is not None:
            return known
        reading = _CheckReading(self, checked)
        for stand, of_sources in zip(checked.stands, shared, strict=True):
            reading.stand(stand, of_sources)
        return reading.finished(name, context)

    def _context(
        self, checked: CheckedModel, shared: Sequence[Mapping[InputName, WrittenChecks]]
    ) -> str:
        model = checked.model
        parts = [self.now("names"), str(self.sample), model.input.name, str(model.table)]
        parts.append(repr(checked.strategy))
        for stand, of_sources in zip(checked.stands, shared, strict=True):
            columns, inputs = stand.columns, stand.inputs
            parts += (str(stand.number), repr(columns.names), repr(columns.types))
            parts += ("?",) if inputs is None else (f"{i.kind} {i.name}" for i in inputs)
            parts += (each.fingerprint for each in (*stand.written, *of_sources.values()))
        return digest("\0".join(parts))

    def now(self, need: str) -> str:
        """Return the current digest of something that reading depends on."""
        if need not in self.digests:
            kind, _, name = need.partition("\n")
            if kind == "names":
                found = _names_in(self.resolver).encode()
            elif kind == "templates":
                found = self.files.templates_digest.encode()
            elif kind == "file":
                found = self.files.data(name) if self.files.has(name) else b"\0"
            else:
                of, _, name = name.partition("\n")
                found = repr(self.columns_of(InputName(InputKind(of), name))).encode()
            self.digests[need] = hashlib.sha256(found).hexdigest()
        return self.digests[need]


@dataclass(slots=True)
class _CheckReading:
    """Reads one model's checks and records what they depend on."""

    of: Attacher
    checked: CheckedModel
    result: Result = field(default_factory=Result)
    texts: ParseCache = field(init=False)
    is_open: bool = False

    def __post_init__(self) -> None:
        cache = self.of.cache
        self.texts = ParseCache(None, cache.key, ChainMap(cache.current, dict(cache.earlier)))

    def stand(self, stand: Stand, shared: Mapping[InputName, WrittenChecks]) -> None:
        """Read the checks of one version."""
        findings: list[Finding] = []
        phases = joined([each.read(findings) for each in stand.written], findings)
        for name, written in shared.items():
            phases = _with_input(phases, name, written.read(findings))
        self.is_open |= any(self._is_filled(each) for each in (*phases.before, *phases.after))
        of, checked = self.of, self.checked
        scene = Scene(
            checked.model,
            checked.strategy,
            of.resolver,
            files=self,
            cache=self.texts,
            input_columns=self.columns_of,
            sample=of.sample,
            columns=stand.columns,
            inputs=stand.inputs,
        )
        before, after = (self._checks(phases, each, scene, findings) for each in Phase)
        mode = self._on_failure(phases, findings)
        self.result.checks[stand.number] = Checks(before, after, mode)
        self.result.findings += findings

    def finished(self, name: str, context: str) -> Result:
        """Return the result, and keep it for the next load."""
        result = self.result
        result.findings = list(dict.fromkeys(result.findings))
        result.edges = sorted(set(result.edges))
        result.texts = list(self.texts.current)
        if not self.is_open:  # values of the environment are in no file
            self.of.cache.current |= self.texts.current
            keep(self.of.cache, name, context, result)
        return result

    def columns_of(self, name: InputName) -> KnownColumns:
        """Return the columns of a table, and record the dependency."""
        need = f"columns\n{name.kind}\n{name.name}"
        self.result.needs[need] = self.of.now(need)
        return self.of.columns_of(name)

    def has(self, path: str) -> bool:
        """Return whether the project has such a file."""
        return self.of.files.has(path)

    def data(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return self.of.files.data(path)

    def text(self, path: str) -> str | None:
        """Return a file as text, and record the dependency."""
        self.result.needs[f"file\n{path}"] = self.of.now(f"file\n{path}")
        return self.of.files.text(path)

    def check_template(self, path: str, text: TemplateText, line: int) -> SqlFile:
        """Parse SQL that is a template, and record its dependencies."""
        self.result.needs["templates"] = self.of.now("templates")
        file = self.of.files.check_template(path, text, line)
        self.is_open |= any(read.kind == "env" for read in file.reads)
        return file

    def known_tests(self) -> Mapping[str, str]:
        """Return the macros of the project's parametrised tests, by test name."""
        return self.of.files.known_tests()

    def _checks(
        self, phases: Phases, phase: Phase, scene: Scene, findings: list[Finding]
    ) -> tuple[Check, ...]:
        own, seen = self.checked.model.input, dict[str, Location]()
        partitioned, found = self.checked.strategy.partitioning is not None, list[Check]()
        for node in phases.of(phase):
            before = len(findings)
            check = read_check(node, phase, scene, findings)
            name = name_of(node)
            if check is None and len(findings) == before:
                continue
            first = seen.setdefault(name, node.where) if name else node.where
            if first is not node.where:
                sentence = f'check "{name}" is there twice under {phase}; the first is at {first}'
                hint = "give one of them another name"
                findings.append(Finding(node.where, "duplicate-check", sentence, hint))
            elif check is not None:
                found.append(check)
                is_whole = partitioned and not check.differs_by_group
                if is_whole and not check.rule.takes_rows:
                    sentence = f'check "{name}": its SQL has no parameter of partitions'
                    hint = (
                        "filter by @partition_date, or every partition of a step shares its result"
                    )
                    code, warning = "check-not-partitioned", Severity.WARNING
                    findings.append(Finding(node.where, code, sentence, hint, warning))
                self.result.edges += (
                    Edge(own.name, each.name, check.name, check.where)
                    for each in check.reads
                    if each.kind is InputKind.MODEL and each != own
                )
        return tuple(found)

    def _is_filled(self, node: YamlNode) -> bool:
        paths = {member.node.where.path for member in node.members.values()}
        yaml = (path for path in paths if path.endswith((".yml", ".yaml", ".json")))
        return any(self.of.files.yaml_file(path).reads for path in yaml)

    def _on_failure(self, phases: Phases, findings: list[Finding]) -> OnFailure | None:
        node = phases.on_failure
        if node is None:
            return None
        word, modes = str(node.value).lower(), ", ".join(OnFailure)
        if word not in tuple(OnFailure):
            sentence = (
                f"on_failure is {excerpt('on_failure', node.value)}; it must be one of {modes}"
            )
            findings.append(Finding(node.where, "bad-value", sentence, modes))
            return None
        if word == OnFailure.ROLLBACK and self.checked.strategy.is_view:
            sentence = "on_failure: rollback on a view, which has no version to go back to"
            hint = "write block: the view is then replaced only if its checks pass"
            findings.append(Finding(node.where, "option-conflict", sentence, hint))
            return None
        return OnFailure(word)


def _with_input(phases: Phases, name: InputName, more: Phases) -> Phases:
    """Add the checks of a source or seed; a duplicate name gets the table's name as a prefix."""
    taken = {name_of(each) for each in phases.before}
    found: list[YamlNode] = []
    for node in more.before:
        own, more_keys = name_of(node), dict[str, YamlNode | str]()
        if own in taken:
            more_keys["name"] = f"{name.name}.{own}"
        schema, _, table = name.name.rpartition(".")
        is_seed = name.kind is InputKind.MODEL
        called = f"ref('{name.name}')" if is_seed else f"source('{schema}', '{table}')"
        if node.members.keys().isdisjoint(("input", "query", "source", "sql")):
            more_keys["input"] = called
        member = node.members.get("sql")
        if member is not None and isinstance(member.node.value, TemplateText):
            text = test_of(member.node.value, called)
            more_keys["sql"] = member.having(text)
        added = mapping_node(node.where, more_keys).members
        found.append(node.having({**node.members, **added}))
    return replace(phases, before=(*phases.before, *found))


def _names_in(resolver: NameResolver) -> str:
    named = {**resolver.models, **resolver.sources, **resolver.tables}.items()
    means = (f"{name} {it.input.kind} {it.input.name} {it.table}" for name, it in named)
    parts = [*means, *sorted(resolver.schemas), *sorted(resolver.built), resolver.catalog]
    return "\n".join((*parts, repr(resolver.hidden), repr(resolver.history)))

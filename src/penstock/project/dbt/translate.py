"""A dbt project to a penstock project: all files read, one set of files to write, one report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.findings import Finding, Location
from penstock.project.dbt.decide import (
    Decision,
    GivenConfig,
    decide,
    given_config,
)
from penstock.project.dbt.defaults import Defaults, decide_names, folder_defaults
from penstock.project.dbt.editing.seeds import seed_rows, seed_text, seed_types, seeds_yaml
from penstock.project.dbt.editing.yaml_edits import child, plain
from penstock.project.dbt.entries import YamlContext
from penstock.project.dbt.gather import (
    DbtNode,
    DbtNodes,
    NodeKind,
    Package,
    event_times,
    gather,
    source_tables,
)
from penstock.project.dbt.macros import macro_files, test_files
from penstock.project.dbt.manifest import Manifest, compare
from penstock.project.dbt.naming import Naming, UnknownValueError
from penstock.project.dbt.notes import (
    FileLog,
    FileNotes,
    ImportedProject,
    Note,
    RefusedProjectError,
)
from penstock.project.dbt.packages import package_needs, read_packages
from penstock.project.dbt.project_file import page_of, project_text
from penstock.project.dbt.properties import PropertyFile
from penstock.project.dbt.python_models import python_config, python_model, table_options
from penstock.project.dbt.queries import QueryContext, query_text
from penstock.project.dbt.rules import rule_for
from penstock.project.dbt.settings import DbtTarget, read_settings
from penstock.project.files.discovery import DBT_FILE
from penstock.project.files.values import Plain, mapping_of, switch_of, text_of

REPORT = "import-report.md"
_IGNORED = ".penstock/\nwarehouse/\nspark-warehouse/\nmetastore_db/\n"


@dataclass(frozen=True, slots=True)
class DbtFiles:
    """What the import reads: texts by path, the names of the target, and the manifest."""

    data: Mapping[str, bytes]
    target: DbtTarget | None = None
    manifest: Manifest | None = None


@dataclass(slots=True)
class _Translation:
    """The parts of one import while they come together."""

    packages: Sequence[Package]
    gathered: DbtNodes
    naming: Naming
    defaults: Defaults
    configs: dict[str, GivenConfig] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    sources: list[FileNotes] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def own(self) -> Package:
        return next(each for each in self.packages if each.is_own)

    def write(self, path: str, text: str | bytes, source: str) -> None:
        """Add a file; two of one path are a finding."""
        if path in self.files:
            sentence = f"two files of the dbt project become {path}"
            hint = "rename one of them in the dbt project"
            self.findings.append(Finding(Location(source), "duplicate-path", sentence, hint))
        self.files[path] = text if isinstance(text, bytes) else text.encode()


def translate(files: DbtFiles) -> ImportedProject:
    """Return the penstock project for a dbt project.

    Raises `RefusedProjectError` with all errors that dbt refuses as well.
    """
    texts, binary = _decoded(files.data)
    settings, log = read_settings(DBT_FILE, texts[DBT_FILE])
    packages, notes = read_packages(settings, texts)
    gathered = gather(packages)
    findings = [*binary, *gathered.findings]
    if findings:
        raise RefusedProjectError(sorted(findings))
    target = _target(files, settings.name, log)
    own = packages[0]
    settings = own.settings
    macros = {path: texts[path] for path, _, _ in own.below("macro-paths") if path[-4:] == ".sql"}
    naming = Naming(macros, settings.vars, target)
    defaults = folder_defaults(packages, gathered.nodes, naming, log)
    work = _Translation(packages, gathered, naming, defaults)
    work.sources += notes
    _decide_all(work)
    _write_nodes(work)
    _write_yaml(work)
    _write_rest(work)
    project = project_text(own, target, defaults, _folders(work), log)
    work.write("penstock.yml", project, DBT_FILE)
    work.write(".gitignore", _IGNORED, DBT_FILE)
    targets = ("penstock.yml",)
    work.sources.insert(0, FileNotes(DBT_FILE, "project", targets, log.sorted()))
    work.sources += _left(work, texts)
    if files.manifest is not None:
        work.sources.append(compare(files.manifest, _tables(work)))
    if work.findings:
        raise RefusedProjectError(sorted(work.findings))
    result = ImportedProject(settings.name, target.schema, work.files, tuple(work.sources))
    return replace(result, files={**work.files, REPORT: page_of(result).encode()})


def _decoded(data: Mapping[str, bytes]) -> tuple[dict[str, str], list[Finding]]:
    """Return the texts; a file that is not UTF-8 is a finding, unless it is a seed."""
    texts, findings = {}, []
    for path, content in sorted(data.items()):
        try:
            texts[path] = content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            texts[path] = ""
            if not path.endswith(".csv"):
                line = content[: error.start].count(b"\n") + 1
                sentence = f"byte 0x{content[error.start]:02x} is not UTF-8"
                where = Location(path, line)
                findings.append(Finding(where, "not-utf8", sentence, "save the file as UTF-8"))
    return texts, findings


def _target(files: DbtFiles, project: str, log: FileLog) -> DbtTarget:
    """Return the names of the target: of the profile, else of the manifest, else guessed."""
    known, manifest = files.target, files.manifest
    if known is not None and known.schema:
        return known
    if manifest is not None and manifest.schema:
        why = "no profile gives the schema: it is that of the manifest"
        log.change("profile", why)
        return DbtTarget("dev", manifest.adapter, manifest.schema, "")
    why = f"no profile gives the schema: it is {project!r}; correct schema: in penstock.yml"
    log.hand("profile", why)
    return DbtTarget("dev", known.adapter if known else "", project, "")


def _folders(work: _Translation) -> list[str]:
    """Return the folders of models in penstock.yml, as far as they hold any."""
    paths = [*work.own.settings.paths["model-paths"], *work.own.settings.paths["snapshot-paths"]]
    held = [each for each in paths if any(path.startswith(f"{each}/") for path in work.files)]
    return (
        held
        if "models" in held or not any(p[:7] == "models/" for p in work.files)
        else [
            "models",
            *held,
        ]
    )


def _decide_all(work: _Translation) -> None:
    """Decide the settings of every node, and the names of its table."""
    for node in work.gathered.nodes:
        package = next(each for each in work.packages if each.name == node.package)
        work.naming.package = package.name
        found = package.settings.layers(node.tree, node.package)
        if not package.is_own:
            found += work.own.settings.layers(node.tree, node.package)
        values = (mapping_of(work.naming.rendered(each.values)) for each in found)
        found = [replace(each, values=said) for each, said in zip(found, values, strict=True)]
        config = given_config(node, found, work.gathered.entry(node), work.naming)
        if node.kind is NodeKind.PYTHON:
            config = replace(config, header=python_config(node.text))
        decision = decide(node, config, work.gathered.entry(node), work.naming.target.adapter)
        for layer in found:
            if layer.folder == (*node.folder, node.name):
                _set_own(decision, config, layer.values)
        work.configs[node.name] = config
        work.decisions[node.name] = decision
        _decide_table(work, node, config, decision)
        _decide_tags(work, node, config, decision)
        if node.kind is NodeKind.SEED:
            _decide_types(work, node, config)


def _set_own(decision: Decision, config: GivenConfig, values: Mapping[str, Plain]) -> None:
    """Set what dbt_project.yml says of one model by its name."""
    for key, value in values.items():
        rule = rule_for(key, value)
        if rule.name and not config.holds(key) and rule.name not in ("schema", "tags"):
            decision.set(rule.name, rule.value, "dbt_project.yml says so of this model")


def _decide_table(
    work: _Translation, node: DbtNode, config: GivenConfig, decision: Decision
) -> None:
    """Set the schema and the alias of a node if its table would have another name."""
    merged = config.merged
    entry = work.gathered.entry(node)
    info: dict[str, Plain] = {"name": node.name, "config": {**merged}}
    custom = (text_of(merged.get("schema")), text_of(merged.get("alias")))
    key = "target_schema" if "target_schema" in merged else "schema"
    try:
        schema, alias = decide_names(node, info, custom, work.naming)
    except UnknownValueError:
        why = "the macro that names tables runs only in dbt; write schema and alias"
        decision.log.hand("config.schema", why)
        return
    if key == "target_schema":
        schema = text_of(merged[key])
    if config.unknown & {"schema", "alias", "target_schema"}:
        decision.log.hand("config.schema", "only dbt knows this value; write a name")
        return
    held = {**config.yaml, **config.header}
    usual = text_of(work.defaults.effective(node.target, "schema"))
    if node.kind is NodeKind.SEED:
        usual = ""
    current = text_of(held.get(key) or held.get("schema")) or usual
    if current != schema or ("target_schema" in held and "schema" in held):
        decision.set("schema", schema, "the table keeps the name that dbt gave it")
        if key == "target_schema" and key in held:
            decision.delete.add(key)
            decision.why[key] = "it is called schema here"
    if ((custom[1] or node.name) != alias and entry is not None) or custom[1] not in ("", alias):
        decision.set("alias", alias, "the table keeps the name that dbt gave it")


def _decide_tags(
    work: _Translation, node: DbtNode, config: GivenConfig, decision: Decision
) -> None:
    """Write out the tags of a model that has some itself: in dbt they add to those of folders."""
    merged = config.merged.get("tags")
    if config.holds("tags") and work.defaults.effective(node.target, "tags") and merged:
        decision.set("tags", merged, "tags of a model replace those of its folder here")


def _write_nodes(work: _Translation) -> None:
    """Write the files of models, snapshots and seeds."""
    own = {n: text_of(c.merged.get("event_time")) for n, c in work.configs.items()}
    times = event_times(own, work.gathered.yamls)
    sources = source_tables(work.gathered.yamls)
    by_file: dict[str, list[tuple[DbtNode, tuple[Note, ...], tuple[str, ...]]]] = {}
    for node in work.gathered.nodes:
        if node.kind is NodeKind.SNAPSHOT and not node.text:
            continue  # it is written with its YAML
        log, config, decision = FileLog(), work.configs[node.name], work.decisions[node.name]
        yaml = frozenset(config.yaml) - frozenset(config.header)
        targets: tuple[str, ...] = (node.target,)
        if node.kind is NodeKind.PYTHON:
            schema = _tables(work)[node.name].partition(".")[0]
            options = table_options(config.merged, config.header, schema, log)
            text = python_model(node, options, sources, log)
            targets = (node.target,) if text else ()
            if text:
                work.write(node.target, text, node.path)
        elif node.kind is NodeKind.SEED:
            types = mapping_of(decision.values.get("column_types"))
            said = seed_text(*_seed_file(work, node), types, log)
            work.write(node.target, said, node.path)
        else:
            context = QueryContext(work.own.name, config, decision, yaml, times)
            work.write(node.target, query_text(node, context, log), node.path)
        by_file.setdefault(node.path, []).append((node, log.sorted(), targets))
    for path, held in by_file.items():
        notes = tuple(note for _, each, _ in held for note in each)
        paths = tuple(path for *_, each in held for path in each)
        names = tuple(node.name for node, *_ in held)
        work.sources.append(FileNotes(path, str(held[0][0].kind), paths, notes, names))


def _seed_file(work: _Translation, node: DbtNode) -> tuple[str, str]:
    """Return the text of a seed's file, and what separates its values."""
    package = next(each for each in work.packages if each.name == node.package)
    delimiter = text_of(work.configs[node.name].merged.get("delimiter")) or ","
    return package.texts[node.path], delimiter


def _decide_types(work: _Translation, node: DbtNode, config: GivenConfig) -> None:
    """Set the types of a seed's columns as dbt finds them in its values."""
    given, decision = mapping_of(config.merged.get("column_types")), work.decisions[node.name]
    rows = seed_rows(*_seed_file(work, node))
    kept = {name: text_of(each) for name, each in given.items() if not rows or name in rows[0]}
    types = {**seed_types(rows, kept), **kept}
    if types:
        why = "the types that dbt gives to the columns of the file"
        decision.set("column_types", types, why)
    elif given:
        decision.remove("column_types", "the file has none of these columns")


def _write_yaml(work: _Translation) -> None:
    """Write the YAML of models, snapshots, seeds and sources, and that of seeds without any."""
    by_tree = {(node.tree, node.name): node for node in work.gathered.nodes}
    decisions = {key: work.decisions[node.name] for key, node in by_tree.items()}
    in_files = {
        node.name: frozenset(work.configs[node.name].header)
        for node in work.gathered.nodes
        if node.text
    }
    alone = frozenset(
        node.name for node in work.gathered.nodes if node.kind is NodeKind.SNAPSHOT and node.text
    )
    docs = dict(work.gathered.docs)
    context = YamlContext(
        work.own.name, work.naming, docs, decisions, in_files, _contracted(work), alone
    )
    for file in work.gathered.yamls:
        log, work.naming.package = FileLog(), file.package
        text = PropertyFile(file, context, log).result()
        if text:
            work.write(file.target, text, file.path)
        targets = (file.target,) if text else ()
        work.sources.append(FileNotes(file.path, "yaml", targets, log.sorted()))
    bare = [
        n for n in work.gathered.nodes if n.kind is NodeKind.SEED and not work.gathered.entry(n)
    ]
    text = seeds_yaml({node.name: work.decisions[node.name].values for node in bare})
    if text:
        path = "seeds/schemas.yml"
        while path in work.files:
            path = path.replace(".yml", "_.yml")
        work.write(path, text, DBT_FILE)


def _contracted(work: _Translation) -> frozenset[str]:
    """Return the models whose contract is enforced, and those with versions of their own."""
    enforced = {
        name
        for name, config in work.configs.items()
        if switch_of(mapping_of(config.merged.get("contract")).get("enforced"))
    }
    versioned = {
        text_of(plain(child(entry.node, "name")))
        for entry in work.gathered.described.values()
        if child(entry.node, "versions") is not None
    }
    return frozenset(enforced | versioned)


def _write_rest(work: _Translation) -> None:
    """Write macros and tests."""
    used = package_needs(work.packages, work.files)
    for package in work.packages:
        is_used = package.is_own or package.name in used
        for path, target, text, note in (
            *macro_files(package, is_used=is_used),
            *test_files(package),
        ):
            if target:
                work.write(target, text, path)
            work.sources.append(replace(note, targets=(target,) if target else ()))


def _left(work: _Translation, texts: Mapping[str, str]) -> Iterator[FileNotes]:
    """Yield notes of the files that no part of the import has read."""
    known = {each.source for each in work.sources}
    analyses = work.own.settings.paths["analysis-paths"]
    for path, text in texts.items():
        if path in known or path.startswith("dbt_packages/") or path == DBT_FILE:
            continue
        log = FileLog()
        if any(path.startswith(f"{each}/") for each in analyses):
            log.hand("analysis", "run it with penstock query, or move it into models/")
        elif path.endswith(".md") and path in _docs_files(work, texts):
            log.change("docs", "its blocks are in the descriptions that name them")
        elif path == "selectors.yml":
            log.take("selectors")
            work.write(path, text, path)
        elif path in ("packages.yml", "dependencies.yml", "package-lock.yml"):
            log.drop(path, "packages are copied, not installed")
        else:
            log.drop(path, "penstock has no use for this file; copy it if you need it")
        targets = (path,) if path in work.files else ()
        yield FileNotes(path, "other", targets, log.sorted())


def _docs_files(work: _Translation, texts: Mapping[str, str]) -> Iterable[str]:
    del work
    return [path for path, text in texts.items() if "{% docs" in text.replace("{%-", "{%")]


def _tables(work: _Translation) -> dict[str, str]:
    """Return the table of every node as schema.name."""
    found = {}
    for node in work.gathered.nodes:
        decision, config = work.decisions[node.name], work.configs[node.name]
        held = {**config.yaml, **config.header, **decision.values}
        usual = work.defaults.effective(node.target, "schema")
        schema = text_of(held.get("schema") or held.get("target_schema") or usual)
        found[node.name] = f"{schema}.{text_of(held.get('alias')) or node.name}"
    return found

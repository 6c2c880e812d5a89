"""One YAML file: from text to a checked tree. The result of this first pass is cached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from penstock.core.findings import Finding, Location
from penstock.project.files.discovery import PROJECT_FILE, QUERY_KEYS
from penstock.project.files.documents import read_document, read_json
from penstock.project.files.nodes import file_node
from penstock.project.files.parsed import (
    ENTITIES,
    MERGE,
    REFERENCE,
    Dependency,
    YamlFile,
    fill_environment,
)
from penstock.project.files.render_context import RenderContext
from penstock.project.files.values import Path, Plain, list_of, mapping_of, text_of
from penstock.project.settings.check_keys import CHECK_KEYS, TESTS, without_checks
from penstock.project.settings.config import lift
from penstock.project.settings.entry_keys import ModelsFileSection
from penstock.project.settings.project_keys import ProjectSection
from penstock.project.settings.validation import findings_of

_DEPTH = 5
_TESTED = frozenset((*CHECK_KEYS, *TESTS))
_DESCRIBED = frozenset({"models", "snapshots", "sources", "seeds", "unit_tests"})


def parse_yaml_file(path: str, text: str, environ: Mapping[str, str]) -> YamlFile:
    """Read and check a file; its tree keeps `env_var` calls, because values may be secret."""
    file = read_json(path, text) if path.endswith(".json") else read_document(path, text)
    calls: list[tuple[Path, str, bool]] = []
    # most files ask for nothing, and a large one takes long to walk through
    asks = "env_var" in text or "\\" in text
    filled = fill_environment(file.tree, environ, calls) if asks else file.tree
    named = file.tree if isinstance(file.tree, dict) and not file.is_versioned else {}
    is_described = path == PROJECT_FILE or not _DESCRIBED.isdisjoint(named)
    is_read = is_described or file.is_of_entities or file.is_package
    if is_read and not path.endswith(".json"):  # which has none
        file = replace(file, tree=_without_references(file.tree))
    unset = []
    for at, name, is_given in calls:
        if not is_given:
            sentence = f"the environment variable {name} is not set"
            hint = f"set it, or write {{{{ env_var('{name}', 'default') }}}}"
            unset.append(Finding(file.place(*at), "missing-env-var", sentence, hint))
    misfits: list[Finding] = []
    is_apart = file.is_of_entities or file.is_package  # whoever reads it says what is wrong
    if file.tree is not None and not file.is_versioned and not file.is_of_entities:
        places = {finding.where for finding in unset}
        found = _check(file, _without_references(filled))
        misfits = [finding for finding in found if finding.where not in places]
    reads = _reads({name for _, name, _ in calls}, text, environ)
    file = replace(file, findings=(*file.findings, *unset), reads=reads, misfits=tuple(misfits))
    if not is_described or is_apart:
        return file
    rest = file if path == PROJECT_FILE else without_checks(file)
    # checks know their own places; of keys those under the `config` of an entry are asked for
    values, keys = (
        [(key, key.split("\n"), spot) for key, spot in spots.items()]
        for spots in (file.places, file.keys)
    )
    return replace(
        rest,
        places={k: v for k, at, v in values if len(at) <= _DEPTH and _TESTED.isdisjoint(at[2:])},
        keys={k: v for k, at, v in keys if len(at) in (4, 5) and at[2] == "config"},
    )


def _reads(names: Iterable[str], text: str, environ: Mapping[str, str]) -> tuple[Dependency, ...]:
    """Return what a file depends on; of `doc` only that `FirstPass.filled` has to replace it."""
    context = RenderContext(environ)
    docs = (context.read("doc"),) if "doc(" in text else ()
    return (*(context.read("env", name) for name in sorted(names)), *docs)


def _without_references(tree: Plain) -> Plain:
    """Return references as text again: only versioned models have any."""
    if isinstance(tree, dict):
        if REFERENCE in tree:
            return f"${{{{ {tree[REFERENCE]} }}}}"
        named = (("<<" if key == MERGE else key, value) for key, value in tree.items())
        return {key: _without_references(value) for key, value in named}
    return [_without_references(item) for item in tree] if isinstance(tree, list) else tree


def _check(file: YamlFile, tree: Plain) -> list[Finding]:
    if not isinstance(tree, dict):
        return [Finding(Location(file.path, 1, 1), "bad-value", "the document must be a mapping")]
    if file.path == PROJECT_FILE:
        findings = findings_of(ProjectSection, file_node(file, tree))
        return [*findings, *_check_defaults(file, mapping_of(tree.get("defaults")))]
    if file.is_package:
        hint = "move it into sessions/, or into a folder of session_paths"
        sentence = "a session package does not stand among models"
        return [Finding(file.key_place("strategy"), "unknown-key", sentence, hint)]
    if ENTITIES in tree:
        hint = f"move it into {ENTITIES}/; a file beside models is one entity, under entity:"
        sentence = f"{ENTITIES!r} is a key of documents of entities"
        return [Finding(file.key_place(ENTITIES), "unknown-key", sentence, hint)]
    findings = findings_of(ModelsFileSection, file_node(file, tree))
    return [*findings, *_query_findings(file, tree)]


def _check_defaults(file: YamlFile, defaults: Mapping[str, Plain]) -> Iterator[Finding]:
    """Check the settings of all models, and those of each folder, for contradictions."""
    plain = {key: value for key, value in defaults.items() if not key.endswith("/")}
    folders = [(key, value) for key, value in defaults.items() if key.endswith("/")]
    layers: list[tuple[Path, Plain]] = [((), plain), *(((key,), value) for key, value in folders)]
    for below, settings in layers:
        place = partial(file.key_place, "defaults", *below)
        yield from lift(mapping_of(settings), place).findings


def _query_findings(file: YamlFile, tree: Mapping[str, Plain]) -> Iterator[Finding]:
    for index, item in enumerate(list_of(tree.get("snapshots"))):
        entry = mapping_of(item)
        given = [key for key in QUERY_KEYS if entry.get(key) is not None]
        empty = [key for key in given if not text_of(entry[key]).strip()]
        if len(given) != 1:
            both = "both relation and sql" if given else "neither relation nor sql"
            sentence = f"{text_of(entry.get('name'))!r} has {both}"
            where = file.place("snapshots", index)
            yield Finding(where, "bad-value", sentence, "give exactly one of both")
        elif empty:
            where = file.key_place("snapshots", index, empty[0])
            yield Finding(where, "bad-value", f"{empty[0]} is empty", "write a query")

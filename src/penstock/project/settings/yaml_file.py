"""One YAML file: text to a checked tree. The first pass, whose result the cache keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.discovery import PROJECT_FILE, QUERY_KEYS
from penstock.project.files.documents import Document, read_document
from penstock.project.files.parsed import MERGE, REFERENCE, YamlFile, is_versioned, place_key
from penstock.project.files.render_context import RenderContext, fill_environment
from penstock.project.files.values import Path, Plain, list_of, mapping_of, text_of
from penstock.project.settings.check_keys import Extracted, extracted, is_kept_spot
from penstock.project.settings.config import lift
from penstock.project.settings.shapes import ModelConfigShape, ModelsFileShape, ProjectShape
from penstock.project.settings.validation import shape_findings

if TYPE_CHECKING:
    from pydantic import BaseModel

_KEPT_DEPTH = 5
_LATER = {
    "entities": "entities",
    "sessions": "session packages",
}


def parse_yaml_file(path: str, text: str, environ: Mapping[str, str]) -> YamlFile:
    """Read and check a file; its tree still holds `env_var` calls, for values may be secret."""
    document = read_document(path, text)
    filled = fill_environment(document.tree, environ)
    findings = list(document.findings)
    findings += [
        Finding(
            _place(document, at, key=False),
            "missing-env-var",
            f"the environment variable {name} is not set",
            f"set it, or write {{{{ env_var('{name}', 'default') }}}}",
        )
        for at, name in filled.missing
    ]
    tree, misfits = document.tree, []
    is_described = path == PROJECT_FILE or _is_described(tree)
    if is_described:
        tree = _without_references(tree)
    if tree is not None and not is_versioned(tree):
        unset = {at for at, _ in filled.missing}
        found = _check(document, _without_references(filled.tree))
        misfits = [f for f in found if not _concerns(f, document, unset)]
    render_context = RenderContext(environ)
    places, keys = document.places, document.keys
    taken = Extracted(tree)
    if is_described and path != PROJECT_FILE:
        taken = extracted(path, tree, places, keys)
    if is_described:
        places = {k: v for k, v in places.items() if _is_near(k)}
        keys = {k: v for k, v in keys.items() if _is_setting(k)}
    return YamlFile(
        path,
        taken.tree,
        places,
        keys,
        tuple(findings),
        tuple(render_context.read("env", name) for name in sorted(filled.names)),
        tuple(misfits),
        taken.texts,
        taken.named,
    )


def _is_near(key: str) -> bool:
    return key.count("\n") < _KEPT_DEPTH and not is_kept_spot(key)


def _is_described(tree: Plain) -> bool:
    """Whether a file describes models, sources or seeds, so that few places are kept."""
    known = {"models", "snapshots", "sources", "seeds", "unit_tests"}
    return isinstance(tree, dict) and not is_versioned(tree) and not known.isdisjoint(tree)


def _without_references(tree: Plain) -> Plain:
    """Give references back as text: only versioned models have any."""
    if isinstance(tree, dict):
        if REFERENCE in tree:
            return f"${{{{ {tree[REFERENCE]} }}}}"
        named = (("<<" if key == MERGE else key, value) for key, value in tree.items())
        return {key: _without_references(value) for key, value in named}
    return [_without_references(item) for item in tree] if isinstance(tree, list) else tree


def _check(document: Document, tree: Plain) -> list[Finding]:
    if not isinstance(tree, dict):
        where = Location(document.path, 1, 1)
        return [Finding(where, "bad-value", "the document must be a mapping")]
    if document.path == PROJECT_FILE:
        defaults = tree.get("defaults")
        rest = {**tree}
        findings = []
        if isinstance(defaults, dict):
            findings = _check_defaults(document, defaults)
            rest.pop("defaults")
        return _checked(document, ProjectShape, rest, ()) + findings
    tree = {key: value for key, value in tree.items() if key != "unit_tests"}  # read elsewhere
    later = [key for key in tree if key in _LATER]
    if later:
        return [_not_yet(document, later)]
    findings = _checked(document, ModelsFileShape, tree, ())
    findings += [*_query_findings(document, tree), *_unrun_tests(document, tree)]
    return [*findings, *_tests_of_seeds(document, tree)]


def _is_setting(key: str) -> bool:
    """Whether the place of a key is kept: those under the `config` of an entry."""
    parts = key.split("\n")
    return len(parts) in (4, 5) and parts[2] == "config"


def _check_defaults(document: Document, defaults: Mapping[str, Plain]) -> list[Finding]:
    folders = {key: value for key, value in defaults.items() if key.endswith("/")}
    plain = {key: value for key, value in defaults.items() if key not in folders}
    findings = _checked(document, ModelConfigShape, plain, ("defaults",))
    findings += _conflicts(document, plain, ("defaults",))
    for folder, settings in folders.items():
        findings += _checked(document, ModelConfigShape, settings, ("defaults", folder))
        findings += _conflicts(document, mapping_of(settings), ("defaults", folder))
    return findings


def _conflicts(document: Document, layer: Mapping[str, Plain], above: Path) -> list[Finding]:
    lifted = lift(layer, lambda path: _place(document, (*above, *path), key=True))
    return list(lifted.findings)


def _checked(document: Document, shape: type[BaseModel], tree: Plain, above: Path) -> list[Finding]:
    def places(path: Path, key: bool) -> Location:  # noqa: FBT001  the key or the value
        return _place(document, (*above, *path), key=key)

    return shape_findings(shape, tree, places)


def _place(document: Document, path: Path, *, key: bool) -> Location:
    known = document.keys if key else document.places
    at = known.get(place_key(path))
    if at is None and path:
        return _place(document, path[:-1], key=False)
    return Location(document.path, *(at or (1, 1)))


def _concerns(finding: Finding, document: Document, paths: set[Path]) -> bool:
    return any(finding.where == _place(document, path, key=False) for path in paths)


def _not_yet(document: Document, keys: Sequence[str]) -> Finding:
    sentence = f"{keys[0]!r}: {_LATER[keys[0]]} come with a later release"
    where = _place(document, (keys[0],), key=True)
    return Finding(where, "not-supported-yet", sentence)


def _query_findings(document: Document, tree: Mapping[str, Plain]) -> list[Finding]:
    findings = []
    for index, item in enumerate(list_of(tree.get("snapshots"))):
        entry = mapping_of(item)
        given = [key for key in QUERY_KEYS if entry.get(key) is not None]
        empty = [key for key in given if not text_of(entry[key]).strip()]
        if len(given) != 1:
            both = "both relation and sql" if given else "neither relation nor sql"
            sentence = f"{text_of(entry.get('name'))!r} has {both}"
            where = _place(document, ("snapshots", index), key=False)
            findings.append(Finding(where, "bad-value", sentence, "give exactly one of both"))
        elif empty:
            where = _place(document, ("snapshots", index, empty[0]), key=True)
            findings.append(Finding(where, "bad-value", f"{empty[0]} is empty", "write a query"))
    return findings


def _unrun_tests(document: Document, tree: Mapping[str, Plain]) -> list[Finding]:
    return [
        Finding(
            _place(document, (key, index, word), key=True),
            "option-without-effect",
            f"{word} of a whole model do not run",
            "write them under checks:",
            Severity.WARNING,
        )
        for key in ("models", "snapshots")
        for index, entry in enumerate(list_of(tree.get(key)))
        for word in ("tests", "data_tests")
        if mapping_of(entry).get(word)
    ]


def _tests_of_seeds(document: Document, tree: Mapping[str, Plain]) -> Iterator[Finding]:
    """Warn of tests of seeds: files are loaded as they are, and no step looks at their rows."""
    for index, item in enumerate(list_of(tree.get("seeds"))):
        entry, at = mapping_of(item), ("seeds", index)
        columns = enumerate(map(mapping_of, list_of(entry.get("columns"))))
        said = [(entry, at), *((each, (*at, "columns", n)) for n, each in columns)]
        for holder, path in said:
            for word in ("tests", "data_tests"):
                if holder.get(word):
                    yield Finding(
                        _place(document, (*path, word), key=True),
                        "option-without-effect",
                        f"{word} of a seed do not run",
                        "put checks under before of a model that reads it, with input:",
                        Severity.WARNING,
                    )

"""The first pass: what each file says by itself, from the cache where nothing changed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.core.findings import Finding, Location
from penstock.core.masking import is_secret_key, mask
from penstock.project.files.cache import (
    FORMAT,
    CacheEntry,
    ParseCache,
    open_cache,
    sound,
    unpacked,
    versions,
)
from penstock.project.files.discovery import Content, decode, read_content
from penstock.project.files.parsed import (
    SqlFile,
    YamlFile,
    path_of,
    place_key,
    read_sql,
    read_yaml,
    write_sql,
    write_yaml,
)
from penstock.project.files.render_context import RenderContext, fill_environment, walk
from penstock.project.files.values import Plain, digest, mapping_of
from penstock.project.late import parse_sql, parse_sql_files, parse_yaml_file, truncations

_FROM_OUTSIDE = re.compile(r"\{\{\s*env_var\(\s*['\"][^'\"]+['\"]\s*\)\s*\}\}")
_TRUNCATES = re.compile("trunc", re.IGNORECASE)


@dataclass(slots=True)
class FirstPass:
    """Reads files once per load and collects what is wrong with them."""

    root: Path
    environ: Mapping[str, str]
    cache: ParseCache
    findings: list[Finding] = field(default_factory=list)
    documents: dict[str, YamlFile] = field(default_factory=dict)
    contents: dict[str, Content | None] = field(default_factory=dict)

    def yaml_file(self, path: str) -> YamlFile:
        """Give a YAML file; one that cannot be read is empty, and a finding."""
        if path not in self.documents:
            file = self._read_yaml(path)
            self.findings += file.findings
            self.documents[path] = file
        return self.documents[path]

    def yaml_tree(self, path: str) -> Mapping[str, Plain]:
        """Give a YAML file's tree with the environment's values filled in."""
        return mapping_of(self.filled(path))

    def filled(self, path: str) -> Plain:
        """Give whatever a YAML file holds with the environment's values filled in."""
        file = self.yaml_file(path)
        return self.fill(file.tree) if file.reads else file.tree

    def fill(self, tree: Plain) -> Plain:
        """Fill the environment's values into a tree."""
        return fill_environment(tree, self.environ).tree

    def has(self, path: str) -> bool:
        """Whether there is such a file in the project."""
        return (self.root / path).is_file()

    def data(self, path: str) -> bytes:
        """Give the bytes of a file; those of one that cannot be read are none, and a finding."""
        content = self._content(path)
        return content.data if content else b""

    def text(self, path: str) -> str | None:
        """Give a file as text; one that cannot be read is None, and a finding."""
        content = self._content(path)
        return self._decoded(content) if content else None

    def sql_text(self, path: str, text: str, line: int) -> SqlFile:
        """Read SQL that is no template and begins on a line of a file."""
        fingerprint = digest(text)
        key = place_key((path, "sql", line))
        file = self._cached_sql(key, fingerprint, RenderContext(self.environ))
        if file is None:
            file = parse_sql(path, text, line)
            if not any(f.is_error for f in file.findings):
                self.cache.keep(key, CacheEntry(fingerprint, file.reads, write_sql(file)))
        self.findings += file.findings
        return file

    def sql_files(
        self, contents: Sequence[Content], macros: Sequence[str], render_context: RenderContext
    ) -> dict[str, SqlFile]:
        """Give model files and queries of YAML entries under the paths of their contents.

        Those that cannot be read are left out, and findings.
        """
        macro_texts = {path: text for path in macros if (text := self.text(path)) is not None}
        macro_digest = digest(repr(sorted(macro_texts.items())))
        known: dict[str, SqlFile] = {}
        fingerprints: dict[str, str] = {}
        texts: dict[str, str] = {}
        for content in contents:
            path = content.path
            fingerprints[path] = digest(f"{content.digest} {macro_digest}")
            cached = self._cached_sql(path, fingerprints[path], render_context)
            if cached is not None:
                known[path] = cached
                continue
            text = self._decoded(content)
            if text is not None and not text.strip():
                hint = "write a query, or delete the file"
                where = Location(path)
                self.findings.append(Finding(where, "empty-file", "the file is empty", hint))
            elif text is not None:
                texts[path] = text
        for path, file in parse_sql_files(texts, macro_texts, render_context).items():
            known[path] = file
            if not any(f.is_error for f in file.findings):
                self.cache.keep(path, CacheEntry(fingerprints[path], file.reads, write_sql(file)))
        self.findings += (f for file in known.values() for f in file.findings)
        return {c.path: known[c.path] for c in contents if c.path in known}

    def model_contents(self, paths: Sequence[str]) -> list[Content]:
        """Read model files; those that cannot be read are left out, and findings."""
        return [content for path in paths if (content := self._content(path)) is not None]

    def save(self) -> None:
        """Keep what was learned."""
        self.cache.save()

    def truncations(self, path: str, text: str, line: int) -> Mapping[str, str]:
        """Give the output columns of SQL that are truncated to a unit of the calendar."""
        if not _TRUNCATES.search(text):
            return {}
        fingerprint = digest(text)
        key = place_key((path, "truncations", line))
        found = self.cache.recall(key, fingerprint, lambda e: {str(n): str(u) for n, u in e.result})
        if found is None:
            found = dict(truncations(text))
            self.cache.keep(key, CacheEntry(fingerprint, (), [[*pair] for pair in found.items()]))
        return found

    def _cached_sql(
        self, path: str, fingerprint: str, render_context: RenderContext
    ) -> SqlFile | None:
        def read(entry: CacheEntry) -> SqlFile | None:
            if not render_context.agrees(entry.reads):
                return None
            return read_sql(path_of(path), entry.reads, entry.result)

        return self.cache.recall(path, fingerprint, read)

    def _read_yaml(self, path: str) -> YamlFile:
        content = self._content(path)
        if content is None:
            return YamlFile(path)

        def read(entry: CacheEntry) -> YamlFile | None:
            if not RenderContext(self.environ).agrees(entry.reads):
                return None
            file = read_yaml(path, entry.reads, entry.result)
            _ = [sound(text) for text in file.checks.values()]
            return file

        kept = self.cache.recall(path, content.digest, read)
        if kept is not None:
            return kept
        text = self._decoded(content)
        if text is None:
            return YamlFile(path)
        file = parse_yaml_file(path, text, self.environ)
        if not any(f.is_error for f in file.findings) and not _is_secret(file):
            self.cache.keep(path, CacheEntry(content.digest, file.reads, write_yaml(file)))
        return file

    def _content(self, path: str) -> Content | None:
        if path not in self.contents:
            content = read_content(self.root, path)
            if isinstance(content, Finding):
                self.findings.append(content)
            self.contents[path] = content if isinstance(content, Content) else None
        return self.contents[path]

    def _decoded(self, content: Content) -> str | None:
        text = decode(content)
        if isinstance(text, Finding):
            self.findings.append(text)
            return None
        return text


def open_first_pass(root: Path, environ: Mapping[str, str], *, use_cache: bool) -> FirstPass:
    """Start a load with the cache of the last one."""
    return FirstPass(root, environ, open_cache(root, f"{FORMAT} {versions()}", use=use_cache))


def _is_secret(file: YamlFile) -> bool:
    return any(
        map(
            holds_secret,
            (file.tree, *(json.loads(unpacked(each)) for each in file.checks.values())),
        )
    )


def holds_secret(tree: Plain) -> bool:
    """Whether a document has a password written into it: such a file is never cached.

    >>> holds_secret({"password": "{{ env_var('PW') }}"}), holds_secret({"password": "x"})
    (False, True)
    """
    for path, value in walk(tree):
        if not isinstance(value, str) or not value or _FROM_OUTSIDE.fullmatch(value):
            continue
        if mask(value) != value or any(is_secret_key(str(part)) for part in path):
            return True
    return False

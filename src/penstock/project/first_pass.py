"""Parse each file by itself; for unchanged files the cache has the result, without a parser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.core.errors import UsageError
from penstock.core.findings import Finding, Location
from penstock.core.masking import SECRETS, is_secret_key, mask
from penstock.core.model import Model, Seed
from penstock.core.names import TableName
from penstock.core.project import Project
from penstock.core.query import Query, TemplateRows
from penstock.project.files.cache import ParseCache, unpacked
from penstock.project.files.discovery import Content, decode, discover, read_content
from penstock.project.files.macro_files import TEST, fill_docs, shipped_macros, tests_of
from penstock.project.files.nodes import TemplateText
from penstock.project.files.parsed import (
    RefKind,
    SqlFile,
    YamlFile,
    fill_environment,
    place_key,
)
from penstock.project.files.render_context import KnownTables, RenderContext, TargetView
from penstock.project.files.values import NotedVariables, Plain, digest

if TYPE_CHECKING:
    from penstock.project.python.declare import PythonModel
    from penstock.project.sql.context.rendering import Rendering
    from penstock.project.sql.template import Renderer

F = TypeVar("F", SqlFile, YamlFile)
_QUERY = "query"
_TEMPLATE = re.compile("{[{%#]")
_FROM_OUTSIDE = re.compile(r"\{\{\s*env_var\(\s*['\"][^'\"]+['\"]\s*\)\s*\}\}")


@dataclass(frozen=True, slots=True)
class GivenParts:
    """Parts of a project that a script passes in, beside or instead of files.

    `functions` are those of an app. `documents` replace those under entities/: texts by name, ""
    for a file. Keys of `environment` override every document. `rows` are those that templates read
    in earlier runs; with them the files in `refused` have an error.
    """

    functions: Sequence[PythonModel[..., Any]] | None = None
    documents: Mapping[str, str] | None = None
    environment: Mapping[str, Plain] = field(default_factory=dict)
    rows: Mapping[str, TemplateRows] = field(default_factory=dict)
    refused: Mapping[str, Finding] = field(default_factory=dict)

    @property
    def is_some(self) -> bool:
        """Whether a folder without penstock.yml counts as a project with these parts."""
        return self.functions is not None or self.documents is not None

    @property
    def contents(self) -> dict[str, Content | None]:
        """The texts in the form of file contents."""
        texts = {name: text.encode() for name, text in (self.documents or {}).items() if text}
        return {name: Content(name, data, sha256(data).hexdigest()) for name, data in texts.items()}


NOTHING_GIVEN = GivenParts()


@dataclass(slots=True)
class Templates:
    """The context for SQL of checks: macros by path, rendered once per load."""

    macros: Mapping[str, str]
    render_context: RenderContext
    renderer: Renderer | None = None
    digest: str = ""
    macro_digest: str = ""
    tests: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the parametrised tests, with the macro of each."""
        context = self.render_context
        self.macro_digest = digest(
            repr((sorted({**shipped_macros(), **self.macros}.items()), context.project))
        )
        known = (self.macro_digest, sorted(context.vars.items()), context.target)
        self.digest = digest(repr(known))
        self.tests = tests_of(self.macros)

    def with_macro(self, text: TemplateText) -> TemplateText:
        """Let the SQL of a parametrised test call its macro."""
        macro = self.tests.get(text.test, "")
        start, call = f"{{{{ {TEST}{text.test}(", f"{{{{ {macro}("
        return TemplateText.of(text.replace(start, call), text.test) if macro else text

    def digest_of(self, content: Content) -> str:
        """Return a digest of a query with all macros."""
        return digest(f"{content.digest} {self.macro_digest}")

    def know(self, tables: KnownTables | None) -> None:
        """Let templates ask for tables from now on; None ends that."""
        self.render_context = replace(self.render_context, tables=tables)
        self.renderer = None


@dataclass(slots=True)
class FirstPass:
    """Reads files once per load and collects findings."""

    root: Path
    environ: NotedVariables
    cache: ParseCache
    findings: list[Finding] = field(default_factory=list)
    documents: dict[str, YamlFile] = field(default_factory=dict)
    contents: dict[str, Content | None] = field(default_factory=dict)
    secrets: set[str] = field(default_factory=set)
    searched: dict[str, bool] = field(default_factory=dict)
    """Whether the files exist that were looked for."""
    outside: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What models depend on outside their code."""
    is_open: bool = False
    """Whether anything was read that no cache may hold."""
    queries: dict[str, Content] = field(default_factory=dict)
    """Model files and queries of entries, by key."""
    templates: Templates = field(default_factory=lambda: Templates({}, RenderContext({})))

    def __post_init__(self) -> None:
        """Register secret values, so that no output shows them."""
        SECRETS.add_environment(self.environ.values_now)

    def yaml_file(self, path: str) -> YamlFile:
        """Return a YAML file; an unreadable one is empty, with a finding."""
        if path not in self.documents:
            self.documents[path] = file = self._read_yaml(path)
            self.findings += file.findings
        return self.documents[path]

    def filled(self, path: str) -> Plain:
        """Return the content of a YAML file with environment values filled in."""
        file = self.yaml_file(path)
        tree = self.fill(file.tree) if file.reads else file.tree
        if any(each.kind == "doc" for each in file.reads):
            blocks = self.templates.render_context.docs
            tree, findings = fill_docs(tree, blocks, lambda at: file.place(*at))
            self.findings += findings
        return tree

    def fill(self, tree: Plain) -> Plain:
        """Fill environment values into a tree, and register secret ones."""
        calls: list[tuple[tuple[str | int, ...], str, bool]] = []
        found = fill_environment(tree, self.environ, calls)
        self.secrets |= {self.environ.get(name, "") for _, name, _ in calls if is_secret_key(name)}
        return found

    def has(self, path: str) -> bool:
        """Return whether the project has such a file."""
        self.searched[path] = (self.root / path).is_file()
        return self.searched[path]

    def data(self, path: str) -> bytes:
        """Return the bytes of a file; an unreadable one is empty, with a finding."""
        content = self.content(path)
        return content.data if content else b""

    def text(self, path: str) -> str | None:
        """Return a file as text; an unreadable one is None, with a finding."""
        content = self.content(path)
        return decode(content, self.findings) if content else None

    def sql_text(self, path: str, text: str, line: int) -> SqlFile:
        """Parse SQL without a template that begins on a line of a file."""
        fingerprint = digest(text)
        key = place_key((path, "sql", line))
        file = self._recalled(key, fingerprint, SqlFile)
        if file is None:
            from penstock.project.sql import sql_file  # costs 0.2 s that a warm load saves

            file = sql_file.parse_plain_sql(path, text, line)
            self._keep(key, fingerprint, file)
        self.findings += file.findings
        return file

    def check_template(
        self, path: str, text: TemplateText, line: int, *, is_hook: bool = False
    ) -> SqlFile:
        """Parse the SQL of a check, or a hook, that is a template on a line of a file."""
        templates = self.templates
        text = text if is_hook else templates.with_macro(text)
        fingerprint = digest(f"{text} {templates.digest}")
        key = place_key((path, "hook" if is_hook else "test", line, digest(text)[:12]))
        file = self._recalled(key, fingerprint, SqlFile, templates.render_context)
        if file is None:
            from penstock.project.sql import hook_sql, sql_file  # costs 0.2 s, see above

            parse = hook_sql.parse_hook if is_hook else sql_file.parse_check
            file = parse(self._renderer(), path, text, line)
            secret = any(each.kind == "env" and is_secret_key(each.name) for each in file.reads)
            self._keep(key, fingerprint, file, is_open=secret or mask(text) != text)
        return file

    def known_tests(self) -> Mapping[str, str]:
        """Return the macros of the project's parametrised tests, by test name."""
        return self.templates.tests

    @property
    def templates_digest(self) -> str:
        """Return a digest of all that templates of checks depend on, except the environment."""
        return self.templates.digest

    def sql_files(self, contents: Sequence[Content]) -> dict[str, SqlFile]:
        """Return the readable model files and queries of YAML entries by path."""
        macros, context = self.templates.macros, self.templates.render_context
        self.queries |= {content.path: content for content in contents}
        known: dict[str, SqlFile] = {}
        texts: dict[str, str] = {}
        for content in contents:
            path = content.path
            digest_of = self.templates.digest_of(content)
            cached = self._recalled(path, digest_of, SqlFile, context)
            if cached is not None:
                known[path] = cached
                continue
            text = decode(content, self.findings)
            if text is not None and not text.strip():
                hint = "write a query, or delete the file"
                where = Location(path)
                self.findings.append(Finding(where, "empty-file", "the file is empty", hint))
            elif text is not None:
                texts[path] = text
        if texts:
            from penstock.project.sql import sql_file  # costs 0.2 s that a warm load saves

            parsed = sql_file.parse_sql_files(texts, macros, context)
            for path, file in parsed.items():
                context.agrees(file.reads)  # notes the variables that other processes have read
                _keep_sql(self, path, file)
            known |= parsed
        self.findings += (f for file in known.values() for f in file.findings)
        return {c.path: known[c.path] for c in contents if c.path in known}

    def _renderer(self) -> Renderer:
        """Return what renders the checks, and what is rendered again."""
        from penstock.project.sql import sql_file  # as above

        templates = self.templates
        if templates.renderer is None:
            templates.renderer = sql_file.renderer_of(templates.macros, templates.render_context)
        return templates.renderer

    def _recalled(
        self, key: str, fingerprint: str, kind: type[F], render_context: RenderContext | None = None
    ) -> F | None:
        context = render_context or RenderContext(self.environ)
        return self.cache.recall(key, fingerprint, kind, lambda file: context.agrees(file.reads))

    def _keep(self, key: str, fingerprint: str, file: F, *, is_open: bool = False) -> None:
        self.is_open |= is_open
        if not is_open and not any(finding.is_error for finding in file.findings):
            self.cache.keep(key, fingerprint, type(file), file)

    def _read_yaml(self, path: str) -> YamlFile:
        content = self.content(path)
        cached = self._recalled(path, content.digest, YamlFile) if content else None
        if cached is not None:
            return cached
        text = decode(content, self.findings) if content else None
        if content is None or text is None:
            return YamlFile(path)
        from penstock.project.settings import yaml_file  # costs 0.1 s that a warm load saves

        file = yaml_file.parse_yaml_file(path, text, self.environ)
        checks = (json.loads(unpacked(each)) for each in file.checks.values())
        is_open = any(map(holds_secret, (file.tree, *checks)))
        self._keep(path, content.digest, file, is_open=is_open)
        return file

    def content(self, path: str) -> Content | None:
        """Return a file with its digest; an unreadable one is None, with a finding."""
        if path not in self.contents:
            self.contents[path] = read_content(self.root, path, self.findings)
        return self.contents[path]


def render_again(first: FirstPass, key: str, file: SqlFile) -> SqlFile:
    """Render a query with what is known of tables now, unless it is unchanged."""
    templates = first.templates
    text = None
    if not templates.render_context.agrees(file.reads):
        text = decode(first.queries[key], [])
    if text is None:
        return file
    from penstock.project.sql import sql_file  # costs 0.2 s that a warm load saves

    renderer = templates.renderer
    templates.renderer = None  # the file may ask for another, which is rendered meanwhile
    renderer = renderer or sql_file.renderer_of(templates.macros, templates.render_context)
    fresh = sql_file.parse_model(renderer, key, text)
    templates.renderer = renderer
    kept = tuple(each for each in file.findings if each.where.path != file.path)
    first.findings[:] = [f for f in first.findings if f not in file.findings or f in kept]
    fresh = replace(fresh, findings=(*fresh.findings, *kept))
    first.findings += fresh.findings
    _keep_sql(first, key, fresh)
    return fresh


def _keep_sql(first: FirstPass, key: str, file: SqlFile) -> None:
    """Cache a rendered query, unless it is to be rendered again or may hold a secret."""
    is_secret = any(each.kind == "env" and is_secret_key(each.name) for each in file.reads)
    is_broken = any(each.is_error for each in file.findings)
    first.is_open |= is_secret
    if not (is_secret or is_broken or file.is_pending):
        first.cache.keep(key, first.templates.digest_of(first.queries[key]), SqlFile, file)


def holds_secret(tree: Plain, *, is_named: bool = False) -> bool:
    """Return whether a document contains a literal password: such a file is never cached.

    >>> holds_secret({"password": "{{ env_var('PW') }}"}), holds_secret({"password": "x"})
    (False, True)
    """
    if isinstance(tree, str):  # most are
        if not tree or _FROM_OUTSIDE.fullmatch(tree):
            return False
        return is_named or mask(tree) != tree
    if isinstance(tree, Mapping):
        named = [(value, is_named or is_secret_key(key)) for key, value in tree.items()]
    else:
        named = [(item, is_named) for item in tree] if isinstance(tree, list) else []
    return any(holds_secret(value, is_named=is_so) for value, is_so in named)


def parse_user_query(project: Project, sql: str, environ: Mapping[str, str]) -> Query:
    """Find the tables of a query: `schema.table`, or the bare name of a model or seed.

    With braces it is a template as in models, including macros. Other tables are external. Raises
    `UsageError` for text that is not a query, has parameters, or does not render.
    """
    from penstock.project.sql.branches import read_branch
    from penstock.project.sql.canonical import NotAQueryError
    from penstock.project.sql.names import NameResolver, QueryOwner, link

    rendered = _rendered(project, sql, environ) if _TEMPLATE.search(sql) else None
    try:
        branch, _ = read_branch(rendered.text, rendered.calls) if rendered else read_branch(sql, ())
    except NotAQueryError as error:
        sentence = error.sentence.replace("a model is one query", "one query is expected")
        raise UsageError("not-a-query", sentence, hint='penstock query "select …"') from error
    asked = next((ref.names[0] for ref in branch.refs if ref.kind is RefKind.PARAM), "")
    if asked:
        sentence = f"@{asked} has no value here"
        raise UsageError("parameter-without-partition", sentence, hint="write the value itself")
    resolver = NameResolver(catalog=project.target.catalog)
    built: list[Model | Seed] = [*project.models.values(), *project.seeds.values()]
    for each in built:
        resolver.add_model(each.name, each.table)
        schema = each.table.schema.removeprefix(project.target.schema_prefix)
        resolver.add_table(TableName(schema, each.table.table), each.name)
        if isinstance(each, Model) and each.strategy.history is not None:
            resolver.history[each.name] = each.strategy.history.columns
    for source in project.sources.values():
        resolver.add_source(source.table)
    linked = link([branch], resolver, QueryOwner(_QUERY))
    _refuse(linked.findings)
    return linked.query


def _rendered(project: Project, sql: str, environ: Mapping[str, str]) -> Rendering:
    from penstock.project.sql.template import Renderer

    root, target, findings = Path(project.root), project.target, list[Finding]()
    paths = discover(root, {}, {}).macros
    contents = {path: read_content(root, path, findings) for path in paths}
    macros = {path: decode(found, findings) or "" for path, found in contents.items() if found}
    view = TargetView(target.name, target.catalog, target.schema_prefix)
    context = RenderContext(environ, project.vars, view, project.name, project.threads)
    rendered = Renderer(macros, context).render(_QUERY, sql, incremental=False)
    _refuse(rendered.findings)
    if rendered.is_pending:
        sentence = "a query of this command knows no parts and columns of tables"
        raise UsageError("template-needs-table", sentence, hint="write their names")
    return rendered


def _refuse(findings: Sequence[Finding]) -> None:
    """Raise the first error."""
    for each in findings:
        if each.is_error:
            raise UsageError(each.code, each.sentence, where=each.where, hint=each.hint)

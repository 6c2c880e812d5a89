"""Rendering model files with Jinja: no Spark, no state, no file outside of macros/.

Tables render to marks that `sql_file.py` turns into references; so do the system columns of
`as_of(ref('x'), time)`, which reads the versions of a history table at a time.
"""

from __future__ import annotations

import datetime as dt
import inspect
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from jinja2 import Template, TemplateNotFound, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.ext import Extension
from jinja2.loaders import FunctionLoader

from penstock.core.findings import Finding, Location
from penstock.core.masking import mask
from penstock.core.query import RUN_TIMESTAMP
from penstock.project.files.parsed import Dependency, RefKind, RenderContext, TableRef
from penstock.project.files.values import Plain, did_you_mean
from penstock.project.sql.template_budget import BudgetedEnvironment, BudgetError
from penstock.project.sql.template_lines import (
    blank_comments,
    header_keys,
    keep_lines,
    settle_lines,
)

if TYPE_CHECKING:
    from jinja2.parser import Parser

_TABLE = re.compile(r"`penstock:(\d+)`")
_PLACEHOLDER = re.compile(r"@[A-Za-z_][A-Za-z0-9_]*")
_SHOWN = 300
_PRINTABLE = "penstock.project.sql.template.Token object"


class BadTimeError(Exception):
    """The second argument is not a point in time."""


def time_sql(moment: object) -> str:
    """Return a point in time as SQL; a date is midnight UTC, no offset means UTC.

    Raises `BadTimeError` for anything but ISO-8601, `run_timestamp` and a placeholder.
    """
    if moment == RUN_TIMESTAMP:
        return RUN_TIMESTAMP
    if moment is None:
        raise BadTimeError("as_of needs a point in time as its second argument")
    if not isinstance(moment, str):
        raise BadTimeError(f"as_of: {mask(str(moment))[:80]} is not a point in time")
    if _PLACEHOLDER.fullmatch(moment):
        return f"CAST({moment} AS TIMESTAMP)"
    try:
        given = dt.datetime.fromisoformat(moment)
        utc = given.replace(tzinfo=dt.UTC) if given.tzinfo is None else given.astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise BadTimeError(f"as_of: {mask(moment)[:80]!r} is not a point in time") from error
    stamp = utc.replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"TIMESTAMP '{stamp}Z'"


@dataclass(frozen=True, slots=True)
class ConfigCall:
    """A call of config; `lines` maps each of its keys to its line."""

    settings: Mapping[str, Plain]
    line: int
    lines: Mapping[str, int]


@dataclass(slots=True)
class Rendering:
    """The result for one file; `text` is "" if it could not be rendered."""

    path: str
    text: str = ""
    incremental: bool = False
    calls: list[TableRef] = field(default_factory=list)
    configs: list[ConfigCall] = field(default_factory=list)
    headers: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    reads: set[Dependency] = field(default_factory=set)

    def report(self, code: str, sentence: str, hint: str = "") -> None:
        """Add a finding at the line that is being rendered."""
        where = Location(self.path, _line_in(self.path))
        said = f"{mask(sentence)[:_SHOWN]}{_macro_place(self.path, _places())}"
        self.findings.append(Finding(where, code, said, hint))


_Compiled = tuple[Template, Mapping[int, Mapping[str, int]]]


class Token:
    """Text that can only be printed: changing it would break it silently."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        """Print."""
        return self._text


class OutsideProjectError(Exception):
    """An include that leaves macros/."""


class TestBlocks(Extension):
    """Reads `{% test name(model, column_name) %}` as the macro `test_name`, as dbt does."""

    tags = {"test"}  # noqa: RUF012  as jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Read one block."""
        macro = nodes.Macro(lineno=next(parser.stream).lineno)
        macro.name = f"test_{parser.parse_assign_target(name_only=True).name}"
        parser.parse_signature(macro)
        macro.body = parser.parse_statements(("name:endtest",), drop_needle=True)
        return macro


class Renderer:
    """Renders the files of one load. Macros are compiled on first use; not for two threads."""

    def __init__(self, macros: Mapping[str, str], render_context: RenderContext) -> None:
        self._macros = macros
        self._context = render_context
        self._env = BudgetedEnvironment(FunctionLoader(self._macro_file))
        self._env.add_extension(TestBlocks)
        self._now = Rendering("")
        self._compiled = lru_cache(1)(self._compile)  # most files are rendered twice
        self.findings: list[Finding] = []
        self._env.globals |= {
            "ref": self._ref,
            "source": self._source,
            "config": self._config,
            "var": self._var,
            "env_var": self._env_var,
            "is_incremental": lambda: self._now.incremental,
            "as_of": self._as_of,
            "run_timestamp": Token(RUN_TIMESTAMP),
            "this": Token("`penstock:this`"),
            "target": render_context.target,
            "null": None,
        }
        for path, text in macros.items():
            self._declare(path, text)

    def names(self, word: str, source: str) -> bool:
        """Return whether a file, or a macro that it may call, contains a word."""
        return any(word in text for text in (source, *self._macros.values()))

    def render(self, path: str, source: str, *, incremental: bool) -> Rendering:
        """Render one file; errors become findings."""
        self._now = now = Rendering(path, incremental=incremental)
        self._env.begin()
        if self.names("target", source):
            now.reads.add(self._context.read("target"))
        try:
            template, now.headers = self._compiled(path, source)
            now.text = settle_lines(template.render())
            self._env.begin()
            self._env.spend(0, len(now.text))
        except Exception as error:  # noqa: BLE001  a template is a program: anything may come out
            now.text = ""
            now.findings.append(_template_finding(path, error, self._env.globals))
        return now

    def _compile(self, path: str, source: str) -> _Compiled:
        tokens = list(self._env.lex(blank_comments(source)))
        code = self._env.compile(keep_lines(tokens), name=path, filename=path)
        template = Template.from_code(self._env, code, self._env.make_globals(None))
        return template, header_keys(tokens) if "config" in source else {}

    def _macro_file(self, name: str) -> tuple[str, str, None] | None:
        if name.startswith("/") or ".." in name.split("/"):
            raise OutsideProjectError(name)
        path = name if name in self._macros else f"macros/{name}"
        return (self._macros[path], path, None) if path in self._macros else None

    def _declare(self, path: str, text: str) -> None:
        try:
            tree = self._env.parse(text, path)
        except Exception as error:  # noqa: BLE001  as above: too deep for the parser, above all
            self.findings.append(_template_finding(path, error, self._env.globals))
            return
        for macro in tree.find_all(nodes.Macro):
            self._env.globals[macro.name] = partial(self._call, path, macro.name)

    def _call(self, path: str, macro: str, /, *args: object, **kwargs: object) -> object:
        return getattr(self._env.get_template(path).module, macro)(*args, **kwargs)

    # Any: the arguments are whatever a template passes.
    def _ref(self, *names: Any, version: Any = None, v: Any = None) -> Token:  # noqa: ANN401
        asked = version if version is not None else v
        given = (*names, asked) if asked is not None else names
        return self._mention(RefKind.REF, given, range(1, 3), "ref('model') or ref('model', 2)")

    def _source(self, *names: Any) -> Token:  # noqa: ANN401  as above
        return self._mention(RefKind.SOURCE, names, range(2, 3), "source('schema', 'table')")

    def _mention(
        self, kind: RefKind, names: tuple[object, ...], counts: range, example: str
    ) -> Token:
        texts = tuple(str(n) for n in names if isinstance(n, str | int))
        if len(texts) != len(names) or len(names) not in counts or not all(texts):
            self._now.report("bad-value", f"{kind} needs names", f"write {example}")
            return Token("`penstock:bad`")
        self._now.calls.append(TableRef(kind, texts, _line_in(self._now.path)))
        return Token(f"`penstock:{len(self._now.calls) - 1}`")

    def _config(self, *args: Any, **settings: Any) -> str:  # noqa: ANN401  as above
        line = _line_in(self._now.path)
        if args and not all(isinstance(arg, dict) for arg in args):
            self._now.report("bad-value", "config takes settings by name: config(materialized=…)")
        said: dict[str, object] = {}
        for given in (*args, settings):
            said |= given if isinstance(given, dict) else {}
        plain = {key: _plain(value) for key, value in said.items()}
        self._now.configs.append(ConfigCall(plain, line, self._now.headers.get(line, {})))
        return ""

    def _var(self, name: str, *default: Any) -> Any:  # noqa: ANN401  as above
        known = self._context.vars
        self._now.reads.add(self._context.read("var", name))
        if name not in known and not default:
            hint = did_you_mean(name, known) or f"set it under vars: {name}: …"
            self._now.report("missing-var", f"no var is called {name!r}", hint)
        return known.get(name, default[0] if default else "")

    def _env_var(self, name: str, *default: Any) -> Any:  # noqa: ANN401  as above
        known = self._context.environ
        self._now.reads.add(self._context.read("env", name))
        if name not in known and not default:
            hint = f"set it, or write env_var('{name}', 'default')"
            self._now.report("missing-env-var", f"the environment variable {name} is not set", hint)
        return known.get(name, default[0] if default else "")

    def _as_of(
        self,
        table: Any,  # noqa: ANN401  as above
        moment: Any = None,  # noqa: ANN401  as above
        include_deleted: Any = False,  # noqa: ANN401, FBT002  as above
    ) -> Token:
        found = _TABLE.fullmatch(str(table)) if isinstance(table, Token) else None
        if found is None or self._now.calls[int(found[1])].kind is not RefKind.REF:
            sentence = "as_of reads history tables, and its first argument is not a ref"
            self._now.report("not-a-history-model", sentence, "as_of(ref('model'), '2024-03-01')")
            return Token("(select 1)")
        try:
            at = time_sql(str(moment) if isinstance(moment, Token) else moment)
        except BadTimeError as error:
            hint = "write '2024-03-01', '2024-03-01T12:00:00Z' or run_timestamp"
            self._now.report("as-of-argument", str(error), hint)
            return Token("(select 1)")
        history = f"`penstock:{found[1]}"
        start, end = f"{history}:valid_from`", f"{history}:valid_to`"
        held = f"{start} <= {at} and ({end} is null or {end} > {at})"
        rest = "" if include_deleted else f" and {history}:present`"
        return Token(f"(select * from {history}` where {held}{rest})")


def _places() -> Iterator[tuple[str, int]]:
    """Yield file and line of every template that is being rendered, the innermost first.

    Jinja keeps the lines in its code.
    """
    for frame, line in traceback.walk_stack(inspect.currentframe()):
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            yield template.name or "", int(template.get_corresponding_lineno(line))


def _line_in(path: str) -> int:
    return next((line for name, line in _places() if name == path), 1)


def _macro_place(path: str, places: Iterable[tuple[str, int]]) -> str:
    """Return the place in a macro's file, "" if the innermost place is in the file itself."""
    name, line = next(iter(places), (path, 0))
    return "" if name == path else f" (in {name}:{line})"


def _plain(value: object) -> Plain:
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)


_OF_OURS = re.compile(r"'(?!(?:str|int|float|bool|list|dict|tuple|set)')\w+' object")
_NO_LOOP_TAGS = "templates have no {% break %} and no {% continue %}; write {% if %} in the loop"
_TAGS = {
    "do": "write {% set _ = … %} around the expression; templates have no {% do %}",
    "break": _NO_LOOP_TAGS,
    "continue": _NO_LOOP_TAGS,
    "docs": "write the text as description: in YAML; templates have no {% docs %}",
}
"""What to write instead of tags that other tools have."""


def _template_finding(path: str, error: Exception, names: Mapping[str, object]) -> Finding:
    found = [(f.f_code.co_filename, n) for f, n in traceback.walk_tb(error.__traceback__)]
    own = [n for name, n in found if name == path]
    where = Location(path, own[-1] if own else 1)
    inner = [(name, n) for name, n in found if name == path or name.startswith("macros/")]
    code, sentence, hint = _describe(error, names)
    if isinstance(error, TemplateSyntaxError):
        inner = [(error.filename or path, error.lineno)]
        where = where if own else Location(*inner[0])
    place = "" if where.path != path else _macro_place(path, inner[-1:])
    return Finding(where, code, f"{sentence}{place}", hint)


def _describe(error: Exception, names: Mapping[str, object]) -> tuple[str, str, str]:
    """Return code, sentence and hint for an exception of a template."""
    message = mask(str(error)).partition("\n")[0][:_SHOWN]
    match error:
        case TemplateSyntaxError():
            said = mask(error.message or message)[:_SHOWN]
            tag = said.partition("unknown tag '")[2].partition("'")[0]
            return "template-syntax", said, _TAGS.get(tag, "")
        case UndefinedError():
            hint = did_you_mean(message.partition("'")[2].partition("'")[0], names)
            return (
                "unknown-name",
                message.replace(_PRINTABLE, "a table or time in a template"),
                hint,
            )
        case OutsideProjectError():
            hint = "templates include files of macros/ only"
            return "path-outside-project", f"{message!r} lies outside of macros/", hint
        case TemplateNotFound():
            hint = "write the name of a file in macros/: {% include 'name.sql' %}"
            return "include-not-found", f"no macro file is called {message!r}", hint
        case BudgetError() | RecursionError() | MemoryError():
            said = message if isinstance(error, BudgetError) else "macros or files nest too deep"
            return "template-budget", said, ""
        case SecurityError():
            refused = message.partition("attribute '")[2].partition("'")[0] or "this call"
            return "template-error", f"templates may not use {refused}", ""
        case SyntaxError():
            return "template-syntax", error.msg, ""
        case _:
            said = _OF_OURS.sub("this value", message)
            said = f"there is no {said}" if isinstance(error, KeyError) else said
            return "template-error", said or "the expression fails", ""

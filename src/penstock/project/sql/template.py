"""Rendering model files with Jinja: no Spark, no state, no file outside of macros/ and packages/.

Tables render to marks that `sql_file.py` turns into references; so do the system columns of
`as_of(ref('x'), time)`, which reads the versions of a history table at a time. What a template can
call is in `context/`.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import Template, TemplateNotFound, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.ext import Extension
from jinja2.loaders import FunctionLoader

from penstock.core.findings import IGNORED_CODE, Finding, Location, Severity
from penstock.core.masking import mask
from penstock.core.query import RUN_WORD, run_words
from penstock.project.files.macro_files import namespace_of, package_of
from penstock.project.files.render_context import RenderContext
from penstock.project.files.values import did_you_mean
from penstock.project.sql.context.macros import Macros
from penstock.project.sql.context.names import names_of
from penstock.project.sql.context.rendering import SHOWN, Rendering, macro_place
from penstock.project.sql.context.rows import ExecuteFlag, RowsUnknownError
from penstock.project.sql.context.values import RelationView, UnknownPartError
from penstock.project.sql.simple_template import CALLED, simple_template
from penstock.project.sql.template_budget import (
    BudgetedEnvironment,
    BudgetError,
    MacroReturn,
    text_of_value,
)
from penstock.project.sql.template_lines import (
    blank_comments,
    header_keys,
    keep_lines,
    settle_lines,
)

if TYPE_CHECKING:
    from jinja2.parser import Parser

_Compiled = tuple[Template, Mapping[int, Mapping[str, int]]]
_BLOCKS = {
    "materialization": "set materialized= to a strategy of penstock, or register one of your own",
    "snapshot": "write models/NAME.sql with materialized='snapshot'",
    "docs": "write blocks {% docs %} in .md files",
}
"""The blocks of dbt without effect in SQL files, with what to do instead."""
_NO_FILTERS = "write the format as it is to be printed: strftime('%Y'), without filters"
_BLOCK = re.compile(rf"\{{%[-+]?\s*({'|'.join(_BLOCKS)})\s+(\w+)")


class OutsideProjectError(Exception):
    """An include that leaves macros/."""


class TestBlocks(Extension):
    """Reads `{% test name(model, column_name) %}` as the macro `test_name`, as dbt does."""

    tags = {"test", "data_test"}  # noqa: RUF012  as jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Read one block."""
        tag = next(parser.stream)
        macro = nodes.Macro(lineno=tag.lineno)
        macro.name = f"test_{parser.parse_assign_target(name_only=True).name}"
        parser.parse_signature(macro)
        macro.body = parser.parse_statements((f"name:end{tag.value}",), drop_needle=True)
        return macro


class IdleBlocks(Extension):
    """Skips blocks of dbt that have no effect here; `Renderer` warns of them."""

    tags = set(_BLOCKS)  # noqa: RUF012  as above

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Skip one block."""
        tag = next(parser.stream)
        while parser.stream.current.type != "block_end":
            next(parser.stream)
        parser.parse_statements((f"name:end{tag.value}",), drop_needle=True)
        return []


class Renderer:
    """Renders the files of one load. Macros are compiled on first use; not for two threads."""

    def __init__(self, macros: Mapping[str, str], render_context: RenderContext) -> None:
        self._context = render_context
        self._env = BudgetedEnvironment(FunctionLoader(self._macro_file))
        self._env.add_extension(TestBlocks)
        self._env.add_extension(IdleBlocks)
        self._macros = Macros(macros, render_context.project, self._template)
        self._now = Rendering("")
        self._compiled = lru_cache(1)(self._compile)  # most files are rendered twice
        self._read_simply = lru_cache(1)(simple_template)
        self.findings: list[Finding] = []
        for path, text in macros.items():
            if not namespace_of(path):
                self._check(path, text)
        shipped, own = self._macros.called("dbt"), self._macros.called()
        names = names_of(
            lambda: self._now, render_context, self._dispatch, self._text, self._env.spend
        )
        self._env.globals |= {**self._macros.namespaces, **shipped, **names, **own}
        self._simple = {name: names[name] for name in CALLED}
        self._needs_jinja = not own.keys().isdisjoint(CALLED)
        as_they_are = ("as_bool", "as_native", "as_number", "as_text")
        self._env.filters |= dict.fromkeys(as_they_are, lambda value: value)
        self._env.tests["true"] = lambda value: _plain(value) is True
        self._env.tests["false"] = lambda value: _plain(value) is False
        self._env.tests["mapping"] = lambda value: isinstance(value, Mapping | RelationView)

    def render(
        self, path: str, source: str, *, incremental: bool, key: str = "", may_read: bool = False
    ) -> Rendering:
        """Render one file; errors become findings. `key` is that of its query in the load.

        A template that reads unknown rows is rendered without them, where errors do not count.
        """
        self._now = now = Rendering(path, key, incremental=incremental, may_read=may_read)
        try:
            with self._refusing(path):
                self._fill(source)
        except RowsUnknownError:
            self._now = Rendering(
                path, key, incremental=incremental, may_read=may_read, executes=False,
                reads=now.reads, queries=now.queries,
            )  # fmt: skip
            now = self._now
            with suppress(Exception):
                self._fill(source)
            now.findings.clear()
        except Exception as error:  # noqa: BLE001  a template is a program: anything may come out
            now.findings.append(self._finding(path, error))
        now.findings += _idle_blocks(path, source)
        return now

    @contextmanager
    def _refusing(self, path: str) -> Iterator[None]:
        """Take the rows of a file as unknown if they break it; it still asks all its queries."""
        refused = path in self._context.refused
        with suppress(Exception) if refused else nullcontext():
            yield
        if refused:
            raise RowsUnknownError

    def _fill(self, source: str) -> None:
        """Render the text of the file that is under way."""
        now = self._now
        self._env.begin()
        self._macros.forget()
        text = self._filled_simply(source)
        if text is None:
            template, now.headers = self._compiled(now.path, source)
            text = settle_lines(template.render())
        self._env.begin()
        self._env.spend(0, len(text))
        _refuse_changed(text)
        now.text = text

    def _filled_simply(self, source: str) -> str | None:
        """Return the text of a template that needs no Jinja and has no error, else None."""
        now = self._now
        if self._needs_jinja or package_of(now.path):
            return None
        template = self._read_simply(source)
        if template is None:
            return None
        now.headers = template.headers
        try:
            pieces = [text_of_value(each) for each in template.pieces(self._simple, now)]
            self._env.spend(1, template.written + sum(map(len, pieces)))
            return settle_lines("".join(pieces))
        except Exception:  # noqa: BLE001  Jinja tells what is wrong, and where
            fresh = Rendering(now.path, now.key, incremental=now.incremental)
            for each in fields(now):
                if each.name != "may_read":
                    setattr(now, each.name, getattr(fresh, each.name))
            return None
        finally:
            now.line = 0

    def _compile(self, path: str, source: str) -> _Compiled:
        tokens = list(self._env.lex(blank_comments(source)))
        code = self._env.compile(keep_lines(tokens), name=path, filename=path)
        inside = {**self._macros.called(package_of(path))} if package_of(path) else None
        template = Template.from_code(self._env, code, self._env.make_globals(inside))
        return template, header_keys(tokens) if "config" in source else {}

    def _macro_file(self, name: str) -> tuple[str, str, None] | None:
        if name.startswith("/") or ".." in name.split("/"):
            raise OutsideProjectError(name)
        files = self._macros.files
        path = name if name in files else f"macros/{name}"
        return (files[path], path, None) if path in files else None

    def _text(self, text: str) -> str:
        """Return a text of the project with its templates rendered."""
        return self._env.from_string(text).render()

    def _template(self, name: str, names: MutableMapping[str, Any]) -> Template:
        return self._env.get_template(name, globals=names)

    def _check(self, path: str, text: str) -> None:
        """Report a macro file that cannot be parsed, and blocks without effect."""
        try:
            self._env.parse(text, path)
        except Exception as error:  # noqa: BLE001  as above: too deep for the parser, above all
            self.findings.append(self._finding(path, error))
        self.findings += _idle_blocks(path, text)

    def _dispatch(self, macro_name: str, macro_namespace: Any = None, packages: Any = None) -> Any:  # noqa: ANN401  values of a template
        space = macro_namespace or next(iter(packages or ()), "")
        return self._macros.dispatch(str(macro_name), str(space))

    def _finding(self, path: str, error: Exception) -> Finding:
        """Return the finding for an exception of a template."""
        found = [(f.f_code.co_filename, n) for f, n in traceback.walk_tb(error.__traceback__)]
        own = [n for name, n in found if name == path]
        where = Location(path, own[-1] if own else 1)
        inner = [(name, n) for name, n in found if name == path or name in self._macros.files]
        code, sentence, hint = _describe(error, self._env.globals)
        if isinstance(error, TemplateSyntaxError):
            inner = [(error.filename or path, error.lineno)]
            where = where if own else Location(*inner[0])
        place = "" if where.path != path else macro_place(path, inner[-1:])
        return Finding(where, code, f"{sentence}{place}", hint)


def _refuse_changed(text: str) -> None:
    """Refuse a text in which a filter changed a word of the run."""
    if text.lower().count(RUN_WORD) != run_words(text):
        raise UnknownPartError("the text of a time of the run was changed", _NO_FILTERS)


def _plain(value: object) -> object:
    return bool(value) if isinstance(value, ExecuteFlag) else value


def _idle_blocks(path: str, text: str) -> list[Finding]:
    """Warn of blocks of dbt without effect."""
    found = []
    for block in _BLOCK.finditer(text):
        where = Location(path, text.count("\n", 0, block.start()) + 1)
        sentence = f"{{% {block[1]} {block[2]} %}} has no effect in this file"
        hint = _BLOCKS[block[1]]
        found.append(Finding(where, IGNORED_CODE, sentence, hint, Severity.WARNING))
    return found


_CLASSES = {
    "Token": "a table or time in a template",
    "RelationView": "a table or time in a template",
    "RunWord": "the time of the run, which is not known yet,",
    "OrderedSet": "a set",
    "RunTime": "the time of the run, which is not known yet,",
    "Namespace": "this namespace of macros",
    "RowsTable": "the list of rows",
    "NamedValues": "a row",
    "NamedColumn": "a column",
    "Facade": "this object",
    "Record": "this object",
}
"""What the objects of templates are called in messages."""
_OWN = rf"(?:penstock\.[\w.]+\.)?({'|'.join(_CLASSES)})(?: object)?"
_OWN_CLASS = re.compile(rf"'{_OWN}'(?: object)?|(?=penstock\.){_OWN}")
_OF_OURS = re.compile(r"'(?!(?:str|int|float|bool|list|dict|tuple|set)')\w+' object")


def _describe(error: Exception, names: Mapping[str, object]) -> tuple[str, str, str]:
    """Return code, sentence and hint for an exception of a template."""
    message = mask(str(error)).partition("\n")[0][:SHOWN]
    match error:
        case TemplateSyntaxError():
            said = mask(error.message or message)[:SHOWN]
            return "template-syntax", said, ""
        case UndefinedError():
            hint = did_you_mean(message.partition("'")[2].partition("'")[0], names)
            return (
                "unknown-name",
                _OWN_CLASS.sub(lambda found: _CLASSES[found[1] or found[2]], message),
                hint,
            )
        case UnknownPartError():
            return error.code, message, error.hint
        case MacroReturn():
            return "template-error", message, "call it inside of {% macro %}"
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
            said = _OWN_CLASS.sub(lambda found: _CLASSES[found[1] or found[2]], message)
            said = _OF_OURS.sub("this value", said)
            said = f"there is no {said}" if isinstance(error, KeyError) else said
            return "template-error", said or "the expression fails", ""

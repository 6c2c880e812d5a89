"""Python models of dbt as functions of penstock, as far as they only read tables.

`dbt.ref("orders")` becomes the parameter `orders`; the rest of the file stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.project.dbt.gather import DbtNode
from penstock.project.dbt.notes import FileLog
from penstock.project.files.values import Plain, text_of

_RESERVED = {"df", "spark", "window"}
_HINT = "write it as a function of penstock, see docs/python.md"
Names = Mapping[tuple[str, str], tuple[str, str]]
"""Schema and table by the names of a source and its table."""


class OnlyInDbtError(Exception):
    """A model uses more of dbt than ref, source and config."""


def python_config(text: str) -> dict[str, Plain]:
    """Return the literal settings of `dbt.config(…)`; nothing for a file that is not Python."""
    with suppress(SyntaxError, ValueError):
        calls = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call))
        found: dict[str, Plain] = {}
        for call in calls:
            if _asks(call, "config"):
                for each in call.keywords:
                    with suppress(ValueError):
                        found[each.arg or ""] = ast.literal_eval(each.value)
        return found
    return {}


def python_model(node: DbtNode, settings: Mapping[str, Plain], sources: Names, log: FileLog) -> str:
    """Return the file of a function, "" for a model that needs a hand.

    `settings` are options of `@table`.
    """
    try:
        rewriting = _FunctionFile(node, sources)
        rewriting.read()
    except OnlyInDbtError as error:
        log.hand("model", f"{error}; {_HINT}")
        return ""
    except (SyntaxError, ValueError):
        log.hand("model", f"the file is not Python; {_HINT}")
        return ""
    log.change("def model", "a function of penstock has the name of its model")
    for name in rewriting.parameters:
        log.change(name, "an input of a function is a parameter")
    return rewriting.text(settings)


def _asks(call: ast.AST, name: str) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="dbt"), attr=attr)):
            return attr == name
    return False


@dataclass(slots=True)
class _FunctionFile:
    """One file while it is rewritten: edits as line, start, end line, end, and new text."""

    node: DbtNode
    sources: Names
    parameters: dict[str, None] = field(default_factory=dict)
    edits: list[tuple[int, int, int, int, str]] = field(default_factory=list)
    line: int = 0

    def read(self) -> None:
        tree = ast.parse(self.node.text)
        functions = [e for e in tree.body if isinstance(e, ast.FunctionDef) and e.name == "model"]
        if len(functions) != 1 or len(functions[0].args.args) != 2:  # noqa: PLR2004  dbt, session
            raise OnlyInDbtError("it has no function model(dbt, session)")
        (function,) = functions
        if not self.node.name.isidentifier() or self.node.name in _RESERVED:
            raise OnlyInDbtError(f"{self.node.name} cannot name a function")
        handle, session = (each.arg for each in function.args.args)
        if handle != "dbt":
            raise OnlyInDbtError(f"its first parameter is {handle}, not dbt")
        self.line = function.lineno
        known = self._calls(function)
        for each in ast.walk(function):
            if isinstance(each, ast.Name) and each.id == "dbt" and id(each) not in known:
                raise OnlyInDbtError(f"line {each.lineno} uses more of dbt than ref and source")
            if isinstance(each, ast.Name) and each.id == session:
                self.parameters["spark"] = None
                self._replace(each, "spark")
        first = function.body[0]
        where = (function.lineno, function.col_offset, first.lineno, 0)
        parameters = ", ".join(self.parameters)
        self.edits.append((*where, f"def {self.node.name}({parameters}):\n"))

    def _calls(self, function: ast.FunctionDef) -> set[int]:
        """Replace what a function asks of dbt; return the names that are part of it."""
        known: set[int] = set()
        for each in ast.walk(function):
            if isinstance(each, ast.Expr) and _asks(each.value, "config"):
                known |= {id(inner) for inner in ast.walk(each)}
                self._replace(each, "pass" if len(function.body) == 1 else "")
            elif isinstance(each, ast.Call) and (_asks(each, "ref") or _asks(each, "source")):
                known |= {id(inner) for inner in ast.walk(each)}
                name = self._parameter(each)
                self.parameters[name] = None
                self._replace(each, name)
        return known

    def _parameter(self, call: ast.Call) -> str:
        names = [e.value for e in call.args if isinstance(e, ast.Constant)]
        texts = [e for e in names if isinstance(e, str)]
        if call.keywords or len(texts) != len(call.args) or not texts:
            raise OnlyInDbtError(f"line {call.lineno} reads a table whose name is not a text")
        name = texts[-1]
        if _asks(call, "source"):
            name = "__".join(self.sources.get((texts[0], texts[-1]), (texts[0], texts[-1])))
        if not name.isidentifier() or name in _RESERVED:
            raise OnlyInDbtError(f"{name} cannot name a parameter")
        return name

    def _replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        self.edits.append((node.lineno, node.col_offset, *end, text))

    def text(self, settings: Mapping[str, Plain]) -> str:
        """Return the file with all edits; positions count bytes."""
        lines = [line.encode() for line in self.node.text.splitlines(keepends=True)]
        for line, start, end_line, end, new in sorted(self.edits, reverse=True):
            head, tail = lines[line - 1][:start], lines[end_line - 1][end:]
            if not new and not head.strip() and not tail.strip():
                head, tail = b"", b""
            lines[line - 1 : end_line] = [head + new.encode() + tail]
        said = ", ".join(f"{key}={value!r}" for key, value in settings.items() if value)
        lines.insert(self.line - 1, f"@table({said})\n".encode())
        at = _after_head(self.node.text)
        lines.insert(at, b"from penstock import table\n")
        first = f"# From {self.node.path} of the dbt project.\n"
        return first + b"".join(lines).decode()


def _after_head(text: str) -> int:
    """Return the number of lines before the first import that is not of `__future__`."""
    at = 0
    for each in ast.parse(text).body:
        is_doc = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if not is_doc and not (isinstance(each, ast.ImportFrom) and each.module == "__future__"):
            break
        at = each.end_lineno or at
    return at


def table_options(
    merged: Mapping[str, Plain], own: Mapping[str, Plain], schema: str, log: FileLog
) -> dict[str, Plain]:
    """Return the options of `@table` for the settings of a Python model; `own` are in its file."""
    options: dict[str, Plain] = {"schema": schema, "tags": merged.get("tags")}
    options["partition_by"] = merged.get("partition_by")
    taken = {"schema", "tags", "partition_by", "enabled", "description", "meta"}
    for key, value in own.items():
        word = text_of(value)
        if key in taken or (key == "materialized" and word in ("table", "view")):
            log.take(f"config.{key}")
        elif key == "materialized":
            log.hand("config.materialized", f"write @incremental_table instead of {word}")
        elif key in ("packages", "file_format"):
            log.drop(f"config.{key}", "a Python model runs in the session of its step")
        else:
            log.hand(f"config.{key}", "options of Python models are those of @table")
    return options

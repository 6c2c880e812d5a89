"""Calls of `config(…)` in a template, found by Jinja's own tokens, and edited in place.

Layout and comments stay: an edit replaces the text of one argument.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jinja2 import Environment, TemplateError, nodes
from jinja2.ext import Extension

from penstock.project.files.values import Plain

if TYPE_CHECKING:
    from jinja2.parser import Parser

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_BEGINS = ("variable_begin", "block_begin")
_ENDS = ("variable_end", "block_end")
_BETWEEN = re.compile(r"[,{}]")


class DbtBlocks(Extension):
    """Reads the blocks that only dbt has as their content."""

    tags = {"snapshot", "materialization", "test", "data_test", "docs"}  # noqa: RUF012  as jinja

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Read one block."""
        tag = next(parser.stream).value
        while parser.stream.current.type != "block_end":
            next(parser.stream)
        return parser.parse_statements((f"name:end{tag}",), drop_needle=True)


_SYNTAX = Environment(
    extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", DbtBlocks],
    autoescape=False,  # noqa: S701  it only reads
)


class NotLiteralError(Exception):
    """The text is an expression whose value only rendering gives."""


@dataclass(frozen=True, slots=True)
class TemplateToken:
    """A token with its position in the text."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The position after it."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: its name, "" for a positional one, and the text of its value."""

    name: str
    value: str
    start: int
    end: int
    value_start: int
    line: int
    is_item: bool = False
    """Whether it is an item of a mapping: `config({'materialized': 'table'})`."""

    @property
    def literal(self) -> Plain:
        """The value; raises `NotLiteralError` for an expression."""
        return literal_of(self.value)


@dataclass(frozen=True, slots=True)
class ConfigSpan:
    """One call of `config`, with the tag around it; `inner` is where its arguments are."""

    tag: tuple[int, int]
    inner: tuple[int, int]
    arguments: tuple[Argument, ...]
    line: int


def tokens_of(text: str) -> list[TemplateToken]:
    """Return Jinja's tokens with positions; raise `TemplateError` for invalid syntax.

    Jinja leaves out blanks beside `{%-`, so each token is searched behind the one before it.
    """
    found, at = [], 0
    for _, kind, value in _SYNTAX.lex(text):
        start = text.find(value, at) if value else at
        if start < 0:
            start = at
        found.append(TemplateToken(kind, value, start))
        at = start + len(value)
    return found


def check_template(text: str) -> TemplateError | None:
    """Return the error of a template that dbt cannot read."""
    try:
        _SYNTAX.parse(text)
    except TemplateError as error:
        return error
    return None


def config_calls(text: str) -> list[ConfigSpan]:
    """Return the calls of `config` in a template, in order."""
    tokens = [each for each in tokens_of(text) if each.kind != "whitespace"]
    return [
        _call(text, tokens, at)
        for at in range(1, len(tokens) - 1)
        if tokens[at].text == "config"
        and tokens[at].kind == "name"
        and tokens[at + 1].text == "("
        and (tokens[at - 1].kind in _BEGINS or tokens[at - 1].text == "do")
    ]


def _call(text: str, tokens: Sequence[TemplateToken], at: int) -> ConfigSpan:
    first = at + 2
    last = _closing(tokens, at + 1)
    begin = at - 1 if tokens[at - 1].kind in _BEGINS else at - 2
    end = next(n for n in range(last, len(tokens)) if tokens[n].kind in _ENDS)
    parts = [*_split(tokens[first:last])]
    inner = (tokens[at + 1].end, tokens[last].start)
    arguments = [each for part in parts for each in _arguments(text, part)]
    if len(parts) == 1 and parts[0][0].text == "{":
        inner = (parts[0][0].end, parts[0][-1].start)
    line = text.count("\n", 0, tokens[at].start) + 1
    return ConfigSpan((tokens[begin].start, tokens[end].end), inner, tuple(arguments), line)


def _closing(tokens: Sequence[TemplateToken], at: int) -> int:
    """Return the index of the bracket that closes the one at `at`."""
    depth = 0
    for n in range(at, len(tokens)):
        depth += tokens[n].text in _OPENING and tokens[n].kind == "operator"
        depth -= tokens[n].text in _CLOSING and tokens[n].kind == "operator"
        if depth == 0:
            return n
    return len(tokens) - 1


def _split(tokens: Sequence[TemplateToken]) -> Iterator[Sequence[TemplateToken]]:
    """Yield the tokens between commas outside brackets."""
    depth, start = 0, 0
    for n, token in enumerate(tokens):
        is_sign = token.kind == "operator"
        depth += is_sign and token.text in _OPENING
        depth -= is_sign and token.text in _CLOSING
        if is_sign and token.text == "," and depth == 0:
            yield tokens[start:n]
            start = n + 1
    if tokens[start:]:
        yield tokens[start:]


def _arguments(text: str, part: Sequence[TemplateToken]) -> Iterator[Argument]:
    """Yield one argument, or the items of a mapping."""
    start, end = part[0].start, part[-1].end
    line = text.count("\n", 0, start) + 1
    if len(part) > 2 and part[0].kind == "name" and part[1].text == "=":  # noqa: PLR2004  k=v
        value = part[2].start
        yield Argument(part[0].text, text[value:end], start, end, value, line)
    elif part[0].text == "{" and _closing(part, 0) == len(part) - 1:
        for item in _split(part[1:-1]):
            if len(item) > 2 and item[1].text == ":" and item[0].kind == "string":  # noqa: PLR2004
                value, name = item[2].start, str(ast.literal_eval(item[0].text))
                last = item[-1].end
                line = text.count("\n", 0, item[0].start) + 1
                written = text[value:last]
                yield Argument(name, written, item[0].start, last, value, line, is_item=True)
    else:
        yield Argument("", text[start:end], start, end, start, line)


def literal_of(text: str) -> Plain:
    """Return the value of a literal; raise `NotLiteralError` for an expression."""
    try:
        tree = _SYNTAX.parse("{{ (" + text + ") }}")
        (output,) = tree.body
        if not isinstance(output, nodes.Output):
            raise NotLiteralError(text)
        value: Plain = output.nodes[0].as_const()
    except (TemplateError, nodes.Impossible, ValueError, AttributeError) as error:
        raise NotLiteralError(text) from error
    return list(value) if isinstance(value, tuple) else value


def written(value: Plain) -> str:
    """Return a value as templates write it.

    >>> written(["a", 1]), written({"x": True}), written(None)
    ("['a', 1]", "{'x': true}", 'none')
    """
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, str | int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k!r}: {written(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(map(written, value)) + "]"


@dataclass(frozen=True, slots=True)
class HeaderChange:
    """What changes in the settings of a header: keys to delete, to rename, and to set."""

    delete: frozenset[str] = frozenset()
    rename: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Plain] = field(default_factory=dict)


def with_settings(text: str, change: HeaderChange) -> str:
    """Return the template with another header; without a header and with settings, one is added.

    >>> with_settings("{{ config(a=1, b=2) }}x", HeaderChange(frozenset(["a"]), {}, {"c": "d"}))
    "{{ config(b=2, c='d') }}x"
    """
    calls = config_calls(text)
    left = dict(change.values)
    edits: list[tuple[int, int, str]] = []
    for n, call in enumerate(calls):
        held = [each for each in call.arguments if each.name]
        own = {each.name: left.pop(each.name) for each in held if each.name in left}
        more = left if n == len(calls) - 1 else {}
        edits.append(_edited(text, call, change, own, more))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    if not calls and left:
        said = ", ".join(f"{key}={written(value)}" for key, value in left.items())
        return "{{ config(" + said + ") }}\n\n" + text.lstrip("\n")
    return text


def _edited(
    text: str,
    call: ConfigSpan,
    change: HeaderChange,
    own: Mapping[str, Plain],
    more: Mapping[str, Plain],
) -> tuple[int, int, str]:
    """Return the edit of one call: the whole tag goes if no argument is left."""
    as_items = all(each.is_item for each in call.arguments) and bool(call.arguments)
    pieces = []
    previous = call.inner[0]
    for each in call.arguments:
        lead = _BETWEEN.sub("", text[previous : each.start])
        previous = each.end
        if each.name in change.delete and each.name not in own:
            continue
        name, value = change.rename.get(each.name, each.name), each.value
        said = text[each.start : each.end]
        if each.name in own or name != each.name or each.is_item is not as_items:
            value = written(own[each.name]) if each.name in own else value
            said = _argument(name, value, as_item=as_items)
        pieces.append((lead, said))
    rest = text[previous : call.inner[1]]
    if not as_items and any(each.is_item for each in call.arguments):
        rest = _BETWEEN.sub("", rest)  # a mapping beside names: all become names
    pieces += [("", _argument(key, written(v), as_item=as_items)) for key, v in more.items()]
    if not pieces:
        start, end = call.tag
        while text[end : end + 1] in (" ", "\t"):
            end += 1
        return start, end + (text[end : end + 1] == "\n"), ""
    return *call.inner, _joined(pieces, rest)


def _argument(name: str, value: str, *, as_item: bool) -> str:
    if not name:
        return value
    return f"{name!r}: {value}" if as_item else f"{name}={value}"


def _joined(pieces: Sequence[tuple[str, str]], rest: str) -> str:
    """Join arguments with the blanks that were before each of them."""
    usual = next((lead for lead, _ in pieces if "\n" in lead), "")
    first, said = pieces[0]
    result = (usual or first.strip(" ")) + said
    for lead, said in pieces[1:]:
        result += "," + (lead or usual or " ") + said
    return result + rest

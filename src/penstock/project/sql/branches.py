"""The text of one rendered query: which tables it mentions, and where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import Token, exp
from sqlglot.errors import SqlglotError

from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.parsed import Branch, Outputs, RefKind, TableRef, numbered
from penstock.project.sql.canonical import (
    dotted_parts,
    has_pipes,
    parse_query,
    print_canonical,
    said_by,
    tokens_of,
)
from penstock.project.sql.outputs import outputs_of
from penstock.project.sql.parameters import parameter_problems, parameters_of, replaced

_MARKER = re.compile(r"penstock:(\d+|this)(?::(valid_from|valid_to|present))?")
_MARKERS = re.compile(rf"`{_MARKER.pattern}`")
_PRINTED = re.compile(r"`penstock:ref:(\d+)`")
_NEXT = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*([A-Za-z_`\"][A-Za-z_0-9]*)?", re.DOTALL)
_COMMENT_OR_END = re.compile(r"(--[^\n]*|/\*.*?\*/)|;", re.DOTALL)
_FILES = ("delta", "parquet", "csv", "json", "orc", "text", "avro", "binaryfile")
_NO_ALIAS = re.compile(
    "on|where|join|inner|left|right|full|cross|semi|anti|natural|group|order|sort|cluster|"
    "distribute|limit|offset|union|except|minus|intersect|having|lateral|tablesample|pivot|"
    "unpivot|window|qualify|using|version|timestamp|for"
)


@dataclass(slots=True)
class _Cut:
    text: str
    calls: Sequence[TableRef]
    refs: list[TableRef] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)

    def add(self, start: int, end: int, ref: TableRef) -> int:
        self.refs.append(ref)
        self.spans.append((start, end, len(self.refs) - 1))
        return len(self.refs) - 1

    def called(self, marker: re.Match[str], line: int, *, bare: bool = False) -> TableRef:
        if marker[1] == "this":
            return TableRef(RefKind.THIS, (), line, bare=bare)
        call = self.calls[int(marker[1])]
        if marker[2]:
            return TableRef(RefKind(marker[2]), call.names, call.line, qualifies=True)
        return replace(call, bare=bare)


def read_branch(rendered: str, calls: Sequence[TableRef]) -> tuple[Branch, list[Finding]]:
    """Find the mentions in a rendered query, by position; raise `NotAQueryError`.

    Line numbers stay; names of CTEs in scope are not tables. If the parser cannot read the query,
    the result has a warning and only the ref and source calls.
    """
    cut = _Cut(rendered, calls)
    canonical, outputs, tree = None, Outputs(), None
    try:
        tokens = tokens_of(rendered)
        cut.text = _trimmed(rendered, tokens)
        for start, end, found in parameters_of(cut.text, tokens):
            cut.add(start, end, found)
        cut.problems += parameter_problems(cut.text, tokens)
        tree = parse_query(tokens, rendered)
        if tree is None:
            cut.problems.append(unparsed(None))
    except SqlglotError as error:
        cut.problems.append(unparsed(error))
    if tree is not None:
        outputs = outputs_of(tree)
        for table in list(tree.find_all(exp.Table)):
            if table.find_ancestor(exp.Hint) is None:  # a hint names what stands elsewhere
                _cut_table(cut, table)
        for column in list(tree.find_all(exp.Column)):
            _cut_column(cut, column)
        printed = None if has_pipes(tokens) else print_canonical(tree)
        canonical = printed and _PRINTED.sub(lambda found: numbered(int(found[1])), printed)
    _cut_markers(cut, parsed=tree is not None)
    spans = ((start, end, numbered(number)) for start, end, number in cut.spans)
    text = replaced(cut.text, spans)
    printed_calls = {(found.kind, found.names) for found in cut.refs}
    cut.refs += (each for each in calls if (each.kind, each.names) not in printed_calls)
    return Branch(text, canonical, tuple(cut.refs), outputs), cut.problems


def _cut_table(cut: _Cut, table: exp.Table) -> None:
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    if len(parts) != len(table.parts) or not all("start" in part.meta for part in parts):
        return
    names = dotted_parts(parts[0]) if len(parts) == 1 else tuple(part.name for part in parts)
    bare = not table.alias and not any(table.args.get(k) for k in ("sample", "version", "when"))
    marker = _MARKER.fullmatch(parts[-1].name)
    line = int(parts[0].meta["line"])
    if marker:
        found = cut.called(marker, line, bare=bare)
        parts = parts[-1:]
    elif (len(parts) == 1 and _is_cte(table)) or _is_unfollowed(cut, names, line):
        return
    else:
        found = TableRef(RefKind.PLAIN, names, line, bare=bare)
    number = cut.add(parts[0].meta["start"], parts[-1].meta["end"] + 1, found)
    table.set("this", exp.to_identifier(f"penstock:ref:{number}", quoted=True))
    table.set("db", None)
    table.set("catalog", None)


def _cut_column(cut: _Cut, column: exp.Column) -> None:
    parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
    if len(parts) == 1 and "start" in parts[0].meta:
        marker = _MARKER.fullmatch(parts[0].name)
        if marker and marker[2]:
            start, end = parts[0].meta["start"], parts[0].meta["end"] + 1
            parts[0].set("this", f"penstock:ref:{cut.add(start, end, cut.called(marker, 0))}")
            return
    if len(parts) < 2 - isinstance(column.this, exp.Star) or "start" not in parts[0].meta:
        return
    line = int(parts[0].meta["line"])
    marker = _MARKER.fullmatch(parts[0].name)
    names = dotted_parts(parts[0])
    used = 1
    if not marker and len(names) == 1 and len(column.parts) > 2:  # noqa: PLR2004  schema.table.column
        used = 2
        names = (parts[0].name, parts[1].name)
    if marker:
        called = cut.called(marker, line)
        found = TableRef(called.kind, called.names, line, qualifies=True)
    elif len(names) == 2 and "end" in parts[used - 1].meta:  # noqa: PLR2004  schema and table
        found = TableRef(RefKind.QUALIFIER, names, line, qualifies=True)
    else:
        return
    number = cut.add(parts[0].meta["start"], parts[used - 1].meta["end"] + 1, found)
    keys = [key for key in ("catalog", "db", "table") if column.args.get(key)]
    for key in keys[:used]:
        column.set(key, None)
    column.set(keys[used - 1], exp.to_identifier(f"penstock:ref:{number}", quoted=True))


def _is_unfollowed(cut: _Cut, names: tuple[str, ...], line: int) -> bool:
    path = ".".join(names[1:])
    if len(names) > 1 and names[0].lower() in _FILES and "/" in path:
        sentence = f"reads files by path: {names[0]}.`{path}`; their versions are not followed"
        where, hint = Location("", line), "declare them as a source with a path"
        problem = Finding(where, "external-path", sentence, hint, Severity.WARNING)
        cut.problems.append(problem)
        return True
    return any(set(name) & set(":`\0") for name in names)


def _is_cte(table: exp.Table) -> bool:
    inside: exp.CTE | None = None
    child: exp.Expr = table
    node = table.parent
    while node is not None:
        clause = node.args.get("with_") or node.args.get("with")  # the older parsers' key
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                if child is clause and cte is inside and not clause.args.get("recursive"):
                    break
                if str(cte.alias).lower() == table.name.lower():
                    return True
        if isinstance(node, exp.CTE):
            inside = node
        child, node = node, node.parent
    return False


def _cut_markers(cut: _Cut, *, parsed: bool) -> None:
    taken = {start for start, _, _ in cut.spans}
    for found in _MARKERS.finditer(cut.text):
        if found.start() not in taken:
            line = cut.text.count("\n", 0, found.start()) + 1
            following = _NEXT.match(cut.text, found.end())
            word = following and following[1]
            is_plain = not word or bool(_NO_ALIAS.fullmatch(word.lower()))
            bare = not parsed and is_plain and not cut.text.startswith(".", found.end())
            cut.add(found.start(), found.end(), cut.called(found, line, bare=bare))


def _trimmed(text: str, tokens: Sequence[Token]) -> str:
    if not tokens:
        return text
    end = tokens[-1].end + 1
    rest = _COMMENT_OR_END.sub(lambda found: found[1] or "", text[end:]).rstrip()
    newline = "\n" if "--" in rest.rpartition("\n")[2] else ""
    return text[:end] + rest + newline


def unparsed(error: SqlglotError | None) -> Finding:
    """Return the warning for a query that the parser does not read."""
    line, said = said_by(error) if error else (1, "")
    sentence = f"{said[:200] or 'the parser does not read this query'}; Spark may still read it"
    hint = "penstock then knows only its ref and source calls, and any change of text as a change"
    return Finding(Location("", line), "unparsed-sql", sentence, hint, Severity.WARNING)

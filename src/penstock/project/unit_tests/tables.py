"""Tables of tests: rows, CSV, SQL without tables, or a file under tests/."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.core.columns.types import ColumnType
from penstock.core.findings import Finding, Location
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.project import Project
from penstock.core.query import PARAMETER, substitute
from penstock.project.files.kinds import TEXT
from penstock.project.files.nodes import Section, YamlNode, items_of
from penstock.project.files.parsed import OutputColumn, Outputs
from penstock.project.files.sections import read_section
from penstock.project.sql.canonical import NotAQueryError, parse_query, tokens_of, trees_of
from penstock.project.sql.outputs import outputs_of
from penstock.project.unit_tests.definition import FOLDER, CellKind, GivenTable, Written
from penstock.project.unit_tests.sections import FORMS, FixtureSection, TableSection

_Cells = Sequence[tuple[str, bool]]
Json = object  # what json gives; it does not leave this file
_OPEN = re.compile(r' *"')
_BARE = re.compile(r"([^,\n]*)")
_QUOTED = re.compile(r' *"((?:[^"]+|"")*+)" *')
_FILES = (".csv", ".json", ".parquet", ".sql")


class CsvError(ValueError):
    """A text that is not valid CSV; `line` counts from 1."""

    def __init__(self, sentence: str, line: int) -> None:
        super().__init__(sentence)
        self.line = line


def read_csv(text: str, where: Location) -> tuple[tuple[str, ...], tuple[dict[str, YamlNode], ...]]:
    """Return the header and the rows; an empty cell is NULL, `""` the empty text.

    `where` is the place of the first line. Raises `CsvError`.
    """
    lines = list(_lines(text))
    if not lines:
        raise CsvError("it has no header", 1)
    header = tuple(content for content, _ in lines[0][1])
    if len({name.lower() for name in header}) < len(header) or not all(header):
        raise CsvError("a name is missing in its header, or is there twice", lines[0][0])
    rows = []
    for number, cells in lines[1:]:
        if len(cells) != len(header):
            raise CsvError(f"{len(cells)} cells under {len(header)} names", number)
        place = Location(where.path, where.line + number - 1)
        row = {}
        for name, (content, is_quoted) in zip(header, cells, strict=True):
            is_switch = content.lower() in ("true", "false")
            kind = CellKind.TEXT if is_quoted else CellKind.BOOLEAN if is_switch else None
            is_null = not content and not is_quoted
            row[name] = YamlNode(None if is_null else Written.of(content, kind), place)
        rows.append(row)
    return header, tuple(rows)


def _lines(text: str) -> Iterator[tuple[int, _Cells]]:
    at, line, first = 0, 1, 1
    cells: list[tuple[str, bool]] = []
    while at < len(text) or cells:
        found = (_QUOTED if _OPEN.match(text, at) else _BARE).match(text, at)
        if found is None:
            raise CsvError("a quote is not closed", line)
        end, is_quoted, inner = found.end(), found.re is _QUOTED, found[1]
        if text[end : end + 1] not in ("", ",", "\n"):
            raise CsvError("text follows a closing quote", line + inner.count("\n"))
        first = first if cells else line
        cells.append((inner.replace('""', '"') if is_quoted else inner.strip(), is_quoted))
        line += inner.count("\n")
        at = end + 1
        if text[end : end + 1] == ",":
            continue
        if cells != [("", False)]:
            yield first, cells
        line, cells = line + 1, []


def select_problem(text: str) -> tuple[str, str] | None:
    """Return why a text cannot provide rows, as a code and a message; None if it can.

    Text that the parser cannot read is left to Spark.

    >>> select_problem("select 1 as id union all select 2"), select_problem("select * from t")
    (None, ('bad-value', 'it reads the table t; a test reads none'))
    """
    try:
        trees = [tree for tree in trees_of(tokens_of(text), text) if tree is not None]
    except SqlglotError:
        return None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query | exp.Values):
        return "not-a-query", "it is not a query"
    own = {str(cte.alias).lower() for cte in trees[0].find_all(exp.CTE)}
    for table in trees[0].find_all(exp.Table):
        is_named = isinstance(table.this, exp.Identifier)
        if is_named and (table.db or table.name.lower() not in own):
            name = ".".join(part.name for part in table.parts)
            return "bad-value", f"it reads the table {name}; a test reads none"
    return None


def columns_of_model(project: Project, model: Model) -> tuple[str, ...] | None:
    """Return the columns that a model certainly has; None if not all are known."""
    if model.entity is not None or model.function is not None or model.strategy.by_passes:
        return None
    declared = [version.schema.names for version in model.versions]
    found = tuple(name for names in declared for name in names)
    names = found if declared and all(declared) else _selected(project, model)
    system = model.history.columns.names if model.history is not None else ()
    return None if names is None else (*names, *system)


def _selected(project: Project, model: Model) -> tuple[str, ...] | None:
    """Return the columns of a query; a star over one model has those of that model."""
    words: dict[InputName, str] = {}

    def word(name: InputName, alias: str) -> str:
        found = words.setdefault(name, f"i{len(words)}_")
        return f"{found} AS {quoted(alias)}" if alias else found

    text = substitute(PARAMETER.sub("NULL", model.query.text), word)
    known = {}
    for name, found in words.items() if "*" in text else ():
        read = project.models.get(name.name) if name.kind is InputKind.MODEL else None
        names = columns_of_model(project, read) if read else None
        columns = (OutputColumn(each, 1) for each in names or ())
        known[found] = Outputs(tuple(columns), whole=names is not None)
    try:
        tree = parse_query(tokens_of(text), text)
    except (SqlglotError, NotAQueryError):
        return None
    return outputs_of(tree, known).names if tree is not None else None


@dataclass(slots=True)
class TableReader:
    """Reads tables in any form, from their first place; `types` are the declared ones."""

    root: Path
    findings: list[Finding]
    types: Mapping[str, ColumnType] = field(default_factory=dict)

    def table(self, node: YamlNode, what: str) -> GivenTable | None:
        """Read a table under its own key."""
        if isinstance(node.value, tuple):
            return self.rows(node)
        return self.form(read_section(TableSection, node, what, self.findings), what)

    def form(self, section: TableSection, what: str) -> GivenTable | None:
        """Read a table in the given one of `FORMS`, with the types of `columns`."""
        forms = [form for form in FORMS if section.find(form)]
        if len(forms) != 1:
            written = f"both {forms[0]} and {forms[1]}" if forms else "no rows"
            hint = f"give exactly one of {', '.join(FORMS)}"
            self._say(section.node.where, f"{what} has {written}", hint)
            return None
        reader, [form] = replace(self, types=section.columns), forms
        if section.rows is not None:
            return reader.rows(section.rows)
        read = {"csv": reader.csv, "sql": reader.sql, "file": reader.file}[form]
        return read(getattr(section, form), section.place(form))

    def fixture(self, section: FixtureSection, what: str) -> GivenTable | None:
        """Read a table in dbt's form, where `rows` is in the `format`: dict, csv or sql."""
        if section.find("format") and not section.format:
            return None
        reader, rows = replace(self, types=section.columns), section.rows
        if section.find("fixture"):
            ending = "sql" if section.format == "sql" else "csv"
            name = section.fixture
            path = name if "." in name else f"fixtures/{name}.{ending}"
            return reader.file(path, section.place("fixture"))
        if rows is None or section.format in ("", "dict"):
            return self.form(section, what)
        read = reader.csv if section.format == "csv" else reader.sql
        return read(section.read("rows", TEXT), rows.where)

    def rows(self, node: YamlNode) -> GivenTable:
        """Read a list of mappings."""
        rows = []
        for item in items_of(Section(node, "", self.findings, {"rows": node}), "rows", "mappings"):
            if not isinstance(item.value, Mapping):
                row = Section(item, "", self.findings, {"a row": item})
                row.bad("a row", "a mapping of columns to values")
                continue
            seen: set[str] = set()
            for name, cell in item.members.items():
                if name.lower() in seen:
                    sentence = f"column {name!r} is written twice in one row"
                    self.findings.append(Finding(cell.key, "duplicate-key", sentence))
                seen.add(name.lower())
            rows.append(item.members)
        return GivenTable(node.where, tuple(rows), self.types)

    def csv(self, text: str, where: Location) -> GivenTable | None:
        """Read CSV; a column without values needs a type."""
        try:
            header, rows = read_csv(text, where)
        except CsvError as error:
            line = Location(where.path, where.line + error.line - 1)
            self._say(line, f"csv: {error}")
            return None
        return GivenTable(where, rows, self.types, header=header)

    def sql(self, text: str, where: Location) -> GivenTable | None:
        """Read a query without tables."""
        problem = select_problem(text)
        if problem is not None:
            code, sentence = problem
            hint = "write a SELECT of constants"
            self.findings.append(Finding(where, code, f"sql: {sentence}", hint))
            return None
        return GivenTable(where, (), self.types, query=text.strip().rstrip(";"))

    def json(self, text: str, where: Location) -> GivenTable | None:
        """Read a JSON list of objects, or an object per line."""
        try:
            if text.lstrip().startswith("["):
                items = _parsed(text)
                found = [(where, item) for item in items] if isinstance(items, list) else []
            else:
                lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
                places = [(Location(where.path, n), line) for n, line in lines]
                found = [(at, _parsed(line)) for at, line in places]
            if not all(isinstance(item, dict) for _, item in found):
                raise ValueError("a row is not an object")  # noqa: TRY301  as json says of bad files
        except ValueError as error:
            hint = "a list of objects, or an object per line"
            self._say(where, f"no JSON rows: {error}", hint)
            return None
        rows = tuple(_row(item, at) for at, item in found)
        return GivenTable(where, rows, self.types)

    def file(self, name: str, where: Location) -> GivenTable | None:
        """Read a file under tests/, relative to that folder or to the project."""
        path = PurePosixPath(name)
        inside = PurePosixPath(*path.parts[1:]) if path.parts[:1] == (FOLDER,) else path
        place = self.root / FOLDER / inside
        if path.is_absolute() or ".." in path.parts:
            sentence = f"file: {name!r} lies outside of {FOLDER}/"
            self.findings.append(Finding(where, "path-outside-project", sentence))
            return None
        if path.suffix not in _FILES:
            hint = f"one of {', '.join(_FILES)}"
            self._say(where, f"file: {name!r} is not a file of rows", hint)
            return None
        if not place.is_file():
            self._say(where, f"file: there is no {FOLDER}/{inside}")
            return None
        if path.suffix == ".parquet":
            query = f"SELECT * FROM parquet.{quoted(str(place))}"
            return GivenTable(where, (), self.types, query=query)
        try:
            text = place.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            sentence = f"file: {FOLDER}/{inside} cannot be read: {error}"
            self.findings.append(Finding(where, "unreadable-file", sentence))
            return None
        read = {".csv": self.csv, ".sql": self.sql, ".json": self.json}[path.suffix]
        return read(text, Location(f"{FOLDER}/{inside}"))

    def _say(self, where: Location, sentence: str, hint: str = "") -> None:
        self.findings.append(Finding(where, "bad-value", sentence, hint))


def _row(item: Json, where: Location) -> Mapping[str, YamlNode]:
    return YamlNode(item, places=lambda *_: where).members


def _parsed(text: str) -> Json:
    def number(digits: str) -> Written:
        found = Written.of(digits)
        return Written.of(digits, CellKind.NUMBER) if found.kind is CellKind.TEXT else found

    found: Json = json.loads(text, parse_float=number, parse_int=number, parse_constant=number)
    return found

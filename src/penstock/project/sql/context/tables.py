"""The tables of templates: `ref`, `source`, `this`, `as_of`, and what is known of them."""

from __future__ import annotations

import datetime as dt
import re
from functools import partial
from typing import Any

from penstock.core.masking import mask
from penstock.core.names import quoted
from penstock.core.query import RUN_TIMESTAMP
from penstock.project.files.discovery import model_name
from penstock.project.files.parsed import READS_CODE, RefKind, TableRef
from penstock.project.files.render_context import KnownTable, RenderContext, table_key
from penstock.project.sql.context.rendering import Now
from penstock.project.sql.context.rows import RowsFunctions, RowsUnknownError
from penstock.project.sql.context.values import ColumnView, RelationView, Token, UnknownPartError

_TABLE = re.compile(r"`penstock:(\d+)`")
_PLACEHOLDER = re.compile(r"@[A-Za-z_][A-Za-z0-9_]*")
_THIS = "`penstock:this`"
_CREATED = "created"
_VERSION = re.compile(r"v?\d+(\.\d+)?")


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


# Any, here and below: the arguments are whatever a template passes.
class Tables:
    """`ref`, `source`, `this` and `as_of`: each call is a mention of a table."""

    def __init__(self, now: Now, context: RenderContext, rows: RowsFunctions) -> None:
        self._now = now
        self._context = context
        self._rows = rows
        self.this = RelationView(_THIS, (RefKind.THIS,), self._find_this)

    def ref(self, *names: Any, version: Any = None, v: Any = None) -> Token:  # noqa: ANN401
        """Return a model or seed; `ref('package', 'model')` is the model."""
        asked = version if version is not None else v
        if len(names) > 1 and all(isinstance(each, str) for each in names):
            is_package = asked is not None or not _VERSION.fullmatch(names[1])
            names = names[1:] if is_package else names
        given = (*names, asked) if asked is not None else names
        return self._mention(RefKind.REF, given, range(1, 3), "ref('model') or ref('model', 2)")

    def source(self, *names: Any) -> Token:  # noqa: ANN401
        """Return a table of a source."""
        return self._mention(RefKind.SOURCE, names, range(2, 3), "source('schema', 'table')")

    def as_of(
        self,
        table: Any,  # noqa: ANN401
        moment: Any = None,  # noqa: ANN401
        include_deleted: Any = False,  # noqa: ANN401, FBT002
    ) -> Token:
        """Return the versions of a history table that were valid at a time."""
        now = self._now()
        found = _TABLE.fullmatch(str(table)) if isinstance(table, Token) else None
        if found is None or now.calls[int(found[1])].kind is not RefKind.REF:
            sentence = "as_of reads history tables, and its first argument is not a ref"
            now.report("not-a-history-model", sentence, "as_of(ref('model'), '2024-03-01')")
            return Token("(select 1)")
        try:
            at = time_sql(str(moment) if isinstance(moment, Token) else moment)
        except BadTimeError as error:
            hint = "write '2024-03-01', '2024-03-01T12:00:00Z' or run_timestamp"
            now.report("as-of-argument", str(error), hint)
            return Token("(select 1)")
        history = f"`penstock:{found[1]}"
        start, end = f"{history}:valid_from`", f"{history}:valid_to`"
        held = f"{start} <= {at} and ({end} is null or {end} > {at})"
        rest = "" if include_deleted else f" and {history}:present`"
        return Token(f"(select * from {history}` where {held}{rest})")

    def columns_of(self, table: Any) -> list[ColumnView]:  # noqa: ANN401
        """Return the columns of a relation, from its query or its YAML, else from the table."""
        if not isinstance(table, RelationView) or table._key[0] == _CREATED:  # noqa: SLF001  as below
            sentence = f"{str(table)[:80]!r} is not a ref, a source or this"
            raise UnknownPartError(sentence, "declare the table as a source", READS_CODE)
        asked = self._key_of(table)
        self._now().reads.add(self._context.read("columns", asked))
        if self._context.tables is None:
            return []
        found = self._context.tables.columns(asked)
        if found is None and self._now().may_read and str(table) != _THIS:
            read = self._rows.rows_of(f"select * from {table} limit 0")
            found = read.columns if read else ()
        if found is None:
            name = asked.rpartition("\n")[2]
            sentence = f"the columns of {name!r} are not known without reading the table"
            hint = "list them under columns: in YAML, or name them in its query"
            raise UnknownPartError(sentence, hint, "template-needs-table")
        find = partial(self._type_of, table)
        return [ColumnView(name, kind, find=find) for name, kind in found]

    def _type_of(self, table: RelationView, column: str) -> str:
        """Return the type that a column has in the table; "" if it cannot be read."""
        if not self._now().may_read or str(table) == _THIS:
            return ""
        read = self._rows.rows_of(f"select * from {table} limit 0")
        kinds = {name.lower(): kind for name, kind in (read.columns if read else ())}
        if read and column.lower() not in kinds:  # the table has got it since then
            raise RowsUnknownError
        return kinds.get(column.lower(), "")

    def get_relation(self, database: Any = None, schema: Any = None, identifier: Any = None) -> Any:  # noqa: ANN401
        """Return the table of these names, None if it is `this` and does not exist yet.

        A source counts as there. Tables that the project does not have are a finding.
        """
        del database
        this, tables = self._find_this(), self._context.tables
        self._now().is_branching = True
        if (schema, identifier) == (this.schema, this.table) or tables is None:
            return self.this if self._now().incremental else None
        self._now().reads.add(self._context.read("graph"))
        for known in tables.all():
            if (known.schema, known.table) == (schema, identifier):
                is_source = known.resource == "source"
                return self.source(schema, identifier) if is_source else self.ref(known.name)
        sentence = f"get_relation: {schema}.{identifier} is not a table of the project"
        raise UnknownPartError(sentence, "declare it as a source", READS_CODE)

    def load_relation(self, table: Any) -> Any:  # noqa: ANN401
        """Return a relation; None for `this` if the table does not exist yet."""
        if not isinstance(table, RelationView) or str(table) != _THIS:
            return table
        self._now().is_branching = True
        return table if self._now().incremental else None

    def _mention(
        self, kind: RefKind, names: tuple[object, ...], counts: range, example: str
    ) -> Token:
        now = self._now()
        texts = tuple(str(n) for n in names if isinstance(n, str | int | float))
        if len(texts) != len(names) or len(names) not in counts or not all(texts):
            now.report("bad-value", f"{kind} needs names", f"write {example}")
            return Token("`penstock:bad`")
        now.calls.append(TableRef(kind, texts, now.current_line))
        key = (kind, *texts)
        find = partial(self._find, table_key(kind, texts), KnownTable(texts[-1], table=texts[-1]))
        return RelationView(f"`penstock:{len(now.calls) - 1}`", key, find)

    def _find_this(self) -> KnownTable:
        name = model_name(self._now().path)
        return self._find(self._key_of_this(), KnownTable(name, table=name))

    def _key_of_this(self) -> str:
        return table_key(RefKind.THIS, (self._now().key,))

    def _key_of(self, table: RelationView) -> str:
        kind, *names = table._key  # noqa: SLF001  which templates cannot see
        return self._key_of_this() if kind is RefKind.THIS else table_key(RefKind(kind), names)

    def _find(self, key: str, guess: KnownTable) -> KnownTable:
        self._now().reads.add(self._context.read("relation", key))
        tables = self._context.tables
        found = tables.table(key) if tables else None
        if tables and found is None and key.startswith(RefKind.THIS):
            sentence = "the parts of this are known in models only"
            raise UnknownPartError(sentence, "use ref('model')", "template-needs-table")
        return found or guess


def created_relation(
    database: str = "", schema: str = "", identifier: str = "", **_options: object
) -> RelationView:
    """Return a table by its name in SQL, which is external unless the project has it."""
    del database
    known = KnownTable(identifier, schema or "", identifier)
    text = ".".join(quoted(part) for part in (schema, identifier) if part)
    return RelationView(text, (_CREATED, schema, identifier), lambda: known)

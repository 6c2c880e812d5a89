"""The values that templates get: tables, columns, the time of the run, sets, read-only records."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.core.names import quoted
from penstock.core.query import RUN_TIMESTAMP, run_id_word, run_word

if TYPE_CHECKING:
    from penstock.project.files.render_context import KnownTable


class Token:
    """Text that can only be printed: changing it would break it silently."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        """Print."""
        return self._text


class RunWord(Token):
    """Text of the run, which no template can compare or count with: it is not known yet."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Raise: the text is that of a later run."""
        raise UnknownPartError(
            "the time and id of the run are not known when a file is read",
            "compare with run_timestamp in SQL",
        )

    __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __int__(self) -> int:
        """Raise, as above."""
        return int(self == 0)

    def __float__(self) -> float:
        """Raise, as above."""
        return float(self == 0)

    def __hash__(self) -> int:
        """Return the hash of the word."""
        return hash(self._text)


RUN_TOKEN = Token(RUN_TIMESTAMP)
RUN_ID = RunWord(run_id_word())


class RelationView(Token):
    """A table as dbt shows it: prints as the table, and has the parts of its name.

    `_find` returns what is known of the table, and notes that the template depends on it.
    """

    __slots__ = ("_find", "_key")

    def __init__(self, text: str, key: tuple[str, ...], find: Callable[[], KnownTable]) -> None:
        super().__init__(text)
        self._key = key
        self._find = find

    def __eq__(self, other: object) -> bool:
        """Compare what was asked for, not how it is printed."""
        return isinstance(other, RelationView) and self._key == other._key

    def __hash__(self) -> int:
        """Return the hash of what was asked for."""
        return hash(self._key)

    def get(self, name: str, default: object = None) -> object:
        """Return a part as from a mapping: macros ask so whether something is a relation."""
        return {"metadata": {"type": "SparkRelation"}}.get(name, default)

    @property
    def database(self) -> str:
        """The catalog, or ""."""
        return self._find().catalog

    @property
    def schema(self) -> str:
        """The schema."""
        return self._find().schema

    @property
    def identifier(self) -> str:
        """The name of the table in its schema."""
        return self._find().table

    name = table = identifier

    @property
    def model(self) -> str:
        """The name of the model, seed or source."""
        return self._find().name

    @property
    def type(self) -> str:
        """`view` or `table`."""
        return "view" if self._find().is_view else "table"

    @property
    def is_view(self) -> bool:
        """Whether it is a view."""
        return self._find().is_view

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return not self._find().is_view

    is_delta = is_table
    is_cte = False

    def include(
        self, *, database: bool = True, schema: bool = True, identifier: bool = True
    ) -> Any:  # noqa: ANN401  the relation or its text
        """Return the relation with only these parts of its name."""
        del database  # Spark reads the name without it
        if schema and identifier:
            return self
        known = self._find()
        parts = [part for part, kept in ((known.schema, schema), (known.table, identifier)) if kept]
        return ".".join(map(quoted, parts))

    def without_identifier(self) -> str:
        """Return the schema, quoted."""
        return str(self.include(identifier=False))

    def quote(self, **_parts: bool) -> RelationView:
        """Return the relation: Spark's names are always quoted."""
        return self

    def render(self) -> str:
        """Return what it prints."""
        return self._text


Find = Callable[[str], str] | None


class ColumnView:
    """One column as `adapter.get_columns_in_relation` and `api.Column` give it."""

    __slots__ = ("_find", "_type", "column")

    def __init__(self, column: str, dtype: str = "", *_size: object, find: Find = None) -> None:
        self.column, self._type, self._find = column, dtype, find

    def __str__(self) -> str:
        """Print name and type."""
        return f"<Column {self.column} ({self._type or 'unknown'})>"

    def __eq__(self, other: object) -> bool:
        """Compare name and type."""
        return isinstance(other, ColumnView) and str(self) == str(other)

    def __hash__(self) -> int:
        """Return the hash of name and type."""
        return hash(str(self))

    @property
    def name(self) -> str:
        """The name."""
        return self.column

    @property
    def quoted(self) -> str:
        """The name in backticks."""
        return quoted(self.column)

    @property
    def data_type(self) -> str:
        """The type, which the table knows if no file declares it."""
        if not self._type and self._find is not None:
            self._type = self._find(self.column)
        if not self._type:
            raise UnknownPartError(
                f"the type of column {self.column!r} is not declared",
                "declare data_type: of the column in YAML",
                "template-needs-table",
            )
        return self._type

    dtype = data_type

    def is_string(self) -> bool:
        """Return whether it is a text."""
        return self._base() in ("string", "varchar", "char", "text")

    def is_integer(self) -> bool:
        """Return whether it is a whole number."""
        return self._base() in ("tinyint", "smallint", "int", "integer", "bigint", "long")

    def is_float(self) -> bool:
        """Return whether it is a floating-point number."""
        return self._base() in ("float", "double", "real")

    def is_numeric(self) -> bool:
        """Return whether it is a decimal."""
        return self._base() in ("decimal", "numeric", "dec")

    def is_number(self) -> bool:
        """Return whether it is a number."""
        return self.is_integer() or self.is_float() or self.is_numeric()

    def _base(self) -> str:
        return self.data_type.lower().partition("(")[0].strip()

    @staticmethod
    def translate_type(dtype: str) -> str:
        """Return Spark's name of a type."""
        return {"TEXT": "string", "INTEGER": "int", "FLOAT": "float"}.get(dtype.upper(), dtype)

    @staticmethod
    def string_type(_size: int = 0) -> str:
        """Return Spark's type of texts."""
        return "string"

    @staticmethod
    def numeric_type(dtype: str, precision: object = None, scale: object = None) -> str:
        """Return a type with precision and scale."""
        return dtype if precision is None or scale is None else f"{dtype}({precision},{scale})"

    @classmethod
    def create(cls, column: str, label_or_dtype: str) -> ColumnView:
        """Return a column of that type."""
        return cls(column, cls.translate_type(label_or_dtype))


class UnknownPartError(Exception):
    """A template needs what is not known when a file is read; the hint says what to do."""

    def __init__(self, sentence: str, hint: str, code: str = "template-error") -> None:
        super().__init__(sentence)
        self.hint = hint
        self.code = code


class RunTime(RunWord):
    """`run_started_at`: prints as a word that each run replaces by its own time.

    So fingerprints do not depend on the clock. Its parts are not known when a file is read.
    """

    __slots__ = ("_shift", "_zone")

    def __init__(self, shift: dt.timedelta = dt.timedelta(0), zone: str = "UTC") -> None:
        super().__init__(run_word("", shift, zone))
        self._shift = shift
        self._zone = zone

    def strftime(self, form: str) -> RunWord:
        """Return the word for the time in a format."""
        return RunWord(run_word(str(form), self._shift, self._zone))

    def isoformat(self, sep: str = "T") -> RunWord:
        """Return the word for the time as ISO 8601."""
        return RunWord(run_word("", self._shift, self._zone, str(sep)[:1]))

    def date(self) -> RunWord:
        """Return the word for the date."""
        return self.strftime("%Y-%m-%d")

    def astimezone(self, zone: object) -> RunTime:
        """Return the time in another zone."""
        return RunTime(self._shift, str(zone))

    def __add__(self, other: object) -> RunTime:
        """Return a later time."""
        if not isinstance(other, dt.timedelta):
            return NotImplemented
        return RunTime(self._shift + other, self._zone)

    def __sub__(self, other: object) -> RunTime:
        """Return an earlier time."""
        if not isinstance(other, dt.timedelta):
            return NotImplemented
        return RunTime(self._shift - other, self._zone)


class Record(Mapping[str, Any]):
    """A read-only mapping whose keys are attributes too, such as `target` and `model`.

    `find` returns the value of a key, and may note that the template asked for it.
    """

    __slots__ = ("_find", "_keys", "_text")

    def __init__(self, keys: Iterable[str], find: Callable[[str], Any], text: str = "") -> None:
        self._keys = tuple(keys)
        self._find = find
        self._text = text

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  a value of a template
        """Return the value of a key."""
        if key not in self._keys:
            raise KeyError(key)
        return self._find(key)

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(self._keys)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._keys)

    def __str__(self) -> str:
        """Print all of it."""
        return self._text or str(dict(self))


class Facade:
    """Functions by name, as attributes; nothing else of the module behind them."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._parts = parts

    def __str__(self) -> str:
        """Print nothing: functions have no text."""
        return ""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  a value of a template
        """Return a function."""
        try:
            return self._parts[name]
        except KeyError:
            raise AttributeError(name) from None

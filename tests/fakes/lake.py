"""A lake in memory: an `Engine` that writes tables and a `Log` that reads them.

It knows no SQL. What a query gives is told beforehand (`gives`, `answers`); a table keeps its
columns, its commits with their tokens, and per version the greatest values of its columns.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fakes.clock import NOON
from fakes.folders import FakeFolders
from fakes.lake_session import FakeSession
from penstock.core.columns.schema import Column, Schema
from penstock.core.entities.slices import BronzeFolder, ListedSlice, SliceId
from penstock.core.errors import TableError, interruption
from penstock.core.facts import AddedFile, Head, Listing, LogCommit, TableFacts
from penstock.core.findings import Location
from penstock.core.model import Source
from penstock.core.ports.engine import FrameReaders, QueryResult
from penstock.core.statement import Row
from penstock.core.steps.inputs import FilesPin, Relation
from penstock.core.steps.token import read_metrics, signed_by

Trouble = BaseException | Callable[[], None]
Answer = Row | tuple[Row, ...] | Callable[[], Row]
ID = Schema((Column("id", "int"),))


def columns(text: str) -> Schema:
    """Read `id int, name string`."""
    return Schema(tuple(Column(*part.split(" ", 1)) for part in text.split(", ")))


FileStamp = tuple[int, int] | tuple[int, int, str]
"""A file's size, its time, and what it holds."""


@dataclass
class FakeTable:
    """One Delta table; the place of a commit in the list is its version."""

    table_id: str
    schema: Schema = ID
    commits: list[LogCommit] = field(default_factory=list)
    rewrites: list[bool] = field(default_factory=list)
    highs: list[Mapping[str, str]] = field(default_factory=list)
    rows: int = 0
    comment: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    damaged: set[int] = field(default_factory=set)
    vacuumed: set[int] = field(default_factory=set)
    transactions: dict[str, int] = field(default_factory=dict)

    def entry(self, version: int) -> LogCommit:
        if version in self.gone:
            raise TableError("log-gap", f"version {version} of the log is gone")
        if version in self.damaged:
            raise TableError("log-unreadable", f"version {version} of the log is damaged")
        return self.commits[version]


@dataclass
class FakeLake:
    """Tables by folder, files by path, what queries give, and what will go wrong.

    `ran` lists what was executed, as `(model, word, SQL)`.
    """

    signature: Callable[[], tuple[str, str, str]] = lambda: ("0.1.0", "store-1", "shop")
    tables: dict[str, FakeTable] = field(default_factory=dict)
    files: dict[str, dict[str, FileStamp]] = field(default_factory=dict)
    ran: list[tuple[str, str, str]] = field(default_factory=list)
    sessions: list[FakeSession] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)
    stopped: bool = False
    schemas: list[tuple[str, Schema]] = field(default_factory=list)
    rows: list[tuple[str, Answer]] = field(default_factory=list)
    troubles: dict[tuple[str, str], list[Trouble]] = field(
        default_factory=lambda: defaultdict(list)
    )
    made: int = 0
    folders: FakeFolders = field(default_factory=FakeFolders)

    def __post_init__(self) -> None:
        self.folders.tables = self.tables

    @property
    def engine(self) -> FakeEngine:
        return FakeEngine(self)

    @property
    def fences(self) -> FakeFences:
        return FakeFences(self)

    @property
    def log(self) -> FakeLog:
        return FakeLog(self)

    def gives(self, part: str, schema: str) -> None:
        """Let queries whose SQL holds the part have these columns; the newest word counts."""
        self.schemas.insert(0, (part, columns(schema)))

    def answers(self, part: str, row: Answer) -> None:
        """Let looks whose SQL holds the part give this row; a query of few rows gives several."""
        self.rows.insert(0, (part, row))

    def trouble(self, model: str, word: str, *troubles: Trouble) -> None:
        """Let the next calls of a model go wrong: an error is raised, anything else is called.

        Words are the methods of a session, and `committed`: after the commit is in the log.
        """
        self.troubles[model, word] += troubles

    def meet(self, model: str, word: str) -> None:
        waiting = self.troubles[model, word]
        if not waiting:
            return
        trouble = waiting.pop(0)
        if isinstance(trouble, BaseException):
            raise trouble
        trouble()

    def land(self, uri: str, schema: str = "", token: str = "", **highs: str) -> int:
        """Append as somebody else would, or as the owner of a token; give the version."""
        return self.write(uri, "WRITE", columns(schema) if schema else None, token, highs)

    def write(
        self,
        uri: str,
        operation: str,
        schema: Schema | None,
        token: str,
        highs: Mapping[str, str] | None = None,
    ) -> int:
        """Add a commit; `CREATE …` puts another table in the place of the one that was."""
        table = self.tables.get(uri)
        if table is None:
            self.made += 1
            table = self.tables[uri] = FakeTable(f"id-{self.made}")
        creates = not table.commits or operation.startswith("CREATE")
        table.schema = schema or table.schema
        table.rows = 1 if creates else table.rows + 1
        table.rewrites.append(operation not in ("WRITE", "FENCE") and table.commits != [])
        table.highs.append({**(table.highs[-1] if table.highs else {}), **(highs or {})})
        step, store = signed_by(token)
        table.commits.append(
            LogCommit(
                version=len(table.commits),
                time=NOON + dt.timedelta(seconds=len(table.commits)),
                operation=operation,
                changes_data=operation not in ("SET TBLPROPERTIES", "OPTIMIZE", "FENCE"),
                step=step,
                store=store,
                metrics={"numOutputRows": 1, **read_metrics(token)},
                token=token,
                table_id=table.table_id if creates else "",
                overwrites=operation.endswith("TABLE AS SELECT"),
            )
        )
        return table.commits[-1].version

    def steps(self, uri: str) -> list[str]:
        """Give whose step made each version, "" for others'."""
        return [commit.step for commit in self.tables[uri].commits]

    def commits_of(self, model: str) -> list[str]:
        """Give the first word of every statement that committed for a model."""
        return [sql.split()[0] for name, word, sql in self.ran if (name, word) == (model, "commit")]


@dataclass
class FakeEngine:
    """The engine's side of a lake."""

    lake: FakeLake
    is_cancelled: bool = False

    def require(self, *, writes: bool = False) -> None:
        self.lake.meet("", "require")

    @contextmanager
    def session(self, model: str, where: Location | None = None) -> Iterator[FakeSession]:
        if self.is_cancelled:
            raise interruption(where)
        self.lake.ran.append((model, "session", ""))
        session = FakeSession(self.lake, model, where)
        self.lake.sessions.append(session)
        try:
            yield session
        finally:
            self.lake.sessions.remove(session)

    @contextmanager
    def sharing(self, frames: Mapping[str, FrameReaders]) -> Iterator[None]:
        yield

    def frame(self, relations: Sequence[Relation], sql: str) -> object:
        raise NotImplementedError

    def query(self, relations: Sequence[Relation], sql: str, limit: int) -> QueryResult:
        with self.session("") as session:
            session.bind(relations)
            names = session.define("penstock_query", sql).names
            row = session.row(sql)
        rows = tuple(tuple(None if v is None else str(v) for v in row.values()) for _ in "x")
        return QueryResult(names, rows[:limit], truncated=len(rows) > limit)

    def cancel(self) -> None:
        self.is_cancelled = True
        for session in tuple(self.lake.sessions):
            session.interrupted = True
        self.lake.cancelled.set()

    def stop(self) -> None:
        self.lake.stopped = True


@dataclass
class FakeLog:
    """The log's side of a lake."""

    lake: FakeLake

    def head(self, uri: str, hint: int | None = None) -> Head | None:
        table = self.lake.tables.get(uri)
        if table is None:
            return None
        last = table.entry(len(table.commits) - 1)
        return Head(last.version, last.step)

    def facts(
        self,
        uri: str,
        *,
        counts: bool = False,
        hint: int | None = None,
        version: int | None = None,
    ) -> TableFacts | None:
        table = self.lake.tables.get(uri)
        if table is None:
            return None
        rows, size = (table.rows, 100 * table.rows) if counts else (None, None)
        last = len(table.commits) - 1 if version is None else version
        if last in table.gone or last >= len(table.commits):
            return None
        return TableFacts(
            table.table_id,
            last,
            table.schema,
            properties=dict(table.properties),
            comment=table.comment,
            rows=rows,
            size_bytes=size,
        )

    def commits(self, uri: str, after: int, *, partial: bool = False) -> tuple[LogCommit, ...]:
        table = self.lake.tables.get(uri)
        if table is None:
            return ()
        wanted = range(after + 1, len(table.commits))
        return tuple(table.entry(v) for v in wanted if not (partial and v in table.gone))

    def transaction(self, uri: str, application: str) -> int:
        table = self.lake.tables.get(uri)
        return table.transactions.get(application, 0) if table else 0

    def is_cluttered(self, uri: str) -> bool:
        return uri not in self.lake.tables and uri in self.lake.files

    def added(self, uri: str, after: int, upto: int) -> tuple[AddedFile, ...] | None:
        table = self.lake.tables.get(uri, FakeTable(""))
        wanted = range(after + 1, upto + 1)
        if any(v in table.gone or table.rewrites[v] for v in wanted):
            return None
        appended = [v for v in wanted if table.commits[v].operation == "WRITE"]
        return tuple(AddedFile(f"part-{v}", table.highs[v]) for v in appended)

    def spans(self, uri: str, version: int, column: str) -> tuple[AddedFile, ...] | None:
        return None

    def partitions(self, uri: str) -> list[dict[str, str | None]]:
        return []

    def listing(self, source: Source) -> Listing:
        if source.path not in self.lake.files:
            sentence = f"source {source.table} has no files: {source.path} does not exist"
            raise TableError("source-missing", sentence, where=source.where)
        seen = {n: t for n, t in self.lake.files[source.path].items() if n[0] not in "_."}
        digest = _digest_of(seen)
        names = tuple(f"{source.path}/{name}" for name in sorted(seen))
        return Listing(FilesPin(digest, len(seen)), names)

    def slices(self, folder: BronzeFolder) -> tuple[ListedSlice, ...]:
        if folder.path not in self.lake.files:
            sentence = f"the bronze folder {folder.path} does not exist"
            raise TableError("bronze-missing", sentence, where=folder.where)
        fits = _glob(folder.pattern).fullmatch
        found: dict[str, dict[str, FileStamp]] = defaultdict(dict)
        for name, state in self.lake.files[folder.path].items():
            parts = name.split("/")
            ends = ("/".join(parts[: n + 1]) for n in range(len(parts)))
            if of := next(filter(fits, ends), ""):
                found[of][name] = state
        each = (_slice(of, files, folder) for of, files in sorted(found.items()))
        return tuple(filter(None, each))

    def unmatched(self, folder: BronzeFolder) -> tuple[str, ...]:
        fits = _glob(folder.pattern).fullmatch
        has_slices = bool(self.slices(folder))
        found = []
        for name in self.lake.files[folder.path]:
            parts = name.split("/")
            ends = ("/".join(parts[: n + 1]) for n in range(len(parts)))
            hidden = any(part[0] in "_." for part in parts)
            if not hidden and not any(map(fits, ends)) and not (has_slices and parts[1:]):
                found.append(name)
        return tuple(sorted(found))

    def file_problem(self, path: str) -> str:
        return ""


def _digest_of(files: Mapping[str, FileStamp]) -> str:
    told = sorted((name, size, *content) for name, (size, _, *content) in files.items())
    return hashlib.sha256(repr(told).encode()).hexdigest()


_GLOB = {r"\*\*/": "(?:[^/]+/)*", r"\*": "[^/]*", r"\?": "[^/]"}


def _glob(pattern: str) -> re.Pattern[str]:
    text = re.escape(pattern)
    for written, meant in _GLOB.items():
        text = text.replace(written, meant)
    return re.compile(text)


def _slice(name: str, held: Mapping[str, FileStamp], folder: BronzeFolder) -> ListedSlice | None:
    below = {file: file.removeprefix(name).strip("/").split("/") for file in held}
    marks = {parts[0] for parts in below.values()}
    files = {f: held[f] for f, parts in below.items() if not any(p[:1] in {*"_."} for p in parts)}
    if any(part[0] in "_." for part in name.split("/")):
        return None
    is_open = "_temporary" in marks or not files
    is_open |= folder.require_success and name not in held and "_SUCCESS" not in marks
    size, times = sum(each[0] for each in files.values()), [each[1] for each in files.values()]
    found = SliceId(name, size, max(times, default=0) * 1_000_000, _digest_of(files))
    return ListedSlice(found, tuple(sorted(files)), is_open)


@dataclass
class FakeFences:
    """The fences of a lake."""

    lake: FakeLake

    def fence(self, uri: str, application: str, number: int, token: str) -> bool:
        table = self.lake.tables.get(uri)
        if table is None:
            return False
        if table.transactions.get(application, 0) < number:
            table.transactions[application] = number
            self.lake.write(uri, "FENCE", None, token)
        return True

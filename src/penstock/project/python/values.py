"""Values that code reaches, as bytes that are equal in every process where the values are equal.

Plain data counts by content: sets without order, frames and arrays without their layout in memory.
Code among it is named, and its place collected, so that its text counts. What cannot be pickled
counts by its `repr` without addresses. Clocks, random generators and secrets count for nothing.
"""

from __future__ import annotations

import ast
import datetime as dt
import functools
import hashlib
import io
import logging
import marshal
import os
import pickle
import random
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.core.masking import REDACTED, SECRETS, is_secret_key
from penstock.project.python.statement import bare
from penstock.project.python.texts import BEGAN, ModuleTexts, Place, source_of, text_of

_SECRET = re.compile(REDACTED.removeprefix("(?i)").encode())
"""For lower-case bytes: ignoring case takes ten times as long."""
_DUNDER = re.compile(r"__\w+__|_abc_impl")
_LEAVES = (type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, type(...))
_PLAIN = (dict, list, tuple, set, frozenset, str, bytes, int, float)
_DEEPEST = 30
_RANDOM = re.compile(r"random|numpy\.random(\..*)?")
_ADDRESS = re.compile(r"(?: at |address=)0x[0-9a-fA-F]+")
_GROUP = re.compile(r"\{([^{}:]*)\}")
_BY_CONTENT = ("numpy", "pandas", "pyarrow", "pyspark")
_PARTS = (set, frozenset, ModuleType, FunctionType, PurePath, random.Random)
Encoded = Callable[[object], bytes]


@dataclass(slots=True)
class Values:
    """Digests values of one function; `places` are those of the project's code among them."""

    texts: ModuleTexts
    home: str
    root: str
    since: float = BEGAN
    places: list[Place] = field(default_factory=list)
    _bytes: dict[int, tuple[object, bytes]] = field(default_factory=dict)
    _deep: list[object] = field(default_factory=list)
    _depth: int = 0

    def digest(self, value: object) -> str:
        """Return a short text; two texts are equal exactly if the values are."""
        parts = [self.encoded(value)]
        while self._deep:
            parts.append(self.encoded(self._deep.pop()))
        return hashlib.sha256(b"".join(parts)).hexdigest()[:16]

    def encoded(self, value: Any) -> bytes:  # noqa: ANN401  anything at all
        """Return a value as bytes; deeply nested parts are queued."""
        kind = type(value)
        if kind in _LEAVES:
            return self._leaf(value)
        if id(value) in self._bytes:
            if kind is FunctionType:
                self._own_places(value)
        elif self._depth == _DEEPEST:
            self._deep.append(value)
            return b"deep"
        else:
            self._bytes[id(value)] = (value, b"again")  # it may hold itself
            self._depth += 1
            self._bytes[id(value)] = (value, self._data(value))
            self._depth -= 1
        return self._bytes[id(value)][1]

    def _leaf(self, value: Any) -> bytes:  # noqa: ANN401  any of _LEAVES
        if isinstance(value, str):
            if value in SECRETS.forms:
                return b"secret"
            value = value.replace(self.root, "<root>") if self.root in value else value
        elif isinstance(value, float) and self.since <= value <= time.time():
            return b"now"
        elif isinstance(value, range | slice | type(...)):
            return repr(value).encode()
        return marshal.dumps(value, 2)

    def _data(self, value: Any) -> bytes:  # noqa: ANN401  anything at all
        try:
            if type(value) in (list, tuple, dict, set, frozenset):
                return self._quick(value) or self._many(value)
            return self._code(value) or self._content(value) or self._object(value)
        except Exception:  # noqa: BLE001  code of a user, or of any library
            return stable_repr(value, self.root)

    def _quick(self, value: Any) -> bytes:  # noqa: ANN401  a collection
        """Return plain data at once: version 2 of marshal has no references and sorts sets."""
        try:
            found = marshal.dumps(value, 2)
            is_plain = marshal.loads(found) == value  # noqa: S302  an array comes back as bytes
        except Exception:  # noqa: BLE001  whatever the parts say when they are compared
            return b""
        hits = self.root.encode() in found or _SECRET.search(found.lower())
        known = hits or any(each.encode("utf-8", "replace") in found for each in SECRETS.forms)
        return b"" if known or not is_plain or value == dict(os.environ) else found

    def _many(self, value: Any) -> bytes:  # noqa: ANN401  a collection
        name = type(value).__name__.encode()
        if isinstance(value, Mapping):
            if dict(value) == dict(os.environ):
                return b"environment"
            parts = [
                self.encoded(key) + (b"secret" if is_secret_key(str(key)) else self.encoded(each))
                for key, each in value.items()
            ]
        else:
            parts = [self.encoded(each) for each in value]
        if isinstance(value, set | frozenset):
            parts.sort()
        return framed(name, *parts)

    def _code(self, value: Any) -> bytes:  # noqa: ANN401  anything at all
        """Return code by its name, with the values it contains; empty for data."""
        if isinstance(value, ModuleType):
            return framed(b"module", value.__name__.encode())
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, BuiltinFunctionType):
            owner = value.__self__
            held = b"" if isinstance(owner, ModuleType) else self.encoded(owner)
            return framed(b"builtin", value.__qualname__.encode(), held)
        if type(value).__module__ == "penstock.app.application":
            return b"app"
        parts = _wrapped(value)
        return framed(type(value).__name__.encode(), *map(self.encoded, parts)) if parts else b""

    def _function(self, function: FunctionType) -> bytes:
        name = function.__qualname__
        named: dict[str, object] = {}
        if self._own_places(function):
            text = lambda_text(function) if name.endswith("<lambda>") else name
        elif Path(function.__code__.co_filename).is_file():
            text = f"{function.__module__} {function.__code__.co_qualname}"
        else:
            text = _bare_text(function)
            known = function.__globals__
            named = {each: known[each] for each in _names(function.__code__) if each in known}
        members = {
            **{f"global {key}": each for key, each in named.items()},
            **{f"default {n}": each for n, each in enumerate(function.__defaults__ or ())},
            **(function.__kwdefaults__ or {}),
            **{key: each for key, each in vars(function).items() if not _DUNDER.fullmatch(key)},
            **dict(_cells(function)),
        }
        wrapped = getattr(function, "__wrapped__", None)
        members |= {"wrapped": wrapped} if wrapped is not None else {}
        return self._frame_members(b"function", text, members)

    def _own_places(self, function: FunctionType) -> bool:
        """Record the place of a project function; for a lambda the names that it uses."""
        if not self.texts.is_own(function.__code__.co_filename):
            return False
        module = self._module(str(function.__globals__.get("__name__", "")))
        first = function.__qualname__.partition(".")[0]
        names = _names(function.__code__) if first.startswith("<") else [first]
        self.places += [(module, each) for each in names]
        return True

    def _class(self, kind: type) -> bytes:
        if not self._is_of_project(kind):
            return framed(b"class", f"{kind.__module__}.{kind.__qualname__}".encode())
        self.places.append((self._module(kind.__module__), kind.__qualname__.partition(".")[0]))
        has_file = (self._namespace(kind) or {"__file__": ""}).get("__file__") is not None
        text = kind.__qualname__ if has_file else _bare_text(kind)
        if issubclass(kind, Enum):
            body: dict[str, object] = {each: m.value for each, m in kind.__members__.items()}
        else:
            own = vars(kind).items()
            body = {key: each for key, each in own if not _DUNDER.fullmatch(key)}
            body |= {"defaults": kind._field_defaults} if hasattr(kind, "_field_defaults") else {}
        return self._frame_members(b"class", text, body)

    def _frame_members(self, what: bytes, text: str, members: Mapping[str, object]) -> bytes:
        parts = [framed(key.encode(), self._member(key, members[key])) for key in sorted(members)]
        return framed(what, text.encode(), *parts)

    def _member(self, key: str, value: object) -> bytes:
        return b"secret" if is_secret_key(key) and not callable(value) else self.encoded(value)

    def _content(self, value: Any) -> bytes:  # noqa: ANN401  anything at all
        """Return the content of values whose pickle is not just their content; else nothing."""
        kind = type(value)
        if isinstance(value, Enum):
            return framed(b"enum", self.encoded(kind), value.name.encode())
        if isinstance(value, dt.datetime) and self._is_now(value):
            return b"now"
        if isinstance(value, PurePath):
            return framed(b"path", self._leaf(value.as_posix()))
        if isinstance(value, random.Random) or _RANDOM.fullmatch(kind.__module__):
            return f"random {kind.__qualname__}".encode()  # its code says with which seed
        if isinstance(value, logging.Logger | type(os.environ)):
            return kind.__name__.encode()
        return content_of(value, self.encoded)

    def _is_now(self, value: dt.datetime) -> bool:
        """Return whether a time was read from the clock while the project was loaded."""
        here = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        first, last = (dt.datetime.fromtimestamp(t, dt.UTC) for t in (self.since, time.time()))
        local = value if value.tzinfo else value.astimezone()
        return first <= here <= last or first <= local <= last

    def _object(self, value: Any) -> bytes:  # noqa: ANN401  anything at all
        """Return an object of the project field by field, another one as its pickle."""
        kind = type(value)
        if not self._is_of_project(kind):
            if isinstance(value, list | tuple | set | frozenset | Mapping):
                factory = getattr(value, "default_factory", None)
                own = framed(kind.__qualname__.encode(), self.encoded(factory))
                return own + self._many(value)
            return framed(b"pickle", pickled(value, self.encoded, self._counts_by_content))
        fields = dict(getattr(value, "__dict__", {}))
        for each in kind.__mro__:
            slots = each.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(value, name):
                    fields[name] = getattr(value, name)
        plain: Any = next((each for each in _PLAIN if isinstance(value, each)), None)
        inner = self.encoded(plain(value)) if plain else b""
        held = {key: each for key, each in fields.items() if key not in ("__weakref__", "__dict__")}
        return self._frame_members(b"object", "", held) + self.encoded(kind) + inner

    def _counts_by_content(self, value: Any) -> bool:  # noqa: ANN401  anything at all
        """Return whether a part of a pickle has its own serialization here."""
        if isinstance(value, str):
            return self.root in value or value in SECRETS.forms
        kind = value if isinstance(value, type) else type(value)
        return self._is_of_project(kind)

    def _module(self, name: str) -> str:
        return self.home if name == "__main__" else name

    def _namespace(self, kind: type) -> Mapping[str, object] | None:
        return self.texts.namespace(self._module(kind.__module__))

    def _is_of_project(self, kind: type) -> bool:
        if self._namespace(kind) is not None or kind.__module__ == "__main__":
            return True
        return kind.__module__ != "builtins" and kind.__module__ not in sys.modules


def _bare_text(code: FunctionType | type) -> str:
    """Return the text of code without a file, without comments and layout."""
    text = textwrap.dedent(source_of(code))
    try:
        return ast.unparse(bare(ast.parse(text), (), documented=False))
    except SyntaxError:
        return text


def lambda_text(function: FunctionType) -> str:
    """Return the lambdas of a line as text; their layout and comments count for nothing."""
    line = function.__code__.co_firstlineno
    nodes = ast.walk(_tree(text_of(function.__code__.co_filename)))
    found = [each for each in nodes if isinstance(each, ast.Lambda) and each.lineno == line]
    return "\n".join(map(ast.unparse, found))


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.AST:
    return ast.parse(text)


def _cells(function: FunctionType) -> Iterator[tuple[str, object]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield f"cell {name}", cell.cell_contents
        except ValueError:  # it is not bound yet
            continue


def _names(code: CodeType) -> list[str]:
    """Return the names of globals and attributes in a piece of code, sorted."""
    found, waiting = set[str](), [code]
    while waiting:
        each = waiting.pop()
        found.update(each.co_names)
        waiting += [inner for inner in each.co_consts if isinstance(inner, CodeType)]
    return sorted(found)


def _wrapped(value: Any) -> tuple[object, ...]:  # noqa: ANN401  anything at all
    """Return the parts of code that wraps other code; empty for all other values."""
    match value:
        case functools.partial():
            return value.func, value.args, value.keywords
        case MethodType():
            return value.__func__, value.__self__
        case property():
            return value.fget, value.fset
        case staticmethod() | classmethod():
            return (value.__func__,)
    if type(value).__name__ == "PythonModel":
        return (value.function,)
    inner = getattr(value, "__dict__", {}).get("__wrapped__")  # of `lru_cache`, and its kind
    return (inner,) if inner else ()


def framed(*parts: bytes) -> bytes:
    """Join parts so that no two lists of parts are one text."""
    return b"".join(b"%d:%s" % (len(each), each) for each in (*parts, b"."))


def content_of(value: Any, encoded: Encoded) -> bytes:  # noqa: ANN401  anything at all
    """Return frames and arrays by content, not by layout in memory; empty for other values."""
    kind = type(value)
    match kind.__module__.partition(".")[0], kind.__name__:
        case "numpy", "ndarray":
            return _array(value, encoded)
        case "pandas", "DataFrame":
            columns = [value.iloc[:, n] for n in range(value.shape[1])]
            parts = [value.columns.tolist(), value.index, *columns]
            return framed(b"frame", *map(encoded, parts))
        case "pandas", _ if hasattr(value, "dtype") and hasattr(value, "to_numpy"):
            index = encoded(value.index) if kind.__name__ == "Series" else b""
            names = repr(getattr(value, "names", None) or getattr(value, "name", ""))
            described = str(value.dtype).encode(), names.encode(), index
            return framed(*described, _array(value.to_numpy(), encoded))
        case "pyarrow", _ if hasattr(value, "to_pylist"):  # not its buffers
            types = getattr(value, "schema", None) or value.type
            rows = value.to_pydict() if hasattr(value, "to_pydict") else value.to_pylist()
            return framed(kind.__name__.encode(), str(types).encode(), encoded(rows))
        case "pyspark", "UserDefinedFunction":  # after a call it holds objects of the JVM
            parts = [value.func, str(value.returnType), value.evalType, value.deterministic]
            return framed(b"udf", *map(encoded, parts))
    return b""


def _array(value: Any, encoded: Encoded) -> bytes:  # noqa: ANN401  an array of NumPy
    if value.dtype.hasobject:
        return framed(b"array", repr(value.shape).encode(), encoded(value.tolist()))
    parts = (value.dtype.str, repr(value.shape))
    return framed(b"array", *(each.encode() for each in parts), value.tobytes("C"))


def pickled(value: object, encoded: Encoded, is_own: Callable[[object], bool]) -> bytes:
    """Return the pickle of a value; raise the errors of pickling."""
    written = io.BytesIO()
    _Pickler(written, value, encoded, is_own).dump(value)
    return written.getvalue()


class _Pickler(pickle._Pickler):  # noqa: SLF001  the one in C cannot be changed
    """Writes pickles that no hash seed, no identity of a text and no place of code changes."""

    def __init__(
        self, file: io.BytesIO, top: object, encoded: Encoded, is_own: Callable[[object], bool]
    ) -> None:
        super().__init__(file, protocol=5)
        self._top, self._encoded, self._is_own = top, encoded, is_own

    def memoize(self, obj: object) -> None:
        if not isinstance(obj, str | bytes | tuple | frozenset):  # two equal ones may be one
            super().memoize(obj)  # type: ignore[misc]  # the stubs forgot it

    def reducer_override(self, obj: Any) -> Any:  # noqa: ANN401  what pickle takes
        by_content = type(obj).__module__.partition(".")[0] in _BY_CONTENT
        known = isinstance(obj, _PARTS) or self._is_own(obj)
        if obj is not self._top and (known or (by_content and content_of(obj, self._encoded))):
            return bytes, (self._encoded(obj),)
        return NotImplemented


def stable_repr(value: object, root: str) -> bytes:
    """Return the `repr` of a value without addresses or the project's folder, sets in order."""
    try:
        text = _ADDRESS.sub("", repr(value)).replace(root, "<root>")
    except Exception:  # noqa: BLE001  code of a user, or of any library
        text = ""
    kind = type(value)
    text = _GROUP.sub(lambda it: f"{{{', '.join(sorted(it[1].split(', ')))}}}", text)
    return framed(b"repr", f"{kind.__module__}.{kind.__qualname__}".encode(), text.encode())

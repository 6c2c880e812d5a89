"""Values of libraries as bytes: frames and arrays by content, all others by their pickles."""

from __future__ import annotations

import io
import pickle
import random
import re
from collections.abc import Callable
from pathlib import PurePath
from types import FunctionType, ModuleType
from typing import Any

_ADDRESS = re.compile(r"(?: at |address=)0x[0-9a-fA-F]+")
_GROUP = re.compile(r"\{([^{}:]*)\}")
_BY_CONTENT = ("numpy", "pandas", "pyarrow", "pyspark")
_PARTS = (set, frozenset, ModuleType, FunctionType, PurePath, random.Random)
Encoded = Callable[[object], bytes]


def framed(*parts: bytes) -> bytes:
    """Join parts so that no two lists of parts are one text."""
    return b"".join(b"%d:%s" % (len(each), each) for each in (*parts, b"."))


def content_of(value: Any, encoded: Encoded) -> bytes:  # noqa: ANN401  anything at all
    """Return frames and arrays by content, whatever their place in memory; nothing for others."""
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
    """Return the pickle of a value; raises whatever that raises."""
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


def shown(value: object, root: str) -> bytes:
    """Return the `repr` of a value without addresses or the project's folder, sets in order."""
    try:
        text = _ADDRESS.sub("", repr(value)).replace(root, "<root>")
    except Exception:  # noqa: BLE001  code of a user, or of any library
        text = ""
    kind = type(value)
    text = _GROUP.sub(lambda it: f"{{{', '.join(sorted(it[1].split(', ')))}}}", text)
    return framed(b"repr", f"{kind.__module__}.{kind.__qualname__}".encode(), text.encode())

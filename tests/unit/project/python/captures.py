"""Values as functions capture them: each twice equal, made in two ways, and once another.

As a script it prints the digest of each, for two processes to compare.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import ipaddress
import operator
import re
import string
import sys
import threading
import types
import typing
import uuid
import zoneinfo
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import BaseModel

from penstock.project.python.texts import ModuleTexts
from penstock.project.python.values import Values


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Bits(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Rate:
    name: str
    value: float = 1.0


class Slots:
    __slots__ = ("n",)

    def __init__(self, n: object) -> None:
        self.n = n


class Point(typing.NamedTuple):
    x: int
    y: int


class Row(BaseModel):
    n: int


class Guarded:
    """Holds what cannot be pickled beside what counts."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.lock = threading.Lock()

    def clean(self, frame: object) -> object:
        return frame


class Words(list[str]):
    pass


class Unbound:
    """Raises whatever it is asked, as a proxy of a web framework outside of a request."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


def nested(n: object) -> object:
    found = n
    for _ in range(3000):
        found = [found]
    return found


def chained(n: object) -> object:
    found = n
    for _ in range(400):
        found = types.SimpleNamespace(a=Slots(found))
    return found


def closure(n: object) -> object:
    return lambda: n


def default(n: object) -> object:
    def inner(m: object = n) -> object:
        return m

    return inner


def keyword(n: object) -> object:
    def inner(*, m: object = n) -> object:
        return m

    return inner


def kind(n: object) -> object:
    return type("Made", (), {"n": n, "__module__": __name__})


def cyclic(n: object) -> object:
    found: list[object] = [n]
    found.append(found)
    return found


def late(text: str) -> str:
    """Return a text that is not the one object that Python keeps of it."""
    return "".join(list(text))


def frame(n: int, order: str = "C") -> pd.DataFrame:
    values = np.array([[1, 2], [3, n]], order=order)
    return pd.DataFrame(values, columns=["a", "b"])


NAMES = ["ann", "bob", "cy", "dan", "eve"]
BACK = NAMES[::-1]
CAPTURES: dict[str, tuple[object, object, object]] = {
    "None and False": (None, None, False),
    "a bool and a number": (True, True, 1),
    "a number": (3, 3, 4),
    "a number and a float": (3, 3, 3.0),
    "a float": (0.1 + 0.2, 0.30000000000000004, 0.3),
    "a text": ("ab", late("ab"), "ba"),
    "bytes": (b"ab", bytes([97, 98]), b"ba"),
    "bytes that change": (bytearray(b"ab"), bytearray(b"ab"), bytearray(b"b")),
    "a list": (["a", "a"], [late("a"), late("a")], ["a", "b"]),
    "a list and a tuple": ([1], [1], (1,)),
    "a nested dict": ({"a": {"b": [1]}}, {"a": {"b": [1]}}, {"a": {"b": [2]}}),
    "the order of a dict": ({"a": 1, "b": 2}, {"a": 1} | {"b": 2}, {"b": 2, "a": 1}),
    "a set": (set(NAMES), set(BACK), set(NAMES[1:])),
    "a set in a dict": ({"a": set(NAMES)}, {"a": set(BACK)}, {"a": set()}),
    "a frozen set": (frozenset(NAMES), frozenset(BACK), frozenset(NAMES[1:])),
    "a set of tuples": ({(n, dt.date(2025, 1, 1)) for n in NAMES},
                        {(n, dt.date(2025, 1, 1)) for n in NAMES[::-1]}, {(1, 2)}),
    "a decimal": (decimal.Decimal("1.10"), decimal.Decimal(late("1.10")), decimal.Decimal("1.1")),
    "a fraction": (fractions.Fraction(1, 3), fractions.Fraction(2, 6), fractions.Fraction(1, 2)),
    "a date": (dt.date(2025, 1, 1), dt.date(2025, 1, 1), dt.date(2025, 1, 2)),
    "a time": (dt.datetime(2025, 1, 1, 2, tzinfo=dt.UTC), dt.datetime(2025, 1, 1, 2, tzinfo=dt.UTC),
               dt.datetime(2025, 1, 1, 3, tzinfo=dt.UTC)),
    "a zone": (zoneinfo.ZoneInfo("Europe/Berlin"), zoneinfo.ZoneInfo("Europe/Berlin"), dt.UTC),
    "a duration": (dt.timedelta(hours=24), dt.timedelta(1), dt.timedelta(2)),
    "a UUID": (uuid.UUID(int=1), uuid.UUID(int=1), uuid.UUID(int=2)),
    "a path": (Path("a/b"), Path("a") / "b", Path("a/c")),
    "a pure path": (PurePosixPath("/a"), PurePosixPath("/a"), PurePosixPath("/b")),
    "a pattern": (re.compile("a+"), re.compile(late("a+")), re.compile("a*")),
    "flags of a pattern": (re.compile("a"), re.compile("a"), re.compile("a", re.IGNORECASE)),
    "an enum": (Colour.RED, Colour(1), Colour.BLUE),
    "a flag": (Bits.A, Bits(1), Bits.A | Bits.B),
    "a dataclass": (Rate("a", 2.0), Rate("a", 2.0), Rate("a", 3.0)),
    "slots": (Slots(1), Slots(1), Slots(2)),
    "a named tuple": (Point(1, 2), Point(y=2, x=1), Point(2, 1)),
    "a pydantic model": (Row(n=1), Row(n=1), Row(n=2)),
    "an object with a lock": (Guarded(1), Guarded(1), Guarded(2)),
    "a subclass of list": (Words(["a"]), Words([late("a")]), Words(["b"])),
    "a closure": (closure(1), closure(1), closure(2)),
    "a closure of a set": (closure(set(NAMES)), closure(set(BACK)), closure(set())),
    "a default": (default(1), default(1), default(2)),
    "a default by a keyword": (keyword(1), keyword(1), keyword(2)),
    "a partial": (functools.partial(closure, 1), functools.partial(closure, 1),
                  functools.partial(closure, 2)),
    "a keyword of a partial": (functools.partial(Rate, value=1), functools.partial(Rate, value=1),
                               functools.partial(Rate, value=2)),
    "a bound method": (Guarded(1).clean, Guarded(1).clean, Guarded(2).clean),
    "a bound method of a list": ([1].append, [1].append, [2].append),
    "a class that was made": (kind(1), kind(1), kind(2)),
    "a cached function": (functools.lru_cache(closure(1)), functools.lru_cache(closure(1)),
                          functools.lru_cache(closure(2))),
    "a namespace": (types.SimpleNamespace(n=1), types.SimpleNamespace(n=1),
                    types.SimpleNamespace(n=2)),
    "a read-only dict": (types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 1}),
                         types.MappingProxyType({"a": 2})),
    "an ordered dict": (collections.OrderedDict(a=1), collections.OrderedDict(a=1),
                        collections.OrderedDict(a=2)),
    "a default dict": (collections.defaultdict(set, a={"x", "y"}),
                       collections.defaultdict(set, a={"y", "x"}), collections.defaultdict(list)),
    "a counter": (collections.Counter("aab"), collections.Counter("aab"),
                  collections.Counter("abb")),
    "a deque": (collections.deque([1, 2]), collections.deque([1, 2]), collections.deque([2, 1])),
    "a chain of dicts": (collections.ChainMap({"a": 1}), collections.ChainMap({"a": 1}),
                         collections.ChainMap({"a": 2})),
    "an array": (array.array("i", [1, 2]), array.array("i", [1, 2]), array.array("i", [1, 3])),
    "an item getter": (operator.itemgetter("a"), operator.itemgetter("a"),
                       operator.itemgetter("b")),
    "a template": (string.Template("$a"), string.Template("$a"), string.Template("$b")),
    "an address": (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("10.0.0.0/8"),
                   ipaddress.ip_network("10.0.0.0/9")),
    "a range": (range(0, 4, 2), range(0, 4, 2), range(5)),
    "a slice": (slice(1, 2), slice(1, 2), slice(1, 3)),
    "a list that holds itself": (cyclic(1), cyclic(1), cyclic(2)),
    "an array of NumPy": (np.arange(4).reshape(2, 2), np.asfortranarray([[0, 1], [2, 3]]),
                          np.zeros((2, 2), int)),
    "the type of an array": (np.array([1], "int64"), np.array([1], "int64"),
                             np.array([1], "int32")),
    "an array of objects": (np.array(["a", None], object), np.array([late("a"), None], object),
                            np.array(["b", None], object)),
    "a number of NumPy": (np.float64(1.5), np.float64(1.5), np.float64(2.5)),
    "a frame of pandas": (frame(4), frame(4, "F"), frame(5)),
    "texts in a frame": (pd.DataFrame({"a": ["x", None]}), pd.DataFrame({"a": [late("x"), None]}),
                         pd.DataFrame({"a": ["y", None]})),
    "columns of a frame": (frame(4), frame(4), frame(4).rename(columns={"a": "c"})),
    "the index of a frame": (frame(4), frame(4), frame(4).set_index(pd.Index([5, 6]))),
    "categories of a series": (pd.Series(["a", "b"], dtype="category"),
                               pd.Series(["a", "b"], dtype="category"), pd.Series(["a", "b"])),
    "a timestamp of pandas": (pd.Timestamp("2025-01-01"), pd.Timestamp("2025-01-01"),
                              pd.Timestamp("2025-01-02")),
    "a table of Arrow": (pa.table({"a": [1, None]}),
                         pa.concat_tables([pa.table({"a": [1]}),
                                           pa.table({"a": pa.array([None], pa.int64())})]),
                         pa.table({"a": [1, 2]})),
    "a schema of Arrow": (pa.schema({"a": pa.int64()}), pa.schema({"a": pa.int64()}),
                          pa.schema({"a": pa.int32()})),
    "arrays in a list": ([np.array(["a", None], object)], [np.array([late("a"), None], object)],
                         [np.array(["b", None], object)]),
    "the type of arrays in a list": ([np.array([1], "int64")], [np.array([1], "int64")],
                                     [np.array([1, 0], "int32")]),
    "a list of many levels": (nested(1), nested(1), nested(2)),
    "objects of many levels": (chained(1), chained(1), chained(2)),
    "what raises whenever it is asked": ([Unbound()], [Unbound()], [Unbound(), 1]),
    "an array of Arrow": (pa.array([1, 2]), pa.array([0, 1, 2]).slice(1), pa.array([1, 3])),
}  # fmt: skip


def digests() -> dict[str, list[str]]:
    """Return the digests of the three values of each capture."""
    here = Path(__file__).resolve().parent
    texts = ModuleTexts({}, [here], {__name__: globals()})
    return {
        name: [Values(texts, "captures", "/nowhere").digest(each) for each in values]
        for name, values in CAPTURES.items()
    }


if __name__ == "__main__":
    for name, values in digests().items():
        sys.stdout.write(f"{name} {values}\n")

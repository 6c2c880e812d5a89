"""`modules` of templates: parts of datetime, re, itertools and pytz that always end.

None of them reads the clock, the machine's time zone or a file of the user.
"""

from __future__ import annotations

import datetime as dt
import importlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.project.sql.context.values import Facade, UnknownPartError
from penstock.project.sql.template_budget import MOST_CHARACTERS, refuse_large

_parser: Any = importlib.import_module("re._parser")  # patterns as trees, which typeshed lacks
_constants: Any = importlib.import_module("re._constants")
Spend = Callable[[int, int], None]
"""Uses up steps and characters of a template's budget."""
_STEPS_PER_TURN = 1000
_ENDLESS = 200_000_000
_MOST_REPEATS = 100
_CLOCK = "write run_started_at, or run_timestamp in SQL"


class TemplateDate(dt.date):
    """A date that does not know today's."""

    @classmethod
    def today(cls) -> TemplateDate:
        """Raise: a template does not depend on the clock."""
        raise UnknownPartError("templates do not read the clock", _CLOCK)

    @classmethod
    def fromtimestamp(cls, *_: object) -> TemplateDate:
        """Raise: it depends on the time zone of the machine."""
        raise UnknownPartError("date.fromtimestamp depends on the machine", "use datetime")


class TemplateTime(dt.datetime):
    """A time that does not know now; without a zone it is in UTC."""

    @classmethod
    def now(cls, *_: object, **_options: object) -> TemplateTime:
        """Raise: a template does not depend on the clock."""
        raise UnknownPartError("templates do not read the clock", _CLOCK)

    today = now
    utcnow = now

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: dt.tzinfo | None = None) -> TemplateTime:
        """Return the time of a Unix time, in UTC unless a zone is passed."""
        found = super().fromtimestamp(timestamp, tz or dt.UTC)
        return found if tz else found.replace(tzinfo=None)

    def timestamp(self) -> float:
        """Return the Unix time."""
        return super().timestamp() if self.tzinfo else self.replace(tzinfo=dt.UTC).timestamp()

    def astimezone(self, tz: dt.tzinfo | None = None) -> TemplateTime:
        """Return the time in another zone, UTC by default."""
        known = self if self.tzinfo else self.replace(tzinfo=dt.UTC)
        return super(TemplateTime, known).astimezone(tz or dt.UTC)

    def date(self) -> TemplateDate:
        """Return the date."""
        return TemplateDate(self.year, self.month, self.day)


class Zone(dt.tzinfo):
    """A time zone by its IANA name, as `modules.pytz.timezone` gives it."""

    def __init__(self, name: str) -> None:
        self._zone = ZoneInfo(name)

    def __str__(self) -> str:
        """Return the name."""
        return self._zone.key

    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta | None:
        """Return the offset at a time."""
        return self._zone.utcoffset(when)

    def dst(self, when: dt.datetime | None) -> dt.timedelta | None:
        """Return the offset of summer time."""
        return self._zone.dst(when)

    def tzname(self, when: dt.datetime | None) -> str | None:
        """Return the abbreviation at a time."""
        return self._zone.tzname(when)

    def fromutc(self, when: dt.datetime) -> dt.datetime:
        """Return a time in this zone."""
        return self._zone.fromutc(when.replace(tzinfo=self._zone)).replace(tzinfo=self)

    def localize(self, when: dt.datetime, **_options: object) -> dt.datetime:
        """Return a time without a zone as one in this zone."""
        return when.replace(tzinfo=self)


def own_times(value: Any) -> Any:  # noqa: ANN401  a value from YAML
    """Return a value with dates and times that do not know the clock."""
    match value:
        case dt.datetime():
            parts = value.timetuple()[:6]
            return TemplateTime(*parts, value.microsecond, value.tzinfo)
        case dt.date():
            return TemplateDate(value.year, value.month, value.day)
        case Mapping():
            return {own_times(key): own_times(item) for key, item in value.items()}
        case list() | tuple():
            return [own_times(item) for item in value]
    return value


def modules_of(spend: Spend) -> Facade:
    """Return `modules`; `spend` takes what their functions cost from the template's budget."""
    utc = dt.UTC
    times = {
        "datetime": TemplateTime,
        "date": TemplateDate,
        "time": dt.time,
        "timedelta": dt.timedelta,
        "timezone": dt.timezone,
        "UTC": utc,
    }
    zones = {"timezone": _zone, "utc": Zone("UTC"), "UTC": Zone("UTC")}
    found = {"datetime": times, "re": _Patterns(spend).parts, "itertools": _iterators(spend)}
    return Facade({name: Facade(parts) for name, parts in {**found, "pytz": zones}.items()})


def _zone(name: str) -> Zone:
    try:
        return Zone(str(name))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        sentence = f"there is no time zone {str(name)[:80]!r}"
        raise UnknownPartError(sentence, "write a name such as 'Europe/Paris'") from error


class _Patterns:
    """Regular expressions whose longest possible search is paid for before it begins."""

    def __init__(self, spend: Spend) -> None:
        self._spend = spend
        flags = {name: getattr(re, name) for name in ("I", "M", "S", "X")}
        words = ("IGNORECASE", "MULTILINE", "DOTALL", "VERBOSE")
        long = {name: getattr(re, name) for name in words}
        self._calls: dict[str, Callable[..., object]] = {
            **{name: self._search(name) for name in ("match", "search", "fullmatch")},
            "findall": self.findall,
            "split": self.split,
            "sub": self.sub,
        }
        others = {"escape": re.escape, "compile": self.compile}
        self.parts: dict[str, Any] = {**flags, **long, **self._calls, **others}

    def compile(self, pattern: str, flags: int = 0) -> Facade:
        """Return the functions for one pattern."""
        self._compiled(pattern, flags)

        def bind(own: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: Any) -> object:  # noqa: ANN401  values of a template
                return own(pattern, *arguments, flags=flags)

            return call

        found = {name: bind(own) for name, own in self._calls.items()}
        return Facade({**found, "pattern": pattern})

    def _search(self, name: str) -> Callable[..., object]:
        def search(pattern: str, text: str, flags: int = 0) -> Facade | None:
            compiled = self._pay(pattern, text, flags)
            found = getattr(compiled, name)(text)
            return _match(found) if found else None

        return search

    def findall(self, pattern: str, text: str, flags: int = 0) -> list[Any]:
        """Return all matches."""
        return self._pay(pattern, text, flags).findall(text)

    def split(self, pattern: str, text: str, maxsplit: int = 0, flags: int = 0) -> list[Any]:
        """Return the pieces between matches."""
        return self._pay(pattern, text, flags).split(text, maxsplit)

    def sub(self, pattern: str, repl: str, text: str, count: int = 0, flags: int = 0) -> str:
        """Return a text with matches replaced by a text."""
        if not isinstance(repl, str):
            raise UnknownPartError("re.sub replaces by a text", "write the text itself")
        refuse_large((len(text) + 1) * len(repl) + repl.count("\\") * len(text))
        return self._pay(pattern, text, flags).sub(repl, text, count)

    def _pay(self, pattern: str, text: str, flags: int) -> re.Pattern[str]:
        compiled = self._compiled(pattern, flags)
        length = len(text)
        turns = min(_log_turns(_parser.parse(pattern, int(flags)), length), 60.0)
        self._spend(1 + len(pattern) // 10, 0)
        self._spend(min(int(2**turns) * (length + 1), _ENDLESS) // _STEPS_PER_TURN, 0)
        return compiled

    @staticmethod
    def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
        refuse_large(len(pattern) * 1000)  # compiling takes long as well
        return re.compile(pattern, int(flags))


def _log_turns(pattern: Iterable[Any], length: int) -> float:
    """Return the logarithm of the most ways in which a pattern can be tried at one place."""
    total = 0.0
    for kind, given in pattern:
        if kind in _REPEATS:
            least, most, inner = given
            many = min(int(most), length + 1)
            ways = max(many - least + 1, 1)
            total += math.log2(ways) + many * _log_turns(inner, length)
        elif kind is _constants.BRANCH:
            total += math.log2(len(given[1])) + sum(_log_turns(each, length) for each in given[1])
        elif kind is _constants.SUBPATTERN:
            total += _log_turns(given[-1], length)
        elif kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            total += _log_turns(given[1], length)
        elif kind in (_constants.GROUPREF_EXISTS, _constants.ATOMIC_GROUP):
            parts = given[1:] if isinstance(given, tuple) else (given,)
            total += sum(_log_turns(each, length) for each in parts if each)
    return total


_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


def _match(result: re.Match[str]) -> Facade:
    names = ("group", "groups", "groupdict", "start", "end", "span")
    return Facade({name: getattr(result, name) for name in names})


def _iterators(spend: Spend) -> Mapping[str, Callable[..., object]]:
    """Return functions of itertools that give lists, and pay for each item."""

    def paying(own: Callable[..., Iterable[Any]]) -> Callable[..., list[Any]]:
        def call(*arguments: Any, **options: Any) -> list[Any]:  # noqa: ANN401  values of a template
            numbers = [each for each in (*arguments, *options.values()) if isinstance(each, int)]
            if own is not itertools.islice:
                refuse_large((MOST_CHARACTERS + 1) * (max(numbers, default=0) > _MOST_REPEATS))
            found = []
            for each in own(*arguments, **options):
                spend(1 + (len(each) // 10 if isinstance(each, tuple) else 0), 0)
                found.append(each)
            return found

        return call

    def repeated(value: object, times: int) -> Iterable[object]:
        return itertools.repeat(value, times)

    names = [*("chain", "combinations", "combinations_with_replacement", "compress", "islice")]
    names += ("pairwise", "permutations", "product", "zip_longest")
    return {name: paying(getattr(itertools, name)) for name in names} | {"repeat": paying(repeated)}

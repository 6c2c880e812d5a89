"""How values, tables, errors, findings and questions read, and JSON of errors."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.app.documents import Json, document_of, error_document, resume_document
from penstock.core.errors import PenstockError, ProjectError, SparkDiedError, UsageError
from penstock.core.findings import Finding
from penstock.core.masking import mask
from penstock.core.records import HookRecord
from penstock.core.steps.step import RowCounts
from penstock.core.steps.window import Bound, InputWindow
from penstock.ui.render.tables import first_of

if TYPE_CHECKING:
    from penstock.app.reports import Keys, Overwrite, StateCount

WHOLE: Keys = (("*", "*"),)
RANGES = 5  # of one model, in one line
LISTED = 50  # models, steps or errors of one list, unless --verbose
CODE = {"sql": "SQL", "python": "Python", **dict.fromkeys(("entity", "sessions"), "Definition")}
"""What people call the code of a model of each kind."""
_UNIT = 1000
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_MINUTE = 60
_AGO = ((86400, "day"), (3600, "hour"), (_MINUTE, "minute"))


def facts(rows: Mapping[str, str], width: int) -> Iterator[str]:
    """Yield a line for each fact with a value."""
    return (f"  {name:<{width}} {value}" for name, value in rows.items() if value)


def count(number: int, what: str) -> str:
    """Return a number with its word.

    >>> count(1, "step"), count(1200, "row")
    ('1 step', '1,200 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def entity_count(number: int) -> str:
    """Return a number of entities with its word."""
    return f"{number:,} {'entity' if number == 1 else 'entities'}"


def size(size_bytes: int) -> str:
    """Return a size in decimal units.

    >>> size(999), size(12_345), size(3_000_000_000)
    ('999 B', '12.3 kB', '3.0 GB')
    """
    value, unit = float(size_bytes), 0
    while value >= _UNIT and unit < len(_UNITS) - 1:
        value, unit = value / _UNIT, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size_bytes} B"


def seconds(number: float) -> str:
    """Return a duration.

    >>> seconds(2.14), seconds(75.2)
    ('2.1 s', '1 min 15 s')
    """
    if number < _MINUTE:
        return f"{number:.1f} s"
    minutes, rest = divmod(round(number), _MINUTE)
    return f"{minutes} min {rest} s"


def moment(at: dt.datetime | None) -> str:
    """Return a time to the second, UTC, as tables show it; "-" for none."""
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}" if at else "-"


def day(at: dt.datetime | None) -> str:
    """Return the day of a time, UTC; "-" for none."""
    return f"{at.astimezone(dt.UTC):%Y-%m-%d}" if at else "-"


def ago(then: dt.datetime, now: dt.datetime) -> str:
    """Return the time since a moment, in its greatest whole unit.

    >>> noon = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
    >>> ago(noon - dt.timedelta(hours=2, minutes=59), noon), ago(noon, noon)
    ('2 hours ago', 'just now')
    """
    past = (now - then).total_seconds()
    for length, word in _AGO:
        if past >= length:
            return f"{count(int(past // length), word)} ago"
    return "just now"


def row_counts(rows: RowCounts) -> str:
    """Return the numbers of rows that a step wrote.

    >>> row_counts(RowCounts(inserted=3)), row_counts(RowCounts(inserted=1, updated=2, late=4))
    ('3 rows', '1 inserted, 2 updated, 4 late')
    """
    if not (rows.updated or rows.deleted):
        parts = [count(rows.inserted, "row")]
    else:
        named = (("inserted", rows.inserted), ("updated", rows.updated), ("deleted", rows.deleted))
        parts = [f"{number:,} {word}" for word, number in named if number]
    return ", ".join([*parts, *late_rows(rows)])


def late_rows(rows: RowCounts) -> list[str]:
    """Return the numbers of rows that came too late for a window, or have no time."""
    parts = [f"{rows.late:,} late"] if rows.late else []
    return parts + ([f"{rows.null_time:,} without a time"] if rows.null_time else [])


def window_text(each: InputWindow) -> str:
    """Return the window of an input; an open upper end is shown with the input's version.

    >>> from penstock.core.steps.window import Window
    >>> window_text(InputWindow("raw_logs", Window("ts"), version=18))
    'raw_logs.ts (-∞, max at raw_logs v18]'
    """
    low, high = each.window.lower, each.window.upper
    begin, end = "(-∞", f"max at {each.input}{f' v{each.version}' * (each.version is not None)}]"
    if low is not None:
        begin = f"{'[' if low.inclusive else '('}{_bound(low)}"
    if high is not None:
        end = f"{_bound(high)}{']' if high.inclusive else ')'}"
    return f"{each.key} {begin}, {end}"


def _bound(bound: Bound) -> str:
    """Return a value as people write it: a time without its zone and without zero fractions."""
    if not bound.value.is_temporal:
        return bound.value.text
    return bound.value.text.removesuffix("Z").removesuffix(".000000").replace("T", " ")


def ranges_text(keys: Keys, limit: int | None = RANGES) -> str:
    """Return ranges of partitions in one line; None has no limit.

    >>> ranges_text((("2024-12-02", "2024-12-16"), ("2024-12-20", "2024-12-20")))
    '2024-12-02 to 2024-12-16, 2024-12-20'
    >>> ranges_text(tuple((str(year), str(year)) for year in range(2001, 2009)))
    '2001, 2002, 2003, 2004, 2005 and 3 more ranges'
    """
    shown = keys if limit is None else keys[:limit]
    text = ", ".join(low if low == high else f"{low} to {high}" for low, high in shown)
    rest = len(keys) - len(shown)
    return f"{text} and {count(rest, 'more range')}" if rest else text


REASONS = {
    "never_run": "first build",
    "was failed": "failed before",
    "failed": "failed before",
    "tampered": "changed outside penstock",
    "version_upgraded": "new version",
    "sql_changed": "code changed",
    "schema_changed": "columns changed",
    "source_changed": "source changed",
    "upstream_changed": "upstream changed",
    "foreign_table": "foreign table",
    "not_effective": "no version applies",
}
"""What states are called where a reason is a sentence; lists of states and JSON keep the codes."""


def reason_text(reason: str) -> str:
    """Return why a step runs, in words.

    >>> reason_text("source_changed: raw.events v3 -> v4")
    'source changed: raw.events v3 -> v4'
    """
    state, colon, detail = reason.partition(":")
    return in_words(f"{REASONS.get(state, state)}{colon}{detail}")


_FILES = re.compile(r"(\S+) [0-9a-f]{8} \((\d+ files?)\) -> [0-9a-f]{8} \((\d+ files?)\)")


def in_words(text: str) -> str:
    """Return a reason without digests of files; the number of files may be the same.

    >>> in_words("raw.log 3f479ac0 (9 files) -> f29f4304 (10 files)")
    'raw.log 9 files -> 10 files'
    >>> in_words("raw.log 3f479ac0 (1 file) -> f29f4304 (1 file)")
    'raw.log, other content of 1 file'
    """

    def difference(pair: re.Match[str]) -> str:
        name, before, after = pair.groups()
        return (
            f"{name}, other content of {after}"
            if before == after
            else f"{name} {before} -> {after}"
        )

    return mask(_FILES.sub(difference, text))


def partitions_text(number: int) -> str:
    """Return a number of partitions with its word."""
    return count(number, "partition")


def label(version: int, revision: int | None = None) -> str:
    """Return a version as people write it: `v3`, `v3.r1`."""
    return f"v{version}.r{revision}" if revision else f"v{version}"


def by_state(states: Iterable[StateCount]) -> list[tuple[str, int, bool]]:
    """Return the number of partitions in each state, and whether they are pending."""
    found = Counter[tuple[str, bool]]()
    for each in states:
        found[str(each.state), each.pending] += each.count
    return [(state, number, pending) for (state, pending), number in found.items()]


BAD, GOOD, NOTICE, ACTIVE, STRONG = "red", "green", "yellow", "cyan", "bold"
"""The theme: colours by what they mean, in the names of `rich`."""
_CODES = {BAD: "31", GOOD: "32", NOTICE: "33", STRONG: "1"}
_PAINTS = {
    r"(?<=: )error(?=: )|^error(?=: )|✗|^- .*": BAD,
    r"\b(?:failed|missing|tampered|unreadable|unrecorded|foreign[_ ]table)\b": BAD,
    r"✓|^\+ .*|^no findings\b|\bcurrent\b": GOOD,
    r"(?<=: )warning(?=: )|⚠|\bpending\b|\bnever_run\b|\bfirst build\b": NOTICE,
    r"\b(?:sql|schema|source|upstream)_changed\b|\bversion_upgraded\b|"
    r"\b(?:code|columns|source|upstream) changed\b|\bnew version\b": NOTICE,
    r"(?<=^  )hint:|\bNext: .*|^Total: .*|^\d[\d,]* errors?, .*": STRONG,
}
_PAINTED = re.compile("|".join(f"({pattern})" for pattern in _PAINTS), re.MULTILINE)


def painted(text: str) -> str:
    r"""Return a text with the colours of a terminal on what matters.

    >>> painted("a.sql:1: error: bad")
    'a.sql:1: \x1b[31merror\x1b[0m: bad'
    """
    codes = [_CODES[colour] for colour in _PAINTS.values()]
    return _PAINTED.sub(lambda it: f"\x1b[{codes[(it.lastindex or 1) - 1]}m{it[0]}\x1b[0m", text)


_PLACE = "file=where.path line=where.line column=where.column"  # a column of 0 is not known
FINDINGS = f"findings[severity code message=sentence {_PLACE} hint?]"


def error_text(error: PenstockError) -> str:
    """Return `file:line: code: sentence` and the hint; a project's findings with their number."""
    if isinstance(error, ProjectError):
        return findings_text(error.findings)
    return error.render()


def findings_text(findings: Iterable[Finding]) -> str:
    """Return every finding, then one line that counts them.

    >>> findings_text([])
    '0 errors, 0 warnings'
    """
    found = list(findings)
    lines = [finding.render() for finding in found]
    errors = count(sum(finding.is_error for finding in found), "error")
    warnings = count(sum(finding.is_warning for finding in found), "warning")
    return "\n".join([*lines, f"{errors}, {warnings}"])


def first_line(error: PenstockError) -> str:
    """Return code and sentence in one line, as progress shows a failure.

    That Spark is gone is the error of many steps, and is said once, below them.
    """
    if isinstance(error, SparkDiedError):
        return error.code
    return f"{error.code}: {' '.join(error.sentence.split())}"


def failure_document(error: PenstockError, *, is_run: bool = False) -> Json:
    """Return the document that replaces a command's own on stdout.

    That of a run has no models and nothing left: all of it is.
    """
    own = {"models": [], "resume": resume_document()} if is_run else {}
    if isinstance(error, ProjectError):
        return {**document_of(error, FINDINGS), **own}
    return {"error": error_document(error), **own}


ASKED = 5  # models that a question names


def prompt_text(overwrites: Sequence[Overwrite], now: dt.datetime) -> str:
    """Return one block per model, at most 5."""
    blocks = []
    for each in overwrites:
        lines = [f"WARNING: This will overwrite {partitions_text(each.count)}"]
        lines += [f"  Query: {each.model}", f"  Range: {ranges_text(each.partitions)}"]
        if each.last_success is not None:
            lines.append(f"  Last successful run: {ago(each.last_success, now)}")
        if each.foreign_count:
            changed = f"{partitions_text(each.foreign_count)} ({ranges_text(each.foreign)})"
            lines.append(f"  Changed by others since: {changed}")
        if each.breaking:
            lines.append(f"  Breaking: {mask(', '.join(each.breaking))}, rewrites the table")
        if each.full_refresh:
            lines.append("  Full refresh: rebuilds the whole table")
        blocks.append("\n".join(lines))
    return "\n\n".join(first_of(blocks, ASKED, "model"))


def nobody_to_ask(overwrites: Sequence[Overwrite]) -> UsageError:
    """Return the error for a question without a terminal."""
    total = partitions_text(sum(each.count for each in overwrites))
    models = ", ".join(first_of([each.model for each in overwrites], ASKED, "model"))
    return UsageError(
        "needs-confirmation",
        f"this overwrites {total} ({models}), and there is no terminal to ask at",
        hint="add --yes",
    )


def hook_text(hook: HookRecord) -> str:
    """Return how a hook ended: its error with the hint, or that it ran."""
    failure = hook.failure
    if failure is None:
        return mask(f"hook after step {hook.step} of {hook.model} ran: {hook.text}")
    head = f"{failure.where or 'error'}: {failure.code}: {failure.message}"
    return mask(f"{head}\n  hint: {failure.hint}" if failure.hint else head)


def params_text(params: Mapping[str, object]) -> str:
    """Return parameters with their values on one line.

    >>> params_text({"rate": 1.2, "country": "nl"})
    'rate=1.2, country="nl"'
    """
    pairs = ((name, json.dumps(value, ensure_ascii=False)) for name, value in params.items())
    return ", ".join(f"{name}={text}" for name, text in pairs)

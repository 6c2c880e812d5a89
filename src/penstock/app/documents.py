"""Reports as documents, without secrets: the output of `--json` and `to_json`."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeAlias

from penstock.core import masking
from penstock.core.errors import LeaseHeldError, PenstockError

if TYPE_CHECKING:
    from penstock.app.reports import ModelDiff, SqlDiff
    from penstock.core.sessions.manifest import PlannedPass

Json: TypeAlias = masking.Json
ERROR = "code message=sentence where? hint?"
MODEL_STATUS = (
    "model table strategy=shown_strategy grain partitions cosmetic executed_at "
    "states[state also pending drifted count version revision ranges because] lines"
)


def printed(document: Json, *, hide: bool = True, indent: int | None = 2) -> str:
    """Return the document as text without a final newline; on one line without `indent`.

    Without `hide`, texts stay unmasked, as needed for rows that a user asked for.

    >>> print(printed({"url": "postgresql://me:hunter2@db/x"}))
    {
      "url": "postgresql://***@db/x"
    }
    """
    return json.dumps(
        masking.masked(document) if hide else document, indent=indent, ensure_ascii=False
    )


def instant(at: dt.datetime | None) -> str | None:
    """Return a time in the format of documents.

    >>> instant(dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC))
    '2024-03-01T12:00:00Z'
    """
    return at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z") if at else None


# key='word', or key=path? and, up to two levels deep, [what of it]
_FIELD = re.compile(r"(?:(\w+)=)?('\w+'|[\w.]+)(\?)?(?:\[((?:[^][]|\[[^][]*\])*)\])?")


def document_of(record: object, names: str) -> dict[str, Json]:
    """Return attributes of a record in this order; times, enumerations and names become text.

    `name?` is null if it is empty, `key=name` renames it. An attribute of None is null:
    `key=failure.code`. `name[...]` returns attributes of a record, or of each record of many;
    `key='word'` is that word. An error is written with its place and hint.

    >>> from penstock.core.steps.step import RowCounts
    >>> document_of(RowCounts(inserted=3), "new=inserted updated? written")
    {'new': 3, 'updated': None, 'written': 3}
    """
    found: dict[str, Json] = {}
    for key, path, is_optional, inner in _FIELD.findall(names):
        value = record
        if path.startswith("'"):
            found[key] = path.strip("'")
            continue
        for name in path.split("."):
            value = None if value is None else getattr(value, name)
        if inner and isinstance(value, Sequence):
            shown: Json = [document_of(each, inner) for each in value]
        else:
            shown = document_of(value, inner) if inner and value is not None else _plain(value)
        found[key or path] = None if is_optional and not value else shown
    return found


def _plain(value: object) -> Json:
    match value:
        case None | int() | float():
            return value
        case dt.datetime():
            return instant(value)
        case PenstockError():
            return error_document(value)
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case Sequence() if not isinstance(value, str):
            return tuple(map(_plain, value))
    return str(value)


LIMITS = (
    "pass=kind state=limits.state lower_limit=limits.lower_limit upper_limit=limits.upper_limit"
)
_STOOD = "matched=status.matched min_position=status.min_position max_position=status.max_position"


def limits_document(package: str, limits: Sequence[PlannedPass], tracked: int) -> dict[str, Json]:
    """Return the passes that a run executes and records, with the positions of the tracked models.

    With `nothing_to_do`, return those that the manifest asks for; a run then executes none.
    """
    running = [each for each in limits if not each.idle]
    passes: list[Json] = [
        {**document_of(each, LIMITS), "tracked": tracked, **document_of(each, _STOOD)}
        for each in running or limits
    ]
    idle = bool(limits) and not running
    return {"package": package, "passes": passes, "nothing_to_do": idle}


def error_document(error: PenstockError | None) -> Json:
    """Return an error with its place and hint; a lease error with its holder; null for None."""
    if error is None:
        return None
    found = document_of(error, ERROR)
    if isinstance(error, LeaseHeldError):
        found["holder"] = document_of(error.holder, "target run host pid since=acquired expires")
    return found


def resume_document(left: Sequence[str] = (), command: str = "") -> Json:
    """Return what remains to be done, as selectors and as a command."""
    return {"select": [*left], "command": command or None}


def changed_lines(old: str, new: str, context: int = 0) -> tuple[str, ...]:
    r"""Return the lines that differ, old ones with `-` and new ones with `+`, unchanged otherwise.

    `context` is the number of equal lines around them, which start with two blanks.

    >>> changed_lines("select a,\n    b", "select a,\n    c")
    ('-     b', '+     c')
    >>> changed_lines("select a,\n    b", "select a,\n    c", context=3)
    ('  select a,', '-     b', '+     c')
    """
    before, after = old.splitlines(), new.splitlines()
    result: list[str] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        for kind, i, j, k, n in group:
            if kind == "equal":
                result += [f"  {line}" for line in before[i:j]]
            else:
                result += [f"- {line}" for line in before[i:j]]
                result += [f"+ {line}" for line in after[k:n]]
    return tuple(result)


def diff_document(diff: SqlDiff, context: int = 0) -> Json:
    """Return one pair of texts with its partitions."""
    return {
        **document_of(diff, "version ranges=partitions count before after"),
        "diff": changed_lines(diff.before, diff.after, context),
        **document_of(diff, "cosmetic schema"),
    }


def model_diff_document(model: ModelDiff, context: int = 0) -> Json:
    """Return the diffs of one model."""
    return {"model": model.model, "diffs": [diff_document(diff, context) for diff in model.diffs]}

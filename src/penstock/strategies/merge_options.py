"""dbt's settings of a merge: which columns it updates, and which stored rows it reads.

A predicate names the stored row `DBT_INTERNAL_DEST` and the row of the query `DBT_INTERNAL_SOURCE`;
here they are `t` and `s`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core.errors import SchemaError
from penstock.core.strategy import Build, GivenSettings

DEST, SOURCE = "dbt_internal_dest", "dbt_internal_source"
_WORDS = re.compile(
    r"'(?:[^'\\]|\\.)*'"
    r"|`?\b(?P<side>dbt_internal_(?:dest|source))\b`?(?=\s*\.)"
    r"|(?<![.`\w])(?P<now>current_date|curdate|current_timestamp|now)\b(?:\s*\(\s*\))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """What a merge does with rows whose key exists; without any, it updates all their columns.

    They take the columns `updated` from the query, or all but `excluded`. A stored row that breaks
    one of `predicates` is not read, as if it did not exist. With `replaces`, a key may have several
    rows, and a step replaces all of them.
    """

    updated: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    replaces: bool = False

    @classmethod
    def read(cls, settings: GivenSettings) -> Self:
        """Read them; contradictions become findings."""
        updated, excluded = (settings.texts(f"merge_{w}_columns") for w in ("update", "exclude"))
        replaces = settings.text("on_duplicate") == "replace"
        key = "merge_update_columns" if updated else "merge_exclude_columns"
        if updated and excluded:
            sentence = "merge_update_columns and merge_exclude_columns exclude each other"
            settings.report(key, "option-conflict", sentence, "keep one of them")
        if replaces and (updated or excluded):
            sentence = f"{key} has no effect with on_duplicate: replace"
            settings.warn(key, "option-without-effect", sentence)
        found = cls(updated, excluded, settings.texts("incremental_predicates"), replaces)
        for sentence, hint in found.findings() if found.predicates else ():
            settings.report("incremental_predicates", "bad-value", sentence, hint)
        return found

    @property
    def fingerprint(self) -> Mapping[str, object]:
        """Return those that are set: each affects rows."""
        columns = {"updated": self.updated, "excluded": self.excluded}
        found: dict[str, object] = {
            name: sorted(each.lower() for each in names) for name, names in columns.items() if names
        }
        found |= {"predicates": list(self.predicates)} if self.predicates else {}
        return found | ({"replaces": True} if self.replaces else {})

    def updated_columns(self, build: Build) -> tuple[str, ...]:
        """Return the columns that a row with an existing key takes from the query.

        Raises `column-not-selected` for a name that neither the query nor the table has.
        """
        for word, names in (("update", self.updated), ("exclude", self.excluded)):
            stored = build.table if word == "exclude" else None
            for name in names:
                if build.query.find(name) is None and not (stored and stored.find(name)):
                    sentence = f"merge_{word}_columns: column {name!r} is not selected"
                    hint = f"the query of {build.model.name} has {', '.join(build.query.names)}"
                    raise SchemaError("column-not-selected", sentence, hint=hint)
        wanted = {name.lower() for name in self.updated}
        left_out = {name.lower() for name in self.excluded}
        return tuple(
            name
            for name in build.query.names
            if (not wanted or name.lower() in wanted) and name.lower() not in left_out
        )

    def conditions(self, build: Build) -> tuple[str, ...]:
        """Return the conditions on `t` and `s` for a stored row that the step reads.

        A rerun reads all of them, because it deletes those that its rows do not match.
        """
        asked, now = () if build.reruns else self.predicates, build.history
        return tuple(f"({predicate_sql(e, now.run_timestamp if now else None)})" for e in asked)

    def findings(self) -> Iterator[tuple[str, str]]:
        """Return what is wrong with the predicates, and what to write instead."""
        from sqlglot import exp  # costs 0.2 s that a warm load saves

        from penstock.strategies.one_query import parsed_sql

        others_rows = (exp.Query, exp.Rand, exp.Uuid, exp.AggFunc, exp.Window)
        sides = (DEST,) if self.replaces else (DEST, SOURCE)
        hint = f"write {' or '.join(f'{side.upper()}.column' for side in sides)}"
        for text in self.predicates:
            start = f"incremental_predicates: {text!r}"
            tree = parsed_sql(text)
            if tree is None:
                yield f"{start} is not a condition in SQL", "DBT_INTERNAL_DEST.day > '2024-01-01'"
                continue
            others = [c.sql() for c in tree.find_all(exp.Column) if c.table.lower() not in sides]
            if others:
                yield f"{start}: column {others[0]} is of neither row that it may name", hint
            elif any(tree.find_all(*others_rows)):
                yield f"{start} is not a condition on one row", "compare columns with values"


def predicate_sql(text: str, now: dt.datetime | None) -> str:
    """Return a predicate over `t` and `s`, in which every clock shows the time of the run.

    >>> predicate_sql("DBT_INTERNAL_DEST.day > current_date()", dt.datetime(2024, 6, 1, 8))
    "t.day > DATE '2024-06-01'"
    """

    def word(match: re.Match[str]) -> str:
        if match["side"]:
            return "t" if match["side"].lower() == DEST else "s"
        if not match["now"] or now is None:
            return match[0]
        if match["now"].lower() in ("current_date", "curdate"):
            return f"DATE '{now:%Y-%m-%d}'"
        return f"TIMESTAMP '{now:%Y-%m-%dT%H:%M:%S.%fZ}'"

    return _WORDS.sub(word, text)

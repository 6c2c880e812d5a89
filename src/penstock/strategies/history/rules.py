"""What may not be in the source of a history table: counted as rows pass by, shown by samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.core.names import quoted
from penstock.core.statement import Rule
from penstock.strategies.build import listed, lost_rules, shown_key
from penstock.strategies.history.sides import Sides
from penstock.strategies.history.terms import (
    COPIES,
    EARLY,
    NO_TIME,
    NULL_KEY,
    NULL_TIME,
    OP,
    TIED,
    TIME,
    TWICE,
    Terms,
)


def rules(sides: Sides, model: str, view: str, prefix: str = "") -> tuple[Rule, ...]:
    """Give the rules about the rows of a run; those that break one are kept in `view`.

    `prefix` stands before the names of the counts.
    """
    terms = sides.terms
    kept = _Kept(terms, model, view, prefix)
    unique = (kept.tied(), kept.meeting()) if terms.event_time else (kept.duplicates(),)
    known = (*unique, *kept.nulls(), kept.no_time(), kept.empty(), kept.early())
    return (kept.twice(), *known, *kept.lost(sides.texts))


@dataclass(frozen=True, slots=True)
class _Kept:
    """The rows that were kept because they break a rule."""

    terms: Terms
    model: str
    view: str
    prefix: str

    def _where(self, condition: str) -> str:
        return f"FROM {self.view} WHERE {OP} = 'problem' AND {condition}"

    @property
    def _by_key(self) -> str:
        return listed(self.terms.keys)

    @property
    def _shown(self) -> str:
        return shown_key(self.terms.keys)

    def _samples(self, condition: str, shown: str = "") -> str:
        where = self._where(condition)
        return f"SELECT {shown or self._shown} {where} ORDER BY {self._by_key} LIMIT 5"

    def duplicates(self) -> Rule:
        copied = self._where(f"{COPIES} > 1")
        return Rule(
            f"{self.prefix}copied",
            "duplicate-keys",
            f"{{count}} keys occur more than once in the source of {self.model!r} "
            "(e.g. {samples})",
            "aggregate or filter in the SELECT",
            f"SELECT concat({self._shown}, ' ×', count(*)) {copied} "
            f"GROUP BY {self._by_key} ORDER BY {self._by_key} LIMIT 5",
            f"SELECT count(DISTINCT struct({self._by_key})) AS n {copied}",
        )

    def tied(self) -> Rule:
        copied = self._where(f"{COPIES} > 1")
        by = f"{self._by_key}, {TIME}"
        return Rule(
            f"{self.prefix}copied",
            "tied-versions",
            f"{{count}} times a key of {self.model!r} has two rows with the same "
            f"{self.terms.time_column} (e.g. {{samples}})",
            "one row for each key and time: aggregate or filter in the SELECT",
            f"SELECT concat({self._shown}, ' at ', {TIME}, ' ×', count(*)) {copied} "
            f"GROUP BY {by} ORDER BY {by} LIMIT 5",
            f"SELECT count(DISTINCT struct({by})) AS n {copied}",
        )

    def meeting(self) -> Rule:
        return Rule(
            f"{self.prefix}tied",
            "tied-versions",
            f"{{count}} rows of {self.model!r} start where a stored version of their key starts "
            "(e.g. {samples})",
            "a version of that instant is stored already; correct the time in the SELECT",
            self._samples(TIED, f"concat({self._shown}, ' at ', {TIME})"),
        )

    def nulls(self) -> tuple[Rule, Rule]:
        keys = ", ".join(self.terms.keys)
        return (
            Rule(
                f"{self.prefix}null_keys",
                "null-key",
                f"{{count}} rows in the source of {self.model!r} have NULL in their key ({keys}) "
                "(e.g. {samples})",
                "filter them out, or set null_keys: match",
                self._samples(NULL_KEY),
            ),
            Rule(
                f"{self.prefix}null_times",
                "null-updated-at",
                f"{{count}} rows in the source of {self.model!r} have NULL in "
                f"{self.terms.time_column} (e.g. {{samples}})",
                "fill it in the SELECT, or set null_updated_at: ignore_row",
                self._samples(NULL_TIME),
            ),
        )

    def no_time(self) -> Rule:
        column = self.terms.time_column
        value = f"concat({self._shown}, ' ', {quoted(column)})" if column else ""
        return Rule(
            f"{self.prefix}no_times",
            "updated-at-not-a-time",
            f"{{count}} rows in the source of {self.model!r} have no time in their {column} "
            "(e.g. {samples})",
            "convert it in the SELECT to a TIMESTAMP",
            self._samples(NO_TIME, value),
        )

    def empty(self) -> Rule:
        return Rule(
            f"{self.prefix}empty",
            "empty-source",
            f"the source of {self.model!r} has no rows, and every key would be closed",
            "if that is meant: --allow-empty for this run, or the setting allow_empty",
        )

    def twice(self) -> Rule:
        broken = self._where(TWICE)
        return Rule(
            f"{self.prefix}twice",
            "history-broken",
            f"{{count}} keys in the table of {self.model!r} have two current versions, or two "
            "that start together (e.g. {samples})",
            f"penstock snapshot verify {self.model} shows them; remove the versions that somebody "
            "else wrote, or restore the table",
            f"SELECT DISTINCT {self._shown} {broken} ORDER BY 1 LIMIT 5",
            f"SELECT count(DISTINCT struct({self._by_key})) AS n {broken}",
        )

    def lost(self, texts: tuple[str, ...]) -> tuple[Rule, ...]:
        where = self._where("true")
        found = lost_rules(texts, self.model, where, self._shown, self._by_key)
        return tuple(replace(rule, count=f"{self.prefix}{rule.count}") for rule in found)

    def early(self) -> Rule:
        return Rule(
            f"{self.prefix}early",
            "run-time-not-after-version",
            f"{{count}} versions of {self.model!r} start at or after the run timestamp that "
            "would close them (e.g. {samples})",
            "run with a later --as-of",
            self._samples(EARLY),
        )

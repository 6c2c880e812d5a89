"""The use case `state rebuild`: records from the tables' own logs (spec/state.md §1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.app.outcomes import outcome_of, with_partitions
from penstock.app.shop import Shop
from penstock.core.errors import TableError
from penstock.core.facts import Commit
from penstock.core.ports import RebuiltStep
from penstock.core.step import Intent
from penstock.core.token import project_of, read_intent


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """How many steps the logs told of, and of which models; `untold` have a table and no step."""

    steps: int
    models: tuple[str, ...]
    untold: tuple[str, ...] = ()


def rebuild(shop: Shop) -> RebuildReport:
    """Write into the store every step of ours that the logs hold and the store does not know.

    Restores versions, partitions, fingerprints and watermarks as far as the logs still go back.
    Views have no log: their next run writes their records anew.
    """
    found: list[RebuiltStep] = []
    untold = []
    tables = {m.name: m.table for m in shop.project.models.values() if not m.is_view}
    tables |= {seed.name: seed.table for seed in shop.project.seeds.values()}
    for name, table in tables.items():
        uri, steps = shop.project.uri_of(table), list[RebuiltStep]()
        with suppress(TableError):  # one log that cannot be read hides no other
            if shop.log.head(uri) is None:
                continue
            steps = list(steps_in_log(shop, name, uri, shop.log.commits(uri, -1, partial=True)))
        found.extend(steps)
        if not steps:
            untold.append(name)
    found.sort(key=lambda step: step.intent.step_seq)
    shop.writing.archive.rebuild(found)
    models = tuple(dict.fromkeys(step.intent.model for step in found))
    return RebuildReport(len(found), models, tuple(untold))


def steps_in_log(
    shop: Shop, name: str, uri: str, commits: Iterable[Commit]
) -> Iterator[RebuiltStep]:
    """Give the steps of a model that commits of its table tell of."""
    facts = shop.log.facts(uri)
    table_id = ""
    for commit in commits:
        table_id = commit.table_id or table_id
        intent = _intent_of(commit, uri)
        if intent is None or intent.model != name:
            continue
        if project_of(commit.token) not in ("", shop.project.name):
            continue  # another project's, of a model of the same name
        outcome = outcome_of(commit, table_id or (facts.table_id if facts else ""), intent)
        outcome = with_partitions(shop, intent, outcome)
        yield RebuiltStep(intent, outcome, commit.time)


def _intent_of(commit: Commit, uri: str) -> Intent | None:
    """Read the intent in a commit's token; None for others' commits and for cut tokens."""
    if not commit.step:
        return None
    try:
        return replace(read_intent(commit.token), uri=uri)
    except (KeyError, ValueError):
        return None

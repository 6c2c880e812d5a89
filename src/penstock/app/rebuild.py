"""The use case `state rebuild`: records from the tables' own logs (spec/state.md §1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.app.outcomes import outcome_of, with_partitions
from penstock.app.shop import Shop
from penstock.core.facts import Commit
from penstock.core.model import Model
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
    for model in shop.project.models.values():
        steps = [] if model.is_view else list(_steps_of(shop, model))
        found.extend(steps)
        if not steps and not model.is_view and shop.log.head(shop.project.uri_of(model.table)):
            untold.append(model.name)
    found.sort(key=lambda step: step.intent.step_seq)
    shop.writing.archive.rebuild(found)
    models = tuple(dict.fromkeys(step.intent.model for step in found))
    return RebuildReport(len(found), models, tuple(untold))


def _steps_of(shop: Shop, model: Model) -> Iterator[RebuiltStep]:
    uri = shop.project.uri_of(model.table)
    if shop.log.head(uri) is None:
        return
    facts = shop.log.facts(uri)
    table_id = ""
    for commit in shop.log.commits(uri, -1, partial=True):
        table_id = commit.table_id or table_id
        intent = _intent_of(commit, uri)
        if intent is None or intent.model != model.name:
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

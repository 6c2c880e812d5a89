"""One look at models, tables and inputs: what plans and reports are decided from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.app.judging import Judging, files_lines
from penstock.app.observe import View, not_read, observe
from penstock.app.one_state import in_one_state
from penstock.app.passed import changed_below
from penstock.app.shop import Shop
from penstock.app.sight import open_sight
from penstock.core.errors import PenstockError, TableError
from penstock.core.graph import ordered
from penstock.core.project import Project
from penstock.core.records import ModelRecord
from penstock.plan.cascade import parents_of
from penstock.plan.resolve import dated
from penstock.plan.values import Versions


@dataclass(frozen=True, slots=True)
class Looked:
    """What one command sees.

    `project` has the SQL of the run date, `names` are the models in topological order.
    """

    project: Project
    names: tuple[str, ...]
    view: View
    records: dict[str, ModelRecord]
    judging: Judging
    moment: dt.datetime

    def gap(self, name: str) -> Versions | None:
        """Give what the log of a model lost after the last success."""
        if self.project.models[name].partition is not None:
            return self.judging.verdict(name).gap
        seen = self.view.now.targets.get(name)
        return seen.gap if seen is not None else None

    def files_lines(self, name: str) -> tuple[str, ...]:
        """Say which inputs of files of a model changed; nobody knows for which partitions."""
        parts = self.judging.parts.get(name)
        return files_lines(self.judging, self.project.models[name], parts) if parts else ()


@in_one_state
def look(shop: Shop, names: Iterable[str], moment: dt.datetime) -> Looked:
    """Look at some models; tables are opened only where something happened."""
    project = dated_project(shop, moment)
    records = dict(shop.reading.records.models())
    wanted = set(names)
    parents = {name: parents_of(project, project.models[name]) for name in wanted}
    chosen = tuple(ordered(parents))
    view = observe(shop, chosen, records, moment)
    reading = shop.reading.records
    judging = Judging(
        shop,
        project,
        records,
        view.now.sources,
        open_sight(shop),
        moment,
        reading.partitions(),
        reading.fingerprints(),
        view.now.broken,
    )
    below, unreadable = _below(judging, chosen)
    unreadable |= view.now.unreadable
    now = replace(view.now, meaning=judging.meaning, below=below, unreadable=unreadable)
    return Looked(project, chosen, replace(view, now=now), records, judging, moment)


def _below(
    judging: Judging, names: Iterable[str]
) -> tuple[dict[str, frozenset[str]], dict[str, PenstockError]]:
    """Give the changes that windows have passed, and the readers of logs that cannot be read."""
    found: dict[str, frozenset[str]] = {}
    unreadable: dict[str, PenstockError] = {}
    for name in names:
        try:
            found |= changed_below(judging.project, (name,), judging.records, judging.sight)
        except (TableError, OSError) as error:
            unreadable[name] = not_read(judging.project.models[name], error)
    return found, unreadable


def dated_project(shop: Shop, moment: dt.datetime) -> Project:
    """Give the project with the SQL that counts at a time, and keep it in the shop."""
    models = dated(shop.project.models, moment.date())
    shop.project = replace(shop.project, models=models)
    return shop.project

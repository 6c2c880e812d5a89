"""Selecting models for a command, with what `state:` and `result:` need to know."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from penstock.app.judged import judged_all
from penstock.app.looking import look
from penstock.app.request import AnyRun, SnapshotRequest
from penstock.app.shop import Shop
from penstock.core.errors import SelectorError
from penstock.core.project import Project
from penstock.project.select import Known, exact_names, select


def selected_models(
    shop: Shop, include: Sequence[str], exclude: Sequence[str], moment: dt.datetime
) -> tuple[str, ...]:
    """Give the selected models in topological order; raise `SelectorError` for none.

    Drift and results are read only when a selector asks for them.
    """
    asked = " ".join((*include, *exclude))
    states = _states(shop, moment) if "state:" in asked else {}
    results = shop.reading.records.last_results() if "result:" in asked else {}
    known = Known(states, {name: str(status).lower() for name, status in results.items()})
    return select(shop.project, include, exclude, known)


def _states(shop: Shop, moment: dt.datetime) -> dict[str, frozenset[str]]:
    judged = judged_all(look(shop, shop.project.models, moment))
    return {name: judged.states(name) for name in judged.looked.names}


Divided = tuple[tuple[str, ...], tuple[str, ...], str]


def divided(shop: Shop, request: AnyRun, moment: dt.datetime) -> Divided:
    """Give what a run builds, what it leaves to another command, and the line that says so.

    `penstock run` leaves snapshots out and `penstock snapshot run` all else; naming one of the
    others is an error, and so is a selection of nothing but others.
    """
    project = shop.project
    if (
        isinstance(request, SnapshotRequest)
        and not request.select
        and not _snapshots(project, project.models)
    ):
        return (), (), ""
    names = selected_models(shop, request.select, request.exclude, moment)
    snapshots = _snapshots(project, names)
    others = tuple(name for name in names if name not in snapshots)
    named = _named(project, request.select)
    if isinstance(request, SnapshotRequest):
        refused = [name for name in named if not project.models[name].is_snapshot]
        if not refused and not snapshots and not request.select:
            raise SelectorError("empty-selection", "every snapshot model is excluded")
        if refused or not snapshots:
            raise _not_a_snapshot(project, refused or list(others))
        listed = ", ".join(others)
        said = f"not snapshots, not run: {listed} ({len(others)})"
        return snapshots, others, said if others and request.select else ""
    if any(project.models[name].is_snapshot for name in named) or (
        request.select and snapshots and not others
    ):
        raise SelectorError("snapshot-needs-snapshot-run", NEEDS_SNAPSHOT_RUN)
    count = f"{len(snapshots)} snapshot model{'s' if len(snapshots) > 1 else ''}"
    return others, snapshots, f"{count} not run; use 'penstock snapshot run'" if snapshots else ""


NEEDS_SNAPSHOT_RUN = (
    "Snapshot models cannot be executed via 'penstock run'. Use 'penstock snapshot run' instead."
)


def _snapshots(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if project.models[name].is_snapshot)


def _named(project: Project, include: Sequence[str]) -> list[str]:
    known = {str(model.table).lower(): name for name, model in project.models.items()}
    known |= {name.lower(): name for name in project.models}
    return [known[name.lower()] for name in exact_names(include) if name.lower() in known]


def _not_a_snapshot(project: Project, names: list[str]) -> SelectorError:
    first = project.models[names[0]]
    more = f" (and {len(names) - 1} more are none)" if len(names) > 1 else ""
    article = "an" if first.strategy_name[0] in "aeiou" else "a"
    return SelectorError(
        "not-a-snapshot",
        f"{first.name!r} is {article} {first.strategy_name} model{more}",
        hint=f"penstock run --select {first.name}",
    )

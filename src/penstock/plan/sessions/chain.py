"""The steps of one pass, in their order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from penstock.core.graph import ordered
from penstock.core.sessions.manifest import PassStep, PassStepKind, PlannedPass
from penstock.core.sessions.package import SessionModel, SessionPackage, SessionTable


def pass_steps(
    package: SessionPackage,
    planned: PlannedPass,
    readers: Mapping[str, Sequence[str]],
    selected: Collection[str] | None = None,
) -> tuple[PassStep, ...]:
    """Return the steps of a pass in an order in which they may run.

    Base tables are made whoever is selected. `readers` are the tagged models of the project with
    what each reads; None selects all.
    """
    gaining = (*planned.models, *planned.conditional)
    wanted = {name for name in gaining if selected is None or name in selected}
    if not wanted:
        return ()
    base = tuple(each.name for each in package.models if not each.is_tracked)
    found = [_of_table(each, base, wanted, planned) for each in package.models]
    steps = [each for each in found if each is not None]
    inside = {name: [each for each in read if each in readers] for name, read in readers.items()}
    steps += [
        PassStep(
            PassStepKind.MODEL,
            name,
            name,
            tuple(dict.fromkeys((*base, *(each for each in readers[name] if each in wanted)))),
            conditional=name in planned.conditional,
        )
        for name in ordered(inside)
        if name in wanted
    ]
    return (*steps, *_stitches(package, {each.name for each in steps}, base))


def _of_table(
    each: SessionModel, base: Sequence[str], wanted: Collection[str], planned: PlannedPass
) -> PassStep | None:
    """Return the step of a table; a base table that failed ends the pass, whoever reads it."""
    if not each.is_tracked:
        before = tuple(base[: base.index(each.name)])
        return PassStep(PassStepKind.BASE, each.name, each.name, before)
    if each.name not in wanted:
        return None
    needs = tuple(dict.fromkeys((*base, *each.reads)))
    may = each.name in planned.conditional
    return PassStep(PassStepKind.MODULE, each.name, each.name, needs, each.after, may)


def _stitches(
    package: SessionPackage, names: Collection[str], base: tuple[str, ...]
) -> list[PassStep]:
    """Return the steps that stitch, also targets that gain nothing in this pass."""
    mapping = package.model(SessionTable.USER_MAPPING)
    if mapping is None:
        return []
    targets = [package.model(part) for part in package.options.stitched]
    return [
        PassStep(
            PassStepKind.STITCH,
            f"{package.name}_stitch_{each.part}",
            each.name,
            (*base, *(name for name in (mapping.name, each.name) if name in names)),
        )
        for each in targets
        if each is not None
    ]

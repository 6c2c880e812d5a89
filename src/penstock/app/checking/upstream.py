"""Warning of inputs whose rows failed a gate and are there all the same."""

from __future__ import annotations

from penstock.app.shop import Shop
from penstock.core.check_results import Flag
from penstock.core.model import Model
from penstock.core.names import InputKind
from penstock.core.ranges import intersection
from penstock.plan.cascade import mapped_to
from penstock.plan.resolve import Segment, body_of
from penstock.plan.values import Step
from penstock.strategies.relations import leaves_of

_SHOWN = 3


def flagged_above(shop: Shop, step: Step) -> tuple[str, ...]:
    """Say which flagged rows a step reads, through views too (spec/checks.md §5.6).

    That does not stop it.
    """
    model = shop.project.models[step.model]
    read_from = leaves_of(shop.project, model.inputs)
    above = {name.name for name in read_from if name.kind is InputKind.MODEL}
    if not above:
        return ()
    flags = [flag for flag in shop.reading.checks.flags() if flag.model in above]
    read = [flag for flag in flags if flag.model != model.name and _reads(shop, model, step, flag)]
    lines = [
        f"upstream-flagged: {model.name} reads {flag.model}"
        f"{'' if flag.partition == '*' else ' ' + flag.partition}, "
        f"which failed {', '.join(flag.checks)}"
        for flag in read[:_SHOWN]
    ]
    if len(read) > _SHOWN:
        lines.append(f"upstream-flagged: and {len(read) - _SHOWN} more")
    return tuple(lines)


def _reads(shop: Shop, model: Model, step: Step, flag: Flag) -> bool:
    """Whether the step reads the flagged partition."""
    if not step.partitions:
        return True
    version, body = body_of(model, step.version, step.revision)
    here = tuple(Segment(low, high, version, body) for low, high in step.partitions)
    found = mapped_to(shop.project, model, here, {flag.model: ((flag.ord, flag.ord),)})
    return bool(intersection(found, step.partitions))

"""What the app does for each kind of work, one module each behind `WorkKind`."""

from collections.abc import Mapping

from penstock.app.execution.step_state import WorkKind
from penstock.app.kinds import partitions, passes, slices, tables
from penstock.plan.work import PartitionsWork, PassWork, SliceWork, StepWork, TableWork

KINDS: Mapping[type[StepWork], WorkKind] = {
    TableWork: tables,
    PartitionsWork: partitions,
    SliceWork: slices,
    PassWork: passes,
}

"""What the app has to say of each kind of work, a module each behind `WorkKind`."""

from penstock.app.execution.step_state import WorkKind
from penstock.app.kinds import partitions, passes, slices, tables
from penstock.core.model import Model
from penstock.core.project import Project


def kind_of(project: Project, model: Model) -> WorkKind:
    """Return the kind of work that makes a model."""
    if project.package_of(model.name) is not None:
        return passes
    if model.partition is not None:
        return partitions
    if model.entity is not None:
        return slices
    return tables

"""What is asked of a session package; annotations are not put off, as those of other requests."""

from dataclasses import KW_ONLY, dataclass

from penstock.app.flags import AsOf, Package, Project
from penstock.app.request import CommandRequest, Dated


@dataclass(frozen=True, slots=True)
class LimitsRequest(CommandRequest, Dated):
    """What is asked of `sessions limits`."""

    project: Project
    package: Package
    _: KW_ONLY
    as_of: AsOf = None

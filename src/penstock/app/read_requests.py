"""What is asked that only reads; annotations are not put off, as those of other requests."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from penstock.app.flags import AsOf, FlagSpec, Name, Package, Project
from penstock.app.request import CommandRequest, Dated, WorkRequest


@dataclass(frozen=True, slots=True)
class LimitsRequest(CommandRequest, Dated):
    """What is asked of `sessions limits`."""

    project: Project
    package: Package
    _: KW_ONLY
    as_of: AsOf = None


@dataclass(frozen=True, slots=True)
class QueryRequest(WorkRequest):
    """What is asked of `query`."""

    project: Project
    sql: Annotated[str, FlagSpec(names=("SQL",))]


@dataclass(frozen=True, slots=True)
class VerifyRequest(WorkRequest):
    """What is asked of `snapshot verify` for one model."""

    project: Project
    model: Name

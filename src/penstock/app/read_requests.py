"""Arguments of commands that read tables and records; annotations are evaluated here too."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from penstock.app.flags import AsOf, FlagSpec, Name, Package, Project
from penstock.app.request import CommandRequest, Dated, ModelsRequest, WorkRequest


@dataclass(frozen=True, slots=True)
class LimitsRequest(CommandRequest, Dated):
    """Arguments of `sessions limits`."""

    project: Project
    package: Package
    _: KW_ONLY
    as_of: AsOf = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRequest(ModelsRequest):
    """Arguments of `metrics`; `output` "" prints them."""

    output: Annotated[str, FlagSpec("Write the metrics to this file.", ("--output",), "FILE")] = ""


@dataclass(frozen=True, slots=True)
class QueryRequest(WorkRequest):
    """Arguments of `query`."""

    project: Project
    sql: Annotated[str, FlagSpec(names=("SQL",))]


@dataclass(frozen=True, slots=True)
class VerifyRequest(WorkRequest):
    """Arguments of `snapshot verify` for one model."""

    project: Project
    model: Name


@dataclass(frozen=True, slots=True)
class WatermarkRequest(CommandRequest):
    """Arguments of `watermark set`."""

    project: Project
    model: Name
    value: Annotated[str, FlagSpec(names=("VALUE",))]
    column: Annotated[str, FlagSpec("Which one, if there are several.", metavar="INPUT.COLUMN")] = (
        ""
    )
    type_: Annotated[str, FlagSpec("Its Spark type, if unknown.", metavar="TYPE")] = ""
    reason: Annotated[str, FlagSpec("Why; kept in the history.", metavar="TEXT")] = ""

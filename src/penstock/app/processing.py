"""Process one slice of an entity from a script or a notebook: `penstock.Processing`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from penstock.app.artifacts.write import summary_of
from penstock.app.documents import printed
from penstock.app.metadata import LoadedEntity
from penstock.core.entities.entity import ProcessType
from penstock.core.errors import ProcessStrategyNotSupportedError, UsageError
from penstock.core.masking import Json
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.project.files.values import did_you_mean
from penstock.project.selectors import disabled

if TYPE_CHECKING:
    from penstock.app.request import RunRequest
    from penstock.app.run_report import RunReport

_SWITCHES = ("allow_backdated", "strict", "full_refresh", "adopt")
_TIME = "processing.time"


@dataclass(frozen=True, slots=True)
class ProcessingSummary(ShownInNotebooks):
    """The result of one step; a slice that was already processed has no counts.

    `processing_time` is None if nothing ran, `delta_version` if nothing was committed.
    """

    _columns = (
        "model slice=slice_file strategy records_in_slice inserted updated deleted unchanged "
        "inferred_deleted processing_time duration_ms version=delta_version"
    )
    _lines = "warnings"

    model: str
    slice_file: str
    strategy: str
    entity_id: int | None = None
    records_in_slice: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    inferred_deleted: int = 0
    processing_time: dt.datetime | None = None
    duration_ms: int = 0
    delta_version: int | None = None
    step: str = ""
    run: str = ""
    watermark: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    document: Mapping[str, Json] = field(default_factory=dict, repr=False, compare=False)

    def to_json(self) -> str:
        """Return the log document of the step, without secrets."""
        return printed(self.document, indent=None)


class Processing:
    """One slice of an entity to process, by name, with or without `.parquet`.

    Without a name, all waiting slices, or a source that is read whole.
    """

    def __init__(
        self,
        entity: LoadedEntity,
        slice_file: str = "",
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Store the arguments; `options` are those of `penstock run` that apply to entities."""
        self._entity, self._slice, self._options = entity, slice_file, dict(options or {})
        known = (_TIME, *_SWITCHES)
        for key in self._options:
            if key not in known:
                hint = did_you_mean(key, known) or f"there are: {', '.join(known)}"
                raise UsageError("unknown-key", f"Processing has no option {key!r}", hint=hint)

    def process(self, strategy: ProcessType | str | None = None) -> ProcessingSummary:
        """Run it as `penstock run` does, with the configured or another process type.

        Raises the error of the first failed step.
        """
        from penstock.app.application import raise_first
        from penstock.app.commands.run import run

        if not self._entity.definition.enabled:
            raise disabled(self._entity.definition)
        request = self._request(strategy)
        with self._entity.metadata.opened() as services:
            report = run(services, request)
        raise_first(report)
        return self._summary(report)

    def _request(self, strategy: ProcessType | str | None) -> RunRequest:
        from penstock.app.request import RunRequest

        if strategy is not None and strategy not in list(ProcessType):
            sentence = f"{strategy!r} is not a strategy of entities"
            hint = f"there are: {', '.join(ProcessType)}"
            raise ProcessStrategyNotSupportedError("strategy-not-supported", sentence, hint=hint)
        project, asked = self._entity.metadata.project, self._options
        return RunRequest(
            project.root,
            target=project.target.name,
            select=(f"name:{self._entity.model}",),
            slice=self._slice,
            strategy=strategy,
            processing_time=cast("dt.datetime | str | None", asked.get(_TIME)),
            allow_backdated=bool(asked.get("allow_backdated")),
            strict=bool(asked.get("strict")),
            full_refresh=bool(asked.get("full_refresh")),
            adopt=bool(asked.get("adopt")),
        )

    def _summary(self, report: RunReport) -> ProcessingSummary:
        """Return the summary of the last step; earlier steps are on record too."""
        result = report.results[-1]
        entity, counts = self._entity, result.metrics
        model = entity.metadata.project.models[entity.model]
        return ProcessingSummary(
            model=result.name,
            slice_file=result.slice,
            strategy=result.shown_strategy,
            entity_id=entity.id,
            records_in_slice=counts.get("recordsInSlice", 0),
            inserted=counts.get("inserted", 0),
            updated=counts.get("updated", 0),
            deleted=counts.get("deleted", 0),
            unchanged=counts.get("unchanged", 0),
            inferred_deleted=counts.get("inferred_deleted", 0),
            processing_time=result.moment,
            duration_ms=round(result.duration * 1000),
            delta_version=result.version,
            step=result.step,
            run=report.run_id,
            watermark={each.column: str(each.value) for each in result.watermarks},
            warnings=result.notes,
            document={**summary_of(model, result), "run": report.run_id},
        )

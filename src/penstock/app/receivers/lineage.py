"""OpenLineage events of a run and of each of its steps.

This module is imported by the thread that sends the events, and uses neither Spark nor the state.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from functools import cache

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    column_lineage_dataset,
    dataset_version_dataset,
    datasource_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    schema_dataset,
    sql_job,
    symlinks_dataset,
)

from penstock.app.events import (
    FAILED,
    SUCCEEDED,
    Notification,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
)
from penstock.app.reports import Keys, ModelResult
from penstock.app.services.services import Services
from penstock.core.errors import InterruptedRunError, PenstockError
from penstock.core.facts import TableFacts
from penstock.core.masking import mask, mask_uris
from penstock.core.model import Model, kind_of
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.steps.inputs import DeltaPin, FilesPin, Pin
from penstock.core.storage import bucket_and_key, is_s3, scheme_of
from penstock.plan.values import Step
from penstock.project.entities.places import bronze_folder
from penstock.project.sql.lineage import column_lineage

PRODUCER = "https://pypi.org/project/penstock-delta"
_TIMEOUT, _RETRIES = 4.0, 1
"""Seconds for one request, and how often it is repeated: a run waits 5 seconds at most."""
_ENDS = {SUCCEEDED: RunState.COMPLETE, FAILED: RunState.FAIL}


class LineageEvents:
    """Turns the events of one run into OpenLineage events and sends them."""

    def __init__(self, services: Services, command: str) -> None:
        """Set up the client, from penstock.yml or from its own configuration."""
        settings, environ = services.project.receivers, services.environ
        self._services, self._project = services, services.project
        self._name = f"penstock-{command.replace(' ', '-')}-{self._project.name}"
        self._namespace = settings.namespace or environ.get("OPENLINEAGE_NAMESPACE") or "penstock"
        self._client = OpenLineageClient(config=_config(settings.transport))
        self._above = _job_above(environ.get("OPENLINEAGE_PARENT_ID", ""))
        self._root = _job_above(environ.get("OPENLINEAGE_ROOT_PARENT_ID", "")) or self._above
        self._run = ""
        self._open: dict[tuple[str, Keys], str] = {}
        self._facts = cache(self._read_facts)

    def tell(self, notification: Notification) -> None:
        """Send the event that belongs to one event of the run, if there is one."""
        at, event = notification
        match event:
            case RunStarted(run, _):
                self._run = run
                self._send_run(at, RunState.START)
            case StepStarted(model, _, Step() as step):
                run = self._open[model, step.keys] = self._services.clock.new_id()
                self._send_step(at, RunState.START, run, self._project.models[model])
            case StepEnded(result, _):
                self._end_step(at, result)
            case RunEnded(state, message) if self._run:
                for (model, _), run in self._open.items():
                    self._send_step(at, RunState.ABORT, run, self._project.models[model])
                self._send_run(at, _ENDS.get(state, RunState.ABORT), message)
                self._client.close(_TIMEOUT)

    def _end_step(self, at: dt.datetime, result: ModelResult) -> None:
        """End the run of a step; results of models that did not start have no event."""
        started = [key for key in self._open if key[0] == result.name]
        key = (result.name, result.partitions)
        if not started:
            return
        run = self._open.pop(key if key in started else started[0])
        state, error = RunState.COMPLETE if result.ok else RunState.FAIL, result.error
        if isinstance(error, InterruptedRunError):
            state = RunState.ABORT
        self._facts.cache_clear()  # it may have changed its table
        self._send_step(at, state, run, self._project.models[result.name], result)

    def _send_run(self, at: dt.datetime, state: RunState, message: str = "") -> None:
        facets = {**self._parent(self._above), **_error_facet(message, "SQL")}
        job = Job(self._namespace, self._name, {"jobType": _job_type("JOB")})
        self._send(
            RunEvent(
                eventTime=at.isoformat(),
                producer=PRODUCER,
                run=Run(self._run, facets),
                job=job,
                eventType=state,
            )
        )

    def _send_step(
        self,
        at: dt.datetime,
        state: RunState,
        run: str,
        model: Model,
        result: ModelResult | None = None,
    ) -> None:
        facets = self._parent((self._namespace, self._name, self._run))
        if result is not None and result.error is not None:
            language = "SQL" if model.function is None else "PYTHON"
            text = f"{result.error.code}: {result.error.sentence}"
            facets |= _error_facet(text, language)
        pins = {each.input: each.pin for each in result.inputs} if result else {}
        self._send(
            RunEvent(
                eventTime=at.isoformat(),
                producer=PRODUCER,
                run=Run(run, facets),
                job=Job(self._namespace, f"{self._project.name}.{model.name}", self._job(model)),
                eventType=state,
                inputs=[*self._inputs(model, pins)],
                outputs=[self._output(model, result)],
            )
        )

    def _send(self, event: RunEvent) -> None:
        self._client.emit(event)

    def _parent(self, above: tuple[str, str, str] | None) -> dict[str, RunFacet]:
        """Return the facet of the run that this run belongs to."""
        if above is None:
            return {}
        (namespace, name, run), root = above, self._root or above
        return {
            "parent": parent_run.ParentRunFacet(
                run=parent_run.Run(run),
                job=parent_run.Job(namespace, name),
                root=parent_run.Root(parent_run.RootRun(root[2]), parent_run.RootJob(*root[:2])),
                producer=PRODUCER,
            )
        }

    def _job(self, model: Model) -> dict[str, JobFacet]:
        facets: dict[str, JobFacet] = {"jobType": _job_type("MODEL")}
        if kind_of(model) == "sql":
            query = mask(self._project.shown_sql(model))
            facets["sql"] = sql_job.SQLJobFacet(query, "spark", producer=PRODUCER)
        if model.description:
            text = mask(model.description)
            facets["documentation"] = documentation_job.DocumentationJobFacet(
                text, producer=PRODUCER
            )
        return facets

    def _inputs(self, model: Model, pins: Mapping[str, Pin]) -> Iterator[InputDataset]:
        for name in model.inputs:
            if name.kind is not InputKind.THIS:
                table, uri = self._place(name)
                yield InputDataset(
                    *self._dataset_name(table, uri),
                    facets=self._dataset(table, uri, pins.get(name.name)),
                )
        entity = self._project.entities.get(model.name)
        folder = bronze_folder(entity, self._services.clock.now()) if entity else None
        if folder is not None:
            facets = {"dataSource": _source_facet(folder.path)}
            yield InputDataset(*dataset_name(folder.path), facets={**facets})

    def _output(self, model: Model, result: ModelResult | None) -> OutputDataset:
        uri = self._project.uri_of(model.table)
        pin = DeltaPin("", result.version) if result and result.version is not None else None
        facets = self._dataset(model.table, uri, pin, model)
        if result is not None and result.ok:
            facets |= self._columns(model)
        statistics = {}
        if result is not None and result.status == "success" and not model.is_view:
            statistics["outputStatistics"] = (
                output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                    rowCount=result.rows.written, producer=PRODUCER
                )
            )
        return OutputDataset(*dataset_name(uri), outputFacets={**statistics}, facets=facets)

    def _place(self, name: InputName) -> tuple[TableName, str]:
        """Return the table of an input and where it is; "" for a table of a catalog."""
        source = self._project.sources.get(name.name) if name.kind is InputKind.SOURCE else None
        table = self._project.table_of(name)
        if source is not None:
            return table, source.path
        return table, "" if name.kind is InputKind.EXTERNAL else self._project.uri_of(table)

    def _dataset_name(self, table: TableName, uri: str) -> tuple[str, str]:
        return dataset_name(uri) if uri else (self._namespace, str(table))

    def _dataset(
        self, table: TableName, uri: str, pin: Pin | None, model: Model | None = None
    ) -> dict[str, DatasetFacet]:
        facts = self._facts(uri) if uri and not (model and model.is_view) else None
        facets: dict[str, DatasetFacet] = {}
        if uri:
            facets["dataSource"] = _source_facet(uri)
            kind = "VIEW" if model and model.is_view else "TABLE"
            facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(
                [symlinks_dataset.Identifier(self._namespace, str(table), kind)],
                producer=PRODUCER,
            )
        if facts is not None:
            facets["schema"] = _schema_facet(facts, model)
        version = {DeltaPin: "version", FilesPin: "digest"}.get(type(pin), "")
        if version:
            facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(
                str(getattr(pin, version)), producer=PRODUCER
            )
        return facets

    def _columns(self, model: Model) -> dict[str, DatasetFacet]:
        """Return the columns that each column of a SQL model is computed from, if known."""
        if kind_of(model) != "sql":
            return {}
        places = {
            str(table): (self._dataset_name(table, uri), self._facts(uri) if uri else None)
            for table, uri in map(self._place, model.query.inputs)
        }
        schemas = {
            table: {column.name: column.type for column in facts.schema.columns}
            for table, (_, facts) in places.items()
            if facts is not None
        }
        fields = {
            column: column_lineage_dataset.Fields(
                [
                    column_lineage_dataset.InputField(*places[table][0], name)
                    for table, name in read
                    if table in places
                ]
            )
            for column, read in column_lineage(self._project.shown_sql(model), schemas).items()
        }
        known = {name: each for name, each in fields.items() if each.inputFields}
        if not known:
            return {}
        return {
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(
                known, producer=PRODUCER
            )
        }

    def _read_facts(self, uri: str) -> TableFacts | None:
        try:
            return self._services.log.facts(uri)
        except (PenstockError, OSError):
            return None


def dataset_name(uri: str) -> tuple[str, str]:
    """Return the namespace and name of a dataset as OpenLineage forms them from a location.

    >>> dataset_name("s3a://lake/raw/orders"), dataset_name("/data/raw")
    (('s3://lake', 'raw/orders'), ('file', '/data/raw'))
    """
    shown = mask_uris(uri)
    if is_s3(uri):
        bucket, key = bucket_and_key(shown)
        return f"s3://{bucket}", key or "/"
    if scheme_of(uri) in ("", "file"):
        path = shown.partition(":")[2] if scheme_of(uri) else shown
        return "file", f"/{path.lstrip('/')}" if path.startswith("/") else path
    scheme, _, rest = shown.partition("://")
    authority, _, path = rest.partition("/")
    return f"{scheme}://{authority}", path or "/"


def _config(transport: Mapping[str, object]) -> dict[str, object]:
    """Return the configuration of the client; empty if it has its own."""
    if not transport:
        return {}
    sent = dict(transport)
    if sent.get("type") == "http":
        sent |= {"timeout": _TIMEOUT, "retry": {"total": _RETRIES}}
    return {"transport": sent}


def _job_above(text: str) -> tuple[str, str, str] | None:
    """Return namespace, job and run of a parent as schedulers write it: `namespace/job/run`."""
    parts = text.rsplit("/", 2)
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None  # noqa: PLR2004


def _job_type(kind: str) -> JobFacet:
    return job_type_job.JobTypeJobFacet("BATCH", "PENSTOCK", kind, producer=PRODUCER)


def _error_facet(message: str, language: str) -> dict[str, RunFacet]:
    if not message:
        return {}
    facet = error_message_run.ErrorMessageRunFacet(mask(message), language, producer=PRODUCER)
    return {"errorMessage": facet}


def _source_facet(uri: str) -> DatasetFacet:
    namespace, _ = dataset_name(uri)
    return datasource_dataset.DatasourceDatasetFacet(namespace, mask_uris(uri), producer=PRODUCER)


def _schema_facet(facts: TableFacts, model: Model | None) -> DatasetFacet:
    says = {each.name.lower(): each.description for each in (model.columns if model else ())}
    fields = [
        schema_dataset.SchemaDatasetFacetFields(
            each.name, each.type, mask(says.get(each.name.lower()) or each.comment) or None
        )
        for each in facts.schema.columns
    ]
    return schema_dataset.SchemaDatasetFacet(fields, producer=PRODUCER)

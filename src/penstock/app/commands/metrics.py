"""The use case `metrics`: facts about models for Prometheus, without starting Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.app.commands.query import replaced_file
from penstock.app.commands.status import status
from penstock.app.read_requests import MetricsRequest
from penstock.app.reports import ModelStatus, StatusReport
from penstock.app.request import StatusRequest
from penstock.app.services.services import Services, in_one_state
from penstock.app.services.wire import version
from penstock.core.masking import mask
from penstock.core.records import ModelRecord, Status
from penstock.plan.values import State

_MODEL = "penstock_model_"


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One value of a metric."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Metric:
    """A gauge with all its samples."""

    name: str
    help: str
    samples: tuple[MetricSample, ...]


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """All metrics; `output` is the file that was written, "" if none was."""

    metrics: tuple[Metric, ...]
    output: str = ""

    @property
    def text(self) -> str:
        """The metrics in Prometheus' text format, without a final line break."""
        return "\n".join(line for each in self.metrics for line in _lines(each))


def metrics(services: Services, request: MetricsRequest) -> MetricsReport:
    """Return facts about the selected models; write them to a file if one is named.

    A reader of the file sees the old or the new text. Raises `bad-output` if it cannot be written.
    """
    asked = StatusRequest(
        request.project, select=request.select, exclude=request.exclude, target=request.target
    )
    report = status(services, asked)
    project = services.project
    base = {"project": project.name, "target": project.target.name}
    info = Metric(
        "penstock_info", "Version of penstock.", (MetricSample({"version": version()}, 1),)
    )
    found = (info, *_of_records(services, report), _partitions(report.models))
    made = MetricsReport(tuple(_with_labels(each, base) for each in found if each.samples))
    if not request.output:
        return made
    with replaced_file(Path(request.output)) as file:
        file.write(f"{made.text}\n".encode())
    return MetricsReport(made.metrics, request.output)


@in_one_state
def _of_records(services: Services, report: StatusReport) -> tuple[Metric, ...]:
    """Return what the state holds about each model."""
    store, models = services.reading, services.project.models
    names = [each.model for each in report.models]
    records = store.records.models()
    failing: dict[str, set[str]] = defaultdict(set)
    for flag in store.checks.flags():
        failing[flag.model].update(flag.checks)
    leases = {each.target.lower(): each for each in store.leases.taken()}
    held = ((name, leases.get(str(models[name].table).lower())) for name in names)
    return (
        *_of_steps([(name, records[name]) for name in names if name in records]),
        _gauge(
            "failing_checks",
            "Checks that rows of the table failed and that were not settled since.",
            ((name, len(failing[name])) for name in names if models[name].all_checks),
        ),
        Metric(
            f"{_MODEL}lease_held",
            "1 if a run holds the lease of the model's table.",
            tuple(
                MetricSample({"model": name, "host": each.host}, 1)
                for name, each in held
                if each is not None
            ),
        ),
    )


def _of_steps(records: Sequence[tuple[str, ModelRecord]]) -> tuple[Metric, ...]:
    """Return facts about the last steps of models that have one."""
    done = [(name, each, each.executed_at) for name, each in records if each.executed_at]
    unwell = (Status.FAILED, Status.SKIPPED)
    return (
        _gauge(
            "last_success_timestamp_seconds",
            "When the last successful step of the model ran.",
            ((name, at.timestamp()) for name, _, at in done),
        ),
        _gauge(
            "last_duration_seconds",
            "How long the last successful step took.",
            ((name, each.duration_ms / 1000) for name, each, _ in done),
        ),
        _gauge(
            "last_rows_written",
            "Rows that the last successful step wrote.",
            ((name, each.rows_written) for name, each, _ in done),
        ),
        _gauge(
            "last_step_failed",
            "1 if the last step of the model failed or was skipped by a check.",
            ((name, each.status in unwell) for name, each in records),
        ),
    )


def _gauge(name: str, says: str, values: Iterable[tuple[str, float]]) -> Metric:
    samples = (MetricSample({"model": model}, float(value)) for model, value in values)
    return Metric(f"{_MODEL}{name}", says, tuple(samples))


def _partitions(models: Iterable[ModelStatus]) -> Metric:
    """Return the partitions of each model by state; a table without partitions counts as one."""
    samples = []
    for model in models:
        counts: dict[str, int] = defaultdict(int)
        for each in model.states:
            counts[str(each.state)] += each.count
        total = max(1, model.partitions)
        counts[str(State.CURRENT)] += max(0, total - sum(counts.values()))
        samples += [MetricSample({"model": model.model, "state": s}, n) for s, n in counts.items()]
    return Metric(f"{_MODEL}partitions", "Partitions of the model by state.", tuple(samples))


def _with_labels(metric: Metric, base: Mapping[str, str]) -> Metric:
    samples = (MetricSample({**base, **each.labels}, each.value) for each in metric.samples)
    return Metric(metric.name, metric.help, tuple(samples))


def _lines(metric: Metric) -> Iterable[str]:
    r"""Yield the lines of a metric.

    >>> sample = MetricSample({"model": 'a "b"'}, 2.5)
    >>> print("\n".join(_lines(Metric("penstock_x", "What it is.", (sample,)))))
    # HELP penstock_x What it is.
    # TYPE penstock_x gauge
    penstock_x{model="a \"b\""} 2.5
    """
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} gauge"
    for each in metric.samples:
        labels = ",".join(f'{name}="{_escaped(text)}"' for name, text in each.labels.items())
        value = int(each.value) if each.value == int(each.value) else each.value
        yield f"{metric.name}{{{labels}}} {value}"


def _escaped(text: str) -> str:
    return mask(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

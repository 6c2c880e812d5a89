"""`metrics`: facts about models for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.documents import Json, document_of
from penstock.app.read_requests import MetricsRequest
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput

if TYPE_CHECKING:
    from penstock.app.commands.metrics import MetricsReport


def metrics_text(report: MetricsReport) -> str:
    """Return the metrics, or where they were written."""
    if report.output:
        samples = sum(len(each.samples) for each in report.metrics)
        return f"{samples:,} samples written to {report.output}"
    return report.text


def metrics_document(report: MetricsReport) -> Json:
    """Return each metric with its samples."""
    names = "metrics[name help samples[labels value]] output?"
    return {"command": "metrics", **document_of(report, names)}


@command(
    "penstock metrics --target prod\n"
    "penstock metrics --output /var/lib/node_exporter/textfile_collector/penstock.prom"
)
def metrics_command(output: CommandOutput, request: MetricsRequest) -> None:
    """Print metrics for Prometheus.

    Last success, duration, rows, partitions by state, failing checks and leases of each model, from
    the state and the logs of tables. Starts no Spark.
    """
    from penstock.app.commands.metrics import metrics

    report = ask(request, metrics, request)
    to_file = bool(request.output)
    output.print(report, metrics_text, metrics_document, unless_quiet=to_file, is_code=True)

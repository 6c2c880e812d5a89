"""`docs generate`: the site of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.documents import Json, document_of
from penstock.app.read_requests import SiteRequest
from penstock.ui.cli.options import ask, command, group
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.values import size

if TYPE_CHECKING:
    from penstock.app.site.generate import SiteReport


def site_text(report: SiteReport) -> str:
    """Return where the site is, and what it shows."""
    return f"{report.page}: {report.models:,} models, {report.runs:,} runs, {size(report.bytes)}"


def site_document(report: SiteReport) -> Json:
    """Return the same as JSON."""
    return {"command": "docs generate", **document_of(report, "page models runs bytes")}


docs_command = group(
    "penstock docs generate",
    """Show the project in a browser.

    One static site: what drifted, every partition, lineage and runs.
    """,
)


@command("penstock docs generate\npenstock docs generate --output public", of=docs_command)
def docs_generate(output: CommandOutput, request: SiteRequest) -> None:
    """Write a static site of the project.

    Shows which part of which table was built by what, and what no longer matches. Open its
    index.html, or copy the folder to a server or a bucket. Starts no Spark, and writes no table and
    no record.
    """
    from penstock.app.site.generate import docs_generate as generate

    output.print(ask(request, generate, request), site_text, site_document)

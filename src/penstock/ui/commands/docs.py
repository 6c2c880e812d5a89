"""`docs generate` and `docs serve`: the site of the project."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of
from penstock.app.flags import FlagSpec
from penstock.app.read_requests import ServeRequest, SiteRequest
from penstock.core.errors import UsageError
from penstock.ui.cli.options import command, group
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.values import size

if TYPE_CHECKING:
    from penstock.app.site.generate import SiteReport


def site_text(report: SiteReport) -> str:
    """Return errors that the site shows, then where it is and what it shows."""
    found = (f"{each.place}: {each.code}: {each.sentence}" for each in report.errors)
    shown = f"{report.page}: {report.models:,} models, {report.runs:,} runs, {size(report.bytes)}"
    return "\n".join([*found, shown])


def site_document(report: SiteReport) -> Json:
    """Return the same as JSON."""
    return {
        "command": "docs generate",
        **document_of(report, "page models runs bytes errors[code place sentence hint]"),
    }


docs_command = group(
    "penstock docs generate",
    """Show the project in a browser.

    One static site: what drifted, every partition, lineage and runs.
    """,
)


@command("penstock docs generate\npenstock docs generate --output public", of=docs_command)
def docs_generate(output: CommandOutput, request: SiteRequest) -> int:
    """Write a static site of the project.

    Shows which part of which table was built by what, and what no longer matches. Open its
    index.html, or copy the folder to a server or a bucket. Starts no Spark, and writes no table and
    no record.
    """
    from penstock.app.site.generate import docs_generate as generate

    report = generate(request)
    output.print(report, site_text, site_document)
    return 1 if report.errors else 0


@command("penstock docs serve\npenstock docs serve --port 9000 --no-open", of=docs_command)
def docs_serve(
    output: CommandOutput,
    request: ServeRequest,
    *,
    open_page: Annotated[
        bool, FlagSpec("Open the page in a browser.", ("--open/--no-open",))
    ] = True,
) -> None:
    """Serve the site on this machine and follow what changes.

    Open pages show new states and the steps of runs as they begin and end, without a reload.
    Ctrl-C ends it.
    """
    from penstock.app.site.generate import open_site
    from penstock.ui.site.server import LiveSite, SiteServer, serve

    pages, read = open_site(request)
    site = LiveSite(read)
    try:
        server = SiteServer(request.host, request.port, pages, site)
    except (OSError, OverflowError) as error:
        raise UsageError(
            "port-taken",
            f"cannot listen on {request.host}:{request.port}: {getattr(error, 'strerror', error)}",
            hint="give another --port (0 takes a free one), and a --host of this machine",
        ) from error
    output.print(server.url, lambda url: f"{url} (Ctrl-C ends it)", lambda url: {"url": url})
    if open_page:
        webbrowser.open(server.url)
    serve(server, request.every)

"""Tell other programs about a run while it goes on, and after it failed."""

from __future__ import annotations

import json
import shlex
import socket
import time
import traceback
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

from penstock.app.documents import Json, error_document, instant, resume_document
from penstock.app.events import (
    FAILED,
    INTERRUPTED,
    SUCCEEDED,
    Event,
    Listener,
    Notification,
    RunEnded,
    Said,
)
from penstock.app.flags import command_words
from penstock.app.receivers.outbox import Outbox
from penstock.app.request import AnyRun, AnySync
from penstock.app.run_report import SIGTERM, TERMINATED, RunReport
from penstock.app.services.services import Services
from penstock.core.errors import (
    EnvironmentMissingError,
    InterruptedRunError,
    PenstockError,
    install_hint,
)
from penstock.core.masking import mask, masked

SECONDS = 5.0
"""The longest time that all receivers together may delay a command."""
_REQUEST_SECONDS = 4.0
_LISTED = 100
_VARIABLES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT__TYPE")
"""Variables that configure the OpenLineage client."""


def notified(
    services: Services,
    request: AnyRun | AnySync,
    listener: Listener,
    work: Callable[[Listener], RunReport],
) -> RunReport:
    """Do a run and tell the project's receivers about it; a receiver never makes it fail.

    What could not be delivered is a note of the report. Raises `openlineage-missing` before the
    run begins if the project asks for events and the client is not installed.
    """
    lineage: Outbox[Notification] | None = None

    def tell(event: Event) -> None:
        if lineage is not None and not isinstance(event, Said):
            lineage.put((services.clock.now(), event))
        listener(event)

    try:
        lineage = _lineage(services, request.command)
        if lineage is None and not services.project.receivers.webhook:
            return work(listener)
        report = work(tell)
    except BaseException as error:
        for note in _close(services, lineage, _of_error(services, request, error)):
            listener(Said(note))
        raise
    body = None if report.aborted else _of_report(services, request, report)
    return replace(report, notes=(*report.notes, *_close(services, lineage, body)))


def _lineage(services: Services, command: str) -> Outbox[Notification] | None:
    """Return the queue of OpenLineage events, None without any."""
    settings = services.project.receivers
    asked = next((each for each in _VARIABLES if services.environ.get(each)), "")
    if not settings.openlineage and not asked:
        return None
    if not _has_client():
        hint, missing = install_hint("openlineage"), "openlineage-python is not installed"
        if not settings.openlineage:  # the variable may be there for other programs
            services.note(f"{asked} is set, but {missing}: no events are sent; {hint}")
            return None
        sentence = f"penstock.yml asks for OpenLineage events, and {missing}"
        raise EnvironmentMissingError("openlineage-missing", sentence)

    def connect() -> Callable[[Notification], None]:
        from penstock.app.receivers.lineage import LineageEvents

        return LineageEvents(services, command).tell

    return Outbox("openlineage", connect)


def _has_client() -> bool:
    """Return whether the client is installed, and not only another package of its name."""
    try:
        return find_spec("openlineage.client") is not None
    except ModuleNotFoundError:
        return False


def _close(
    services: Services, lineage: Outbox[Notification] | None, body: Mapping[str, Json] | None
) -> tuple[str, ...]:
    """Send what is left, within the time limit; return a warning for each receiver that failed."""
    begun = time.monotonic()
    until = begun + max(0.0, SECONDS - services.receiver_delay)
    outboxes: list[Outbox[Notification] | Outbox[str]] = []
    if lineage is not None and lineage.is_used:
        state = str(body["status"]) if body else SUCCEEDED
        message = str(body["text"]) if body else ""
        lineage.put((services.clock.now(), RunEnded(state, message)))
        outboxes.append(lineage)
    if services.project.receivers.webhook and body is not None:
        url = services.project.receivers.webhook
        webhook = Outbox[str]("on_failure webhook", lambda: partial(_post, url))
        webhook.put(json.dumps(masked(body), ensure_ascii=False))
        outboxes.append(webhook)
    warnings = tuple(filter(None, [each.close(until) for each in outboxes]))
    services.receiver_delay += time.monotonic() - begun
    return warnings


def _post(url: str, body: str) -> None:
    # the scheme is http or https: the key accepts no other
    headers = {"Content-Type": "application/json", "User-Agent": "penstock"}
    request = urllib.request.Request(url, body.encode(), headers, method="POST")  # noqa: S310
    with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as answer:  # noqa: S310
        answer.read()


def _of_report(
    services: Services, request: AnyRun | AnySync, report: RunReport
) -> dict[str, Json] | None:
    """Return the document of a run that did not succeed; None for one that did."""
    if report.succeeded:
        return None
    bad = [each for each in report.results if each.status == "failed"]
    place = shlex.join(command_words(request, ("project", "target", "variables")))
    failed: list[Json] = []
    for each in bad[:_LISTED]:
        error = error_document(each.error)
        about = error if isinstance(error, Mapping) else {}
        failed.append({"model": each.name, "partitions": each.partitions, **about})
    errors = [
        f"{each.name}: {each.error.code}: {each.error.sentence}" for each in bad if each.error
    ]
    more = [f"and {len(errors) - 1} more"] * (len(errors) > 1)
    first = " ".join([*errors[:1], *more])
    return {
        **_head(services, request, INTERRUPTED if report.interrupted else FAILED, first),
        "run": report.run_id,
        "exit_code": report.exit_code,
        "counts": dict(Counter(each.status for each in report.results)),
        "failed": failed,
        "error": None,
        "resume": resume_document(
            report.left, f"{report.resume} {place}".strip() if report.resume else ""
        ),
    }


def _of_error(
    services: Services, request: AnyRun | AnySync, error: BaseException
) -> dict[str, Json]:
    """Return the document of a run that ended before its steps."""
    interrupted = isinstance(error, KeyboardInterrupt | InterruptedRunError)
    if isinstance(error, PenstockError):
        code, about = error.exit_code, error_document(error)
    elif interrupted:
        code = TERMINATED if SIGTERM in error.args else InterruptedRunError.exit_code
        about = {"code": "interrupted", "message": "the run was interrupted"}
    else:
        message = traceback.format_exception_only(error)[-1].strip()
        code, about = 1, {"code": "internal-error", "message": message}
    said = str(about["message"]) if isinstance(about, Mapping) else ""
    return {
        **_head(services, request, INTERRUPTED if interrupted else FAILED, said),
        "run": services.run_id or None,
        "exit_code": code,
        "counts": {},
        "failed": [],
        "error": about,
        "resume": resume_document(),
    }


def _head(
    services: Services, request: AnyRun | AnySync, status: str, reason: str
) -> dict[str, Json]:
    """Return what every document begins with; chat programs show `text`."""
    project, now = services.project, services.clock.now()
    text = f"penstock {request.command} of {project.name} ({project.target.name}) {status}"
    return {
        "text": mask(f"{text}: {reason}" if reason else text),
        "project": project.name,
        "target": project.target.name,
        "command": request.command,
        "status": status,
        "ended": instant(now),
        "host": socket.gethostname(),
    }

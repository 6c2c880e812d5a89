"""What commands print that look at the state and the machine, or put them in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from penstock.app.commands.accept import AcceptedCommits
from penstock.app.commands.state import WatermarkReport
from penstock.app.documents import Json, document_of, error_document
from penstock.app.execution.recover import RebuildReport, Recovery
from penstock.core.masking import mask
from penstock.core.ports.engine import QueryResult
from penstock.core.records import Lease, WatermarkChange
from penstock.ui.render.values import aligned, count, moment, table

if TYPE_CHECKING:
    from penstock.app.commands.doctor import DoctorReport
    from penstock.app.commands.engine import EngineReport
    from penstock.app.commands.query import ExportedFile

_NEXT = {  # how to go on where a template starts with no input, and has a script that makes it
    "deliver.py": "penstock seed, penstock run",
    "visits.py": "penstock run --as-of 2024-03-04",
}
_SIGNS = {"ok": "✓", "warning": "⚠", "error": "✗"}


def watermarks_text(report: WatermarkReport) -> str:
    """Return one row per watermark, or per change of one, newest first."""
    changes = report.current if report.history is None else report.history
    of = report.slices.get
    if not changes:
        return "no watermarks" if report.history is None else "no watermark was ever set"
    low = ["next low"] if report.lows else []
    rows = [
        [
            change.model,
            f"{change.input}.{change.column}",
            change.value or "(reset)",
            *(report.lows.get(change, "-") for _ in low),
            moment(change.set_at),
            change.who or ", ".join(filter(None, (f"step {change.step}", of(change.step, "")))),
            mask(change.why),
        ]
        for change in changes
    ]
    return table(["model", "column", "value", *low, "set_at", "by", "why"], rows)


def changed_text(changes: Sequence[WatermarkChange]) -> str:
    """Say in a line each what a person changed."""
    return "\n".join(
        f"{one.model}: {one.input}.{one.column} "
        + ("reset" if one.value is None else f"set to {one.value}")
        for one in changes
    )


def accept_text(report: AcceptedCommits) -> str:
    """Say which commits stand from now on."""
    where = "" if report.partitions == ("*",) else f" in {', '.join(report.partitions)}"
    lines = (f"  {mask(line)}" for line in report.lines)
    return "\n".join((f"accepted: {report.model}{where}", *lines))


def accept_document(report: AcceptedCommits) -> Json:
    """Return the model, the step that says so, and the commits."""
    names = "model step partitions commits[version time operation user]"
    return {"command": "accept", "reason": mask(report.reason), **document_of(report, names)}


def query_text(result: QueryResult) -> str:
    """Return the rows under the names that the query gives its columns, then how many there are."""
    rows = [["NULL" if value is None else value for value in row] for row in result.rows]
    body = aligned([result.columns, *rows], [False] * len(result.columns))
    more = "; there are more, see --limit" if result.truncated else ""
    return f"{body}\n\n{count(len(rows), 'row')}{more}"


def exported_text(made: ExportedFile) -> str:
    """Say what was written where."""
    return f"wrote {count(made.rows, 'row')} to {made.file}"


def recovered_text(found: Recovery) -> str:
    """Return a line per step that a crash had left open, then what could not be settled."""
    lines = [*found.sentences, *(error.render() for error in found.stuck.values())]
    return "\n".join(lines) or "nothing to recover"


def rebuild_text(report: RebuildReport) -> str:
    """Say how many steps the tables' logs hold, which tables' hold none, and what no log tells."""
    lines = [f"{count(report.steps, 'step')} of {count(len(report.models), 'model')} recorded"]
    lines += [f"{name}: its log has no step of this project" for name in report.untold]
    skip = "no log tells which slices were skipped; before the next run: penstock entities slices"
    lines += [f"{name}: {skip} {name} --skip NAME --reason TEXT" for name in report.unskipped]
    return "\n".join(lines)


def lease_text(lease: Lease) -> str:
    """Say who holds a lease, as a question's start."""
    return (
        f"{lease.target} is held by run {lease.run} (host {lease.host}, pid {lease.pid}) "
        f"since {moment(lease.acquired)} UTC. This takes it away."
    )


def made_text(made: tuple[str, Sequence[str]]) -> str:
    """Say which files a new project has, and how to go on."""
    folder, files = made
    following = f"penstock run {folder}"
    for script, then in _NEXT.items():
        if script in files:
            following = f"cd {folder}, python {script} 1, {then}"
    return "\n".join([*(f"made {folder}/{file}" for file in files), "", f"Next: {following}"])


def written_text(made: tuple[str, Sequence[str]]) -> str:
    """Say which files were written."""
    folder, files = made
    return "\n".join(f"wrote {folder}/{file}" for file in files)


def doctor_text(report: DoctorReport) -> str:
    """Return one line per check, and below what is wrong what to do about it."""
    width = max((len(check.name) for check in report.checks), default=0)
    lines = []
    for check in report.checks:
        sentence = mask(check.says)
        lines.append(f"{_SIGNS[check.health]} {check.name:<{width}}  {sentence}".rstrip())
        if check.health != "ok" and check.hint:
            lines.append(f"  hint: {mask(check.hint)}")
    return "\n".join(lines)


def engine_text(report: EngineReport) -> str:
    """Return one row per JVM that waits."""
    if not report.kept:
        return "no JVM waits"
    rows = [[each.root, each.target, str(each.pid), moment(each.ends)] for each in report.kept]
    return table(["project", "target", "pid", "ends"], rows)


def stopped_text(report: EngineReport) -> str:
    """Say which JVMs were ended."""
    return "\n".join(f"ended {each.pid}, of {each.root}" for each in report.kept) or "no JVM waits"


query_document = partial(document_of, names="columns rows truncated")
exported_document = partial(document_of, names="file form rows")
rebuild_document = partial(document_of, names="steps models untold unskipped")
engine_document = partial(document_of, names="kept[root target pid ends]")
doctor_document = partial(document_of, names="healthy checks[name health message=says hint?]")


def watermarks_document(report: WatermarkReport) -> Json:
    """Return the watermarks that are set; with their history where it was asked for."""
    document = {
        "watermarks": [
            {**_change(change), "next_low": report.lows.get(change)} for change in report.current
        ]
    }
    if report.history is not None:
        document["history"] = [_change(change) for change in report.history]
    return document


def changes_document(changes: Sequence[WatermarkChange]) -> Json:
    """Return what was changed by hand."""
    return {"changed": [_change(change) for change in changes]}


def recovered_document(found: Recovery) -> Json:
    """Return what became of each step that a crash had left open, and what could not be settled."""
    stuck = [{"model": name, "error": error_document(e)} for name, e in found.stuck.items()]
    return {**document_of(found, "recovered=steps[step model version]"), "stuck": stuck}


def files_document(made: tuple[str, Sequence[str]]) -> Json:
    """Return the files that were made in a folder."""
    folder, files = made
    return {"folder": folder, "files": files}


def _change(change: WatermarkChange) -> dict[str, Json]:
    type_, _, value = (change.value or "").partition(" ")
    typed = {"type": type_ or None, "value": None if change.value is None else value}
    head = document_of(change, "model input column")
    return {**head, **typed, **document_of(change, "set_at step? who? why?")}

"""`import dbt`: a penstock project from a dbt project."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from penstock.app.documents import Json, document_of
from penstock.app.flags import FlagSpec
from penstock.ui.cli.options import command, group
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.values import count

if TYPE_CHECKING:
    from penstock.app.commands.import_dbt import ImportReport

_FATES = {
    "by hand": "to do by hand",
    "changed": "changed",
    "dropped": "left out",
    "taken": "unchanged",
}


def import_text(report: ImportReport) -> str:
    """Return the counts, what needs a hand, and the next command; or why nothing was written."""
    if report.refused and not report.dry_run:
        lines = [line for each in report.edited for line in each.diff]
        files = count(len(report.edited), "file")
        lines.append(f"{files} of {report.output} changed by hand since the last import.")
        return "\n".join([*lines, "Nothing was written: --force overwrites them."])
    project = report.project
    lines = []
    for kind in dict.fromkeys(each.kind for each in project.sources):
        held = project.count(kind)
        said = ", ".join(f"{held[f]} {_FATES[f]}" for f in sorted(held, reverse=True) if held[f])
        lines.append(f"{kind}: {sum(held.values())} ({said})")
    hand = [
        (each, note) for each in project.sources for note in each.notes if note.fate == "by hand"
    ]
    if hand:
        lines += ["", "To do by hand:"]
        lines += [f"  {each.source}:{note.line}: {note.what}: {note.why}" for each, note in hand]
    if report.edited:
        files = count(len(report.edited), "file")
        lines += ["", f"{files} changed by hand: " + ", ".join(e.path for e in report.edited)]
    verb = "would write" if report.dry_run else "wrote"
    lines += ["", f"{verb} {count(len(project.files), 'file')} to {report.output}"]
    if not report.dry_run:
        place = shlex.quote(report.output)
        lines.append(f"Read import-report.md. Next: penstock validate {place}")
    return "\n".join(lines)


def import_document(report: ImportReport) -> Json:
    """Return the report with every part of every file."""
    sources = report.project.sources
    found = document_of(report, "folder output dry_run written edited[path diff] name=project.name")
    counts = {
        kind: {str(fate): number for fate, number in report.project.count(kind).items()}
        for kind in dict.fromkeys(each.kind for each in sources)
    }
    files = [
        document_of(e, "source kind targets fate models notes[line what fate why]") for e in sources
    ]
    return {
        **found,
        "counts": counts,
        "written_files": sorted(report.project.files),
        "files": files,
    }


import_command = group(
    "penstock import dbt shop",
    """Make a penstock project from another tool's.

    The other project is only read.
    """,
)


@command("penstock import dbt shop\npenstock import dbt shop --dry-run", of=import_command)
def import_dbt(
    output: CommandOutput,
    folder: Annotated[Path, FlagSpec(names=("DIR",))] = Path(),
    manifest: Annotated[
        Path | None,
        FlagSpec("Manifest to compare with.  [default: target/manifest.json]", metavar="FILE"),
    ] = None,
    output_dir: Annotated[
        Path | None,
        FlagSpec("Folder to write.  [default: DIR-penstock]", ("--output",), metavar="DIR"),
    ] = None,
    *,
    dry_run: Annotated[bool, FlagSpec("Report, and write nothing.")] = False,
    force: Annotated[bool, FlagSpec("Overwrite files that were changed by hand.")] = False,
) -> int:
    """Write a penstock project beside a dbt project.

    Reads models, macros, seeds, snapshots, tests and dbt_packages/; of profiles.yml only the
    names of the target's schema and catalog. Reports every part that changed or that has no
    counterpart; import-report.md in the new project says the same.
    """
    from penstock.app.commands.import_dbt import ImportRequest
    from penstock.app.commands.import_dbt import import_dbt as use_case

    asked = ImportRequest(folder, output_dir, manifest, dry_run=dry_run, force=force)
    report = use_case(asked, os.environ)
    output.print(report, import_text, import_document)
    return 1 if report.refused and not dry_run else 0

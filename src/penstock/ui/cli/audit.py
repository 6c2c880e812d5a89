"""`penstock audit`."""

from __future__ import annotations

import functools

import click

from penstock.ui.cli.options import Scope, Selection, example, project_options, selection_options


@click.command(epilog=example("penstock audit --modified-only --diff"))
@click.option("--modified-only", is_flag=True, help="Only modified ones; exit 1 if there are any.")
@click.option("--diff", "diffs", is_flag=True, help="Show what changed, too.")
@selection_options
@project_options
def command(
    scope: Scope,
    selection: Selection,
    modified_only: bool,  # noqa: FBT001  click passes by name
    diffs: bool,  # noqa: FBT001  click passes by name
) -> int:
    """Compare every version's SQL with what was run.

    One row for each version and revision in the files or on record.
    """
    from penstock.app.commands.audit import audit
    from penstock.ui.json_history import audit_document
    from penstock.ui.text_audit import audit_text

    text = functools.partial(audit_text, modified_only=modified_only)
    with scope.opened() as services:
        found = audit(
            services, selection.select, selection.exclude, modified_only=modified_only, diffs=diffs
        )
    scope.output.give(found, text, audit_document)
    return 1 if modified_only and found.rows else 0

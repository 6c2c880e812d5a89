"""`penstock recover`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import Scope, example, project_options


@click.command(epilog=example("penstock recover"))
@project_options
def command(scope: Scope) -> None:
    """Settle what a crash left open.

    Steps that had committed are recorded, others are marked failed. Every run does this first.
    """
    from penstock.app.recover import recover
    from penstock.ui.json_state import recovered_document
    from penstock.ui.text_state import recovered_text

    with scope.opened() as shop:
        found = recover(shop) if shop.has_state() else ()
    scope.output.tell(found, recovered_text, recovered_document)

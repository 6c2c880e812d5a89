"""`penstock completion`."""

from __future__ import annotations

import click

from penstock.ui.cli.options import example, output_options
from penstock.ui.cli.output import Output


@click.command(epilog=example('eval "$(penstock completion bash)"'))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@output_options
def command(output: Output, shell: str) -> None:
    """Print a shell's completion script.

    Load it from the shell's own startup file.
    """
    from penstock.ui.cli.completion_script import script
    from penstock.ui.json_state import script_document

    output.give(script(shell), str, script_document)

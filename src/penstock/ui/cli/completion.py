"""`penstock completion`."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from penstock.ui.cli.options import example, takes_output
from penstock.ui.cli.output import CommandOutput

_SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


@click.command(epilog=example('eval "$(penstock completion bash)"'))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@takes_output
def command(output: CommandOutput, shell: str) -> None:
    """Print a shell's completion script.

    Load it from the shell's own startup file.
    """
    output.print(_script(shell), str, lambda text: {"script": text})


def _script(shell: str) -> str:
    """Give the script of bash, zsh or fish; the shell itself is not asked for its version."""
    # `main` finds this file by its name, so it cannot stand among the imports above
    from penstock.ui.cli.main import commands

    found = _SHELLS[shell](commands, {}, "penstock", "_PENSTOCK_COMPLETE")
    return (found.source_template % found.source_vars()).strip()

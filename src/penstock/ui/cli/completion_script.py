"""The scripts with which shells ask penstock how a line may go on."""

from __future__ import annotations

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

_SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


def script(shell: str) -> str:
    """Give the script of bash, zsh or fish; the shell itself is not asked for its version."""
    from penstock.ui.cli.main import commands

    found = _SHELLS[shell](commands, {}, "penstock", "_PENSTOCK_COMPLETE")
    return (found.source_template % found.source_vars()).strip()

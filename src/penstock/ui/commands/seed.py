"""`seed`: files as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.run import seed_text

Seeds = Annotated[
    Sequence[str], FlagSpec("Seeds to load; default: all.", ("--select", "-s"), "NAME")
]


@command("penstock seed --select countries")
def seed_command(output: CommandOutput, request: CommandRequest, select: Seeds = ()) -> int:
    """Load the files under seeds/ as tables.

    Skips files that have not changed since they were loaded.
    """
    from penstock.app.commands.seed import seed

    return output.finish(request, ask(request, seed, tuple(select)), seed_text)

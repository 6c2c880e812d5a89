"""The options about checks that commands which run steps share."""

from __future__ import annotations

import click

CHECK_OPTIONS = [
    click.option(
        "--skip-checks", "--skip-invariants", "skip_checks", is_flag=True, help="Evaluate no check."
    ),
    click.option(
        "--on-failure",
        type=click.Choice(["flag", "block", "rollback"]),
        help="What a failed check does to the rows of its step.",
    ),
]

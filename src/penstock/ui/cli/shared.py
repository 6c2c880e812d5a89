"""Options of commands that look at partitions or run steps, and what their words mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import datetime as dt

    from penstock.app.request import Range

FROM = click.option("--from", "first", metavar="D", help="From this date, or partition, on.")
TO = click.option("--to", "last", metavar="D", help="Up to this date, or partition, with it.")
DAYS = click.option(
    "--days", metavar="N", type=click.IntRange(min=1), help="The last N days, today with them."
)
STATE = click.option(
    "--state", "states", metavar="S,…", multiple=True, help="Only partitions in these states."
)
THREADS = click.option("--threads", type=click.IntRange(min=1), help="Steps at a time.")
FAIL_FAST = click.option("--fail-fast", is_flag=True, help="Start nothing new after a failure.")
AS_OF = click.option("--as-of", metavar="TIME", help="Run as if it were this time; UTC.")
WAIT = click.option(
    "--wait",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Wait for a target that another run writes.",
)
ALLOWANCES = [
    click.option(
        "--batch-size",
        metavar="N",
        type=click.IntRange(min=1),
        help="Partitions that one step makes at most.",
    ),
    click.option(
        "--allow-breaking", is_flag=True, help="Rewrite tables whose columns change their type."
    ),
    click.option(
        "--allow-source-mutation", is_flag=True, help="Let the SQL of immutable versions change."
    ),
]


def asked_range(
    first: str | None, last: str | None, days: int | None = None, date: str | None = None
) -> Range:
    """Give the range of the flags; raise `option-conflict` for flags that exclude each other."""
    from penstock.app.request import asked_range as asked

    return asked(first, last, days, date)


def run_timestamp_of(text: str | None) -> dt.datetime | None:
    """Read the time of `--as-of`; raise `bad-value` for what is none."""
    if text is None:
        return None
    from penstock.app.services.services import parse_moment
    from penstock.core.errors import UsageError

    try:
        return parse_moment(text)
    except ValueError as error:
        raise UsageError(
            "bad-value", f"--as-of: {text!r} is no time", hint="for example 2024-03-01T12:00:00"
        ) from error


def state_names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Give the states of `--state a,b --state c`, one by one."""
    return tuple(part.strip() for text in texts for part in text.split(",") if part.strip())

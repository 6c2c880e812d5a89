"""Help of a command: what it does, examples, then its options in groups."""

from __future__ import annotations

import re

import click

FEW = 10
"""A command with at most so many options has one group."""
COMMON = "Options"
GROUPS = {
    COMMON: "dry_run select exclude date from_ to full_refresh target help",
    "What to build": "cascade days states everything max_partitions adopt prune keep_last no_prune "
    "allow_empty phases",
    "When": "as_of processing_time",
    "Safety": "on_failure skip_checks allow_breaking allow_source_mutation allow_schema_change "
    "strict yes",
    "Entities": "slice strategy allow_backdated",
    "Session packages": "catch_up max_windows",
    "How to run": "threads batch_size fail_fast wait",
    "Project": "project variables",
    "Results": "record sample accept drop reason",
    "Output": "as_json quiet verbose log_format",
}
"""The options of each group by their parameters, in the order of the help."""

_BOUNDS = re.compile(r"  \[\d[^]x]*x[^]]*\]|; \d[^]x]*x[^];]*")
"""The bounds of numbers as click writes them."""


class GroupedHelp(click.Command):
    """A command whose help begins with examples and groups many options."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write usage, description, examples, options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by groups where there are many."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        for each in options:
            group = group_of(each.name or "") if len(options) > FEW else COMMON
            if record := each.get_help_record(ctx):
                groups[group].append((record[0], _BOUNDS.sub("", record[1])))
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def group_of(parameter: str) -> str:
    """Return the group of an option by the name of its parameter; `Options` for one of a command.

    >>> group_of("as_of")
    'When'
    """
    return _GROUP_OF.get(parameter.rstrip("_0123456789"), COMMON)


_GROUP_OF = {name.rstrip("_"): title for title, names in GROUPS.items() for name in names.split()}

"""The help of a command: examples first, then few options, then the rest by groups."""

import click

from penstock.ui.cli.main import COMMANDS, commands
from penstock.ui.cli.options import COMMON, GROUPS, group_of

CONTEXT = click.Context(commands, info_name="penstock", terminal_width=80)


def every_command():
    for name in COMMANDS:
        command = commands.get_command(CONTEXT, name)
        yield command
        yield from getattr(command, "commands", {}).values()


def help_of(name):
    command = commands.get_command(CONTEXT, name)
    return command.get_help(click.Context(command, CONTEXT, name, terminal_width=80))


def test_a_group_names_options_that_some_command_has():
    known = {param.name.rstrip("_0123456789") for each in every_command() for param in each.params}

    named = {name.rstrip("_") for names in GROUPS.values() for name in names.split()}
    assert named - {"help"} - known == set()


def test_the_help_of_run_begins_with_examples_and_eleven_options():
    sections = [line for line in help_of("run").splitlines() if line.rstrip().endswith(":")]

    assert [line.strip() for line in sections] == [
        "Examples:",
        "Options:",
        "What to build:",
        "Other targets:",
        "When:",
        "Safety:",
        "Entities:",
        "Session packages:",
        "How to run:",
        "Project:",
        "Output:",
    ]
    options = help_of("run").partition("Options:\n")[2].partition("\n\n")[0]
    assert sum(1 for line in options.splitlines() if line.startswith("  -")) == 11


def test_a_command_of_few_options_has_one_group():
    assert "Output:" not in help_of("completion")
    assert "--json" in help_of("completion").partition("Options:")[2]


def test_the_help_says_what_a_number_is_for_and_not_its_bounds():
    assert "--threads N      Number of steps to run at once.\n" in help_of("run")


def test_a_second_flag_of_a_parameter_stands_in_its_group():
    assert (group_of("select_1"), group_of("from_"), group_of("as_of"), group_of("sql")) == (
        COMMON,
        COMMON,
        "When",
        COMMON,
    )

"""Options are made of the fields of requests."""

import click
import pytest

from penstock.app import request as requests
from penstock.app.flags import flag_fields
from penstock.ui.cli.main import COMMANDS, commands, main
from penstock.ui.cli.options import takes

KINDS = [found for name, found in vars(requests).items() if name.endswith("Request")]
OF_ALL = {"WorkRequest", "StepsRequest", "PartitionsRequest", "DriftRequest"}


def options_of(kind):
    command = click.command(takes(kind)(lambda output, request: 0))
    return {name for each in command.params for name in each.opts if name.startswith("--")}


@pytest.mark.parametrize("kind", [k for k in KINDS if k.__name__ not in OF_ALL])
def test_every_flag_of_a_request_is_an_option(kind):
    declared = {name for each in flag_fields(kind) for name in each.options}

    assert options_of(kind) == declared | {"--json", "--quiet", "--verbose", "--log-format"}


def test_no_two_options_of_a_command_have_one_name():
    context = click.Context(commands, info_name="penstock")
    for name in COMMANDS:
        command = commands.get_command(context, name)
        for one in (command, *getattr(command, "commands", {}).values()):
            names = [each for param in one.params for each in param.opts]
            keys = [param.name for param in one.params]
            assert (len(set(names)), len(set(keys))) == (len(names), len(keys)), name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run shop --project-dir elsewhere", "the project is 'shop' and --project-dir 'elsewhere'"),
        ("run --vars x", "'x' is not NAME=VALUE"),
        ("run --threads 0", "0 is not in the range 1<=x<=2147483647"),
        ("backfill daily --from 2024", "Missing option '--to'"),
    ],
)
def test_what_makes_no_sense_is_refused(words, said, capsys):
    assert main(words.split()) == 2
    assert said in capsys.readouterr().err

"""The options of a command, made of the flags that its request declares."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.app.request import CommandRequest, WorkRequest
from penstock.app.request.flags import FlagField, FlagSpec, flag_fields
from penstock.core.masking import mask
from penstock.ui.cli.output import CommandOutput

if TYPE_CHECKING:
    from penstock.app.services.services import Services

Command = Callable[..., int | None]
Option = Callable[[Command], Command]

YES = click.option("--yes", is_flag=True, help="Do not ask.")


def example(*lines: str) -> str:
    """Give the end of a command's help: what a user would type."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def help_alone(ctx: click.Context) -> None:
    """Print the help of a group that was called without a command."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def opened(request: CommandRequest) -> AbstractContextManager[Services]:
    """Open the project that a request is about, with all that a use case needs."""
    from penstock.app.services import wire

    return wire.opened(request)


def takes(request: type[CommandRequest], *own: Option, without: Sequence[str] = ()) -> Option:
    """Give the command an `CommandOutput` and the request that its options make.

    `own` are options of the command line alone; they are given by name. Fields in `without` are
    left as they are.
    """
    declared = [each for each in flag_fields(request) if each.name not in without]

    def with_options(call: Command) -> Command:
        @functools.wraps(call)
        def with_request(**values: Any) -> int | None:  # noqa: ANN401  click gives them
            output = _output(values)
            return call(output, _request(request, declared, values), **values)

        return _decorated(with_request, [*_of_request(declared, own), *_OUTPUT])

    return with_options


def takes_output(call: Command) -> Command:
    """Give the command an `CommandOutput`; it needs no project."""

    @functools.wraps(call)
    def with_output(**values: Any) -> int | None:  # noqa: ANN401  click gives them
        return call(_output(values), **values)

    return _decorated(with_output, _OUTPUT)


def _decorated(call: Command, options: Sequence[Option]) -> Command:
    for option in reversed(options):
        call = option(call)
    return call


def _of_request(declared: Sequence[FlagField], own: Sequence[Option]) -> Iterator[Option]:
    """Give the options in the order of the fields; the command's own before those of the place."""
    for each in declared:
        if each.name == "project":
            yield from own
        for number, flag in enumerate(each.flags):
            yield _option(each, flag, _key(each, number))


def _key(each: FlagField, number: int) -> str:
    return f"{each.name}_{number}" if number else each.name


def _option(each: FlagField, flag: FlagSpec, key: str) -> Option:
    names = each.names_of(flag)
    is_place = each.name == "project"  # where one is needed, it is this folder
    if not names[0].startswith("-"):
        is_required = each.is_required and not is_place
        shown = names[0] if is_required else f"[{names[0]}]"
        return click.argument(key, metavar=shown, type=_type(each, flag), required=is_required)
    if flag.value is not None or each.type is bool:
        return click.option(*names, key, is_flag=True, help=flag.help)
    # an option that is given a default, None even, is never missing
    default: dict[str, Any] = {"default": each.default} if each.type is int else {}
    return click.option(
        *names,
        key,
        type=_type(each, flag),
        metavar=flag.metavar,
        multiple=bool(each.kinds & {Sequence, Mapping}),
        required=each.is_required and not is_place,
        show_default=bool(default),
        help=flag.help,
        **default,
    )


def _type(each: FlagField, flag: FlagSpec) -> click.ParamType[Any] | None:
    if flag.choices:
        return click.Choice(flag.choices)
    if int in each.kinds:
        return click.IntRange(min=flag.least)
    if float in each.kinds:
        return click.FloatRange(min=flag.least)
    return click.Path(file_okay=False, path_type=Path) if Path in each.kinds else None


def _request(
    kind: type[CommandRequest], declared: Sequence[FlagField], values: dict[str, Any]
) -> CommandRequest:
    """Take the request's part out of what was given; what was not has the request's default."""
    fields: dict[str, Any] = {"project": "."}
    for each in declared:
        found = [values.pop(_key(each, number)) for number in range(len(each.flags))]
        given = [value for value in found if value not in (None, False, ())]
        if given:
            fields[each.name] = _value(each, found, given)
    if issubclass(kind, WorkRequest):
        fields["arguments"] = mask(shlex.join(click.get_current_context().obj or []))
    return kind(**fields)


def _value(each: FlagField, found: Sequence[Any], given: Sequence[Any]) -> object:
    if each.type is bool:
        return not each.default
    if each.flags[0].value is not None:
        return [flag.value for flag, is_on in zip(each.flags, found, strict=True) if is_on]
    if Sequence in each.kinds:
        return [value for values in given for value in values]
    if Mapping in each.kinds:
        return dict(map(_pair, given[0]))
    if each.name == "project" and given[0] not in (Path(), given[-1]):
        folder, argument = map(str, given)
        raise click.UsageError(f"the project is {argument!r} and --project-dir {folder!r}")
    return given[-1]


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name.strip() and sign):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--vars")
    return name.strip(), value


def _output(values: dict[str, Any]) -> CommandOutput:
    return CommandOutput(
        as_json=values.pop("as_json"),
        quiet=values.pop("quiet"),
        verbose=values.pop("verbose"),
        json_log=values.pop("log_format") == "json",
    )


_OUTPUT: list[Option] = [
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors."),
    click.option("--verbose", "-v", is_flag=True, help="Print more."),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        help="How progress is logged.",
    ),
]

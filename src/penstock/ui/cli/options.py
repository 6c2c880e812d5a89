"""The options of a command, made of the flags that its request declares."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, get_type_hints

import click

from penstock.app.flags import FlagField, FlagSpec, flag_fields, parameter_flags
from penstock.app.request import CommandRequest, WorkRequest
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.ui.cli.output import CommandOutput
from penstock.ui.cli.streams import keep_answer_apart

if TYPE_CHECKING:
    from penstock.app.services.services import Services

Command = Callable[..., int | None]
Option = Callable[[Command], Command]
Words = ParamSpec("Words")
Answer = TypeVar("Answer")

_OF_OUTPUT = flag_fields(CommandOutput)


def command(
    examples: str, *, of: click.Group | None = None, without: Sequence[str] = ()
) -> Callable[[Command], click.Command]:
    """Make a command of a function, as `takes` says; `state_import` is the `import` of a group.

    The first line of its docstring stands beside its name in `ui.cli.main.COMMANDS`.
    """
    make = click.command if of is None else of.command

    def made(call: Command) -> click.Command:
        name, request = call.__name__.partition("_")[2], get_type_hints(call).get("request")
        return make(name, epilog=_example(examples))(takes(request, without=without)(call))

    return made


def group(example: str, says: str) -> click.Group:
    """Make a group of commands; called without one of them it prints its help."""

    def help_alone(ctx: click.Context) -> None:
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())

    called = click.pass_context(help_alone)
    return click.Group(
        invoke_without_command=True, callback=called, help=says, epilog=_example(example)
    )


def _example(lines: str) -> str:
    """Give the end of a command's help: what a user would type."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines.splitlines())


def opened(request: CommandRequest) -> AbstractContextManager[Services]:
    """Open the project that a request is about, with all that a use case needs."""
    from penstock.app.services import wire

    return wire.opened(request)


def ask(
    request: CommandRequest,
    use_case: Callable[Concatenate[Services, Words], Answer],
    *words: Words.args,
    **named: Words.kwargs,
) -> Answer:
    """Open the project that a request is about, and give what a use case says."""
    with opened(request) as services:
        return use_case(services, *words, **named)


def takes(request: type[CommandRequest] | None, *, without: Sequence[str] = ()) -> Option:
    """Give the command a `CommandOutput` and the request, if any, that its options make.

    Its other parameters are options of the command line alone. Fields in `without` are left as
    they are.
    """
    fields = flag_fields(request) if request else ()
    declared = [each for each in fields if each.name not in without]

    def with_options(call: Command) -> Command:
        own = parameter_flags(call)

        @functools.wraps(call)
        def with_request(**values: Any) -> int | None:  # noqa: ANN401  click gives them
            keep_answer_apart()
            output = CommandOutput(**_given(_OF_OUTPUT, values))
            if request is None:
                return call(output, **_given(own, values))
            given = {"project": ".", **_given(declared, values)}
            if issubclass(request, WorkRequest):
                given["arguments"] = mask(shlex.join(click.get_current_context().obj or []))
            return call(output, request(**given), **_given(own, values))

        # the command's own stand before those that say which project
        place = next((n for n, each in enumerate(declared) if each.name == "project"), 0)
        shown = (*declared[:place], *own, *declared[place:], *_OF_OUTPUT)
        options = [_option(each, flag, key) for each in shown for key, flag in _keyed(each)]
        made: Command = with_request
        for option in reversed(options):
            made = option(made)
        return made

    return with_options


def _keyed(each: FlagField) -> Iterator[tuple[str, FlagSpec]]:
    """Give the flags of a field, each with the name by which click hands over what it found."""
    for number, flag in enumerate(each.flags):
        yield (f"{each.name}_{number}" if number else each.name), flag


def _option(each: FlagField, flag: FlagSpec, key: str) -> Option:
    names = each.names_of(flag)
    is_place = each.name == "project"  # where one is needed, it is this folder
    if not names[0].startswith("-"):
        is_required = each.is_required and not is_place
        shown = names[0] if is_required else f"[{names[0]}]"
        return click.argument(
            key,
            metavar=None if flag.choices else shown,
            type=_type(each, flag),
            nargs=-1 if Sequence in each.kinds else 1,
            required=is_required,
        )
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
    if Path not in each.kinds:
        return None
    names_file = "FILE" in (*flag.names, flag.metavar)
    is_place = flag.names == ("PROJECT",)  # what is none is refused where its hint is known
    return click.Path(file_okay=names_file or is_place, dir_okay=not names_file, path_type=Path)


def _given(declared: Sequence[FlagField], values: dict[str, Any]) -> dict[str, Any]:
    """Take the values of fields out of what click found, without those that nobody gave."""
    fields = {}
    for each in declared:
        found = [values.pop(key) for key, _ in _keyed(each)]
        given = [value for value in found if value not in (None, False, ())]
        if given:
            fields[each.name] = _value(each, found, given)
    return fields


def _require_folder(found: Sequence[Any], given: Sequence[Any]) -> None:
    """Refuse two folders, and a model where the folder of a project stands."""
    folder, argument = str(given[0]), str(given[-1])
    if given[0] not in (Path(), given[-1]):
        raise click.UsageError(f"the project is {argument!r} and --project-dir {folder!r}")
    here, there = Path("penstock.yml"), Path(argument, "penstock.yml")
    if found[1:] and found[-1] and here.is_file() and not there.is_file():
        command = click.get_current_context().command_path
        sentence = f"{argument!r} is the folder of no project; models are named by --select"
        hint = f"{command} --select {shlex.quote(argument)}"
        raise UsageError("bad-usage", sentence, hint=hint)


def _value(each: FlagField, found: Sequence[Any], given: Sequence[Any]) -> object:
    if each.type is bool:
        return not each.default
    if each.flags[0].value is not None:
        return [flag.value for flag, is_on in zip(each.flags, found, strict=True) if is_on]
    if each.kinds & {Sequence, Mapping}:
        return [value for values in given for value in values]
    if each.name == "project":
        _require_folder(found, given)
    return given[-1]

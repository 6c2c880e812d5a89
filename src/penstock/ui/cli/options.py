"""The options of a command, built from the flags that its request declares."""

from __future__ import annotations

import functools
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, get_type_hints

import click

from penstock.app.flags import MOST, FlagField, FlagSpec, flag_fields, parameter_flags
from penstock.app.request import CommandRequest, WorkRequest
from penstock.core.errors import UsageError
from penstock.core.masking import mask
from penstock.ui.cli.output import CommandOutput, say
from penstock.ui.cli.streams import is_drawn_on, keep_answer_apart

if TYPE_CHECKING:
    from penstock.app.services.services import Services
    from penstock.app.services.wire import Where

Command = Callable[..., int | None]
Option = Callable[[Command], Command]
Words = ParamSpec("Words")
Answer = TypeVar("Answer")

_OF_OUTPUT = flag_fields(CommandOutput)
FEW = 10
"""A command with at most this many options has one group."""
COMMON = "Options"
GROUPS = {
    COMMON: "dry_run select exclude date from_ to full_refresh target help",
    "What to build": "resource_type exclude_resource_type cascade days states everything "
    "max_partitions adopt prune keep_last no_prune allow_empty phases",
    "Other targets": "state defer_to",
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

_GROUP_OF = {name.rstrip("_"): title for title, names in GROUPS.items() for name in names.split()}
_BOUNDS = re.compile(r"  \[\d[^]x]*x[^]]*\]|; \d[^]x]*x[^];]*")
"""The bounds of numbers in click's format."""


def command(
    examples: str, *, of: click.Group | None = None, without: Sequence[str] = ()
) -> Callable[[Command], click.Command]:
    """Create a command from a function (see `takes`); `state_import` is `import` of a group.

    The first line of its docstring is the short help in `ui.cli.main.COMMANDS`.
    """
    make = click.command if of is None else of.command

    def decorate(call: Command) -> click.Command:
        name, request = call.__name__.partition("_")[2], get_type_hints(call).get("request")
        more: dict[str, Any] = {"cls": ProjectFirst, "epilog": _example(examples)}
        return make(name, **more)(takes(request, without=without)(call))

    return decorate


def group(example: str, says: str) -> click.Group:
    """Create a group of commands; called without a command it prints its help."""

    def help_alone(ctx: click.Context) -> None:
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())

    called = click.pass_context(help_alone)
    return click.Group(
        invoke_without_command=True, callback=called, help=says, epilog=_example(example)
    )


def _example(lines: str) -> str:
    """Return the end of a command's help: examples."""
    title = "Examples" if "\n" in lines else "Example"
    return f"\b\n{title}:\n" + "\n".join(f"  {line}" for line in lines.splitlines())


@contextmanager
def open_request(request: CommandRequest) -> Iterator[Services]:
    """Open the project of a request with the services that a use case needs."""
    from penstock.app.services import wire

    noted: set[str] = set()

    def note(text: str) -> None:
        if text not in noted and not click.get_current_context().params.get("quiet"):
            noted.add(text)
            say(mask(text), err=True)

    with wire.open_request(request) as services:
        services.note = note
        if is_drawn_on(sys.stderr) and not click.get_current_context().params.get("quiet"):
            services.waiting = _waiting_line
        yield services


@contextmanager
def _waiting_line(what: str) -> Iterator[None]:
    """Show what is waited for in a line of stderr that goes away with the wait."""
    from rich.console import Console

    from penstock.ui.render.live import LiveTable

    with LiveTable(Console(stderr=True), time.monotonic) as line, line.waiting(what):
        yield


def place(request: CommandRequest) -> Where:
    """Return which project a request is about, for use cases that need nothing else."""
    from penstock.app.services.wire import place_of

    return place_of(request)


def ask(
    request: CommandRequest,
    use_case: Callable[Concatenate[Services, Words], Answer],
    *words: Words.args,
    **keywords: Words.kwargs,
) -> Answer:
    """Open the project of a request and return the answer of a use case."""
    with open_request(request) as services:
        return use_case(services, *words, **keywords)


def takes(request: type[CommandRequest] | None, *, without: Sequence[str] = ()) -> Option:
    """Pass the command a `CommandOutput` and its request, if it has one.

    Its other parameters are options of the command line alone. Fields in `without` keep their
    defaults.
    """
    fields = flag_fields(request) if request else ()
    declared = [each for each in fields if each.name not in without]

    def with_options(call: Command) -> Command:
        own = parameter_flags(call)

        @functools.wraps(call)
        def with_request(**values: Any) -> int | None:  # noqa: ANN401  click gives them
            keep_answer_apart()
            output = CommandOutput(**_take_values(_OF_OUTPUT, values))
            if request is None:
                return call(output, **_take_values(own, values))
            given = {"project": ".", **_take_values(declared, values)}
            if issubclass(request, WorkRequest):
                given["arguments"] = mask(shlex.join(click.get_current_context().obj or []))
            return call(output, request(**given), **_take_values(own, values))

        # the command's own stand before those that say which project
        place = next((n for n, each in enumerate(declared) if each.name == "project"), 0)
        shown = (*declared[:place], *own, *declared[place:], *_OF_OUTPUT)
        named = [(each, flag, key) for each in shown for key, flag in _keyed(each)]
        arguments = [each.name for each, flag, _ in named if _is_argument(each, flag)]
        options = [
            _option(each, flag, key)
            for each, flag, key in named
            # beside arguments of the command's own `ProjectFirst` finds it
            if not (each.name == "project" and _is_argument(each, flag) and len(arguments) > 1)
        ]
        made: Command = with_request
        for option in reversed(options):
            made = option(made)
        return made

    return with_options


class GroupedHelp(click.Command):
    """A command whose help begins with examples and groups many options."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write usage, description, examples, options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in groups if there are many."""
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
    """Return the group of an option by its parameter; `Options` for options of a single command.

    >>> group_of("as_of")
    'When'
    """
    return _GROUP_OF.get(parameter.rstrip("_0123456789"), COMMON)


class ProjectFirst(GroupedHelp):
    """A command whose first argument may be the project's folder.

    It is the project if it contains penstock.yml and there are more arguments than the command
    needs; with --project-dir it never is.
    """

    @property
    def _own(self) -> list[click.Argument]:
        found = [each for each in self.params if isinstance(each, click.Argument)]
        has_project = any(param.name == "project" for param in self.params)
        return [] if any(each.name == "project_1" for each in found) or not has_project else found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Turn an argument that is the project into an option, and join several selectors."""
        return super().parse_args(ctx, self._with_option(args) if self._own else self._joined(args))

    def _joined(self, args: list[str]) -> list[str]:
        """Join `--select a b` to `--select 'a b'`; a folder with penstock.yml is the project."""
        params = (each for each in self.params if each.name in ("select", "select_1", "exclude"))
        names = {name for each in params for name in each.opts}
        found: list[str] = []
        for word in args:
            is_more = len(found) > 1 and found[-2] in names and not word.startswith("-")
            if is_more and not found[-1].startswith("-") and not _is_project(word):
                found[-1] = f"{found[-1]} {word}"
            else:
                found.append(word)
        return found

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Write the project before the command's own arguments."""
        options, *arguments = super().collect_usage_pieces(ctx)
        return [options, *(["[PROJECT]"] if self._own else []), *arguments]

    def _with_option(self, args: list[str]) -> list[str]:
        values, words = self._read(args)
        needed = sum(1 for each in self._own if each.required)
        if len(words) <= needed or values.get("project") or not _is_project(words[0]):
            return args
        for place in (n for n, word in enumerate(args) if word == words[0]):
            rest = [*args[:place], *args[place + 1 :]]
            if self._read(rest) == (values, words[1:]):
                return ["--project-dir", words[0], *rest]
        return args

    def _read(self, args: list[str]) -> tuple[dict[str, Any], list[str]]:
        """Return the values of options, and the arguments; empty if options are invalid."""
        options = [each for each in self.params if isinstance(each, click.Option)]
        shadow = click.Command(self.name, params=list[click.Parameter](options))
        context = click.Context(shadow, allow_extra_args=True, resilient_parsing=True)
        try:
            shadow.parse_args(context, list(args))
        except click.UsageError:  # the command's own parser says so
            return {}, []
        return context.params, context.args


def _is_project(word: str) -> bool:
    try:
        return Path(word, "penstock.yml").is_file()
    except (OSError, ValueError):
        return False


def _is_argument(each: FlagField, flag: FlagSpec) -> bool:
    return not each.names_of(flag)[0].startswith("-")


def _keyed(each: FlagField) -> Iterator[tuple[str, FlagSpec]]:
    """Yield the flags of a field, each with the name of its value in click."""
    for number, flag in enumerate(each.flags):
        yield (f"{each.name}_{number}" if number else each.name), flag


def _option(each: FlagField, flag: FlagSpec, key: str) -> Option:
    names = each.names_of(flag)
    is_place = each.name == "project"  # where one is needed, it is this folder
    if _is_argument(each, flag):
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
        return click.IntRange(min=flag.least, max=MOST)
    if float in each.kinds:
        return click.FloatRange(min=flag.least, max=MOST)
    if Path not in each.kinds:
        return None
    names_file = "FILE" in (*flag.names, flag.metavar)
    is_place = flag.names == ("PROJECT",)  # what is none is refused where its hint is known
    return click.Path(file_okay=names_file or is_place, dir_okay=not names_file, path_type=Path)


def _take_values(declared: Sequence[FlagField], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of fields from click, without those not given."""
    fields = {}
    for each in declared:
        option_values = [values.pop(key, None) for key, _ in _keyed(each)]
        words = [value for value in option_values if value not in (None, False, ())]
        if words:
            fields[each.name] = _value(each, option_values, words)
    return fields


def _require_folder(option_values: Sequence[Any], words: Sequence[Any]) -> None:
    """Raise for two folders, and for an argument that is not a project's folder."""
    folder, argument = str(words[0]), str(words[-1])
    if words[0] not in (Path(), words[-1]):
        raise click.UsageError(f"the project is {argument!r} and --project-dir {folder!r}")
    here, there = Path("penstock.yml"), Path(argument, "penstock.yml")
    if option_values[1:] and option_values[-1] and here.is_file() and not there.is_file():
        context, sentence = click.get_current_context(), f"{argument!r} is not a project's folder"
        hint = f"{context.command_path} --project-dir DIR"
        if any(param.name == "select" for param in context.command.params):
            sentence += "; models are named by --select"
            hint = f"{context.command_path} --select {shlex.quote(argument)}"
            hint += "; a project's folder: --project-dir DIR"
        raise UsageError("bad-usage", sentence, hint=hint)


def _value(each: FlagField, option_values: Sequence[Any], words: Sequence[Any]) -> object:
    if each.type is bool:
        return not each.default
    if each.flags[0].value is not None:
        return [flag.value for flag, is_on in zip(each.flags, option_values, strict=True) if is_on]
    if each.kinds & {Sequence, Mapping}:
        given = zip(each.flags, option_values, strict=True)
        values = [(flag.before, value) for flag, values in given for value in values or ()]
        return [f"{before}{value}" if before else value for before, value in values]
    if each.name == "project":
        _require_folder(option_values, words)
    return words[-1]

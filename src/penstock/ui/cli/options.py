"""Options that commands share, given to them as values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.ui.cli.output import Output

if TYPE_CHECKING:
    from penstock.app.services.services import Services
    from penstock.app.services.wire import Where

Command = Callable[..., int | None]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which project, which target, which variables, and how to answer."""

    root: Path = Path()
    target: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    output: Output = Output()

    @property
    def where(self) -> Where:
        """The place as use cases take it."""
        from penstock.app.services.wire import Where

        return Where(self.root, self.target, self.variables)

    @contextmanager
    def opened(self) -> Iterator[Services]:
        """Load the project, wire it, and let go of databases and Spark in the end."""
        from penstock.app.services.wire import open_services

        services = open_services(self.where)
        try:
            yield services
        finally:
            services.close()

    def words(self) -> list[str]:
        """Give the options that lead another command to the same place."""
        words = [] if self.root == Path() else ["--project-dir", str(self.root)]
        words += ["--target", "--env", "target", self.target] if self.target else []
        for name, value in self.variables.items():
            words += ["--vars", f"{name}={value}"]
        return words


@dataclass(frozen=True, slots=True)
class Selection:
    """Which models."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def example(*lines: str) -> str:
    """Give the end of a command's help: what a user would type."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def help_alone(ctx: click.Context) -> None:
    """Print the help of a group that was called without a command."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def output_options(call: Command) -> Command:
    """Give the command an `Output` as its first argument."""

    @functools.wraps(call)
    def with_output(**values: Any) -> int | None:  # noqa: ANN401  click gives them
        return call(_output(values), **values)

    return _with_options(with_output, _OUTPUT)


def project_options(call: Command) -> Command:
    """Give the command a `Scope` as its first argument."""

    @functools.wraps(call)
    def with_scope(**values: Any) -> int | None:  # noqa: ANN401  click gives them
        scope = Scope(
            root=Path(values.pop("project_dir")),
            target=values.pop("target"),
            variables=_pairs(values.pop("variables")),
            output=_output(values),
        )
        return call(scope, **values)

    return _with_options(with_scope, [*_PROJECT, *_OUTPUT])


def selection_options(call: Command) -> Command:
    """Give the command a `Selection` as its argument `selection`."""

    @functools.wraps(call)
    def with_selection(*given: Any, **values: Any) -> int | None:  # noqa: ANN401  click gives them
        names = values.pop("queries")
        select = (*values.pop("select"), *names)
        values["selection"] = Selection(select, values.pop("exclude"))
        return call(*given, **values)

    return _with_options(with_selection, _SELECTION)


def _with_options(call: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        call = option(call)
    return call


def _output(values: dict[str, Any]) -> Output:
    return Output(
        as_json=values.pop("as_json"),
        quiet=values.pop("quiet"),
        verbose=values.pop("verbose"),
        json_log=values.pop("log_format") == "json",
    )


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name.strip() and sign):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--vars")
        pairs[name.strip()] = value
    return pairs


_OUTPUT = [
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
_PROJECT = [
    click.option(
        "--project-dir",
        metavar="DIR",
        default=".",
        type=click.Path(file_okay=False),
        help="The project's folder; default: this one.",
    ),
    click.option("--target", "--env", "target", metavar="NAME", help="The target to work on."),
    click.option(
        "--vars", "variables", metavar="NAME=VALUE", multiple=True, help="Set a variable."
    ),
]
_SELECTION = [
    click.option(
        "--select",
        "-s",
        metavar="SELECTOR",
        multiple=True,
        help="Models to work on: name, +name, name+, tag:daily, path:models/staging.",
    ),
    click.option(
        "--query", "--model", "queries", metavar="NAME", multiple=True, help="Like --select NAME."
    ),
    click.option("--exclude", metavar="SELECTOR", multiple=True, help="Models to leave out."),
]

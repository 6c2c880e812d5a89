"""Help answers at once, tells the truth, and shows an example."""

import re
import subprocess
import sys
import time

import click
import pytest

from penstock.ui.cli.main import COMMANDS, commands, main

SLOW = ("sqlalchemy", "jinja2", "pydantic", "sqlglot", "rich", "deltalake", "yaml", "pyspark")
PROMISED_SECONDS = 0.3
CONTEXT = click.Context(commands, info_name="penstock")


def every_command():
    for name in COMMANDS:
        command = commands.get_command(CONTEXT, name)
        yield pytest.param(command, id=name)
        for inner, one in getattr(command, "commands", {}).items():
            yield pytest.param(one, id=f"{name} {inner}")


@pytest.mark.parametrize("command", list(every_command()))
def test_each_command_has_an_example(command):
    text = command.get_help(click.Context(command, info_name=command.name))

    assert re.search(r'Examples?:\n    (eval "\$\()?penstock ', text)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_says_what_each_says_itself(name):
    command = commands.get_command(CONTEXT, name)

    assert command.help.splitlines()[0] == COMMANDS[name]


def test_help_lists_every_command_in_one_line_each(call):
    answer = call("--help")

    listed = answer.out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split(maxsplit=1) for line in listed] == [list(i) for i in COMMANDS.items()]


def test_penstock_alone_prints_its_help(call):
    assert call() == call("--help")
    assert call().code == 0


@pytest.mark.parametrize(
    "words",
    [[], ["--help"], ["run", "--help"], ["sync", "--help"], ["rollback"], ["list", "--nope"]],
)
def test_help_imports_nothing_slow(words):
    code = (
        "import sys; from penstock.ui.cli.main import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        f"print(sorted(set({SLOW!r}) & set(sys.modules)), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.splitlines()[-1] == "[]"


def test_help_answers_within_its_promise():
    took = []
    for _ in range(5):
        started = time.monotonic()
        subprocess.run(
            [sys.executable, "-c", "from penstock.ui.cli.main import main; main(['--help'])"],
            capture_output=True,
            check=True,
        )
        took.append(time.monotonic() - started)

    assert min(took) < PROMISED_SECONDS


@pytest.mark.parametrize("name", ["watermark", "state"])
def test_a_group_alone_prints_its_help(name, call):
    assert call(name) == call(name, "--help")


def test_the_version_is_printed(call):
    answer = call("--version")

    assert answer.out.startswith("penstock ")
    assert answer.code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion_script(shell, call):
    answer = call("completion", shell)

    assert f"_PENSTOCK_COMPLETE={shell}_complete" in answer.out
    assert answer.code == 0


def test_a_shell_is_told_how_a_line_goes_on(monkeypatch, capfd):
    monkeypatch.setenv("_PENSTOCK_COMPLETE", "fish_complete")
    monkeypatch.setenv("COMP_WORDS", "penstock water")
    monkeypatch.setenv("COMP_CWORD", "water")

    with pytest.raises(SystemExit):
        main([])

    assert "watermark" in capfd.readouterr().out

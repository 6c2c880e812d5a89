"""What a shell completes: names of the last command on the project, without loading it."""

import json
import subprocess
import sys

import click
import pytest

from penstock.app.services import files
from penstock.ui.cli import completion
from penstock.ui.cli.completion import ARGUMENTS, complete, matches
from penstock.ui.cli.main import COMMANDS, commands

NAMES = {
    "models": {"orders": "", "revenue_by_day": "DAY", "revenue_by_week": "WEEK"},
    "keys": {"DAY": ["2024-03-02", "2024-03-01"], "WEEK": ["2024-02-26"]},
    "selectors": ["kind:sql", "tag:daily", "tag:docs"],
    "targets": ["dev", "prod"],
    "packages": ["web"],
    "entities": ["registry"],
}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    folder = tmp_path / ".penstock" / "cache"
    folder.mkdir(parents=True)
    (folder / "names.json").write_text(json.dumps(NAMES))
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "start", "names"),
    [
        ("run --select", "rev", ["revenue_by_day", "revenue_by_week"]),
        ("run -s", "+rev", ["+revenue_by_day", "+revenue_by_week"]),
        ("run --select", "orders,tag:d", ["orders,tag:daily", "orders,tag:docs"]),
        ("run --exclude", "kind:", ["kind:sql"]),
        ("run", "--select=o", ["--select=orders"]),
        ("status --target", "p", ["prod"]),
        ("check --query", "o", ["orders"]),
        ("history", "o", ["orders"]),
        ("watermark set", "o", ["orders"]),
        ("sessions limits", "", ["web"]),
        ("entities slices", "", ["registry"]),
        ("sync --select revenue_by_week --from", "", ["2024-02-26"]),
        ("sync --select +revenue_by_day --to", "2024-03-0", ["2024-03-02", "2024-03-01"]),
        ("sync --from", "2024", ["2024-03-02", "2024-03-01", "2024-02-26"]),
        ("run --select", "x", []),
    ],
)
def test_the_names_that_fit_the_word_at_the_cursor_are_offered(typed, start, names):
    assert matches(typed.split(), start) == names


@pytest.mark.parametrize(("typed", "start"), [("run", "--sel"), ("run", ""), ("run --threads", "")])
def test_where_no_name_is_expected_click_answers(typed, start):
    assert matches(typed.split(), start) is None


@pytest.mark.parametrize("words", ["run --project-dir {} --select", "run {} --select"])
def test_the_names_are_those_of_the_project_that_the_words_name(words, project, monkeypatch):
    monkeypatch.chdir("/")

    assert matches(words.format(project).split(), "ord") == ["orders"]


@pytest.mark.parametrize("damage", ["", "[]", '{"models": '])
def test_without_names_nothing_is_offered(project, damage):
    (project / ".penstock" / "cache" / "names.json").write_text(damage)

    assert matches(["run", "--select"], "") == []


@pytest.mark.parametrize(
    ("words", "place", "printed"),
    [
        ("tag : da", "5", "plain,daily\n"),
        ("tag :", "4", "plain,daily\nplain,docs\n"),
        ("tag:da", "3", "plain,tag:daily\n"),
        ("= or", "4", "plain,orders\n"),
    ],
)
def test_bash_gets_the_part_after_the_colon_at_which_it_cuts_words(
    words, place, printed, monkeypatch, capsys
):
    monkeypatch.setenv("COMP_WORDS", f"penstock run --select {words}")
    monkeypatch.setenv("COMP_CWORD", place)

    assert complete(commands, "bash_complete")
    assert capsys.readouterr().out == printed


def test_the_names_are_read_where_commands_write_them():
    assert completion.NAMES == files.NAMES


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_whole_names(shell, monkeypatch, capsys):
    monkeypatch.setenv("COMP_WORDS", "penstock run --select tag:da")
    monkeypatch.setenv("COMP_CWORD", "3" if shell == "zsh" else "tag:da")

    assert complete(commands, f"{shell}_complete")
    assert "tag:daily" in capsys.readouterr().out


def test_every_command_with_a_name_as_an_argument_completes_it():
    kinds = {"model": "models", "models": "models", "entity": "entities", "package": "packages"}
    with_name = {}
    for name in COMMANDS:
        command = commands.get_command(click.Context(commands), name)
        for path, each in [(name, command), *subcommands(name, command)]:
            arguments = [p.name for p in each.params if isinstance(p, click.Argument)]
            if kind := kinds.get(next(iter(arguments), "")):
                with_name[path] = kind

    offered = {path: matches(path.split(), "") for path in with_name}
    assert offered == {path: list(NAMES[kind]) for path, kind in with_name.items()}
    assert len(with_name) > len(ARGUMENTS)


def subcommands(name, command):
    return [(f"{name} {sub}", each) for sub, each in getattr(command, "commands", {}).items()]


def test_completing_imports_no_command():
    code = "import sys; from penstock.ui.cli.completion import matches; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "penstock.app" not in done.stdout.split()

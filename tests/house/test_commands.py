"""A command is at most three files: its use case, its file in `ui/commands`, a line in `main`."""

import ast

from house.source import SRC, files, found, place
from penstock.ui.cli.main import COMMANDS

FACES = [path for path in files() if path.parent == SRC / "ui" / "commands"]


def test_what_people_see_of_a_command_stands_in_one_file():
    """Flags, help, text and JSON: what two of them share is in `ui/render`."""
    assert [
        place(path, node)
        for path in FACES
        for node in found(path, ast.ImportFrom)
        if (node.module or "").startswith("penstock.ui.commands")
    ] == []


def test_a_command_calls_one_use_case():
    assert {name: modules for name, modules in called().items() if len(modules) > 1} == {
        "run_command": ["app.commands.catch_up", "app.commands.run"],
        "snapshot_run": ["app.commands.plan", "app.commands.run"],
    }


def test_every_command_is_one_function():
    groups = {
        "docs",
        "engine",
        "entities",
        "import",
        "sessions",
        "snapshot",
        "state",
        "target",
        "watermark",
    }

    assert COMMANDS.keys() - groups == {
        name.removesuffix("_command") for name in called() if name.endswith("_command")
    }


def called():
    """Give command → the modules of app that its function imports when it is called."""
    return {
        node.name: sorted(
            {
                each.module.removeprefix("penstock.")
                for each in ast.walk(node)
                if isinstance(each, ast.ImportFrom) and each.module.startswith("penstock.app.")
            }
        )
        for path in FACES
        for node in found(path, ast.FunctionDef)
        if any(ast.unparse(each).startswith("command(") for each in node.decorator_list)
    }

"""Runs what a document shows a reader to type, and compares what it shows as the answer.

`penstock` runs in this process, on the Spark that the tests share: a start for every command would
cost most of the time. tests/cli and `make demo` run it as a process.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unittest import mock

from penstock.ui.cli.main import main

ROOT = Path(__file__).parents[2]
RUN = {"penstock", "python", "cat", "ls", "mkdir", "rm"}
KNOWN = {"git", "pip", "uv"}  # what readers do once on their own machine
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


class Shell:
    """One folder in which a document's commands run in order; `cd` moves it.

    A command that is shown without output must exit 0. In shown output `...` stands for
    anything: for any number of lines on a line of its own, else for a part of its line.
    """

    def __init__(self, folder):
        self.folder = folder

    def console(self, example):
        """Run a block of `$ command` lines, each with its output below."""
        for command, shown in entries(example.parsed):
            if trouble := self.run(command, shown):
                return f"$ {command}\n{trouble}"
        return None

    def script(self, example):
        """Run a block of bare commands."""
        for line in example.parsed.replace("\\\n", " ").splitlines():
            command = line.split(" #")[0].strip()
            trouble = command and not command.startswith("#") and self.run(command, [])
            if trouble:
                return f"{command}\n{trouble}"
        return None

    def run(self, command, shown):
        """Give what is wrong, or None."""
        words = shlex.split(command)
        settings = {}
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, settings[name] = words.pop(0).partition("=")
        match words:
            case ["cd", folder]:
                self.folder = (self.folder / folder).resolve(strict=True)
                return None
            case ["make", *targets]:
                unknown = set(targets) - TARGETS
                return f"no such make targets: {sorted(unknown)}" if unknown else None
            case ["penstock", *_, ">", file]:
                code, printed = self.in_process(words[:-2], environment() | settings)
                (self.folder / file).write_text(printed)
                return None if code == 0 else f"exit {code}\n{printed}"
            case [name, *_] if name in RUN:
                return self.compare(words, settings, shown)
            case [name, *_] if name in KNOWN:
                return None
        return "tests/docs/shell.py knows no such command: nobody would notice if it broke"

    def compare(self, words, settings, shown):
        run = self.in_process if words[0] == "penstock" else self.as_process
        code, printed = run(words, environment() | settings)
        if not shown:
            return None if code == 0 else f"exit {code}\n{printed}"
        if matches(shown, printed):
            return None
        return "\n".join(["shown:", *shown, "", f"printed (exit {code}):", printed])

    def as_process(self, words, env):
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        return done.returncode, done.stdout

    def in_process(self, words, env):
        said = io.StringIO()
        with (
            mock.patch.dict(os.environ, env, clear=True),
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
        ):
            code = main(words[1:])
        return code, said.getvalue()


def entries(text):
    """Split a console block into commands and the lines shown below each.

    >>> entries("$ penstock list\\nusers\\n$ cd shop\\n")
    [('penstock list', ['users']), ('cd shop', [])]
    """
    result = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            result.append((line.removeprefix("$ ").strip(), []))
        elif result:
            result[-1][1].append(line)
        else:
            result.append((line, []))  # no prompt: `run` says that it knows no such command
    return [(command, without_blank_end(shown)) for command, shown in result]


def matches(shown, printed):
    """Compare line by line.

    >>> matches(["built 3 in ...", "...", "done"], "built 3 in 4.2 s\\na\\nb\\ndone\\n")
    True
    >>> matches(["done"], "done\\nand more\\n")
    False
    """
    lines = without_blank_end(line.rstrip() for line in printed.splitlines())
    return re.fullmatch("".join(map(pattern, shown)), "".join(f"{x}\n" for x in lines)) is not None


def pattern(line):
    if line.strip() == "...":
        return r"(?:.*\n)*?"
    return re.escape(line.rstrip()).replace(r"\.\.\.", ".*?") + "\n"


def without_blank_end(lines):
    result = list(lines)
    while result and not result[-1].strip():
        result.pop()
    return result


def environment():
    """Give the environment of a reader with a plain terminal of 100 columns."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mine = {k: v for k, v in os.environ.items() if not k.startswith("PENSTOCK_")}
    return mine | {"PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb"}

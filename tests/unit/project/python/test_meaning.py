"""What a function means beyond its own text: an edit of any of it must be seen."""

from __future__ import annotations

import importlib
import linecache
import sys
import textwrap
from pathlib import Path

import pytest

import penstock
from fakes.python_files import PythonFiles
from penstock.project.load import load_project
from penstock.project.python.texts import text_of

HELPERS = "K = 3\n\n\ndef clean(frame):\n    return frame.limit(K)\n"
FACTORY = """\
    def make(n):
        @table(name="t")
        def inner(logs):
            return logs.limit(n)

        return inner
    """


def meaning(files, path: str, old: str, new: str) -> tuple[str, str]:
    """Return the fingerprint of `t` before and after an edit of a file."""
    files.models("@source\ndef logs(spark): ...\n", "models/logs.py")
    before = files.load().models["t"].fingerprint.canonical
    text = (files.root / path).read_text()
    assert old in text
    (files.root / path).write_text(text.replace(old, new))
    return before, files.load().models["t"].fingerprint.canonical


@pytest.mark.parametrize("line", ["from helpers import clean", "import helpers"])
def test_a_helper_that_is_imported_while_the_function_runs_counts(files, line):
    files.write("helpers.py", HELPERS)
    called = "clean" if "from" in line else "helpers.clean"
    files.models(f"@table\ndef t(logs):\n    {line}\n    return {called}(logs)\n")

    before, after = meaning(files, "helpers.py", "K = 3", "K = 4")

    assert before != after


def test_what_a_factory_was_called_with_counts(files):
    files.models(FACTORY + "\n    make(3)\n")

    before, after = meaning(files, "models/m/pipeline.py", "make(3)", "make(4)")

    assert before != after


def test_a_helper_of_a_lambda_counts(files):
    files.write("helpers.py", HELPERS)
    files.models("from helpers import clean\ntable(name='t')(lambda logs: clean(logs))\n")

    before, after = meaning(files, "helpers.py", "K = 3", "K = 4")

    assert before != after


SCRIPT = """\
import penstock
from shop_helpers import clean

app = penstock.conf(root=".")

@app.source
def logs(spark): ...

@app.table
def t(logs):
    return clean(logs)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """An app in a script with a helper beside it, imported as a process would."""
    (tmp_path / "shop_helpers.py").write_text(HELPERS)
    (tmp_path / "shop_script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    yield Script(tmp_path)
    for name in ("shop_helpers", "shop_script"):
        sys.modules.pop(name, None)


class Script:
    def __init__(self, root: Path) -> None:
        self.root = root

    def meaning(self, *, anew: bool) -> str:
        """Return the fingerprint of `t`, in this process or as a new one would."""
        for name in ("shop_helpers", "shop_script") if anew else ():
            sys.modules.pop(name, None)
        app = importlib.import_module("shop_script").app
        with app.opened() as services:
            return services.project.models["t"].fingerprint.canonical

    def edit(self, file: str, old: str, new: str) -> None:
        text = (self.root / file).read_text()
        assert old in text
        (self.root / file).write_text(text.replace(old, new))


def test_a_helper_beside_the_script_of_an_app_counts(script):
    before = script.meaning(anew=True)
    script.edit("shop_helpers.py", "K = 3", "K = 44")

    assert script.meaning(anew=True) != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("shop_helpers.py", "K = 3", "K = 44"),
        ("shop_script.py", "return clean(logs)", "return clean(logs).limit(1)"),
    ],
)
def test_what_a_process_runs_counts_and_not_what_its_files_say_since(script, file, old, new):
    before = script.meaning(anew=True)
    script.edit(file, old, new)

    assert script.meaning(anew=False) == before
    assert script.meaning(anew=True) != before


@pytest.mark.parametrize(
    "body",
    [
        "import_module(name).clean(logs)",
        "importlib.import_module(f'lib.{name}').clean(logs)",
        "__import__(name)",
        "globals()[name](logs)",
        "[each for each in globals().values()]",
        "sys.modules[name].clean(logs)",
        "exec(name)",
        "eval(name)",
    ],
)
def test_code_that_cannot_be_followed_is_named_at_its_line(files, body):
    text = """
    import importlib, sys
    from importlib import import_module
    name = "x"

    @source
    def logs(spark): ...

    @table()
    def t(logs):
        return BODY
    """.replace("BODY", body)
    files.models(text)

    (found,) = files.load().findings

    assert (found.code, str(found.where)) == ("code-not-followed", "models/m/pipeline.py:12")
    assert (found.is_warning, found.about) == (True, ("t",))
    assert "version='1'" in found.hint
    files.models(text.replace("@table()", "@table(version='1')"))
    assert files.load().findings == ()


def test_code_that_a_helper_cannot_follow_is_named_there(files):
    files.write("helpers.py", "def clean(frame, name):\n    return globals()[name](frame)\n")
    files.models(
        "from helpers import clean\n@source\ndef logs(spark): ...\n"
        "@table\ndef t(logs): return clean(logs, 'x')\n@table\ndef u(logs): return logs"
    )

    (found,) = files.load().findings

    assert str(found.where) == "helpers.py:2"
    assert found.sentence == (
        "'t' reaches globals()[name]: changes of the code that this finds are not seen"
    )


@pytest.mark.parametrize(
    "body",
    [
        "import_module('helpers').clean(logs)",
        "globals()['clean'](logs)",
        "globals().get('clean')(logs)",
        "sys.modules['helpers'].clean(logs)",
        "eval('1 + 1')",
        "logs.eval(name)",
    ],
)
def test_code_that_a_text_names_is_followed(files, body):
    files.write("helpers.py", HELPERS)
    files.models(
        "import sys\nfrom importlib import import_module\nfrom helpers import clean\nname = 'x'\n"
        f"@source\ndef logs(spark): ...\n@table\ndef t(logs): return {body}"
    )

    assert files.load().findings == ()


def test_a_chain_of_hundreds_of_calls_is_followed(files):
    files.models(f"@table\ndef t(logs):\n    return logs{'.distinct()' * 400}.limit(1)\n")

    before, after = meaning(files, "models/m/pipeline.py", "limit(1)", "limit(2)")

    assert before != after


@pytest.mark.parametrize("broken", ["def broken(:\n", "print 'two'\n", "\0\n"])
@pytest.mark.parametrize("file", ["helpers.py", "broken.py"])
def test_a_helper_that_python_cannot_read_hides_no_other(files, broken, file):
    files.write("helpers.py", HELPERS.replace("K)", "K)  # K = 3"))
    files.write("broken.py", f"# K = 3\n{broken}")
    files.models(
        "from helpers import clean\n@table\ndef t(logs):\n    import broken\n"
        "    return broken.it(clean(logs))\n"
    )

    before, after = meaning(files, file, "K = 3", "K = 4")

    assert before != after


def test_a_helper_that_may_not_be_read_is_no_traceback(open_folder, closed):
    files = PythonFiles(open_folder)
    files.models("@table\ndef t():\n    import helpers\n    return helpers.clean(0)\n")
    closed(files.write("helpers.py", HELPERS))

    assert [*load_project(open_folder, environ={}, use_cache=False).models] == ["t"]


def cell(number: int, text: str, names: dict[str, object]) -> None:
    """Run a cell of a notebook."""
    file, text = f"<cell {number}>", textwrap.dedent(text)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)  # noqa: S102  as a notebook does


def of_notebook(tmp_path: Path, *cells: str) -> str:
    names: dict[str, object] = {"app": penstock.conf(root=tmp_path), "__name__": "__main__"}
    cell(0, "@app.source\ndef logs(spark): ...\n", names)
    for number, text in enumerate(cells, 1):
        cell(number, text, names)
    with names["app"].opened() as services:
        return services.project.models["t"].fingerprint.canonical


def test_functions_of_a_notebook_mean_their_cells_and_what_these_name(tmp_path):
    helper = "K = 3\ndef clean(frame):\n    return frame.limit(K)\n"
    table = "@app.table\ndef t(logs):\n    return clean(logs)\n"
    found = {
        of_notebook(tmp_path, helper, table),
        of_notebook(tmp_path, helper.replace("= 3", "= 4"), table),
        of_notebook(tmp_path, helper.replace("frame.limit", "frame.head"), table),
        of_notebook(tmp_path, helper, table.replace("(logs)\n", "(logs).limit(1)\n")),
    }

    assert len(found) == 4
    assert of_notebook(tmp_path, helper, table) in found


def test_the_text_of_a_file_is_read_as_python_reads_it(tmp_path):
    file = tmp_path / "old.py"
    file.write_bytes("# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"))

    assert "'é'" in text_of(str(file))
    assert text_of(str(tmp_path / "none.py")) == ""

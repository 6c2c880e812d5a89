"""Whatever a project holds, commands that read it end: no traceback, no hang, a hint each time."""

import contextlib
import os

import pytest
from hypothesis import settings

from fakes.mutant_bases import bases
from fakes.mutant_runs import called, wrong
from fakes.mutants import mutant

pytestmark = pytest.mark.laws
SEARCHES = settings.default.max_examples > 100
OF_ALL = int(os.environ.get("MUTANTS", "1000" if SEARCHES else "125"))
SHARES = OF_ALL // 125
MOST_COMMANDS = 25 if SEARCHES else 2
ODD_WORDS = ("\0", "\udcff", "a\nb", "", "-", "--", "*", "%s", "x" * 5000)


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """Give the projects that are mutated, each read once before, with its parse cache."""
    root = tmp_path_factory.mktemp("bases")
    found = bases(root / "made")
    for name, files in found.items():
        for path, data in files.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (root / name / path).write_bytes(data)
        with contextlib.chdir(root / name):
            assert called("validate", "--json")[0] == 0, name
        files[".penstock/cache/parse.jsonl"] = (
            root / name / ".penstock" / "cache" / "parse.jsonl"
        ).read_bytes()
    return found


@pytest.mark.parametrize("share", range(SHARES))
def test_no_mutant_of_a_project_ends_in_a_traceback_a_hang_or_a_finding_without_a_hint(
    share, projects, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", "/nowhere")  # no Java, so nothing that is asked for it starts
    complaints = []
    for number in range(share, OF_ALL, SHARES):
        root = tmp_path / str(number)
        root.mkdir()
        changed = mutant(number, projects)
        changed.write(root)
        found = wrong(changed, root, most=MOST_COMMANDS)
        complaints += [f"mutant {number} of {changed.base}: {each}" for each in found]

    assert "\n".join(complaints[:5]) == ""


@pytest.mark.parametrize("word", ODD_WORDS)
def test_odd_arguments_are_answered_in_words(word, projects, tmp_path, monkeypatch):
    for path, data in projects["minimal"].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    monkeypatch.chdir(tmp_path)

    answers = [
        called(*words)
        for words in (
            ("show", word),
            ("list", "--select", word),
            ("plan", "--vars", word, "--as-of", word),
            ("status", "--target", word),
            ("validate", "--project-dir", word),
            ("history", "orders_clean", "--partition", word),
            (word, word),
        )
    ]

    assert [said for code, said in answers if code not in (0, 1, 2)] == []

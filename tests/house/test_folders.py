"""The house is folders that a newcomer can walk: small folders, no scattered files, one name once.

Raising a budget needs a page in docs/decisions.
"""

import ast
import io
import tokenize
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from house.source import SRC, files, found, place

UNIT = Path(__file__).parents[1] / "unit"
FAKES = Path(__file__).parents[1] / "fakes"
FOLDER_FILES = 16
ALONE_LINES = 80
# Ratchets: whoever deletes code lowers them (decisions 22, 24, 31, 40, 45 and 49). What says what
# something is, and comments, cost nothing, as in the budget of functions.
CODE_LINES = 79_102
SRC_FILES = 535
# Each file is one of a kind: a command, a renderer, a strategy, a type of check.
ONE_OF_A_KIND = ("app/commands", "ui/commands", "strategies", "strategies/checks/types")
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER}
NO_CODE |= {tokenize.INDENT, tokenize.DEDENT}
ENDINGS = ("ing", "ions", "ion", "ed", "er", "es", "s", "e")


def test_no_folder_holds_more_files_than_its_budget():
    held = Counter(folder(path) for path in files() if path.name != "__init__.py")

    assert [
        f"src/penstock/{name}: {number} files, at most {FOLDER_FILES}"
        for name, number in held.items()
        if number > FOLDER_FILES and name not in ONE_OF_A_KIND
    ] == []


def test_no_small_module_has_one_importer_alone():
    """A module of one idea is found by whoever looks for it; a scrap belongs to its only reader."""
    assert [
        f"{place(modules()[name])}: {lines(modules()[name])} lines, imported by {reader} alone"
        for name, reader in lone_importers().items()
        if lines(modules()[name]) < ALONE_LINES and room(reader) == room(name)
    ] == []


def test_no_class_name_is_defined_twice():
    defined = defaultdict(list)
    for path in files():
        for node in found(path, ast.ClassDef):
            defined[node.name].append(place(path, node))

    assert {name: places for name, places in defined.items() if len(places) > 1} == {}


def test_no_two_modules_of_a_folder_differ_by_an_ending_alone():
    stems = defaultdict(set)
    for path in files():
        stems[folder(path), stem(path.stem)].add(path.stem)

    assert {where: names for where, names in stems.items() if len(names) > 1} == {}


def test_the_house_stays_small():
    total = sum(lines(path) for path in files())

    assert len(files()) <= SRC_FILES
    assert sum(len(code_lines(path)) for path in files()) <= CODE_LINES
    assert 150 <= total / len([path for path in files() if path.name != "__init__.py"]) <= 233


def test_the_tests_of_a_module_stand_where_it_stands_and_begin_with_its_name():
    strays = [
        str(path.relative_to(UNIT))
        for path in UNIT.rglob("test_*.py")
        if not any(
            path.stem == each or path.stem.startswith(f"{each}_") for each in beginnings(path)
        )
    ]

    assert strays == []


def test_descriptions_and_comments_are_no_lines_of_code(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""One.\n\nTwo.\n"""\n\nA = (\n    1,\n)  # two\n"""What A is."""\n# more\n')

    assert code_lines(module) == {6, 7, 8}


def test_an_ending_is_cut_off():
    assert [stem(name) for name in ("look", "looking", "looked", "execute", "executions")] == [
        "look",
        "look",
        "look",
        "execut",
        "execut",
    ]


def beginnings(path):
    """Give the beginnings that tests may have in a folder: of its modules, or of fakes."""
    parts = path.parent.relative_to(UNIT).parts
    home = FAKES if parts == ("fakes",) else SRC.joinpath(*parts)
    return {f"test_{each.stem}" for each in home.glob("*.py")}


def test_importers_are_found():
    assert "penstock.core.errors" not in lone_importers()
    assert modules()["penstock.core.errors"].name == "errors.py"


@cache
def modules():
    return {name_of(path): path for path in files()}


@cache
def lone_importers():
    """Give module → importer for modules that one other module imports, wherever it stands."""
    readers = defaultdict(set)
    for path in files():
        for node in found(path, ast.ImportFrom):
            if node.module is None or not node.module.startswith("penstock"):
                continue
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                readers[full if full in modules() else node.module].add(name_of(path))
    return {
        name: next(iter(who))
        for name, who in readers.items()
        if name in modules()
        and len(who) == 1
        and modules()[name].name != "__init__.py"
        and folder(modules()[name]) not in ONE_OF_A_KIND
    }


def name_of(path):
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module):
    return (*module.split("."), "")[1]


def folder(path):
    return path.parent.relative_to(SRC).as_posix()


def lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def code_lines(path):
    """Give the lines with code on them, strings alone left out: they describe what is above."""
    described = {
        line
        for node in found(path, ast.Expr)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    readable = io.StringIO(path.read_text(encoding="utf-8")).readline
    code = {
        line
        for token in tokenize.generate_tokens(readable)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return code - described


def stem(name):
    for ending in ENDINGS:
        if name.endswith(ending) and len(name) > len(ending) + 3:
            return name.removesuffix(ending)
    return name

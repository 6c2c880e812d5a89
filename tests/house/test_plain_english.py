"""Texts for readers are plain English: none of the turns over which a native reader stumbles.

Held over all pages, every docstring, and every other string of the code: help, messages, hints.
"""

import ast
import re

import pytest

from house.source import ROOT, files, place, tree

TURNS = {
    "anew": "again, or a verb: rebuild, rewrite",
    "whoever": "name the person or the program",
    "whatever": "any, or leave it out",
    "somebody|someone else": "name the person, or use the passive",
    "nobody": "no one, or say what does not happen",
    "told|tells? of": "report, say, show",
    "for ever": "forever",
    "so many": "the number, or leave it out",
    "look(?:s|ed)? (?:at|through|into|whether)": "check, read",
    "put back": "restore",
    "mends?": "fix, repair",
    "(?:stands?|stood|lies?|lay) (?:in|on|under|beside|behind|at|there|as|where|below)": "is",
    "turn (?:it|them) round": "swap",
    "nothing is to be done": "no action needed",
    "made of|makes of": "built from, or say what it does",
    # "Return what became of each step" stood in 50 docstrings, with nothing that one can picture.
    "bec(?:a|o)mes? of": "its result, its state, or what happens to it",
    # "is no text in UTF-8": German negates the noun, English the verb. There is no … stays.
    "(?<!there )(?<!it )(?:is|are|was|were) no(?! longer| more| later)(?= [a-z])": "is not a",
    # "is surely there": readers hear a guess.
    "surely": "certainly, is certain to",
    # "Hold the columns against those of the table": in English that is a grudge.
    "h(?:o|e)ld(?:s|ing)? (?:[a-z]+ ){0,4}against": "compare with, check against",
    # "skipped without a word", "passes by in silence".
    "without a word|in silence": "silently",
    # "What is said of a column": nobody says anything, a file sets it.
    "(?:is|are) said of": "its settings, its description",
    "in small letters": "in lower case",
    "at need|if there is need": "if needed",
}
PLAIN = re.compile(rf"(?<![\w-])(?:{'|'.join(TURNS)})(?![\w-])", re.IGNORECASE)
BEGINNINGS = {
    "Give": "Return",
    "Say": "Return, Report",
    "Tell": "Return, Report",
    "Note": "Report, Record",
    "Whether": "Return whether; of a property it stays",
    "What": "Return what",
}
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
ALLOWED = {
    "docs/drift.md": ["coalesce(user_id, 'nobody')"],  # a value of a query
}
CODE = re.compile(r"^ *(?:>>>|\.\.\.).*?(?=^ *$|\Z)|`[^`]*`", re.MULTILINE | re.DOTALL)


def turns(text):
    return [match[0] for match in PLAIN.finditer(text)]


def strings(path):
    """Return the texts of a module that are not docstrings, each with its node."""
    nodes = list(ast.walk(tree(path)))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docs:
                yield node, text


def docstrings(path):
    """Return docstrings, and strings below fields, without their code."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node, " ".join(CODE.sub("", text).split())


def is_property(node):
    return any("property" in ast.unparse(each) for each in node.decorator_list)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_page_has_a_turn_over_which_readers_stumble(page):
    text = page.read_text(encoding="utf-8")
    for each in ALLOWED.get(page.relative_to(ROOT).as_posix(), []):
        text = text.replace(each, "")

    found = {n: turns(line) for n, line in enumerate(text.splitlines(), 1) if turns(line)}

    assert found == {}


def test_no_message_hint_or_help_has_such_a_turn():
    assert [
        f"{place(path, node)}: {turns(text)} in {text!r}"
        for path in files()
        if "templates" not in path.parts
        for node, text in strings(path)
        if turns(text)
    ] == []


def test_no_docstring_has_such_a_turn():
    assert [
        f"{place(path, node)}: {turns(text)} in {text!r}"
        for path in files()
        for node, text in docstrings(path)
        if turns(text)
    ] == []


def test_a_docstring_of_a_function_begins_with_an_ordinary_verb():
    assert [
        f"{place(path, node)}: {doc.split()[0]}; rather {BEGINNINGS[doc.split()[0]]}"
        for path in files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef) and not is_property(node)
        if (doc := ast.get_docstring(node)) and doc.split()[0] in BEGINNINGS
    ] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("--full-refresh makes it anew", ["anew"]),
        ("A check of the whole table looks at the table.", ["looks at"]),
        ("'x' is no text; there is no file, and it is no longer there.", ["is no"]),
        ("Hold the given columns against the table", ["Hold the given columns against"]),
        ("The table is rebuilt; its untold rows, whatsoever, stay.", []),
    ],
)
def test_turns_are_found_as_words(text, found):
    assert turns(text) == found

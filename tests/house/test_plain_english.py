"""Texts for users are plain English: none of the turns over which a native reader stumbles.

Held over README, guides, reference, changelog and every string of the code that is no docstring:
help, messages, hints.
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
    "(?:stands?|lies?) (?:in|under|beside|there|as|where|below)": "is",
    "turn (?:it|them) round": "swap",
    "nothing is to be done": "no action needed",
    "made of|makes of": "built from, or say what it does",
}
PLAIN = re.compile(rf"(?<![\w-])(?:{'|'.join(TURNS)})(?![\w-])", re.IGNORECASE)
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if "decisions" not in path.parts and path.name != "ARCHITECTURE.md"
    ),
]
ALLOWED = {
    "docs/drift.md": ["coalesce(user_id, 'nobody')"],
}


def turns(text):
    return [match[0] for match in PLAIN.finditer(text)]


def strings(path):
    """Give the texts of a module that are no docstrings, each with its node."""
    nodes = list(ast.walk(tree(path)))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docs:
                yield node, text


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("--full-refresh makes it anew", ["anew"]),
        ("A check of the whole table looks at the table.", ["looks at"]),
        ("The table is rebuilt; its untold rows, whatsoever, stay.", []),
    ],
)
def test_turns_are_found_as_words(text, found):
    assert turns(text) == found

"""Blocks of documentation: `{% docs %}` in Markdown, and `{{ doc('name') }}` in YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from penstock.core.findings import Finding, Location
from penstock.project.files.values import Path, Plain, did_you_mean

_BLOCK = re.compile(
    r"\{%[-+]?\s*docs\s+(?P<name>\w+)\s*[-+]?%\}(?P<text>.*?)\{%[-+]?\s*enddocs\s*[-+]?%\}",
    re.DOTALL,
)
_CALL = re.compile(
    r"\{\{[-+]?\s*doc\(\s*(?:(['\"])\w+\1\s*,\s*)?(['\"])(?P<name>\w+)\2\s*\)\s*[-+]?\}\}"
)


def docs_blocks(texts: Mapping[str, str], findings: list[Finding]) -> dict[str, str]:
    """Return the blocks of Markdown files by name; a second one of a name is a finding.

    >>> docs_blocks({"a.md": "{% docs x %} Words. {% enddocs %}"}, [])
    {'x': 'Words.'}
    """
    blocks: dict[str, str] = {}
    places: dict[str, Location] = {}
    for path, text in texts.items():
        for found in _BLOCK.finditer(text):
            name, where = found["name"], Location(path, text.count("\n", 0, found.start()) + 1)
            first = places.setdefault(name, where)
            if first is where:
                blocks[name] = found["text"].strip()
            else:
                sentence = f"docs block {name!r} is also at {first}"
                findings.append(Finding(where, "duplicate-key", sentence, "rename one of them"))
    return blocks


def fill_docs(
    tree: Plain, blocks: Mapping[str, str], place: Callable[[Path], Location]
) -> tuple[Plain, list[Finding]]:
    """Replace every `{{ doc('name') }}` in a document; an unknown name is a finding."""
    findings: list[Finding] = []

    def text_at(call: re.Match[str], path: Path) -> str:
        name = call["name"]
        if name not in blocks:
            hint = did_you_mean(name, blocks) or f"write {{% docs {name} %}} in a .md file"
            sentence = f"no docs block is called {name!r}"
            findings.append(Finding(place(path), "unknown-docs", sentence, hint))
        return blocks.get(name, call[0])

    def filled(value: Plain, path: Path) -> Plain:
        if isinstance(value, str):
            return _CALL.sub(lambda call: text_at(call, path), value) if "doc(" in value else value
        if isinstance(value, Mapping):
            return {key: filled(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item, (*path, index)) for index, item in enumerate(value)]
        return value

    return filled(tree, ()), findings


def names_in(text: str) -> Iterator[str]:
    """Yield the names that a text asks for."""
    yield from (found["name"] for found in _CALL.finditer(text))

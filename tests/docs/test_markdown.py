"""What is written for people keeps its word: examples run, in order, in one folder per document.

- `python` blocks run; those that start with `>>>` are doctests.
- `console` blocks hold `$ command` lines with their output, `bash` blocks bare commands.
- `<!-- file: PATH -->` above a block of any language writes the block to that file.
- `<!-- skip: next -->` above a block leaves it out.
"""

import re

import pytest
from sybil import Document, Region
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from docs.shell import ROOT, Shell

FILE = re.compile(
    r"^<!-- file: (?P<path>\S+) -->\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
LONG = {"docs/sessions.md", "docs/python.md"}  # a dozen steps a run, two dozen runs
LOOKING = "validate|list|show|graph|plan|status|metrics|init|schema|entities list|docs generate"
NEEDS_JVM = re.compile(rf"penstock (?!(?:{LOOKING})\b)|spark|penstock\.(?:run|query)")
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def parsed(path, folder):
    shell = Shell(folder)
    parsers = (
        PythonCodeBlockParser(),
        CodeBlockParser("console", shell.console),
        CodeBlockParser("bash", shell.script),
        CodeBlockParser("sh", shell.script),
    )
    return Document.parse(
        str(path), SkipParser(), file_parser(shell), *(outside_files(p) for p in parsers)
    )


def file_parser(shell):
    def write(example):
        path, text = example.parsed
        target = shell.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def parse(document):
        for match in FILE.finditer(document.text):
            yield Region(*match.span(), parsed=(match["path"], match["text"]), evaluator=write)

    return parse


def outside_files(parser):
    def parse(document):
        taken = [match.span() for match in FILE.finditer(document.text)]
        for region in parser(document):
            if not any(start <= region.start < end for start, end in taken):
                yield region

    return parse


def documents():
    for path in DOCUMENTS:
        document = parsed(path, ROOT)
        shown = [document.text[example.start : example.end] for example in document]
        if shown:
            run = (text for text in shown if not text.startswith("<!-- file: "))
            needs_jvm = any(map(NEEDS_JVM.search, run))
            marks = [pytest.mark.spark] if needs_jvm else []
            name = path.relative_to(ROOT).as_posix()
            marks += [pytest.mark.matrix] * (name in LONG)
            yield pytest.param(path, marks=marks, id=name)


@pytest.mark.parametrize("path", list(documents()))
def test_a_document_keeps_its_word(path, tmp_path, monkeypatch, request):
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)

    for example in parsed(path, tmp_path):
        example.evaluate()


def test_a_wrong_answer_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- file: a/b.txt -->\n```text\none\n```\n\n"
        "```console\n$ cd a\n$ cat b.txt\none\n$ cat b.txt\ntwo\n```\n"
    )
    file, block = parsed(page, tmp_path)
    file.evaluate()

    with pytest.raises(AssertionError, match="shown:\ntwo"):
        block.evaluate()


@pytest.mark.parametrize(
    ("block", "complaint"),
    [("$ make everything", "no such make targets"), ("$ curl x", "knows no such command")],
)
def test_a_command_that_nobody_checks_is_refused(block, complaint, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"```console\n{block}\n```\n")
    (example,) = parsed(page, tmp_path)

    with pytest.raises(AssertionError, match=complaint):
        example.evaluate()

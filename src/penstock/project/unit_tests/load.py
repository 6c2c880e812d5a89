"""All unit tests of a project, or everything that is wrong with their files. No JVM, no tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.core.findings import Finding
from penstock.core.project import Project
from penstock.core.unit_tests import UnitTest
from penstock.project.files import decode, read_content
from penstock.project.unit_tests.judging import judge_values_of
from penstock.project.unit_tests.nodes import Node, read_nodes
from penstock.project.unit_tests.places import FOLDER, KEY, files_with_tests
from penstock.project.unit_tests.reader import Variant, read_entry
from penstock.project.unit_tests.reading import Notes


@dataclass(frozen=True, slots=True)
class LoadedTests:
    """The tests in the order of files and lines; with findings they are not meant to be run."""

    tests: tuple[UnitTest, ...] = ()
    findings: tuple[Finding, ...] = ()


def load_unit_tests(project: Project, variant: Variant) -> LoadedTests:
    """Read every file that has the key `unit_tests`, under tests/ and beside models.

    `variant` gives the project with the variables of a test. Codes beside those of every YAML
    file: `duplicate-test`, `unknown-model`, `unknown-input`, `bad-test-value`,
    `test-type-unknown`, `test-without-expectation`.
    """
    root = Path(project.root)
    notes = Notes(root)
    tests: list[UnitTest] = []
    for path in files_with_tests(project):
        for node in _entries(root, path, notes):
            test = read_entry(node, variant, notes)
            if test is not None:
                judge_values_of(variant(test.vars).models[test.model], test, notes)
                tests.append(test)
    notes.findings += _twice(tests)
    return LoadedTests(tuple(tests), tuple(sorted(dict.fromkeys(notes.findings))))


def _entries(root: Path, path: str, notes: Notes) -> tuple[Node, ...]:
    content = read_content(root, path)
    if isinstance(content, Finding):
        notes.findings.append(content)
        return ()
    text = decode(content)
    if isinstance(text, Finding):
        notes.findings.append(text)
        return ()
    node, findings = read_nodes(path, text)
    if node is None:
        notes.findings += findings
        return ()
    if node.members is None or KEY not in node.members:
        return ()
    notes.findings += findings
    if path.startswith(f"{FOLDER}/"):
        notes.members(node, "the document", (KEY, "version"))
    return notes.items(node.members[KEY], KEY)


def _twice(tests: Iterable[UnitTest]) -> Iterator[Finding]:
    seen: dict[tuple[str, str], UnitTest] = {}
    for test in tests:
        first = seen.setdefault((test.model, test.name), test)
        if first is not test and test.name:
            sentence = f"{test.model} has a test {test.name!r} already, in {first.where}"
            yield Finding(test.where, "duplicate-test", sentence, "rename one of them")

"""All unit tests of a project, entry by entry. No JVM, no tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.core.checks import OnFailure
from penstock.core.errors import ProjectError
from penstock.core.findings import Finding
from penstock.core.model import Model
from penstock.core.partitions.partition import Grain
from penstock.core.project import Project
from penstock.project.files.discovery import decode, read_content
from penstock.project.files.values import did_you_mean, some_of
from penstock.project.unit_tests.definition import (
    DEFAULT_AS_OF,
    FOLDER,
    KEY,
    Cell,
    CellKind,
    Given,
    UnitRun,
    UnitTest,
    asked_variables,
    files_with_tests,
    model_named,
)
from penstock.project.unit_tests.given import GivenReader, error_of, expectation_of
from penstock.project.unit_tests.nodes import FileNotes, read_nodes

_RANGE = ("partition", "from", "to")
_EXPECTED = ("expect", "expect_error")
_SELF = ("name", "model", "description", "tags", "version", "vars", "key")
OF_RUN = ("as_of", *_RANGE, "full_refresh", "on_failure", "given", *_EXPECTED)
OF_TEST = (*_SELF, "runs", "overrides", "config", *OF_RUN)
_DAY = 86_400_000_000
Variant = Callable[[Mapping[str, str]], Project]
"""The project with these variables beside its own; raises `ProjectError` with its findings."""


def read_entry(node: Cell, variant: Variant, notes: FileNotes) -> UnitTest | None:
    """Read an entry with its own variables; None for one that is off or has no known model."""
    found = notes.members(node, "a unit test", OF_TEST)
    nothing = Cell("", CellKind.MAPPING, node.where)
    config = notes.members(found.get("config", nothing), "config", ("tags", "meta", "enabled"))
    if "enabled" in config and not notes.flag(config["enabled"], "enabled"):
        return None
    overrides = notes.members(found.get("overrides", nothing), "overrides", ("vars", "macros"))
    variables = {
        name: notes.text(inner, name)
        for each in (found, overrides)
        for name, inner in notes.pairs(each.get("vars"), "vars", "values").items()
    }
    _judge_variables(found, overrides, variant, notes)
    try:
        project = variant(variables)
    except ProjectError as error:
        notes.findings += error.findings
        return None
    macros = notes.members(overrides.get("macros", nothing), "macros", ("is_incremental",))
    reader = _EntryReader(project, notes, found, macros.get("is_incremental"))
    return reader.read(node, variables, found.get("tags") or config.get("tags"))


def _judge_variables(
    found: Mapping[str, Cell], overrides: Mapping[str, Cell], variant: Variant, notes: FileNotes
) -> None:
    """Refuse variables that nothing in the project asks for: with them a test tells nothing."""
    if not any("vars" in each for each in (found, overrides)):
        return
    project = variant({})
    asked: set[str] | None = None
    for each in (found, overrides):
        given = each.get("vars")
        for name in given.members if given else ():
            if name in project.vars:
                continue
            asked = asked_variables(project) if asked is None else asked
            if given is not None and name not in asked:
                known = sorted({*project.vars, *asked})
                hint = did_you_mean(name, known) or f"there are: {some_of(known) or 'none'}"
                sentence = f"vars: no model or macro asks for {name!r}"
                notes.say(given.keys[name], "missing-var", sentence, hint)


@dataclass(slots=True)
class _EntryReader:
    """Reads one entry of a project by its keys; `incremental` is dbt's override."""

    project: Project
    notes: FileNotes
    found: Mapping[str, Cell]
    incremental: Cell | None

    def read(self, node: Cell, variables: Mapping[str, str], tags: Cell | None) -> UnitTest | None:
        """Read the entry; None, with findings, where its model is not known."""
        found = self.found
        for key in ("name", "model"):
            if not self.notes.text(found.get(key), key):
                self.notes.say(node.where, "missing-key", f"a unit test needs {key}")
        written = self.notes.text(found.get("model"), "model")
        model = model_named(self.project, written)
        if model is None:
            if written:
                models = self.project.models.values()
                known = [name for each in models for name in (each.name, str(each.table))]
                hint = did_you_mean(written, known) or f"there are: {some_of(self.project.models)}"
                sentence = f"no model is called {written!r}"
                self.notes.say(found["model"].where, "unknown-model", sentence, hint)
            return None
        return UnitTest(
            name=self.notes.text(found.get("name"), "name"),
            model=model.name,
            where=node.where,
            runs=self._runs(model, node),
            written=str(model.table),
            description=self.notes.text(found.get("description"), "description"),
            tags=self.notes.texts(tags, "tags"),
            version=self._version(found.get("version"), model),
            vars=variables,
            key=self.notes.texts(found.get("key"), "key"),
        )

    def _runs(self, model: Model, node: Cell) -> tuple[UnitRun, ...]:
        found, asked = self.found, self.incremental
        is_incremental = asked is not None and self.notes.flag(asked, "is_incremental")
        without_target = asked is not None and not is_incremental
        reader = GivenReader(self.project, model, self.notes, without_target)
        base = {key: inner for key, inner in found.items() if key in OF_RUN}
        listed = self.notes.items(found.get("runs"), "runs")
        runs: list[UnitRun] = []
        for number, item in enumerate(listed or (node,), 1):
            own = self.notes.members(item, "a run", OF_RUN) if listed else {}
            left: set[str] = set()
            if number < len(listed):  # what the test expects is for its last run
                left |= {*_EXPECTED}
            if not own.keys().isdisjoint(_RANGE):
                left |= {*_RANGE}
            kept = {key: inner for key, inner in base.items() if key not in left}
            run = self._run({**kept, **own}, model, item)
            if runs and model.strategy.moves_forward and "as_of" not in own:
                run = replace(run, as_of=runs[-1].as_of + dt.timedelta(seconds=1))
            given = reader.read(own.get("given"))
            if number == 1:
                under = reader.read(base.get("given"))
                given = Given(
                    {**under.inputs, **given.inputs},
                    given.target or under.target,
                    given.watermarks or under.watermarks,
                    given.history or under.history,
                    {**under.slices, **given.slices},
                )
            if runs:
                self._judge_later(runs, given, item)
            runs.append(replace(run, given=given))
        if asked is not None and is_incremental and runs[0].given.target is None:
            sentence = "is_incremental is true, and no rows are given for the model's own table"
            self.notes.say(asked.where, "missing-key", sentence, "give input: this")
        if not any(run.expect or run.error for run in runs):
            sentence = f"{self.notes.text(found.get('name'), 'name')!r} expects nothing"
            hint = "give expect or expect_error"
            self.notes.say(node.where, "test-without-expectation", sentence, hint)
        return tuple(runs)

    def _judge_later(self, runs: Sequence[UnitRun], given: Given, item: Cell) -> None:
        """Find what cannot be given to a run after others."""
        again = given.slices.keys() & {name for run in runs for name in run.given.slices}
        if again:
            sentence = f"slice {min(again)!r} was delivered in an earlier run"
            self.notes.say(item.where, "bad-value", sentence, "give it another name")
        if given.target is not None:
            sentence = "target stands in a later run, which starts from what the last one left"
            self.notes.say(item.where, "bad-value", sentence, "give it in the first run")

    def _run(self, found: Mapping[str, Cell], model: Model, node: Cell) -> UnitRun:
        if "expect" in found and "expect_error" in found:
            sentence = "expect and expect_error exclude each other"
            self.notes.say(found["expect_error"].where, "option-conflict", sentence)
        expect, error = found.get("expect"), found.get("expect_error")
        mode = self.notes.text(found.get("on_failure"), "on_failure")
        if "on_failure" in found and mode not in tuple(OnFailure):
            self.notes.bad(found["on_failure"], "on_failure", "flag, block or rollback")
            mode = ""
        first, last = self._partitions(found, model, node)
        as_of = self.notes.timestamp(found.get("as_of"), "as_of")
        return UnitRun(
            as_of=as_of or _run_timestamp(model, last),
            first=first,
            last=last,
            full_refresh=self.notes.flag(found.get("full_refresh"), "full_refresh"),
            on_failure=OnFailure(mode) if mode else None,
            expect=expectation_of(expect, self.notes) if expect else None,
            error=error_of(error, self.notes) if error else None,
        )

    def _partitions(self, found: Mapping[str, Cell], model: Model, node: Cell) -> tuple[str, str]:
        one, low, high = (found.get(key) for key in _RANGE)
        grid = model.grid
        if grid.grain is Grain.WHOLE:
            for each in (one, low, high):
                if each is not None:
                    sentence = f"{model.name} has no partitions"
                    self.notes.say(each.where, "option-conflict", sentence, "leave it out")
            return "", ""
        if (one is None) == (low is None and high is None):
            first_of_2024 = grid.at(19_723 * _DAY)
            example = grid.key(0 if grid.grain is Grain.RANGE else first_of_2024)
            sentence = f"{model.name} has partitions; a test names one, or from and to"
            self.notes.say(node.where, "missing-key", sentence, f"partition: {example}")
            return "", ""
        first, last = one or low, one or high
        if first is None or last is None:
            sentence = "from and to are given together"
            place = (first or last or node).where
            self.notes.say(place, "missing-key", sentence, "or give partition")
            return "", ""
        keys = [self.notes.partition(end, grid) for end in (first, last)]
        if not all(keys):
            return "", ""
        if grid.parse(keys[0]) > grid.parse(keys[1]):
            self.notes.say(last.where, "bad-value", f"from {keys[0]} lies after to {keys[1]}")
            return "", ""
        return keys[0], keys[1]

    def _version(self, node: Cell | None, model: Model) -> int | None:
        number = self.notes.number(node, "version")
        if node is None or number is None:
            return None
        known = [each.number for each in model.versions]
        if number in known:
            return number
        hint = f"there are: {', '.join(map(str, known))}" if known else "leave it out"
        sentence = f"{model.name} has no version {number}"
        self.notes.say(node.where, "bad-value", sentence, hint)
        return None


def _run_timestamp(model: Model, last: str) -> dt.datetime:
    """Return a time before which all its partitions end, and every version and revision begins."""
    found = [DEFAULT_AS_OF]
    bodies = [body for version in model.versions for body in version.bodies]
    found += (
        dt.datetime.combine(each.effective_from, dt.time(), dt.UTC)
        for each in bodies
        if each.effective_from is not None
    )
    if last and model.grid.grain is not Grain.RANGE:
        after = model.grid.upper(model.grid.parse(last))
        with suppress(OverflowError):
            found.append(dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=after))
    return max(found)


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
    notes = FileNotes(root)
    tests: dict[tuple[str, str], UnitTest] = {}
    found: list[UnitTest] = []
    for path in files_with_tests(project):
        for node in _entries(root, path, notes):
            test = read_entry(node, variant, notes)
            if test is None:
                continue
            found.append(test)
            first = tests.setdefault((test.model, test.name), test)
            if first is not test and test.name:
                sentence = f"{test.model} has a test {test.name!r} already, in {first.where}"
                notes.say(test.where, "duplicate-test", sentence, "rename one of them")
    return LoadedTests(tuple(found), tuple(sorted(dict.fromkeys(notes.findings))))


def _entries(root: Path, path: str, notes: FileNotes) -> tuple[Cell, ...]:
    content = read_content(root, path, notes.findings)
    text = None if content is None else decode(content, notes.findings)
    if text is None:
        return ()
    node, findings = read_nodes(path, text)
    if node is not None and KEY not in node.members:
        return ()
    notes.findings += findings
    if node is None:
        return ()
    if path.startswith(f"{FOLDER}/"):
        notes.members(node, "the document", (KEY, "version"))
    return notes.items(node.members[KEY], KEY)

"""The parts that entries of YAML files share: columns, tests, descriptions, and keys that go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from penstock.project.dbt.decide import Decision
from penstock.project.dbt.editing.yaml_edits import (
    YamlEdits,
    child,
    items,
    line_of,
    pairs,
    plain,
    scalar,
)
from penstock.project.dbt.gather import YamlText
from penstock.project.dbt.naming import Naming
from penstock.project.dbt.notes import FileLog
from penstock.project.files.values import text_of

_DOC = re.compile(r"""\{\{-?\s*doc\(\s*(?:['"]\w+['"]\s*,\s*)?['"](\w+)['"]\s*\)\s*-?\}\}""")
SITE = "the site of penstock has its own layout"
QUOTES = "names are quoted where they need it"
SEMANTIC = "penstock has no semantic layer"
_TEST_ONLY = "failing rows of a test have a table of their own, named by penstock"
TAKE = ""
"""A key that is the same here."""
TESTED = {"data_tests": TAKE, "tests": TAKE, "description": TAKE}
_COLUMN = {"name": TAKE, "data_type": TAKE, "tags": TAKE, "meta": TAKE, "constraints": TAKE}
_COLUMN |= {**TESTED, "quote": QUOTES}
BY_HAND = {
    "database": "a target of penstock has one catalog; read the table from it by a path",
    "catalog": "a target of penstock has one catalog; read the table from it by a path",
    "external": "write path, format and options instead",
    "overrides": "name the source as the package does",
    "loaded_at_query": "write loaded_at_field, a column",
    "time_spine": SEMANTIC,
    "filter": "freshness reads all rows; write a check with where instead",
    "policy_tags": "no catalog of Spark has them",
}
TEST_CONFIG = dict.fromkeys(
    ("schema", "alias", "database", "store_failures_as", "group", "sql_header"), _TEST_ONLY
)
_NO_TYPE = "here types are those of all columns, and dbt reads them only with a contract"
FAIL_CALC = "penstock counts rows; write the condition into the test"


@dataclass(frozen=True, slots=True)
class YamlContext:
    """What the YAML of a project depends on beside its text."""

    project: str
    naming: Naming
    docs: Mapping[str, str]
    decisions: Mapping[tuple[str, str], Decision]
    """The decisions by tree and name of the node."""
    headers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The settings in the header of a model: they change there."""
    contracted: frozenset[str] = frozenset()
    """Names of models with an enforced contract."""
    alone: frozenset[str] = frozenset()
    """Names of snapshots whose query is in a .sql file."""


class EntryEdits:
    """Edits the parts of entries of one YAML file, and records what happened to them."""

    def __init__(self, file: YamlText, context: YamlContext, log: FileLog) -> None:
        self.file = file
        self.context = context
        self.log = log
        self.edits = YamlEdits(file.text, file.root)
        self.is_enforced = True
        """Whether the model of the entry has an enforced contract."""
        self.is_batched = False
        """Whether it is one of batches, whose types dbt does not read without a contract."""

    def plain_key(
        self, at: str, pair: tuple[str, yaml.Node, yaml.Node], fates: Mapping[str, str]
    ) -> None:
        """Take, drop or report one key of an entry."""
        name, key, value = pair
        what, line = f"{at}.{name}", line_of(key)
        if name in BY_HAND:
            self.log.hand(what, BY_HAND[name], line)
            self.edits.delete(key)
        elif name == "constraints" and not self.is_enforced:
            self.log.drop(what, "dbt ignores them without an enforced contract", line)
            self.edits.delete(key)
        elif name not in fates:
            self.log.hand(what, "penstock does not know this key; nothing reads it", line)
            self.edits.delete(key)
        elif fates[name]:
            self.log.drop(what, fates[name], line)
            self.edits.delete(key)
        elif name in ("data_tests", "tests"):
            for index, test in enumerate(items(value)):
                self.test(f"{what}[{index}]", test)
            self.log.take(what, line)
        else:
            self.log.take(what, line)
            self.description(name, value, what)
            if name == "versions":
                for version in items(value):
                    for column in items(child(version, "columns")):
                        self.column(f"{what}.columns", column, is_version=True)

    def column(self, at: str, node: yaml.Node, *, is_version: bool = False) -> None:
        """Edit a column."""
        named = f"{at}[{text_of(plain(child(node, 'name')))}]"
        for name, key, value in pairs(node):
            if name == "config":
                lost = [each for each, _, _ in pairs(value) if each not in ("meta", "tags")]
                for each in lost:
                    self.log.hand(f"{named}.config.{each}", "columns have no settings", 1)
                why = "tags and meta of a column are beside its name"
                self.log.change(f"{named}.config", why, line_of(key))
                self.edits.lift(key, value, lost)
            elif is_version and name in ("include", "exclude"):
                self.log.take(f"{named}.{name}", line_of(key))
            else:
                fates = {**_COLUMN, "data_type": _NO_TYPE} if self.is_batched else _COLUMN
                self.plain_key(named, (name, key, value), fates)

    def test(self, at: str, node: yaml.Node) -> None:
        """Edit a test: settings without effect go."""
        if not isinstance(node, yaml.MappingNode) or not node.value:
            return
        first_key, arguments = node.value[0]
        if child(node, "test_name") is not None:
            why = f"write it as {text_of(plain(child(node, 'test_name')))}: with its arguments"
            self.log.hand(at, why, line_of(first_key))
            return
        if str(first_key.value).endswith("accepted_values"):
            self._quotes(at, arguments)
        config = child(arguments, "config")
        for name, _, value in (*pairs(arguments), *pairs(config)):
            if name == "enabled":
                self.rendered(f"{at}.{name}", value)
        for name, key, _ in pairs(config):
            if name in TEST_CONFIG:
                self.log.drop(f"{at}.config.{name}", TEST_CONFIG[name], line_of(key))
                self.edits.delete(key)
            elif name == "fail_calc":
                self.log.hand(f"{at}.config.{name}", FAIL_CALC, line_of(key))
                self.edits.delete(key)

    def _quotes(self, at: str, arguments: yaml.Node) -> None:
        """Delete `quote` of accepted values."""
        for held in (arguments, child(arguments, "arguments")):
            for name, key, _ in pairs(held):
                if name == "quote":
                    self.log.drop(f"{at}.quote", "values have the type of the column", line_of(key))
                    self.edits.delete(key)

    def description(self, name: str, value: yaml.Node, at: str) -> None:
        """Put the text of a docs block into a description."""
        text = plain(value)
        if name != "description" or not isinstance(text, str) or not _DOC.search(text):
            return
        missing = [each for each in _DOC.findall(text) if each not in self.context.docs]
        for each in missing:
            self.log.hand(at, f"no block of docs is called {each!r}", line_of(value))
        said = _DOC.sub(lambda found: self.context.docs.get(found[1], ""), text).strip()
        self.edits.replace(value, scalar(said))
        self.log.change(at, "the text of the docs block is in the description", line_of(value))

    def rendered(self, at: str, value: yaml.Node) -> None:
        """Write the value of a template that YAML of penstock does not render."""
        text = plain(value)
        if not isinstance(text, str) or "{{" not in text:
            return
        said = self.context.naming.rendered(text)
        if said == text:
            self.log.hand(at, "only dbt knows this value; write a name", line_of(value))
            return
        self.edits.replace(value, scalar(said))
        self.log.change(at, f"it was {text}", line_of(value))

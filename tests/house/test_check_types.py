"""A type of check is known by name in its own folder, and nowhere else in the house."""

import ast
from dataclasses import dataclass

import pytest

import penstock.strategies.registry  # noqa: F401  types are found by their words
from house.source import files, place, tree
from penstock.core.checks import check_type
from penstock.core.checks.check_type import CheckType, KeyKind, check_types, key
from penstock.core.columns.schema import Schema
from penstock.core.errors import ProjectError
from penstock.project.files.cache import codec_of
from penstock.project.load import load_project
from penstock.project.settings.check_keys import check_schema, key_descriptions
from penstock.strategies.checks import measure
from penstock.strategies.checks.typed import measured

HOME = "src/penstock/strategies/checks/types/"
CLASSES = {each.__name__ for each in check_types().values()}


def test_no_file_knows_a_type_of_check_by_its_class():
    assert [
        f"{place(path)}: {', '.join(sorted(named))}"
        for path in files()
        if not place(path).startswith(HOME) and (named := named_in(tree(path)))
    ] == []


def test_the_rule_sees_imports_and_questions():
    code = """
from penstock.strategies.checks.types import NotNull
if isinstance(check.rule, types.Unique): ...
match rule:
    case Freshness(): ...
"""

    assert named_in(ast.parse(code)) == {"NotNull", "Unique", "Freshness"}


@dataclass(frozen=True, slots=True)
class Divisible(CheckType):
    """Holds when every value is a multiple of a number."""

    column: str = measure.COLUMN()
    by: int | None = key("divisor", KeyKind.NATURAL, "Of `divisible`: the number.", 2, unset="2")

    name = "divisible"
    has_failing = True

    def measure(self, kept):
        """Count the rows that break it."""
        breaks = f"{self.column} % {self.by or 2} <> 0"
        return measure.counting(kept, breaks, "all divide", lambda _: "a remainder")


def test_a_new_type_of_check_is_one_class_and_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(check_type._registered, "divisible", Divisible)
    codec_of.cache_clear()  # other tests of this process have asked for it before
    checks = "models: [{name: m, checks: [{type: divisible, column: n, divisor: %s}]}]"
    for name, text in {
        "penstock.yml": "name: shop",
        "models/m.sql": "{{ config(materialized='table') }} select 3 as n",
        "models/m.yml": checks % 3,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    (check,) = load_project(tmp_path, environ={}, use_cache=False).models["m"].checks.after

    assert (check.name, check.rule) == ("divisible_n", Divisible("n", 3))
    assert measured(check, Schema()).breaks == "n % 3 <> 0"
    assert check_schema()["properties"]["divisor"] == {"type": "integer", "minimum": 1}
    assert key_descriptions()["divisor"]["says"] == "Of `divisible`: the number."
    (tmp_path / "models/m.yml").write_text(checks % 0)
    with pytest.raises(ProjectError) as raised:
        load_project(tmp_path, environ={}, use_cache=False)
    (finding,) = raised.value.findings
    assert finding.sentence == 'check "divisible_n": divisor is 0; it must be an integer >= 1'


def named_in(module):
    """Give the classes of types that some code names."""
    names = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(module) if isinstance(node, ast.Attribute)}
    names |= {node.name for node in ast.walk(module) if isinstance(node, ast.alias)}
    return names & CLASSES

"""A type of check is known by name in its own folder, and nowhere else in the house."""

import ast

import penstock.strategies.registry  # noqa: F401  types are found by their words
from house.source import files, place, tree
from penstock.core.check_type import check_types

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


def named_in(module):
    """Give the classes of types that some code names."""
    names = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(module) if isinstance(node, ast.Attribute)}
    names |= {node.name for node in ast.walk(module) if isinstance(node, ast.alias)}
    return names & CLASSES

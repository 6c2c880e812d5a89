"""A strategy is known by name in its own place, and hardly anywhere else.

The rule: outside `strategies/` and the settings of the project a file knows a strategy by name if
it imports the class of one, or if it tells by a text which one it is about. That is the name of a
strategy in a comparison or a `case`, asked of `strategies()` or `strategy_named`, given as the
argument `strategy`, or in a list, tuple or set with the name of another. At most eight files may.
Keys of JSON and names of columns (`"table": …`) are no strategies; neither are kinds of pins and
keys of a destination, which the files of `OTHERS` tell apart.
"""

import ast

import penstock.strategies.registry  # noqa: F401  strategies are found by their words
from house.source import files, place, tree
from penstock.core.strategy import strategies

MOST = 8
HOMES = ("src/penstock/strategies/", "src/penstock/project/settings/")
OTHERS = {
    "src/penstock/core/steps/token.py": "the kind of a pin",
    "src/penstock/state/soundness.py": "the kind of a pin",
    "src/penstock/state/sql_partitions.py": "the name of a column",
    "src/penstock/project/versioned/destination.py": "keys of a destination",
    "src/penstock/project/dbt/": "materializations and strategies of dbt",
    "src/penstock/project/python/declare.py": "the values of partition_mode",
}
CLASSES = {each.__name__ for each in strategies().values()}
SEVERAL = 2


def test_few_files_know_a_strategy_by_name():
    knowing = [
        f"{place(path)}: {', '.join(sorted(known))}"
        for path in files()
        if not place(path).startswith((*HOMES, *OTHERS)) and (known := known_in(tree(path)))
    ]

    assert len(knowing) <= MOST, "\n".join(knowing)


def test_the_rule_sees_imports_and_texts():
    code = """
from penstock.strategies.merge import Merge
if model.strategy_name == "append": ...
match word:
    case "view": ...
SAFE = ("table", "partition")
Intent(strategy="snapshot")
"""

    assert known_in(ast.parse(code)) == {
        *("Merge", "append", "view", "table", "partition", "snapshot")
    }


def test_the_rule_leaves_documents_alone():
    code = """
from penstock.app.observation.observe import View
document = {"table": str(model.table)}
Column("partition", Text)
"""

    assert known_in(ast.parse(code)) == set()


def known_in(module):
    """Give the strategies that some code knows by name."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "penstock.strategies"
        ):
            found |= CLASSES & {each.name for each in node.names}
        match node:
            case ast.Compare() | ast.MatchValue():
                found |= words(ast.walk(node))
            case ast.keyword(arg="strategy") | ast.Call(func=ast.Name(id="strategy_named")):
                found |= words(ast.walk(node))
            case ast.Subscript(value=ast.Call(func=ast.Name(id="strategies"))):
                found |= words([node.slice])
            case ast.List() | ast.Tuple() | ast.Set() if len(words(node.elts)) >= SEVERAL:
                found |= words(node.elts)
    return found


def words(nodes):
    texts = {each.value for each in nodes if isinstance(each, ast.Constant)}
    return texts & strategies().keys()

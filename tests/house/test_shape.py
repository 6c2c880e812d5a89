"""The budgets: small files, small functions, few parameters, few methods.

Raising one needs a page in docs/decisions.
"""

import ast
from functools import cache
from itertools import pairwise

from house.source import files, found, place, tree

FILE_LINES = 400
FUNCTION_LINES = 40
PARAMETERS = 6
PUBLIC_METHODS = 12
MANY_FIELDS = 15
UNDESCRIBED = 227  # a ratchet: fields of classes with more, and no word below them

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_no_file_is_longer_than_its_budget():
    counted = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files()}

    over = [f"{place(p)}:1: {n} lines" for p, n in counted.items() if n > FILE_LINES]

    assert not over, report(over, f"a file has at most {FILE_LINES} lines")


def test_no_function_is_longer_than_its_budget():
    over = [
        f"{place(path, node)}: {node.name} has {lines(node)} lines"
        for path in files()
        for node in found(path, *FUNCTIONS)
        if lines(node) > FUNCTION_LINES
    ]

    limit = f"a function has at most {FUNCTION_LINES} lines, its docstring not counted"
    assert not over, report(over, limit)


def test_no_function_takes_more_parameters_than_its_budget():
    over = [
        f"{place(path, node)}: {node.name} takes {parameters(node)} parameters"
        for path in files()
        for node in found(path, *FUNCTIONS)
        if parameters(node) > PARAMETERS
    ]

    assert not over, report(over, f"a function takes at most {PARAMETERS} parameters, not self")


def test_no_class_has_more_public_methods_than_its_budget():
    """Methods that a class inherits from another one of ours are its own for whoever calls them."""
    over = [
        f"{place(path, node)}: {node.name} has {len(methods)} public methods"
        for path in files()
        for node in found(path, ast.ClassDef)
        if len(methods := public_methods(node)) > PUBLIC_METHODS
    ]

    assert not over, report(over, f"a class has at most {PUBLIC_METHODS} public methods")


def test_a_class_of_many_fields_says_what_each_is():
    bare = [
        f"{place(path, node)}: {node.name}.{name}"
        for path in files()
        for node in found(path, ast.ClassDef)
        for name in undescribed(node)
    ]

    assert len(bare) <= UNDESCRIBED, report(bare, "a field says what it is in a string below it")


def test_a_field_is_described_by_the_string_below_it():
    fields = "".join(f"    f{n}: int\n" for n in range(MANY_FIELDS))
    (node,) = ast.parse(f'class A:\n{fields}    last: int\n    """It."""\n').body

    assert undescribed(node) == [f"f{n}" for n in range(MANY_FIELDS)]


def test_a_docstring_costs_no_lines_and_self_is_no_parameter():
    text = (
        'def f(self, a, /, b, *rest, c, **more):\n    """One.\n\n    Two.\n    """\n    return a\n'
    )
    function = ast.parse(text).body[0]

    assert (lines(function), parameters(function)) == (2, 5)


def test_the_budgets_look_at_the_code():
    assert len(files()) > 20
    assert all(tree(path).body for path in files())


def undescribed(node):
    """Give the fields of a class that has many, if no string says below them what they are."""
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    below = {id(a) for a, b in pairwise(node.body) if isinstance(b, ast.Expr)}
    bare = [each.target.id for each in fields if id(each) not in below]
    return bare if len(fields) > MANY_FIELDS else []


def lines(node):
    first = node.body[0]
    is_doc = ast.get_docstring(node, clean=False) is not None
    doc = first.end_lineno - first.lineno + 1 if is_doc else 0
    return node.end_lineno - node.lineno + 1 - doc


def parameters(node):
    arguments = node.args
    named = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    mine = named[1:] if named[:1] in (["self"], ["cls"]) else named
    return len(mine) + len(arguments.kwonlyargs) + bool(arguments.vararg) + bool(arguments.kwarg)


def public_methods(node):
    own = {f.name for f in node.body if isinstance(f, FUNCTIONS) and f.name[0] != "_"}
    above = (classes().get(base.id) for base in node.bases if isinstance(base, ast.Name))
    return own.union(*(public_methods(each) for each in above if each is not None))


@cache
def classes():
    return {node.name: node for path in files() for node in found(path, ast.ClassDef)}


def report(over, limit):
    return "\n".join([f"{limit} (tests/house/test_shape.py):", *over])

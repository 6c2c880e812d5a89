"""Frozen means frozen: what a frozen class holds is whole when it is made."""

import ast

from house.source import files, found, place, tree

FILLS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"}
FILLS |= {"setdefault", "update"}
FILLED = ("dict", "list", "set", "defaultdict", "deque", "MutableMapping")


def test_no_frozen_class_fills_its_fields():
    assert [
        f"{place(path, node)}: {name}: {ast.unparse(node)}"
        for path in files()
        for name, node in fillings(tree(path))
    ] == []


def test_no_frozen_class_has_a_field_of_a_kind_that_is_filled():
    assert [
        f"{place(path, field)}: {each.name}.{field.target.id}"
        for path in files()
        for each in found(path, ast.ClassDef)
        if is_frozen(each)
        for field in each.body
        if isinstance(field, ast.AnnAssign)
        and ast.unparse(field.annotation).partition("[")[0] in FILLED
    ] == []


def test_the_rule_sees_each_way_to_fill():
    code = """
@dataclass(frozen=True)
class Kept:
    known: Mapping[str, int] = field(default_factory=dict)
    def __post_init__(self):
        object.__setattr__(self, "known", {})
    def read(self, name):
        self.known[name] = 1
        self.known.setdefault(name, 2)
        self.known |= {name: 3}
        del self.known[name]
        object.__setattr__(self, "known", {})
        return self.known.get(name)
@dataclass
class Open:
    known: dict[str, int]
    def read(self, name): self.known[name] = 1
"""

    assert sorted(node.lineno for _, node in fillings(ast.parse(code))) == [8, 9, 10, 11, 12]


def is_frozen(node):
    calls = (each for each in node.decorator_list if isinstance(each, ast.Call))
    return any("frozen=True" in ast.unparse(each) for each in calls)


def fillings(module):
    """Give what in the methods of frozen classes fills one of their fields."""
    for each in (node for node in ast.walk(module) if isinstance(node, ast.ClassDef)):
        methods = [node for node in each.body if isinstance(node, ast.FunctionDef)]
        for method in methods if is_frozen(each) else ():
            fields = {f"self.{it.target.id}" for it in each.body if isinstance(it, ast.AnnAssign)}
            for node in ast.walk(method):
                if fills(node, fields) or (method.name != "__post_init__" and sets(node)):
                    yield each.name, node


def fills(node, fields):
    match node:
        case ast.Call(ast.Attribute(field, name)):
            return name in FILLS and ast.unparse(field) in fields
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            stored = [each.value for each in targets if isinstance(each, ast.Subscript)]
        case ast.AugAssign(target=target):
            stored = [target.value if isinstance(target, ast.Subscript) else target]
        case _:
            return False
    return any(ast.unparse(each) in fields for each in stored)


def sets(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "object.__setattr__"

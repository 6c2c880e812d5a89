"""Which kind of work a step is of is asked in the folders of the kinds, and hardly anywhere else.

Counted are, elsewhere, `isinstance(…, …Work)` and `case …Work()` for the kinds of `plan/work.py`,
and what asks the same by an attribute: `is_whole` of a grid, `has_parts` and `pass_key` of work,
a test of `.session`, `.slice` or `.entity` for None. The numbers go down, never up.
"""

import ast

from house.source import files, place, tree

HOMES = (
    *("src/penstock/plan/kinds/", "src/penstock/plan/work.py", "src/penstock/app/kinds/"),
    "src/penstock/app/preparing/pass_runs.py",  # what the steps of a pass share
)
WORKS = {"TableWork", "PartitionsWork", "SliceWork", "PassWork"}
FLAGS = {"is_whole", "has_parts", "pass_key"}
FIELDS = {"session", "slice", "entity"}
BY_TYPE = 0
BY_ATTRIBUTE = 19


def test_no_file_but_those_of_the_kinds_asks_for_a_kind_by_its_type():
    asked = [found for path in outside() for found in by_type(path)]

    assert len(asked) <= BY_TYPE, "\n".join(asked)


def test_few_files_ask_for_a_kind_by_an_attribute():
    asked = [found for path in outside() for found in by_attribute(path)]

    assert len(asked) <= BY_ATTRIBUTE, "\n".join(asked)


def outside():
    rooms = ("src/penstock/plan/", "src/penstock/app/", "src/penstock/ui/")
    return [path for path in files() if place(path).startswith(rooms) and not is_home(path)]


def is_home(path):
    return place(path).startswith(HOMES)


def by_type(path):
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                if WORKS & {each.id for each in ast.walk(kinds) if isinstance(each, ast.Name)}:
                    yield place(path, node)
            case ast.MatchClass(cls=ast.Name(id=name)) if name in WORKS:
                yield place(path, node)


def by_attribute(path):
    for node in ast.walk(tree(path)):
        match node:
            case ast.Attribute(attr=name) if name in FLAGS:
                yield f"{place(path, node)}: {name}"
            case ast.Compare(left=ast.Attribute(attr=name), comparators=[ast.Constant(value=None)]):
                if name in FIELDS:
                    yield f"{place(path, node)}: {name} is None"

"""The code of penstock as the house tests read it: files and syntax trees, nothing imported."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "penstock"
TEMPLATES = SRC / "app" / "commands" / "templates"


@cache
def files():
    """Every Python file of penstock; templates are files of users, not code of ours."""
    return tuple(p for p in sorted(SRC.rglob("*.py")) if TEMPLATES not in p.parents)


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path, node=None):
    """Give `file:line` as editors open it."""
    line = f":{node.lineno}" if node else ""
    return f"{path.relative_to(ROOT)}{line}"


def found(path, *kinds):
    return (node for node in ast.walk(tree(path)) if isinstance(node, kinds))

"""Which mutants of a project's SQL its unit tests kill: those of the demo, or of a project given.

    .venv/bin/python bench/mutants.py [--at-least 90] [--model NAME] [PROJECT]

Each mutant changes one thing in the SQL of one model (or in a macro): an operator, a constant, the
kind of a join, an aggregate; it drops a predicate, a `distinct` or the values of a column. The unit
tests of that model then run on one Spark. A mutant that does not load is none. Ends with 1 where
fewer than `--at-least` percent are killed; those that survived are printed with their line.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from place import start_spark
from sqlglot import exp, parse_one

from penstock.app.commands.init import init
from penstock.core.errors import PenstockError, SelectorError
from penstock.testing import run_unit_tests

JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
HEADER = re.compile(r"\s*\{\{\s*config\(.*?\}\}\s*", re.DOTALL)
PARAMETER = re.compile(r"@(\w+)")
INLINE = re.compile(r"^(?P<indent> *)sql: \|\n(?P<sql>(?:(?P=indent) +.*\n|\n)+)", re.MULTILINE)
MACRO = re.compile(r"\{%-?\s*macro.*?%\}(?P<sql>.*?)\{%-?\s*endmacro", re.DOTALL)
TESTED_BY = {"macros/time.sql": "flights_clean"}
"""Macros are tested where a model calls them."""

SWAPS: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.GTE,
    exp.GTE: exp.GT,
    exp.LT: exp.LTE,
    exp.LTE: exp.LT,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.Add: exp.Sub,
    exp.Sub: exp.Add,
    exp.Mul: exp.Div,
    exp.Div: exp.Mul,
    exp.Mod: exp.Mul,
    exp.And: exp.Or,
    exp.Or: exp.And,
    exp.Min: exp.Max,
    exp.Max: exp.Min,
    exp.Sum: exp.Max,
    exp.Avg: exp.Max,
}
UNITS = {"month": "week", "week": "month", "day": "month", "year": "month"}


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `what` says which, "" none."""

    path: str
    model: str
    what: str
    text: str


def mutants_of(sql: str) -> Iterator[tuple[str, str]]:
    """Give what each mutant of a query or an expression changes, and its text.

    The first one changes nothing: it is only printed anew, and must survive.
    """
    hidden: dict[str, str] = {}

    def hide(found: re.Match[str]) -> str:
        name = f"hidden_{len(hidden)}_"
        hidden[name] = found[0]
        return name

    plain = PARAMETER.sub(hide, JINJA.sub(hide, sql))
    tree = parse_one(plain, dialect="spark")
    seen = {tree.sql("spark")}
    yield "", _shown(tree.sql("spark", pretty=True), hidden)
    for place in range(len(list(tree.walk()))):
        for change in (_swapped, _other_constant, _other_join, _dropped, _nulled, _unwrapped):
            copy = tree.copy()
            node = list(copy.walk())[place]
            was = node.sql("spark")
            changed = change(node)
            text = copy.sql("spark") if changed is not None else ""
            if text and text not in seen:
                seen.add(text)
                said = f"{change.__name__[1:]}: {was} -> {changed}"
                yield _shown(said, hidden), _shown(copy.sql("spark", pretty=True), hidden)


def _shown(text: str, hidden: dict[str, str]) -> str:
    for name, was in reversed(hidden.items()):
        text = text.replace(name, was)
    return text


def _swapped(node: exp.Expr) -> str | None:
    other = SWAPS.get(type(node))
    if other is not None:
        made = other(this=node.this, expression=node.args.get("expression"))
    elif isinstance(node, exp.Not):
        made = node.this.copy()
    elif isinstance(node, exp.Is):
        made = exp.Not(this=node.copy())
    elif isinstance(node, exp.CountIf):
        made = exp.CountIf(this=exp.Not(this=exp.paren(node.this)))
    elif isinstance(node, exp.Count):
        made = exp.Add(this=node.copy(), expression=exp.Literal.number(1))
    else:
        return None
    node.replace(made)
    return made.sql("spark")


def _other_constant(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Boolean):
        made: exp.Expr = exp.Boolean(this=not node.this)
    elif isinstance(node, exp.Literal) and not node.is_string:
        if node.find_ancestor(exp.Group, exp.Order):
            return None  # the number of a column
        bigger = float(node.this) + 1
        made = exp.Literal.number(int(bigger) if bigger.is_integer() else round(bigger, 6))
    elif isinstance(node, exp.Literal | exp.Var) and str(node.this).lower() in UNITS:
        made = type(node)(**{**node.args, "this": UNITS[str(node.this).lower()]})
    else:
        return None
    node.replace(made)
    return made.sql("spark")


def _other_join(node: exp.Expr) -> str | None:
    if not isinstance(node, exp.Join) or not node.args.get("on"):
        return None
    is_left = str(node.args.get("side") or "").upper() == "LEFT"
    node.set("side", None if is_left else "LEFT")
    return "inner join" if is_left else "left join"


def _dropped(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Where | exp.Having | exp.Distinct):
        node.pop()
        return "nothing"
    if isinstance(node, exp.And) and not isinstance(node.parent, exp.CountIf):
        node.replace(node.right.copy())
        return "its right side"
    parent = node.parent
    if isinstance(parent, exp.And) and parent.right is node:
        parent.replace(parent.left.copy())
        return "nothing"
    return None


def _nulled(node: exp.Expr) -> str | None:
    """Lose the values of a column that is selected; its type and its name stay."""
    if not isinstance(node.parent, exp.Select) or node.arg_key != "expressions":
        return None
    value = node.this if isinstance(node, exp.Alias) else node
    if isinstance(value, exp.Star):
        return None
    made = exp.alias_(exp.func("nullif", value.copy(), value.copy()), node.alias_or_name)
    node.replace(made)
    return "NULL"


def _unwrapped(node: exp.Expr) -> str | None:
    if not isinstance(node, exp.Initcap | exp.Coalesce | exp.Upper | exp.Lower | exp.Trim):
        return None
    made = node.this.copy()
    node.replace(made)
    return made.sql("spark")


def mutants_in(root: Path) -> Iterator[Mutant]:
    """Give the mutants of every SQL model, of SQL inside versioned YAML, and of macros."""
    for file in sorted((root / "models").rglob("*.sql")):
        text, path = file.read_text(), file.relative_to(root).as_posix()
        if "/checks/" in path:
            continue
        header = HEADER.match(text)
        start = header.end() if header else 0
        for what, sql in mutants_of(text[start:]):
            yield Mutant(path, file.name.partition(".")[0], what, f"{text[:start]}{sql}\n")
    for file in sorted((root / "models").rglob("*.yaml")):
        text, path = file.read_text(), file.relative_to(root).as_posix()
        for found in INLINE.finditer(text):
            pad = f"{found['indent']}  "
            for what, sql in mutants_of(found["sql"]):
                lines = "".join(f"{pad}{line}\n" for line in sql.splitlines())
                changed = f"{text[: found.start('sql')]}{lines}{text[found.end('sql') :]}"
                yield Mutant(path, file.stem, what, changed)
    for file in sorted((root / "macros").rglob("*.sql")):
        text, path = file.read_text(), file.relative_to(root).as_posix()
        for found in MACRO.finditer(text):
            for what, sql in mutants_of(found["sql"]):
                changed = f"{text[: found.start('sql')]}\n{sql}\n{text[found.end('sql') :]}"
                yield Mutant(path, TESTED_BY[path], what, changed)


def fate_of(root: Path, mutant: Mutant) -> str:
    """Say what became of a mutant: killed, survived, or that it is none."""
    file = root / mutant.path
    was = file.read_text()
    file.write_text(mutant.text)
    try:
        report = run_unit_tests(root, select=[mutant.model], fail_fast=True)
    except SelectorError:
        return "survived"  # the model has no test
    except PenstockError as error:
        return f"no mutant ({error.code})"
    finally:
        file.write_text(was)
    return "survived" if report.ok else "killed"


def main(asked: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Try all mutants, and say which survived."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-mutants-"))
    root = folder / "project"
    if asked.project:
        shutil.copytree(asked.project, root)
    else:
        init(root, "demo")
    found = [m for m in mutants_in(root) if not asked.model or m.model in asked.model]
    start_spark(folder, "2g")
    counts, broken = {"killed": 0, "survived": 0}, 0
    for mutant in found:
        fate = fate_of(root, mutant)
        if not mutant.what:
            broken += fate != "survived"
            if fate != "survived":
                say(f"the tests of {mutant.model} fail without a mutant in {mutant.path}: {fate}")
        else:
            counts[fate] = counts.get(fate, 0) + 1
            if fate != "killed":
                say(f"{fate}: {mutant.path}: {mutant.what}")
    tried = counts["killed"] + counts["survived"]
    percent = 100 * counts["killed"] / tried if tried else 0.0
    say(
        f"{counts['killed']} of {tried} mutants killed: {percent:.1f} % (at least {asked.at_least})"
    )
    shutil.rmtree(folder, ignore_errors=True)
    return int(bool(broken) or percent < asked.at_least)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("project", nargs="?", help="a folder; without one the demo")
    parser.add_argument("--at-least", type=float, default=90.0, help="percent to be killed")
    parser.add_argument("--model", action="append", help="only this model; may be repeated")
    code = main(parser.parse_args(), lambda line: print(line, flush=True))
    sys.stdout.flush()
    os._exit(code)  # Spark's JVM would be waited for

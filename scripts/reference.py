"""The tables of docs/reference/: every key of a section, with type, default and an example.

`<!-- keys: SECTION -->` begins a table in a page and `<!-- end -->` ends it; all else is written by
hand. What a key says comes from its section, its type from the schema. Other words in place of
`keys: SECTION` are those of `OTHERS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import penstock.strategies.registry  # noqa: F401  strategies are found by their words
from penstock.core.checks.check_type import check_types
from penstock.engine.launch import _DEFAULTS as DEFAULTS
from penstock.engine.launch import ALWAYS
from penstock.project.editor_schemas import (
    described,
    in_order,
    json_schemas,
    section_name,
    sections,
)
from penstock.project.entities.template_functions import FUNCTIONS
from penstock.project.files.sections import schema_of
from penstock.project.python.sections import SECTIONS as DECORATORS

Table = tuple[list[str], list[list[str]]]

TABLE = re.compile(r"<!-- (keys: \S+|spark: \w+|types|functions) -->\n.*?<!-- end -->", re.DOTALL)
KEYS = "keys: "
HEADS = ["key", "type", "default", "what it says", "example"]
EXAMPLES = {
    **{f"{sign}_{unit}": "now, 6" for sign in ("minus", "plus") for unit in ("hours", "minutes")},
    **{f"{sign}_{unit}": "today, 7" for sign in ("minus", "plus") for unit in ("days", "months")},
    **dict.fromkeys(("minus", "plus"), "last_value, 100"),
    **dict.fromkeys(("start_of_day", "start_of_month"), "now"),
    **dict.fromkeys(("lower", "upper"), "entity"),
    "format": "today, 'yyyy/MM'",
}
WORDS = {"string": "text", "boolean": "true or false", "object": "mapping", "array": "list"}
PYTHON = "python."


def filled(text: str) -> str:
    """Give a page with its tables written anew."""
    return TABLE.sub(lambda found: f"<!-- {found[1]} -->\n{table(found[1])}<!-- end -->", text)


def shown_sections(text: str) -> list[str]:
    """Name the sections that a page shows."""
    found = (each[1] for each in TABLE.finditer(text))
    return [each.removeprefix(KEYS) for each in found if each.startswith(KEYS)]


def table(what: str) -> str:
    """Give a section as a table: what is required first, then as the descriptions are ordered."""
    if what in OTHERS:
        heads, rows = OTHERS[what]()
    else:
        heads, rows = HEADS, list(rows_of(what.removeprefix(KEYS)))
    written = [heads, ["---"] * len(heads), *rows]
    return "".join(f"|{'|'.join(f' {cell} ' for cell in cells)}|\n" for cells in written)


def types_of_checks() -> Table:
    """Say of each type of check which keys it has."""
    rows = []
    for name, kind in check_types().items():
        needed, others = (
            ", ".join(f"`{key.name}`" for _, key in kind.own_keys() if (key.unset is None) is must)
            for must in (True, False)
        )
        rows.append([f"`{name}`", needed or "-", others])
    return ["type", "needs", "also takes, beside what every check does"], rows


def functions_of_entities() -> Table:
    """Give the functions of templates of entities."""
    rows = []
    for name, each in FUNCTIONS.items():
        takes = ", ".join(" or ".join(kinds) for kinds in each.takes)
        rows.append([f"`{name}`", takes, f"`${{{name}({EXAMPLES[name]})}}`"])
    return ["function", "takes", "example"], rows


def confs(found: Mapping[str, str]) -> Callable[[], Table]:
    """Give settings of Spark."""
    return lambda: (["setting", "value"], [[f"`{k}`", f"`{v}`"] for k, v in found.items()])


OTHERS: Mapping[str, Callable[[], Table]] = {
    "types": types_of_checks,
    "functions": functions_of_entities,
    "spark: defaults": confs(DEFAULTS),
    "spark: always": confs(ALWAYS),
}


def rows_of(section: str) -> Iterator[list[str]]:
    """Give the keys of a section."""
    is_python = section.startswith(PYTHON)
    found = all_sections()[section]
    ordered = in_order(section, found)
    for key in sorted(ordered, key=lambda key: not found[key]["is_required"]):
        node, said = found[key], described(section, key)
        kind = said.get("type") or kind_of(node)
        written = f"{key}={said['example']!r}" if is_python else flow({key: said["example"]})[1:-1]
        cells = [f"`{key}`", str(kind), default_of(node, said), str(said["says"]), f"`{written}`"]
        yield [cell.replace("|", "\\|") for cell in cells]


@cache
def all_sections() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Give the keys of every section as the schemas have them; those of decorators as well."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    schemas = {file.partition(".")[0]: json.loads(text) for file, text in json_schemas().items()}
    schemas |= {f"{PYTHON}{kind}": schema_of(each) for kind, each in DECORATORS.items()}
    for file, schema in schemas.items():
        for name, tree in sections(file, schema):
            keys = found.setdefault(section_name(name), {})
            for key, node in tree["properties"].items():
                keys.setdefault(key, {**node, "is_required": key in tree.get("required", ())})
    return found


def kind_of(node: Mapping[str, Any]) -> str:
    """Give a type in the words of people."""
    if "$ref" in node:
        return "checks" if node["$ref"].endswith("/checks") else "mapping"
    if "enum" in node:
        return ", ".join("null" if word is None else f"`{word}`" for word in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    if "anyOf" in node:
        kinds = dict.fromkeys(map(kind_of, node["anyOf"]))
        return " or ".join(kind for kind in kinds if kind != "null")
    if node.get("contentMediaType") == "application/sql":
        return "SQL"
    named = node.get("type", "anything")
    kinds = [WORDS.get(name, name) for name in ([named] if isinstance(named, str) else named)]
    text = " or ".join(kinds)
    if named == "array" and "items" in node:
        text = f"list of {plural(kind_of(node['items']))}"
    if node.get("pattern", "").startswith(r"^\d{4}"):
        text = "date"
    text = node.get("$comment", text)
    return f"{text} ≥ {node['minimum']}" if "minimum" in node else text


def plural(kind: str) -> str:
    """Give the word for several."""
    return f"{kind}s" if kind in ("text", "mapping", "integer") else kind


def default_of(node: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """Say what holds where a key is left out; raise `KeyError` where nobody says it."""
    if node["is_required"]:
        return "required"
    if "unset" in said:
        return str(said["unset"])
    default = node["default"]
    is_nothing = default == [] or (isinstance(default, dict) and not any(default.values()))
    return "none" if is_nothing else f"`{flow(default)}`"


def flow(value: object) -> str:
    """Give a value on one line of YAML."""
    text = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=10**9, allow_unicode=True
    )
    return text.removesuffix("...\n").strip()


def pages(folder: Path) -> dict[Path, str]:
    """Give the text of every page of the reference."""
    return {path: filled(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.md"))}

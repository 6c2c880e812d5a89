"""Law 10: spellings mean the same, and no misspelt key is missed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.versioned_cases import meaning
from penstock.core.errors import ProjectError
from penstock.project.load import load_project

ALIASES = {
    "dataset": "schema",
    "table": "name",
    "sql": "source",
    "sql_revisions": "revisions",
    "invariants": "checks",
}
SQL = "select date,\n  users -- who\nfrom raw.events where date = @partition_date\n"
SCHEMA = "- {name: date, type: DATE}\n- {name: users, type: INT64, mode: REQUIRED}\n"
PARTITION = "{field: date, type: DAY}\n"
spellings = st.tuples(*[st.booleans()] * len(ALIASES))
ways = st.fixed_dictionaries(
    {
        "sql": st.sampled_from(["inline", "path", "file", "version"]),
        "schema": st.sampled_from(["inline", "file", "items", "version", "base"]),
        "partition": st.sampled_from(["inline", "file", "merge"]),
    }
)
KEYS = ("name", "destination", "dataset", "table", "partition", "field", "type", "versions")
KEYS += ("version", "effective_from", "sql", "schema", "invariants", "sql_revisions", "revision")
letters = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=4)


def indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by).rstrip(" ")


def files_of(way: dict[str, str], aliased: tuple[bool, ...] = (False,) * 5) -> dict[str, str]:
    """The same two versions, written in one of many ways."""
    word = {
        key: alias if use else key
        for (key, alias), use in zip(ALIASES.items(), aliased, strict=True)
    }
    inline = f"|\n      {indented(SQL, 6)}"
    sql = {"path": "q.sql\n", "file": "${{ file: q.sql }}\n"}.get(way["sql"], inline)
    again = "${{ versions.1.sql }}\n" if way["sql"] == "version" else sql
    fields = {
        "file": "${{ file: s.yaml }}\n",
        "items": "\n      - ${{ file: s.yaml }}\n",
    }.get(way["schema"], f"\n      {indented(SCHEMA, 6)}")
    schema = {
        "version": "${{ versions.1.schema }}\n",
        "base": "{base: '${{ versions.1.schema }}', remove: [users], add: "
        "[{name: users, type: bigint, nullable: false}]}\n",
    }.get(way["schema"], fields)
    to = {"file": "partition: ${{ file: p.yml }}\n", "merge": "<<: ${{ file: _to.yml }}\n"}
    text = (
        "name: m\ndestination:\n"
        f"  {word['dataset']}: mart\n  {word['table']}: m\n"
        f"  {to.get(way['partition'], f'partition: {PARTITION}')}"
        "versions:\n"
        f"  - version: 1\n    effective_from: 2024-01-01\n    {word['sql']}: {sql}"
        f"    schema: {fields}"
        f"  - version: 2\n    effective_from: 2024-02-01\n    {word['sql']}: {again}"
        f"    {word['invariants']}: {{after: [{{name: a, type: row_count, min: 1}}]}}\n"
        f"    {word['sql_revisions']}:\n      - revision: 1\n"
        f"        effective_from: 2024-03-01\n        {word['sql']}: select 1 as users\n"
        f"    schema: {schema}"
    )
    files = {"penstock.yml": "name: p\n", "models/m.yaml": text}
    others = {"q.sql": SQL, "s.yaml": SCHEMA, "p.yml": PARTITION}
    others["_to.yml"] = f"partition: {PARTITION}table: other\n"
    return files | {f"models/{name}": said for name, said in others.items() if name in text}


def loaded(files: dict[str, str]):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return load_project(Path(folder), environ={}, use_cache=False)


PLAIN = {"sql": "inline", "schema": "inline", "partition": "inline"}


@settings(max_examples=25, deadline=None)
@given(ways, spellings)
def test_aliases_and_includes_mean_what_inline_text_means(way, aliased):
    assert meaning(loaded(files_of(way, aliased))) == meaning(loaded(files_of(PLAIN)))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(KEYS), letters, st.integers(0, 2))
def test_a_misspelt_key_is_reported_where_it_stands(key, more, place):
    bad = (f"{key}{more}", f"{more}{key}", f"{key[:-1]}{more}{key[-1]}")[place]
    files = files_of(PLAIN)
    lines = files["models/m.yaml"].split("\n")
    line, text = next(
        (n, t) for n, t in enumerate(lines) if f"{key}:" in t.replace("{", " ").split()
    )
    column = text.replace("{", " ").split(" ").index(f"{key}:")
    at = len(" ".join(text.replace("{", " ").split(" ")[:column])) + (column > 0)
    lines[line] = f"{text[:at]}{bad}{text[at + len(key) :]}"
    known = {*KEYS, *ALIASES.values(), "start", "end", "mode", "meta", "tags", "owner"}

    if bad not in known:
        try:
            loaded({**files, "models/m.yaml": "\n".join(lines)})
        except ProjectError as error:
            found = [str(f).partition("\n")[0] for f in error.findings]
        said = f"models/m.yaml:{line + 1}:{at + 1}: error: unknown-key: unknown key {bad!r}"
        assert said in found

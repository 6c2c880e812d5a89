"""A load with the project of an earlier one gives what a load without any cache gives."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import penstock.strategies.registry  # noqa: F401  registers the strategies
from penstock.core.errors import PenstockError, ProjectError
from penstock.project.load import load_project

DAILY = """\
name: daily
destination: {schema: shop, table: daily, partition: {field: day, type: DAY}}
versions:
  - version: 1
    effective_from: 2024-01-01
    sql: daily.sql
    schema: [{name: day, type: DATE}, {name: n, type: BIGINT}]
    invariants:
      after: [{name: low, sql: checks/low.sql}]
"""
FILES = {
    "penstock.yml": [
        "name: shop\nvars: {v: 1}\ntargets: {dev: {}, prod: {schema_prefix: p_}}\n",
        'name: shop\nvars: {v: \'{{ env_var("WHO", "x") }}\'}\ntargets: {dev: {}, prod: {}}\n',
        (
            "name: shop\nvars: {v: 1}\ndefaults: {tags: [all]}\ntargets: {dev: {}, prod: {}}\n"
            "hooks: {before: 'set a = {{ var(\"v\") }}'}\n"
        ),
    ],
    "models/a.sql": [
        "select id, '{{ env_var(\"WHO\", \"x\") }}' as w, {{ var('v') }} as v from raw.t",
        "select id, {{ one() }} as w, 2 as v from {{ source('raw', 't') }}",
        "{{ config(tags=['x'], enabled=false) }}select 1 as id",
        "select {{ nope }}",
    ],
    "models/b.sql": [
        (
            "{{ config(materialized='table', depends_on=['conf/*.txt', 'env:RATE']) }}"
            "select id from {{ ref('a') }}"
        ),
        (
            "{{ config(materialized='snapshot', strategy='check', unique_key='id', "
            "check_cols='all') }}select id, v from {{ ref('a') }}"
        ),
        "select * from {{ ref('s') }}",
    ],
    "models/c.sql": [
        "select {% for c in adapter.get_columns_in_relation(ref('a')) %}{{ c.name }},{% endfor %}1"
    ],
    "models/daily.yml": [DAILY, DAILY.replace("2024-01-01", "2024-02-01")],
    "models/daily.sql": [
        "select at as day, count(*) as n from raw.t where at = @partition_date group by 1"
    ],
    "models/checks/low.sql": [
        "select * from {destination} where day = @partition_date and n < 1",
        "select * from {destination} where day = @partition_date and n < 2",
    ],
    "models/m.yml": [
        (
            "models: [{name: a, description: d, columns: [{name: id, tests: [unique]}]}]\n"
            "sources: [{name: raw, tables: [{name: t}]}]\n"
        ),
        (
            "models: [{name: a, description: '{{ doc(\"d\") }}', group: g}]\ngroups: [{name: g, "
            "owner: {name: me}}]\nsources: [{name: raw, tables: [{name: t, path: in}]}]\n"
        ),
        (
            'models: [{name: a, description: \'{{ env_var("WHO", "x") }}\'}]\n'
            "sources: [{name: raw, tables: [{name: t, columns: [{name: id, tests: [unique]}]}]}]\n"
            "exposures: [{name: e, type: dashboard, owner: {name: me}, depends_on: [ref('b')]}]\n"
        ),
    ],
    "models/docs.md": ["{% docs d %}one{% enddocs %}", "{% docs d %}two{% enddocs %}"],
    "macros/m.sql": ["{% macro one() %}1{% endmacro %}", "{% macro one() %}2{% endmacro %}"],
    "seeds/s.csv": ["id,v\n1,2\n", "id,v\n1,3\n"],
    "tests/t.sql": ["select * from {{ ref('a') }} where id is null"],
    "conf/x.txt": ["1", "2"],
    "selectors.yml": ["selectors: [{name: mine, definition: 'tag:x'}]\n"],
    "notes/readme.txt": ["nothing"],
}
PATHS = st.sampled_from(sorted(FILES))
EDITS = st.one_of(
    st.tuples(st.just("write"), PATHS, st.integers(0, 3)),
    st.tuples(st.just("same time"), PATHS, st.integers(0, 3)),
    st.tuples(st.just("remove"), PATHS),
    st.tuples(st.just("variable"), st.sampled_from(["WHO", "RATE"]), st.sampled_from("ab")),
    st.tuples(st.just("target"), st.sampled_from(["dev", "prod", "none"])),
    st.tuples(st.just("var"), st.integers(1, 2)),
)


@settings(max_examples=20, deadline=None)
@given(st.lists(EDITS, max_size=6))
def test_with_and_without_the_cache_a_load_gives_the_same_after_any_edits(edits):
    with tempfile.TemporaryDirectory() as folder:
        root, how = Path(folder), {"environ": {}, "target": None, "vars": {}}
        for path, texts in FILES.items():
            write(root / path, texts[0])
        for edit in [None, *edits]:
            match edit:
                case "write", path, number:
                    write(root / path, FILES[path][number % len(FILES[path])])
                case "same time", path, number if (root / path).exists():
                    times = (root / path).stat()
                    write(root / path, FILES[path][number % len(FILES[path])])
                    os.utime(root / path, ns=(times.st_atime_ns, times.st_mtime_ns))
                case "remove", path:
                    (root / path).unlink(missing_ok=True)
                case "variable", name, value:
                    how["environ"] = {**how["environ"], name: value}
                case "target", target:
                    how["target"] = target
                case "var", value:
                    how["vars"] = {"v": value}
            plain = outcome(root, use_cache=False, **how)
            assert outcome(root, **how) == plain
            assert outcome(root, **how) == plain


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def outcome(root: Path, **how):
    try:
        return load_project(root, **how)
    except ProjectError as error:
        return error.findings
    except PenstockError as error:
        return str(error)

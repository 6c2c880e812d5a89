"""Write a project of many SQL models in layers, for benchmarks.

python bench/generate.py DIR MODELS
"""

from __future__ import annotations

import sys
from pathlib import Path

LAYERS = ("staging", "core", "marts", "reports")
SOURCES = 20
STRATEGIES = (
    "materialized='view'",
    "materialized='table', tags=['daily']",
    "materialized='append', time_column='loaded_at'",
    "materialized='merge', unique_key=['id'], time_column='loaded_at', lookback='2 days'",
)


def main(folder: Path, models: int) -> None:
    """Write penstock.yml, sources, models in four layers of folders, and YAML beside each tenth."""
    _write(folder / "penstock.yml", _PROJECT)
    tables = "".join(
        f"      - {{name: events_{n}, description: Events {n}}}\n" for n in range(SOURCES)
    )
    _write(folder / "models/sources.yml", f"sources:\n  - name: raw\n    tables:\n{tables}")
    per_layer = max(1, -(-models // len(LAYERS)))
    for number in range(models):
        layer, position = divmod(number, per_layer)
        path = folder / "models" / LAYERS[layer] / f"g{position // 100}" / f"{_name(number)}.sql"
        _write(path, _model(number, layer, per_layer))
        if number % 10 == 0:
            _write(path.with_suffix(".yml"), _docs(number))


def _model(number: int, layer: int, per_layer: int) -> str:
    strategy = STRATEGIES[number % len(STRATEGIES)]
    header = f"{{{{ config(\n    {strategy},\n    schema='{LAYERS[layer]}',\n) }}}}\n\n"
    if layer == 0:
        return header + _STAGING.format(n=number % SOURCES)
    above = (layer - 1) * per_layer
    one = _name(above + number % per_layer)
    two = _name(above + (number * 7 + 3) % per_layer)
    return header + _JOINED.replace("ONE", one).replace("TWO", two)


def _docs(number: int) -> str:
    return (
        f"models:\n  - name: {_name(number)}\n    description: Model number {number}\n"
        "    columns:\n      - {name: id, description: The key, tests: [unique, not_null]}\n"
        "      - {name: amount, description: What was paid}\n"
    )


def _name(number: int) -> str:
    return f"model_{number:05d}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


_PROJECT = """\
name: bench
vars: {start_date: 2024-01-01}
defaults:
  table_properties: {delta.enableChangeDataFeed: "false"}
targets:
  dev: {warehouse: warehouse, state: sqlite}
"""

_STAGING = """\
with cleaned as (
    select id, user_id, cast(amount as decimal(12, 2)) as amount, loaded_at  -- cents matter
    from {{{{ source('raw', 'events_{n}') }}}}
    where id is not null and loaded_at >= '{{{{ var("start_date") }}}}'
)
select id, user_id, amount, loaded_at, row_number() over (partition by id order by loaded_at) as n
from cleaned
"""

_JOINED = """\
select
    a.id,
    a.user_id,
    coalesce(a.amount, 0) + coalesce(b.amount, 0) as amount,
    case when a.amount > 100 then 'large' when a.amount > 10 then 'middle' else 'small' end as size,
    a.loaded_at,
    a.n
from {{ ref('ONE') }} as a
left join {{ ref('TWO') }} as b on a.id = b.id and a.user_id = b.user_id
where a.id is not null
{% if is_incremental() %}
  and a.loaded_at > (select max(loaded_at) from {{ this }})
{% endif %}
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

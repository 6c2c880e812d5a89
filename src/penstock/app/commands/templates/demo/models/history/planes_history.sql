{{ config(
    materialized='snapshot',
    snapshot={
        'strategy': 'timestamp',      -- a later delivery of a plane opens a version of it
        'valid_from': 'updated_at',   -- which holds from that day, not from the day of the run
    },
    unique_key='tailnum',
    updated_at='delivered',
) }}

select tailnum, manufacturer, model, engines, seats, delivered
from {{ ref('planes') }}

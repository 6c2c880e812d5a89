{{ config(materialized='view') }}

select
    tailnum,
    year as built,
    initcap(manufacturer) as manufacturer,
    model,
    engines,
    seats,
    delivered
from {{ source('raw', 'planes') }}
where tailnum is not null

-- One row per sale, in euros.
with source as (

    select * from {{ source('till', 'sales') }}

)

select
    sale_id,
    customer_id,
    product,
    size,
    {{ euros('price') }} as price,   -- a comment that stays
    cast(sold_at as timestamp) as sold_at,
    {{ dbt.date_trunc('day', 'cast(sold_at as timestamp)') }} as sold_day
from source

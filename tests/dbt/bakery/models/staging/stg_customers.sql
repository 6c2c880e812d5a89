select customer_id, {{ dbt.concat(["name", "' of '", "city"]) }} as name, city,
    cast(updated_at as timestamp) as updated_at
from {{ source('till', 'people') }}

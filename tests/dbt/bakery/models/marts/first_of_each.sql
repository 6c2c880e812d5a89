select customer_id, min(sold_at) as first_sale_at
from {{ ref('stg_sales') }}
group by customer_id

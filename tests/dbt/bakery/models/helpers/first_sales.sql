select customer_id, min(sold_at) as first_sale_at
from {{ ref('stg_sales') }}
where customer_id is not null
group by customer_id

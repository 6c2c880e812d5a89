select product, size, min(price) as price from {{ ref('stg_sales') }} group by product, size

select * from {{ ref('stg_sales') }} where sold_at > timestamp '2100-01-01'

select * from {{ ref('customer_sales') }}

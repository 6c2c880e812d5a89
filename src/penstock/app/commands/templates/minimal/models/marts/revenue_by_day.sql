{{ config(materialized='table', tags=['daily']) }}

select
    order_date,
    count(*) as orders,
    count(distinct customer) as customers,
    sum(amount) as revenue
from {{ ref('orders_clean') }}
group by order_date

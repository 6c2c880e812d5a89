{{ config(materialized='view') }}

-- Inline rows, so that the project runs at once.
-- Replace them with your own data: declare it in models/sources.yml and read it with source().
with orders (order_id, customer, ordered_at, amount) as (
    values
        (1, 'ada',   timestamp '2024-03-01 09:00:00', 30.00),
        (2, 'grace', timestamp '2024-03-01 17:30:00', 12.50),
        (3, 'ada',   timestamp '2024-03-02 08:15:00', 99.90),
        (4, null,    timestamp '2024-03-02 11:00:00',  5.00)
)

select
    order_id,
    customer,
    ordered_at,
    cast(ordered_at as date) as order_date,
    cast(amount as decimal(10, 2)) as amount
from orders
where customer is not null

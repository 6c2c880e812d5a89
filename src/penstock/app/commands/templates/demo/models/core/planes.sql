{{ config(
    materialized='merge',
    unique_key='tailnum',
    on_duplicate='latest',        -- of several deliveries of one plane the last one counts
    order_by='delivered',
) }}

select * from {{ ref('planes_clean') }}

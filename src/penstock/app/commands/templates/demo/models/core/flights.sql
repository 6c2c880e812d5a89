{{ config(
    materialized='append',
    time_column='time_hour',      -- the window: hours above the watermark, which then moves up
    cluster_by=['flight_date'],
) }}

select * from {{ ref('flights_clean') }}

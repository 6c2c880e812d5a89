{{ config(materialized='table', tags=['monthly']) }}

select
    date_trunc('month', d.flight_date) as month,
    d.carrier,
    a.name as airline,
    sum(d.flights) as flights,
    sum(d.cancelled) as cancelled,
    round(100.0 * sum(d.late) / sum(d.flights), 1) as late_percent,
    round(sum(d.delay_minutes) / sum(d.flights - d.cancelled), 1) as avg_delay
from {{ ref('delays_by_day') }} as d
left join {{ source('raw', 'airlines') }} as a on a.carrier = d.carrier
group by date_trunc('month', d.flight_date), d.carrier, a.name

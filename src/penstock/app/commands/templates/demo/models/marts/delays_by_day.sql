{{ config(materialized='table', tags=['daily']) }}

select
    flight_date,
    origin,
    carrier,
    count(*) as flights,
    count_if(is_cancelled) as cancelled,
    count_if(is_late) as late,
    sum(dep_delay) as delay_minutes,
    round(avg(dep_delay), 1) as avg_delay
from {{ ref('flights') }}
group by flight_date, origin, carrier

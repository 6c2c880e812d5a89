{{ config(materialized='view') }}

select
    make_date(year, month, day) as flight_date,
    time_hour,
    origin,
    dest,
    carrier,
    flight,
    tailnum,
    {{ minutes_of_day('sched_dep_time') }} as planned_minute,
    dep_delay,
    arr_delay,
    air_time,
    distance,
    dep_time is null as is_cancelled,
    coalesce(dep_delay >= {{ var('late_minutes') }}, false) as is_late
from {{ source('raw', 'flights') }}

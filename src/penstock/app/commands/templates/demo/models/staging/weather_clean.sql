{{ config(materialized='view') }}

-- The hour in which clocks go back is delivered twice: one row per airport and hour.
select
    origin,
    time_hour,
    round((avg(temp) - 32) / 1.8, 1) as celsius,
    round(avg(wind_speed) * 1.609, 1) as wind_kmh,
    round(avg(visib) * 1.609, 1) as visibility_km,
    round(avg(precip) * 25.4, 1) as rain_mm
from {{ source('raw', 'weather') }}
group by origin, time_hour
